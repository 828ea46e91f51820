// Package schedule is the scheduling language: commands on concrete index notation that change how a program runs and
// never what it computes. It holds the commands, one a file, and their text form, which is the one they print as.
//
// It must not decide anything: autoschedule, tuners and people choose the commands. The names follow Senanayake et al.,
// "A Sparse Iteration Space Transformation Framework for Sparse Tensor Algebra", and Halide for the shifted tail.
package schedule

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
)

// Command is one transformation. String prints it as a person would write it.
type Command interface {
	Apply(p *cin.Program) (*cin.Program, error)
	String() string
}

// checker is a command with a precondition that commands after it can break.
type checker interface {
	check(p *cin.Program) error
}

// Apply runs commands in order and verifies the result of each, and in the end what each command rests on.
func Apply(p *cin.Program, commands []Command) (*cin.Program, error) {
	q, _, err := apply(p, commands)
	return q, err
}

// apply is Apply; an error comes with the number of the command that it is about.
func apply(p *cin.Program, commands []Command) (q *cin.Program, at int, err error) {
	for i, c := range commands {
		q, err := c.Apply(p)
		if err != nil {
			return nil, i, err
		}
		if err := q.Verify(); err != nil {
			return nil, i, err
		}
		p = q
	}
	for i, c := range slices.Backward(commands) {
		if c, ok := c.(checker); ok {
			if err := c.check(p); err != nil {
				return nil, i, err
			}
		}
	}
	return p, 0, nil
}

// nest takes the loops around the innermost statement of a perfect nest apart.
func nest(s cin.Stmt) (loops []*cin.Forall, body cin.Stmt) {
	for {
		f, ok := s.(*cin.Forall)
		if !ok {
			return loops, s
		}
		loops = append(loops, f)
		s = f.Body
	}
}

func vars(loops []*cin.Forall) []index.Var {
	out := make([]index.Var, len(loops))
	for i, f := range loops {
		out[i] = f.Var
	}
	return out
}

// rebuild puts loops around body.
func rebuild(loops []*cin.Forall, body cin.Stmt) cin.Stmt {
	for _, f := range slices.Backward(loops) {
		body = f.With(body)
	}
	return body
}

// rewrite replaces every loop over v, wherever it stands, by what f makes of it.
func rewrite(s cin.Stmt, v index.Var, f func(*cin.Forall) cin.Stmt) (cin.Stmt, bool) {
	switch s := s.(type) {
	case *cin.Forall:
		if s.Var == v {
			return f(s), true
		}
		body, ok := rewrite(s.Body, v, f)
		return s.With(body), ok
	case *cin.Where:
		consumer, a := rewrite(s.Consumer, v, f)
		producer, b := rewrite(s.Producer, v, f)
		return &cin.Where{Consumer: consumer, Producer: producer}, a || b
	default:
		return s, false
	}
}

// loopsOver calls visit for every loop over v, whatever name it has there, with the loops around it.
func loopsOver(p *cin.Program, v index.Var, visit func(f *cin.Forall, outside []*cin.Forall)) {
	eachLoop(p.Body, func(f *cin.Forall) bool { return p.Original(f.Var) == p.Original(v) }, visit)
}

// loopsOn calls visit for every loop that a unit runs: commands after the one that said so may have given it other names.
func loopsOn(s cin.Stmt, u cin.Unit, visit func(f *cin.Forall, outside []*cin.Forall)) {
	eachLoop(s, func(f *cin.Forall) bool { return f.Unit == u }, visit)
}

func eachLoop(s cin.Stmt, wanted func(*cin.Forall) bool, visit func(f *cin.Forall, outside []*cin.Forall)) {
	var walk func(s cin.Stmt, outside []*cin.Forall)
	walk = func(s cin.Stmt, outside []*cin.Forall) {
		switch s := s.(type) {
		case *cin.Forall:
			if wanted(s) {
				visit(s, outside)
			}
			walk(s.Body, append(outside[:len(outside):len(outside)], s))
		case *cin.Where:
			walk(s.Producer, outside)
			walk(s.Consumer, outside)
		}
	}
	walk(s, nil)
}

// allLoops lists the variables that loops of s run over, for messages.
func allLoops(s cin.Stmt) []index.Var {
	switch s := s.(type) {
	case *cin.Forall:
		return append([]index.Var{s.Var}, allLoops(s.Body)...)
	case *cin.Where:
		out := allLoops(s.Producer)
		for _, v := range allLoops(s.Consumer) {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
		return out
	default:
		return nil
	}
}

// fresh refuses names of derived variables that can't be used.
func fresh(c Command, p *cin.Program, names ...index.Var) error {
	for i, v := range names {
		switch {
		case !isName(string(v)):
			return failf(c, "%q is no name of a variable", v)
		case p.Named(v) || slices.Contains(names[:i], v):
			return failf(c, "%s is already a variable; choose another name", v)
		}
	}
	return nil
}

// missing says that there is no loop over v.
func missing(c Command, p *cin.Program, v index.Var) error {
	loops := allLoops(p.Body)
	parts := slices.DeleteFunc(slices.Clone(loops), func(w index.Var) bool { return !dependsOn(p, w, []index.Var{v}) })
	if len(parts) > 0 {
		return failf(c, "there is no loop over %s: it has become %v", v, parts)
	}
	return failf(c, "there is no loop over %s; the loops are %v", v, loops)
}

func failf(c Command, format string, args ...any) error {
	return diag.Errorf(diag.Unsupported, "schedule: %s: "+format, append([]any{c}, args...)...)
}
