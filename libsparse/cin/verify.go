package cin

import (
	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
)

// Verify checks that p is well formed: each variable that an access uses is bound by one enclosing loop, or follows
// from variables that are; no loop binds a variable twice; a workspace is read only by the consumer of the Where that
// fills it; reduction writes are only to what the Where or the program clears.
func (p *Program) Verify() error {
	v := verifier{program: p, filled: map[*index.Tensor]bool{}}
	return v.stmt(p.Body, map[index.Var]bool{})
}

type verifier struct {
	program *Program
	filled  map[*index.Tensor]bool
}

func (v *verifier) stmt(s Stmt, bound map[index.Var]bool) error {
	switch s := s.(type) {
	case *Forall:
		if bound[s.Var] {
			return diag.Errorf(diag.Internal, "concrete index notation: %s is bound twice in\n%s", s.Var, v.program)
		}
		inner := map[index.Var]bool{s.Var: true}
		for b := range bound {
			inner[b] = true
		}
		return v.stmt(s.Body, inner)
	case *Where:
		if err := v.stmt(s.Producer, bound); err != nil {
			return err
		}
		held := Written(s.Producer).Tensor
		if _, ok := v.program.Workspaces[held]; !ok {
			return diag.Errorf(diag.Internal, "concrete index notation: %s is no workspace in\n%s", held.Name, v.program)
		}
		v.filled[held] = true
		err := v.stmt(s.Consumer, bound)
		delete(v.filled, held)
		return err
	case *Assign:
		return v.assign(s, bound)
	default:
		return diag.Errorf(diag.Internal, "concrete index notation: unknown statement %T", s)
	}
}

func (v *verifier) assign(a *Assign, bound map[index.Var]bool) error {
	for _, acc := range append(index.Accesses(a.RHS), a.LHS) {
		for _, x := range acc.Vars {
			if !v.program.Visited(x, func(w index.Var) bool { return bound[w] }) {
				return diag.Errorf(diag.Internal, "concrete index notation: %s of %s is not bound in\n%s", x, acc, v.program)
			}
		}
		if _, ws := v.program.Workspaces[acc.Tensor]; ws && acc != a.LHS && !v.filled[acc.Tensor] {
			return diag.Errorf(diag.Internal, "concrete index notation: %s is read before it is filled in\n%s", acc, v.program)
		}
	}
	return nil
}
