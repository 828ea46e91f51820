package kernels

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/bind"
	"libsparse/libsparse/index"
	"libsparse/libsparse/tune/space"
)

const (
	auto        = "auto" // what the compiler would choose, given the rest
	mostLoops   = 6      // variables whose orders are enumerated
	mostPasses  = 64     // over what is inside of a loop over strips
	longestTile = 1 << 15
	withValues  = " values" // after a format into which values are brought, too
)

// parameters are the dimensions of the space of an assignment, with the constraints between them. Each has the compiler's own choice among
// its values, which is the default, so that the default point is the schedule that the compiler chooses.
type parameters struct {
	params      []*space.Parameter
	constraints []string
	origin      space.Point
	places      map[string]int
	vars        []index.Var // by element of the permutation: the compiler's order
}

func (p *parameters) add(param *space.Parameter, origin float64) {
	p.places[param.Name] = len(p.params)
	p.params, p.origin = append(p.params, param), append(p.origin, origin)
}

func (p *parameters) choice(name string, labels ...string) {
	p.add(&space.Parameter{Name: name, Kind: space.Categorical, Labels: append([]string{auto}, labels...)}, 0)
}

func (p *parameters) ordinal(name string, log bool, values ...float64) {
	p.add(&space.Parameter{Name: name, Kind: space.Ordinal, Values: values, Log: log}, 0)
}

func (p *parameters) constrain(format string, args ...any) {
	p.constraints = append(p.constraints, fmt.Sprintf(format, args...))
}

// of is the text of a parameter's value; "" where the space has no such parameter.
func (p *parameters) of(name string, at space.Point) string {
	place, ok := p.places[name]
	if !ok {
		return ""
	}
	return p.params[place].Text(at[place])
}

// number is of where values are numbers, and 0 of others.
func (p *parameters) number(name string, at space.Point) int {
	n, _ := strconv.Atoi(p.of(name, at))
	return n
}

// describe lists the parameters of a, whose loops the compiler would put into an order. formats are those that an operand may be converted
// to, where somebody has looked at its entries.
func describe(a bind.Assignment, order []index.Var, formats map[string][]string) *parameters {
	p := &parameters{places: map[string]int{}, vars: order}
	n := len(order)
	p.add(&space.Parameter{Name: "order", Kind: space.Permutation, Length: n}, 0)
	p.choice("lanes", "off", "innermost")
	p.strips(a)
	p.workspace(a, n)
	p.choice("parallel", "off", "0", "0 temporary", "0 atomics", "1", "1 atomics")
	p.choice("unroll", "1", "2", "4", "8")
	p.ordinal("unrolled", false, 0, 1)
	p.constrain("(unroll > 1) | (unrolled == 0)") // auto counts as 0
	p.choice("prefetch", "0", "8", "16", "32", "64")
	if slices.ContainsFunc(order, func(v index.Var) bool { return autoschedule.Meeting(a, v) }) {
		p.choice("merge", "gallop")
	}
	p.storage(a, formats)
	return p
}

// strips has parameters for each loop: the length of the strips that it is cut into, 1 for none, and how many loops of the order stand
// around the one over strips.
func (p *parameters) strips(a bind.Assignment) {
	places := make([]float64, len(p.vars))
	for i := range places {
		places[i] = float64(i)
	}
	for element, v := range p.vars {
		extent := a.Extent(v)
		values := []float64{1}
		for factor := int64(4); factor <= longestTile && factor < extent; factor *= 2 {
			values = append(values, float64(factor))
		}
		if len(values) == 1 {
			continue
		}
		length, at := "strip_"+string(v), "strip_at_"+string(v)
		p.ordinal(length, true, values...)
		p.ordinal(at, false, places...)
		p.constrain("%s <= order_i%d", at, element)
		p.constrain("(%s > 1) | (%s == 0)", length, at)
		if many := extent / mostPasses; many > 1 {
			alone := ""
			if autoschedule.Dense(a, v) { // strips of what is stored are looked up, wherever their loop stands
				alone = fmt.Sprintf(" | (%s == order_i%d)", at, element)
			}
			p.constrain("(%s == 1) | (%s >= %d)%s", length, length, many, alone)
		}
	}
}

// workspace has where sums, or entries of a sparse result, are collected, and how many loops stand around that.
func (p *parameters) workspace(a bind.Assignment, loops int) {
	kinds := []string{"none", "array"}
	if a.Result().Discovered() {
		kinds = []string{"none", "insert", "bounded", "tile", "row", "scatter", "bitmap", "blocks", "list", "hash", "bytemap"}
	}
	p.choice("workspace", kinds...)
	var depths []float64
	for depth := range 2*loops + 1 {
		depths = append(depths, float64(depth))
	}
	p.ordinal("depth", false, depths...)
	first := 1 + slices.IndexFunc(kinds, func(k string) bool { return k == "array" || k == "tile" })
	p.constrain("(workspace >= %d) | (depth == 0)", first)
}

// storage has the formats that operands, and a dense result, may be brought to.
func (p *parameters) storage(a bind.Assignment, formats map[string][]string) {
	for _, t := range append(a.Tensors(), a.LHS.Tensor) {
		s := a.Of(t)
		n := s.Format.Order()
		if n < 2 || n > 4 {
			continue
		}
		labels := formats[t.Name]
		switch {
		case s.Format.Dense():
			labels = orders("d", n)
		case t == a.LHS.Tensor:
			continue
		case labels == nil:
			labels = levels(n)
		}
		labels = slices.DeleteFunc(slices.Clone(labels), func(f string) bool { return f == s.Format.String() })
		if len(labels) > 0 {
			p.choice("format_"+t.Name, labels...)
		}
	}
}

// orders are the formats with one kind of level, in all orders of modes.
func orders(level string, n int) (all []string) {
	param := &space.Parameter{Name: "modes", Kind: space.Permutation, Length: n}
	if _, err := space.New([]*space.Parameter{param}, nil); err != nil {
		panic("BUG: " + err.Error())
	}
	for order := range param.Size() {
		text := strings.Repeat(level, n)
		if order > 0 {
			text += ":" + strings.Trim(param.Text(float64(order)), "()")
		}
		all = append(all, text)
	}
	return all
}

// levels are the formats of compressed levels, below a dense or a compressed one, in all orders of modes.
func levels(n int) (all []string) {
	for _, f := range orders("s", n) {
		all = append(all, f, "d"+f[1:])
	}
	return all
}
