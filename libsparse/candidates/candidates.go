// Package candidates lists the schedules that the compiler can carry out for a request, for benchmarks and tuners.
//
// It must not measure or choose among them.
package candidates

import (
	"libsparse/libsparse"
	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/backend"
	"libsparse/libsparse/diag"
)

// Candidate is a schedule that the compiler can carry out for a request, in the form in which requests have it.
type Candidate struct {
	Schedule string   `json:"schedule"`
	Order    []string `json:"order"`
	// Cost is the estimated cost of the order.
	Cost float64 `json:"cost"`
	// Plain candidates are what Decide would make of the order; Chosen is the one that Compile would run. In Tiled ones a
	// loop is cut into strips.
	Plain  bool `json:"plain"`
	Tiled  bool `json:"tiled"`
	Chosen bool `json:"chosen"`
}

// List is the schedules of a request that lead to different C: all orders of its loops with the conversions that they need,
// and unless plain is set, workspaces and tilings of all kinds.
func List(r *libsparse.Request, b backend.Backend, plain bool) ([]Candidate, error) {
	automatic := *r
	automatic.Schedule = ""
	nest, err := libsparse.Single(&automatic, b) // what takes several steps is scheduled step by step
	if err != nil {
		return nil, err
	}
	a := nest.Assignment
	if len(a.LHS.Vars) > 0 && len(a.Vars()) == 0 {
		return nil, diag.Errorf(diag.Unsupported, "%s has no loops", a)
	}
	all := autoschedule.Candidates(a, r.Target.CPU, plain)
	d, err := autoschedule.DecideFor(a, nest.Machine)
	if err != nil {
		return nil, err
	}
	l := &list{request: r, backend: b, seen: map[string]int{}}
	l.add(autoschedule.Candidate{Order: d.Order, Terms: d.Terms, Plain: true, Commands: d.Complete()}, true)
	for _, c := range all {
		l.add(c, false)
	}
	return l.found, nil
}

// list collects candidates; candidates with the same C are one.
type list struct {
	request *libsparse.Request
	backend backend.Backend
	found   []Candidate
	seen    map[string]int // the place in found, by formats and C
}

func (l *list) add(c autoschedule.Candidate, chosen bool) {
	scheduled := *l.request
	scheduled.Schedule = c.String()
	compiled, err := libsparse.Lower(&scheduled, l.backend)
	if err != nil {
		return // what it needs is not there, which the commands themselves check
	}
	text := compiled.Nests[0].Code()
	at, known := l.seen[text]
	if !known {
		at = len(l.found)
		l.seen[text] = at
		next := Candidate{Schedule: scheduled.Schedule, Cost: c.Terms.Sum()}
		for _, v := range c.Order {
			next.Order = append(next.Order, string(v))
		}
		l.found = append(l.found, next)
	}
	f := &l.found[at]
	f.Plain = f.Plain || c.Plain
	f.Tiled = c.Tiled && (f.Tiled || !known)
	f.Chosen = f.Chosen || chosen
}
