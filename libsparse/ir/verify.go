package ir

import (
	"fmt"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// Verify checks what every pass and codegen rely on: variables are declared before use, in scope, under distinct
// names, and types agree; constants and read-only arrays are never written; Shared loops stand in a Parallel, which
// nothing leaves early; every heap array is released in the block that made it.
//
// Integers of any width may initialise, be assigned or stored to integers of any width, as in C; operands of one
// operator have one element type. The error names the function and the statement.
func Verify(m *Module) error {
	for i, s := range m.Slots {
		if (s.Var == nil) == (s.Array == nil) {
			return diag.Errorf(diag.Internal, "BUG: slot %d must hold either a scalar or an array", i)
		}
	}
	for _, f := range m.Funcs {
		v := &verifier{names: map[string]bool{}, vars: map[string]*binding{}, arrays: map[string]*arrayBinding{}}
		for _, s := range m.Slots {
			v.slot(s)
		}
		v.block(f.Body)
		if v.err != nil {
			return diag.Errorf(diag.Internal, "BUG: func %s: %v", f.Name, v.err)
		}
	}
	return nil
}

// binding is a variable in scope.
type binding struct {
	t        Type
	constant bool
	regions  int // the number of enclosing Parallels at its declaration
}

// arrayBinding is an array in scope.
type arrayBinding struct {
	array *Array
	heap  bool
	freed bool
}

// verifier walks one function and keeps its first error.
type verifier struct {
	names   map[string]bool // every variable declared so far
	vars    map[string]*binding
	arrays  map[string]*arrayBinding
	regions int  // enclosing Parallels
	shared  bool // inside a Shared loop
	at      Stmt
	err     error
}

func (v *verifier) failf(format string, args ...any) {
	if v.err == nil {
		where := ""
		if v.at != nil {
			where = fmt.Sprintf(" at %q", summary(v.at))
		}
		v.err = fmt.Errorf(format+"%s", append(args, where)...)
	}
}

func (v *verifier) slot(s Slot) {
	if s.Array != nil {
		v.bindArray(s.Array, false)
		return
	}
	if s.Var.T.Elem.IsHalf() || s.Var.T.Elem.IsComplex() {
		v.failf("slot %s can't hold a scalar of type %s", s.Var.Name, s.Var.T)
	}
	v.declare(s.Var, !s.Out)
}

// declare brings x into scope.
func (v *verifier) declare(x *Var, constant bool) {
	if v.names[x.Name] || v.arrays[x.Name] != nil {
		v.failf("%s is declared twice", x.Name)
		return
	}
	if x.T.Elem.Size() == 0 || x.T.Lanes < 1 {
		v.failf("%s has no valid type", x.Name)
		return
	}
	v.names[x.Name] = true
	v.vars[x.Name] = &binding{t: x.T, constant: constant, regions: v.regions}
}

func (v *verifier) bindArray(a *Array, heap bool) {
	if v.names[a.Name] || v.arrays[a.Name] != nil {
		v.failf("%s is declared twice", a.Name)
		return
	}
	v.arrays[a.Name] = &arrayBinding{array: a, heap: heap}
}

// block checks b in a scope of its own, and that it releases the heap arrays it makes.
func (v *verifier) block(b *Block) {
	if b == nil {
		v.failf("a body is missing")
		return
	}
	var vars, arrays []string
	for _, s := range b.Stmts {
		v.at = s
		switch s := s.(type) {
		case *Decl:
			v.init(s)
			vars = append(vars, s.Var.Name)
		case *Alloc:
			v.index(s.Size)
			stack := s.OnStack()
			v.bindArray(s.Array, !stack)
			arrays = append(arrays, s.Array.Name)
		case *Free:
			v.free(s, arrays)
		default:
			v.stmt(s)
		}
		if v.err != nil {
			return
		}
	}
	for _, name := range vars {
		delete(v.vars, name)
	}
	for _, name := range arrays {
		if a := v.arrays[name]; a.heap && !a.freed && !EndsInReturn(b) {
			v.failf("heap array %s is not freed in its block", name)
		}
		delete(v.arrays, name)
	}
}

func (v *verifier) free(s *Free, local []string) {
	a := v.array(s.Array)
	if a == nil {
		return
	}
	inBlock := false
	for _, name := range local {
		inBlock = inBlock || name == s.Array.Name
	}
	if !a.heap || !inBlock {
		v.failf("%s is not a heap array of this block", s.Array.Name)
	}
	a.freed = true
}

// array is the binding of a, which must be alive.
func (v *verifier) array(a *Array) *arrayBinding {
	b := v.arrays[a.Name]
	switch {
	case b == nil || b.array.Elem != a.Elem:
		v.failf("array %s: %s[] is not in scope", a.Name, a.Elem)
		return nil
	case b.freed:
		v.failf("array %s is used after it is freed", a.Name)
		return nil
	}
	return b
}

// writable checks that a may be stored to.
func (v *verifier) writable(a *Array) {
	if b := v.array(a); b != nil && (b.array.ReadOnly || a.ReadOnly) {
		v.failf("array %s is read-only", a.Name)
	}
}

// variable checks that x may be assigned here.
func (v *verifier) variable(x *Var) {
	b := v.vars[x.Name]
	switch {
	case b == nil || b.t != x.T:
		v.failf("variable %s: %s is not in scope", x.Name, x.T)
	case b.constant:
		v.failf("%s is constant", x.Name)
	case b.regions != v.regions:
		v.failf("%s is assigned inside a parallel region and declared outside", x.Name)
	}
}

func (v *verifier) init(s *Decl) {
	v.convertible(s.Init, s.Var.T)
	v.declare(s.Var, s.Const)
}

// convertible checks that e can become a value of type t: the same element type or integers of another width, the
// same lanes or one that is broadcast.
func (v *verifier) convertible(e Expr, t Type) {
	got := v.expr(e)
	if v.err != nil {
		return
	}
	same := got.Elem == t.Elem || (got.Elem.IsInt() && t.Elem.IsInt() && t.Lanes == 1)
	if !same || (got.Lanes != t.Lanes && got.Lanes != 1) {
		v.failf("value %s is %s, expected %s", ExprText(e), got, t)
	}
}

// index checks that e is a scalar integer.
func (v *verifier) index(e Expr) {
	if t := v.expr(e); v.err == nil && (!t.Elem.IsInt() || t.Lanes != 1) {
		v.failf("%s is %s, expected an integer", ExprText(e), t)
	}
}

// cond checks that e is a scalar boolean.
func (v *verifier) cond(e Expr) {
	if t := v.expr(e); v.err == nil && t != Scalar(dtype.Bool) {
		v.failf("%s is %s, expected a boolean", ExprText(e), t)
	}
}
