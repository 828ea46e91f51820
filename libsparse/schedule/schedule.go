// Package schedule is the scheduling language: commands on concrete index notation that change how a program runs and
// never what it computes.
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

// Apply runs commands in order, and verifies the result of each.
func Apply(p *cin.Program, commands []Command) (*cin.Program, error) {
	for _, c := range commands {
		q, err := c.Apply(p)
		if err != nil {
			return nil, err
		}
		if err := q.Verify(); err != nil {
			return nil, err
		}
		p = q
	}
	return p, nil
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
		body = &cin.Forall{Var: f.Var, Unit: f.Unit, Body: body}
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
		return &cin.Forall{Var: s.Var, Unit: s.Unit, Body: body}, ok
	case *cin.Where:
		consumer, a := rewrite(s.Consumer, v, f)
		producer, b := rewrite(s.Producer, v, f)
		return &cin.Where{Consumer: consumer, Producer: producer}, a || b
	default:
		return s, false
	}
}

func failf(c Command, format string, args ...any) error {
	return diag.Errorf(diag.Unsupported, "schedule: %s: "+format, append([]any{c}, args...)...)
}
