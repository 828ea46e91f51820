package codegen_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"libsparse/codegen"
	"libsparse/codegen/crun"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

var seeds = flag.Uint64("seeds", 10, "the number of random modules to try")

// room is the number of elements that each random loop may touch.
const room = 48

// generator makes random loops `out[base + v] op= expression`, over every type and operator.
type generator struct {
	*rand.Rand
	inputs map[dtype.T]*ir.Array
	n      *ir.Var
}

func (g *generator) pick(list ...dtype.Op) dtype.Op { return list[g.IntN(len(list))] }

// op is an operator that is defined for all values of t.
func (g *generator) op(t dtype.T) dtype.Op {
	ops := []dtype.Op{dtype.Add, dtype.Mul, dtype.And, dtype.Or}
	if !t.IsComplex() {
		ops = append(ops, dtype.Min, dtype.Max)
	}
	if t != dtype.Bool {
		ops = append(ops, dtype.Sub)
	}
	if t.IsFloat() {
		ops = append(ops, dtype.Div)
	}
	return g.pick(ops...)
}

func (g *generator) literal(t dtype.T) ir.Expr {
	switch {
	case t.IsFloat() || t.IsComplex():
		return &ir.Float{Value: float64(g.IntN(9)-4) / 2, T: t}
	case t == dtype.Bool:
		return &ir.Int{Value: int64(g.IntN(2)), T: t}
	case t == dtype.U8:
		return &ir.Int{Value: int64(g.IntN(256)), T: t}
	default:
		return &ir.Int{Value: int64(g.IntN(7) - 3), T: t}
	}
}

// leaf depends on v or not, at random.
func (g *generator) leaf(t dtype.T, v *ir.Var) ir.Expr {
	switch g.IntN(5) {
	case 0:
		return g.literal(t)
	case 1:
		return &ir.Load{Array: g.inputs[t], Index: num(int64(g.IntN(room)))}
	case 2:
		if t == dtype.I64 {
			return []ir.Expr{v, g.n}[g.IntN(2)]
		}
		fallthrough
	default:
		return &ir.Load{Array: g.inputs[t], Index: add(add(num(int64(g.IntN(5))), v), num(int64(g.IntN(5))))}
	}
}

func (g *generator) expr(t dtype.T, v *ir.Var, depth int) ir.Expr {
	if depth == 0 {
		return g.leaf(t, v)
	}
	next := func(t dtype.T) ir.Expr { return g.expr(t, v, depth-1) }
	choice := g.IntN(8)
	if t.IsHalf() && choice != 2 { // halves are only converted and chosen
		choice = 1
	}
	switch choice {
	case 0:
		if t != dtype.Bool {
			return &ir.Unary{Op: dtype.Neg, X: next(t)}
		}
		return &ir.Compare{Op: []ir.Cmp{ir.Lt, ir.Le, ir.Gt, ir.Ge, ir.Eq, ir.Ne}[g.IntN(6)], X: next(dtype.F32), Y: next(dtype.F32)}
	case 1:
		from := dtype.All()[g.IntN(len(dtype.All()))]
		switch {
		case (from.IsFloat() || from.IsComplex()) && (t.IsInt() || t == dtype.Bool && from.IsHalf()):
			return next(t)
		case from.IsComplex() && !t.IsComplex():
			return &ir.Cast{X: &ir.Unary{Op: []dtype.Op{dtype.Real, dtype.Imag}[g.IntN(2)], X: next(from)}, To: t}
		}
		return &ir.Cast{X: next(from), To: t}
	case 2:
		cond := &ir.Compare{Op: []ir.Cmp{ir.LogAnd, ir.LogOr}[g.IntN(2)], X: next(dtype.Bool), Y: next(dtype.Bool)}
		return &ir.Select{Cond: cond, Then: next(t), Else: next(t)}
	case 3:
		if t.IsInt() {
			return &ir.Binary{Op: dtype.Div, X: next(t), Y: &ir.Int{Value: int64(2 + g.IntN(5)), T: t}}
		}
		fallthrough
	default:
		return &ir.Binary{Op: g.op(t), X: next(t), Y: next(t)}
	}
}

// module has loops random loops for every type, and arguments for it.
func (g *generator) module(loops int) (*ir.Module, []ir.Arg) {
	m := &ir.Module{Slots: []ir.Slot{{Var: g.n}}}
	args := []ir.Arg{ir.ScalarArg(5)}
	for _, t := range dtype.All() {
		g.inputs[t] = in("in_"+string(t), t)
		b := ir.NewBuffer(t, room+16)
		for i := range b.Len() {
			part := func() float64 { return float64(g.IntN(33)-16) / 4 }
			switch {
			case t.IsFloat():
				b.Float[i] = part()
			case t.IsComplex():
				b.Complex[i] = complex(part(), part())
			default:
				b.Int[i] = g.literal(t).(*ir.Int).Value
			}
		}
		m.Slots, args = append(m.Slots, ir.Slot{Array: g.inputs[t]}), append(args, ir.ArrayArg(b))
	}
	var body []ir.Stmt
	for _, t := range dtype.All() {
		result := out("out_"+string(t), t)
		m.Slots = append(m.Slots, ir.Slot{Array: result})
		args = append(args, ir.ArrayArg(ir.NewBuffer(t, loops*room)))
		for k := range loops {
			v := iv(fmt.Sprintf("v_%s_%d", t, k))
			store := &ir.Store{Array: result, Index: add(v, num(int64(k*room))), Value: g.expr(t, v, g.IntN(4))}
			if g.IntN(3) == 0 && !t.IsHalf() {
				store.Reduce = g.op(t)
			}
			body = append(body, loop(v, num(0), num(int64(1+g.IntN(room-10))), ir.Simd, store))
		}
	}
	m.Funcs = []*ir.Func{{Name: "f", Body: block(body...)}}
	return m, args
}

// TestRandomLoops compares, on random loops: the interpreter before and after each pass, and compiled C.
func TestRandomLoops(t *testing.T) {
	var written, passes []*ir.Module // before and after the passes
	var args, wants [][]ir.Arg
	for seed := range *seeds {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), inputs: map[dtype.T]*ir.Array{}, n: iv("n")}
		m, given := g.module(8)
		if err := ir.Verify(m); err != nil {
			t.Fatal(seed, err)
		}
		want := ir.CloneArgs(given)
		if _, err := ir.Run(m, "f", want); err != nil {
			t.Fatal(seed, err)
		}
		passed := m
		for _, pass := range ir.Passes(codegen.Target(32)) {
			passed = pass.Run(passed)
			if err := ir.Verify(passed); err != nil {
				t.Fatalf("seed %d, after %s: %v", seed, pass.Name, err)
			}
			got := ir.CloneArgs(given)
			if _, err := ir.Run(passed, "f", got); err != nil {
				t.Fatalf("seed %d, after %s: %v", seed, pass.Name, err)
			}
			sameArgs(t, m, got, want)
		}
		written, passes, args, wants = append(written, m), append(passes, passed), append(args, given), append(wants, want)
	}
	for _, modules := range [][]*ir.Module{written, passes} {
		unit := crun.CompileUnit(t, modules, crun.Options{Warnings: &modules[0] == &passes[0]})
		for k, m := range modules {
			got := ir.CloneArgs(args[k])
			if _, err := unit.Runner(t, k)("f", got); err != nil {
				t.Fatal(err)
			}
			sameArgs(t, m, got, wants[k])
		}
		if err := unit.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHelpers runs the whole-array statements on awkward inputs.
func TestHelpers(t *testing.T) {
	for _, elem := range []dtype.T{dtype.I32, dtype.I64} {
		n, extent := iv("n"), iv("extent")
		a, perm, key, sum := out("a", elem), out("perm", elem), in("key", dtype.I32), out("sum", elem)
		m := &ir.Module{
			Slots: append(vars(n, extent), arrays(a, perm, key, sum)...),
			Funcs: []*ir.Func{{Name: "f", Body: block(
				&ir.Sort{Array: a, Lo: num(1), Hi: sub(n, num(1))},
				&ir.SortBy{Perm: perm, Key: key, Count: n, Extent: extent},
				&ir.Fill{Array: sum, Count: num(3), Value: &ir.Int{Value: 2, T: elem}},
				&ir.PrefixSum{Array: sum, Count: n},
			)}},
		}
		p := crun.Compile(t, m, crun.Options{Sanitize: true, Warnings: true})
		r := rand.New(rand.NewPCG(5, 6))
		for _, c := range []struct{ n, extent int64 }{{3, 1}, {5, 3}, {100, 2}, {3000, 7}, {3000, 5000}, {3000, 1 << 30}} {
			av, pv, kv, sv := ir.NewBuffer(elem, int(c.n)), ir.NewBuffer(elem, int(c.n)), ir.NewBuffer(dtype.I32, int(c.n)), ir.NewBuffer(elem, int(c.n))
			for i, q := range r.Perm(int(c.n)) {
				av.Int[i], pv.Int[i] = r.Int64N(c.extent)-c.extent/2, int64(q)
				kv.Int[i], sv.Int[i] = r.Int64N(c.extent), r.Int64N(5)
			}
			args := []ir.Arg{ir.ScalarArg(c.n), ir.ScalarArg(c.extent), ir.ArrayArg(av), ir.ArrayArg(pv), ir.ArrayArg(kv), ir.ArrayArg(sv)}
			want := ir.CloneArgs(args)
			if _, err := ir.Run(m, "f", want); err != nil {
				t.Fatal(err)
			}
			p.Run(t, []string{"f"}, args)
			sameArgs(t, m, args, want)
		}
	}
}

// TestSerialOption expects no threads where they are not wanted.
func TestSerialOption(t *testing.T) {
	source, err := codegen.Emit(gustavson(), codegen.Options{Serial: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"omp parallel", "omp for"} {
		if strings.Contains(source, word) {
			t.Errorf("serial code has %q", word)
		}
	}
}
