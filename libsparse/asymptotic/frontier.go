package asymptotic

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/diag"
)

// Options say what to explore.
type Options struct {
	// TACO restricts the universe to what TACO can compile.
	TACO bool
	// Workers is how many goroutines explore it; 0 stands for one a processor.
	Workers int
	// Limit is how many programs may be explored, 0 for DefaultLimit.
	Limit int64
}

// DefaultLimit is ten times the largest universe of the paper.
const DefaultLimit = 40_000_000

// Frontier is the set of programs that no other program asymptotically dominates.
type Frontier struct {
	Assignment bind.Assignment
	// Depth is the least depth of a program, which is that of its deepest loop nest; only programs of that depth are explored.
	Depth int
	// Universe is the number of programs explored.
	Universe int64
	Classes  []Class

	problem *problem
	meter   *meter
}

// Class is the set of programs with the same cost.
type Class struct {
	// Tasks are the largest sets of tasks that every program of the class executes, without those that are sunk.
	Tasks    []string
	Programs []*Program

	cost costID
}

// Programs counts the programs on the frontier.
func (f *Frontier) Programs() int {
	n := 0
	for _, c := range f.Classes {
		n += len(c.Programs)
	}
	return n
}

// Explore finds the frontier of the programs that compute a. Operands are sparse where their format is.
func Explore(a bind.Assignment, o Options) (*Frontier, error) {
	p, err := newProblem(a)
	if err != nil {
		return nil, err
	}
	f := &Frontier{Assignment: a, problem: p, meter: newMeter(p, newStore())}
	groupings := p.groupings()
	if p.grouped > maxGroupings {
		return nil, diag.Errorf(diag.Unsupported, "frontier: there are more than %d ways to put parts of %s into workspaces; "+
			"compute some into tensors of their own", maxGroupings, a)
	}
	f.Depth = bound
	for _, g := range groupings {
		f.Depth = min(f.Depth, p.depth(placing{g: g, vars: p.all()}))
	}
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	e := newEnumerator(p, o.TACO)
	programs := int64(0)
	for _, g := range groupings {
		if at := (placing{g: g, vars: p.all(), depth: f.Depth}); p.depth(at) <= f.Depth {
			programs = sum(programs, e.count(at))
		}
	}
	limit := o.Limit
	if o.TACO {
		limit *= restriction
	}
	if programs > limit {
		return nil, diag.Errorf(diag.Unsupported, "frontier: %s has %d programs, more than %d; compute parts of it into tensors of their own",
			a, programs, limit)
	}
	workers := explore(p, e.units(groupings, f.Depth), o)
	front := newFront(f.meter.logic)
	for _, w := range workers {
		f.Universe += w.count
		for _, m := range w.front.members {
			if into := front.at(f.meter.adopt(w.meter.logic, m.cost)); into != nil {
				for _, n := range m.programs {
					into.found = append(into.found, found{w.enumerator, n})
				}
			}
		}
	}
	f.settle(front)
	return f, nil
}

// settle exports the programs on the front, by class.
func (f *Frontier) settle(front *front) {
	for _, m := range front.members {
		f.Classes = append(f.Classes, f.class(m))
	}
	slices.SortFunc(f.Classes, func(a, b Class) int { return strings.Compare(a.Programs[0].String(), b.Programs[0].String()) })
}

// class exports a member of the front.
func (f *Frontier) class(m *member) Class {
	c := Class{Tasks: f.meter.describe(m.cost), cost: m.cost}
	for _, at := range m.found {
		c.Programs = append(c.Programs, at.program(at.n))
	}
	slices.SortFunc(c.Programs, func(a, b *Program) int { return strings.Compare(a.text, b.text) })
	return c
}

// explore divides the units between workers. They share nothing but the problem.
func explore(p *problem, units []unit, o Options) []*explorer {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	workers := make([]*explorer, max(1, min(o.Workers, len(units)/manyUnits)))
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range workers {
		x := newExplorer(p.clone(), o.TACO)
		workers[i] = x
		wg.Go(func() {
			for at := int(next.Add(1)) - 1; at < len(units); at = int(next.Add(1)) - 1 {
				x.explore(units[at])
			}
		})
	}
	wg.Wait()
	return workers
}

// restriction is a lower bound of the number of programs for each that TACO can run, in large universes.
const restriction = 100

// manyUnits is the number of units from which on another worker pays.
const manyUnits = 32
