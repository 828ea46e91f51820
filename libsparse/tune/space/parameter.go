package space

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"libsparse/libsparse/diag"
)

// Kind says what the values of a parameter are.
type Kind int

// The kinds. Integers are ordinals whose values are consecutive.
const (
	Real Kind = iota
	Ordinal
	Categorical
	Permutation
)

// longestPermutation bounds the elements of a permutation, whose orders are enumerated.
const longestPermutation = 8

// Parameter is one dimension of a space.
type Parameter struct {
	Name string
	Kind Kind

	Low, High float64   // of a real
	Values    []float64 // of an ordinal, ascending
	Labels    []string  // of a categorical
	Length    int       // the number of elements of a permutation

	// Log says that a real or ordinal parameter acts by its ratios: distances are those of logarithms.
	Log bool

	// Semimetric compares permutations.
	Semimetric Semimetric

	orders [][]int   // of a permutation: the element at each position, by choice
	places [][]int   // the position of each element, by choice
	scaled []float64 // the values of an ordinal as distances see them, from 0 to 1
}

// Point has a coordinate for each parameter: the value of a real, the number of the choice of any other.
type Point []float64

// Size is the number of choices; 0 for a real.
func (p *Parameter) Size() int {
	switch p.Kind {
	case Ordinal:
		return len(p.Values)
	case Categorical:
		return len(p.Labels)
	case Permutation:
		return len(p.orders)
	default:
		return 0
	}
}

// Text is a coordinate as a command line or a log has it: (0,2,1) for the permutation of that order.
func (p *Parameter) Text(x float64) string {
	switch p.Kind {
	case Ordinal:
		if value := p.Values[int(x)]; value == math.Trunc(value) && math.Abs(value) < 1<<53 { // programs take exponents for no integers
			return strconv.FormatFloat(value, 'f', -1, 64)
		}
		return strconv.FormatFloat(p.Values[int(x)], 'g', -1, 64)
	case Categorical:
		return p.Labels[int(x)]
	case Permutation:
		var parts []string
		for _, element := range p.orders[int(x)] {
			parts = append(parts, strconv.Itoa(element))
		}
		return "(" + strings.Join(parts, ",") + ")"
	default:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
}

// has reports whether x is a coordinate of p.
func (p *Parameter) has(x float64) bool {
	if p.Kind == Real {
		return p.Low <= x && x <= p.High
	}
	return x == math.Trunc(x) && 0 <= x && x < float64(p.Size())
}

// Coordinate is the inverse of Text.
func (p *Parameter) Coordinate(text string) (float64, error) {
	if p.Kind == Real {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !p.has(x) {
			return 0, diag.Errorf(diag.Syntax, "%s is %q; expected a number from %g to %g", p.Name, text, p.Low, p.High)
		}
		return x, nil
	}
	for choice := range p.Size() {
		if p.Text(float64(choice)) == text {
			return float64(choice), nil
		}
	}
	spaceless := strings.NewReplacer(" ", "", "[", "(", "]", ")").Replace(text)
	number, notNumber := strconv.ParseFloat(spaceless, 64)
	for choice := range p.Size() {
		if p.Text(float64(choice)) == spaceless || (p.Kind == Ordinal && notNumber == nil && p.Values[choice] == number) {
			return float64(choice), nil
		}
	}
	return 0, diag.Errorf(diag.Syntax, "%s is %q, which is none of its %d values", p.Name, text, p.Size())
}

// prepare checks a parameter and fills what is derived from it.
func (p *Parameter) prepare() error {
	switch p.Kind {
	case Real:
		if !(p.Low < p.High) || math.IsInf(p.High-p.Low, 0) {
			return diag.Errorf(diag.Syntax, "%s: a real parameter goes from %g to %g; expected finite bounds, the lower one first", p.Name, p.Low, p.High)
		}
		if p.Log && p.Low <= 0 {
			return diag.Errorf(diag.Syntax, "%s: a logarithm needs values above 0; the least one is %g", p.Name, p.Low)
		}
	case Ordinal:
		return p.prepareOrdinal()
	case Categorical:
		if len(p.Labels) == 0 {
			return diag.Errorf(diag.Syntax, "%s: a categorical parameter needs values", p.Name)
		}
		if distinct := slices.Compact(slices.Sorted(slices.Values(p.Labels))); len(distinct) < len(p.Labels) {
			return diag.Errorf(diag.Syntax, "%s: a category is there twice", p.Name)
		}
	case Permutation:
		if p.Length < 1 || p.Length > longestPermutation {
			return diag.Errorf(diag.Unsupported, "%s: a permutation of %d elements; expected 1 to %d", p.Name, p.Length, longestPermutation)
		}
		p.orders = permutations(p.Length)
		for _, order := range p.orders {
			places := make([]int, p.Length)
			for position, element := range order {
				places[element] = position
			}
			p.places = append(p.places, places)
		}
	}
	return nil
}

func (p *Parameter) prepareOrdinal() error {
	if len(p.Values) == 0 {
		return diag.Errorf(diag.Syntax, "%s: an ordinal parameter needs values", p.Name)
	}
	slices.Sort(p.Values)
	p.Values = slices.Compact(p.Values)
	low, high := p.Values[0], p.Values[len(p.Values)-1]
	if p.Log && low <= 0 {
		return diag.Errorf(diag.Syntax, "%s: a logarithm needs values above 0; the least one is %g", p.Name, low)
	}
	for _, value := range p.Values {
		p.scaled = append(p.scaled, p.scale(value, low, high))
	}
	return nil
}

// scale maps low to 0 and high to 1, by ratios where the parameter acts by them.
func (p *Parameter) scale(value, low, high float64) float64 {
	if p.Log {
		value, low, high = math.Log(value), math.Log(low), math.Log(high)
	}
	if low == high {
		return 0
	}
	return (value - low) / (high - low)
}

// permutations lists the orders of n elements, the identity first, each after the one that precedes it in the dictionary.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for first := range n {
		for _, rest := range permutations(n - 1) {
			order := []int{first}
			for _, element := range rest {
				if element >= first {
					element++
				}
				order = append(order, element)
			}
			all = append(all, order)
		}
	}
	return all
}
