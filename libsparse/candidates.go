package libsparse

import (
	"libsparse/codegen"
	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/schedule"
)

// Candidate is a schedule that the compiler can carry out for a request, in the form in which requests have it.
type Candidate struct {
	Schedule string   `json:"schedule"`
	Order    []string `json:"order"`
	// Cost is what the model says of the order.
	Cost float64 `json:"cost"`
	// Plain candidates are what Decide would make of the order; Chosen is the one that Compile would run. In Tiled ones a
	// loop is cut into strips.
	Plain  bool `json:"plain"`
	Tiled  bool `json:"tiled"`
	Chosen bool `json:"chosen"`
}

// Candidates lists the schedules of a request that lead to different C: all orders of its loops with the conversions that
// they need, and unless plain is set, workspaces and tilings of all kinds.
func Candidates(r *Request, plain bool) ([]Candidate, error) {
	one := *r
	one.Schedule = ";" // no path: what takes several steps is scheduled step by step
	s := &State{Request: &one, VectorBytes: codegen.VectorBytes()}
	if err := run(s, Pipeline()[:3], nil); err != nil {
		return nil, err
	}
	if s.Assignment.LHS.Tensor.Order() > 0 && len(s.Assignment.Vars()) == 0 {
		return nil, diag.Errorf(diag.Unsupported, "%s has no loops", s.Assignment)
	}
	seen := map[string]int{}
	var out []Candidate
	try := func(c autoschedule.Candidate, chosen bool) {
		one.Schedule = c.String() + ";"
		made, err := Lower(&one, s.VectorBytes)
		if err != nil {
			return // what it needs is not there, which the commands themselves check
		}
		text := made.body()
		at, known := seen[text]
		if !known {
			at = len(out)
			seen[text] = at
			found := Candidate{Schedule: one.Schedule, Cost: c.Terms.Sum()}
			for _, v := range c.Order {
				found.Order = append(found.Order, string(v))
			}
			out = append(out, found)
		}
		out[at].Plain = out[at].Plain || c.Plain
		out[at].Tiled = c.Tiled && (out[at].Tiled || !known)
		out[at].Chosen = out[at].Chosen || chosen
	}
	all := autoschedule.Candidates(s.Assignment, r.Target.CPU, plain)
	d, err := autoschedule.DecideFor(s.Assignment, s.machine())
	if err != nil {
		return nil, err
	}
	try(autoschedule.Candidate{Order: d.Order, Terms: d.Terms, Plain: true, Commands: withConversions(d)}, true)
	for _, c := range all {
		try(c, false)
	}
	return out, nil
}

// withConversions is the commands of a decision, with those that convert operands.
func withConversions(d *autoschedule.Decision) []schedule.Command {
	var out []schedule.Command
	for _, c := range d.Conversions {
		out = append(out, schedule.Convert{Tensor: c.Tensor.Name, To: c.To})
	}
	return append(out, d.Commands...)
}

// body is the formats and the C, without what its header says about how it was made.
func (s *State) body() string {
	m := *s.Loops
	m.Doc = nil
	text, err := codegen.Emit(&m, codegen.Options{})
	if err != nil {
		panic("BUG: " + err.Error()) // with the header it was fine
	}
	return printFormats(s) + text
}
