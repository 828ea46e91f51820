package ir

import (
	"fmt"
	"math/rand/v2"
)

// RunOptions changes how RunWith executes.
type RunOptions struct {
	// Shuffle, if not zero, seeds the random order in which the iterations of Shared loops run, which exposes
	// iterations that depend on one another.
	Shuffle uint64
	// MaxSteps bounds the number of statements, against loops that don't end; 0 is 100 million.
	MaxSteps int
}

// Run executes the function called fn on args, one for every slot, and returns its status. It is the meaning of the
// loop language: slow, and every access is checked. A team has one thread. m must have passed Verify.
func Run(m *Module, fn string, args []Arg) (status int64, err error) {
	return RunWith(m, fn, args, RunOptions{})
}

// RunWith is Run with options.
func RunWith(m *Module, fn string, args []Arg, opts RunOptions) (status int64, err error) {
	if err := checkArgs(m.Slots, args); err != nil {
		return 0, err
	}
	for _, f := range m.Funcs {
		if f.Name == fn {
			return newMachine(m, args, opts).call(f)
		}
	}
	return 0, fmt.Errorf("no function %q", fn)
}

// machine is the state of one run.
type machine struct {
	slots  []Slot
	args   []Arg
	vars   map[string]value
	arrays map[string]*Buffer
	status int64
	done   bool // a Return was executed
	steps  int
	zero   bool       // an integer was divided by zero
	order  *rand.Rand // nil: in order
}

func newMachine(m *Module, args []Arg, opts RunOptions) *machine {
	x := &machine{slots: m.Slots, args: args, vars: map[string]value{}, arrays: map[string]*Buffer{}, steps: opts.MaxSteps}
	if x.steps == 0 {
		x.steps = 100_000_000
	}
	if opts.Shuffle != 0 {
		x.order = rand.New(rand.NewPCG(opts.Shuffle, 1))
	}
	for i, s := range m.Slots {
		if s.Array != nil {
			x.arrays[s.Array.Name] = args[i].Array
		} else {
			x.vars[s.Var.Name] = scalarFromWord(s.Var.T.Elem, *args[i].Scalar)
		}
	}
	return x
}

// fault ends the run; callers of machine's methods need not look at err before they return.
type fault struct{ err error }

func (m *machine) failf(format string, args ...any) {
	panic(fault{fmt.Errorf(format, args...)})
}

func (m *machine) call(f *Func) (status int64, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fault:
			err = fmt.Errorf("func %s: %w", f.Name, r.err)
		default:
			panic(r)
		}
	}()
	m.block(f.Body)
	if m.status == OK && m.zero {
		m.status = DividedByZero
	}
	if m.status == OK {
		for i, s := range m.slots {
			if s.Out {
				*m.args[i].Scalar = m.vars[s.Var.Name].word()
			}
		}
	}
	return m.status, nil
}

func (m *machine) block(b *Block) {
	for _, s := range b.Stmts {
		if m.done {
			return
		}
		m.stmt(s)
	}
}

func (m *machine) stmt(s Stmt) {
	m.step(s)
	switch s := s.(type) {
	case *Block:
		m.block(s)
	case *Decl:
		m.vars[s.Var.Name] = m.eval(s.Init).convert(s.Var.T.Elem).broadcast(s.Var.T.Lanes)
	case *Assign:
		m.assign(s)
	case *Store:
		m.store(s)
	case *For:
		m.loop(s)
	case *While:
		m.repeat(s)
	case *If:
		m.branch(s)
	case *Parallel:
		m.eval(s.Threads)
		if s.Cond != nil {
			m.eval(s.Cond)
		}
		m.block(s.Body)
	case *Return:
		m.status, m.done = m.eval(s.Value).Int, true
	case *Comment:
	default:
		m.arrayStmt(s)
	}
}

// step counts a statement or iteration, so that programs without an end fail.
func (m *machine) step(s Stmt) {
	if m.steps--; m.steps < 0 {
		m.failf("too many steps at %q", summary(s))
	}
}

func (m *machine) repeat(s *While) {
	for !m.done && m.eval(s.Cond).truth() {
		m.step(s)
		m.block(s.Body)
	}
}

func (m *machine) branch(s *If) {
	if m.eval(s.Cond).truth() {
		m.block(s.Then)
	} else if s.Else != nil {
		m.stmt(s.Else)
	}
}

func (m *machine) assign(s *Assign) {
	x := m.eval(s.Value).convert(s.Var.T.Elem).broadcast(s.Var.T.Lanes)
	if s.Reduce != "" {
		y, err := apply(s.Reduce, m.vars[s.Var.Name], x)
		if err != nil {
			m.failf("%v at %q", err, summary(s))
		}
		x = y
	}
	m.vars[s.Var.Name] = x
}

func (m *machine) loop(s *For) {
	lo, hi := m.eval(s.Lo).Int, m.eval(s.Hi).Int
	if s.Kind == Shared && s.Chunk != nil && m.eval(s.Chunk).Int < 1 {
		m.failf("chunk of %d at %q", m.eval(s.Chunk).Int, summary(s))
	}
	if s.Kind == Shared && m.order != nil && lo < hi {
		for _, k := range m.order.Perm(int((hi - lo + s.Step - 1) / s.Step)) {
			m.iteration(s, lo+int64(k)*s.Step)
		}
		return
	}
	for i := lo; i < hi && !m.done; i += s.Step {
		m.iteration(s, i)
	}
}

func (m *machine) iteration(s *For, i int64) {
	m.vars[s.Var.Name] = intValue(s.Var.T.Elem, i)
	m.step(s)
	m.block(s.Body)
}
