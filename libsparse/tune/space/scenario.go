package space

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"libsparse/libsparse/diag"
)

// mostIntegers bounds the values of an integer parameter, which are enumerated.
const mostIntegers = 1 << 20

// mostExact bounds the integers that are told apart from their neighbours.
const mostExact = 1 << 52

// Scenario is what a file says about a search: the fields of BaCO's scenarios that concern the space and the budget.
//
// Fields that this package does not know are left unread, so that scenarios of HyperMapper and BaCO serve as they are.
type Scenario struct {
	Name string `json:"application_name"`
	// Iterations is the number of measurements after the first ones.
	Iterations int `json:"optimization_iterations"`
	First      struct {
		Samples int `json:"number_of_samples"`
	} `json:"design_of_experiment"`
	// Feasible names the output that says whether a point could be measured, and bounds what is asked of its probability.
	Feasible struct {
		Name      string  `json:"name"`
		True      string  `json:"true_value"`
		Threshold float64 `json:"feasibility_threshold"`
	} `json:"feasible_output"`
	Objectives []string `json:"optimization_objectives"`
	// Log says whether the objective is positive and acts by its ratios, as times do.
	Log bool `json:"log_transform_output"`

	Parameters  json.RawMessage `json:"input_parameters"`
	Constraints []string        `json:"constraints"`

	Space *Space `json:"-"`
}

// description is a parameter in a file.
type description struct {
	Type        string            `json:"parameter_type"`
	Values      []json.RawMessage `json:"values"`
	Default     json.RawMessage   `json:"parameter_default"`
	Transform   string            `json:"transform"`
	Semimetric  string            `json:"parametrization"`
	Constraints []string          `json:"constraints"`

	// Constraints name what they depend on, and no prior of points is taken; both are fields of BaCO's scenarios.
	Dependencies json.RawMessage `json:"dependencies"`
	Prior        json.RawMessage `json:"prior"`
}

// ReadScenario reads a scenario.
func ReadScenario(text []byte) (*Scenario, error) {
	s := &Scenario{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, diag.Errorf(diag.Syntax, "the scenario is no JSON object as expected: %v", err)
	}
	params, defaults, constraints, err := readParameters(s.Parameters)
	if err != nil {
		return nil, err
	}
	s.Space, err = New(params, append(constraints, s.Constraints...))
	if err != nil {
		return nil, err
	}
	return s, s.setDefault(defaults)
}

// setDefault sets the default point, if each parameter has a default; it has to satisfy the constraints.
func (s *Scenario) setDefault(texts []string) error {
	at := make(Point, len(texts))
	for i, text := range texts {
		if text == "" {
			return nil
		}
		x, err := s.Space.Params[i].Coordinate(text)
		if err != nil {
			return err
		}
		at[i] = x
	}
	for _, c := range s.Space.checks {
		if !c.allows(at) {
			return diag.Errorf(diag.Syntax, "the default point breaks the constraint %q; change a parameter_default", c.text)
		}
	}
	s.Space.Default = at
	return nil
}

// readParameters reads an object of descriptions in the order in which it is written.
func readParameters(text json.RawMessage) (params []*Parameter, defaults, constraints []string, err error) {
	if len(text) == 0 {
		return nil, nil, nil, diag.Errorf(diag.Syntax, "the scenario has no input_parameters")
	}
	lines := json.NewDecoder(bytes.NewReader(text))
	if start, err := lines.Token(); err != nil || start != json.Delim('{') {
		return nil, nil, nil, diag.Errorf(diag.Syntax, "input_parameters is no object of parameters by their names")
	}
	for lines.More() {
		name, err := lines.Token()
		if err != nil {
			return nil, nil, nil, err
		}
		var d description
		title, ok := name.(string)
		lines.DisallowUnknownFields() // a constraint that is lost to a wrong letter would not be missed
		if err := lines.Decode(&d); err != nil || !ok {
			return nil, nil, nil, diag.Errorf(diag.Syntax, "input_parameters: %v is no description of a parameter: %v", name, err)
		}
		p, err := d.parameter(title)
		if err != nil {
			return nil, nil, nil, err
		}
		params = append(params, p)
		defaults = append(defaults, plain(d.Default))
		constraints = append(constraints, d.Constraints...)
	}
	return params, defaults, slices.Compact(constraints), nil
}

// plain is a JSON value as text: a string without its quotes.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return strings.TrimSpace(string(value))
}

func (d *description) parameter(name string) (*Parameter, error) {
	if !slices.Contains([]string{"", "none", "log"}, d.Transform) {
		return nil, diag.Errorf(diag.Syntax, "%s: transform is %q; expected log, or none", name, d.Transform)
	}
	p := &Parameter{Name: name, Log: d.Transform == "log"}
	if d.Type == "categorical" {
		p.Kind = Categorical
		for _, value := range d.Values {
			p.Labels = append(p.Labels, plain(value))
		}
		return p, nil
	}
	numbers, isNumeric := d.numbers()
	if !isNumeric || !d.describe(p, numbers) {
		return nil, diag.Errorf(diag.Syntax, "%s: parameter_type %q, parametrization %q, and %d values; expected ordinal with its values, categorical with its values, "+
			"integer or real with two bounds, or permutation with the number of its elements and spearman, kendall, hamming or naive", name, d.Type, d.Semimetric, len(d.Values))
	}
	return p, nil
}

// describe fills a parameter that is described by numbers; false if they are not as its type has them.
func (d *description) describe(p *Parameter, numbers []float64) bool {
	switch d.Type {
	case "ordinal":
		p.Kind, p.Values = Ordinal, numbers
		return true
	case "permutation":
		semimetric, known := Semimetrics[d.Semimetric]
		if len(numbers) != 1 || numbers[0] != math.Floor(numbers[0]) || math.Abs(numbers[0]) > mostIntegers || (!known && d.Semimetric != "") {
			return false
		}
		p.Kind, p.Length, p.Semimetric = Permutation, int(numbers[0]), semimetric
		return true
	}
	if len(numbers) != 2 {
		return false
	}
	low, high := numbers[0], numbers[1]
	switch {
	case d.Type == "real":
		p.Kind, p.Low, p.High = Real, low, high
		return true
	case d.Type == "integer" && high-low < mostIntegers && math.Abs(low) < mostExact:
		p.Kind = Ordinal
		for x := math.Ceil(low); x <= high; x++ {
			p.Values = append(p.Values, x)
		}
		return true
	}
	return false
}

// numbers are the values, if all are numbers.
func (d *description) numbers() ([]float64, bool) {
	numbers := make([]float64, len(d.Values))
	for i, value := range d.Values {
		x, err := strconv.ParseFloat(plain(value), 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, false
		}
		numbers[i] = x
	}
	return numbers, true
}
