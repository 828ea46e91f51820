package codegen_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"libsparse/codegen"
	"libsparse/codegen/crun"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// applied is a function for each operator, of the same slots: it computes each element of x, or of x and y, in loops of literal and of unknown numbers of
// iterations, and adds it to what is there.
func applied(ops []dtype.Op, elem dtype.T) *ir.Module {
	x, y, n := in("x", elem), in("y", elem), iv("n")
	m := &ir.Module{Slots: append(arrays(x, y), vars(n)...)}
	loops := []struct {
		end  ir.Expr
		kind ir.LoopKind
	}{{num(7), ir.Simd}, {num(60), ir.Simd}, {n, ir.Simd}, {n, ir.Serial}}
	var targets []*ir.Array
	for i := range loops {
		targets = append(targets, out(fmt.Sprint("target", i), elem))
	}
	m.Slots = append(m.Slots, arrays(targets...)...)
	for _, op := range ops {
		value := func(x *ir.Array, v *ir.Var) ir.Expr {
			if op.Arity() == 2 {
				return &ir.Binary{Op: op, X: at(x, v), Y: at(y, v)}
			}
			return &ir.Unary{Op: op, X: at(x, v)}
		}
		f := &ir.Func{Name: "f_" + string(op), Body: block()}
		for i, l := range loops {
			v, w := iv(fmt.Sprint("v", i)), iv(fmt.Sprint("w", i))
			f.Body.Stmts = append(f.Body.Stmts, loop(v, num(0), l.end, l.kind, put(targets[i], v, value(x, v))))
			if l.kind == ir.Serial {
				f.Body.Stmts = append(f.Body.Stmts, loop(w, num(0), l.end, l.kind, put(targets[i], w, add(at(targets[i], w), value(x, w)))))
			}
		}
		m.Funcs = append(m.Funcs, f)
	}
	return m
}

// units is how many units in the last place two numbers of type t are apart.
func units(t dtype.T, got, want float64) float64 {
	if got == want || math.IsNaN(got) && math.IsNaN(want) {
		return 0
	}
	next := math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want)
	if t == dtype.F32 {
		next = float64(math.Nextafter32(float32(math.Abs(want)), float32(math.Inf(1)))) - math.Abs(want)
	}
	return math.Abs(got-want) / next
}

// TestFunctions computes every function on vectors of every width, of ordinary numbers and of those at the ends of its domain.
func TestFunctions(t *testing.T) {
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, math.Inf(1), math.Inf(-1), math.NaN(), 88.5, -87.5, 709, -708, 1e-30, 1e30, 2.5, 1e-3, -95, -103.5, -1e8}
	for _, elem := range []dtype.T{dtype.F32, dtype.F64} {
		x, y := ir.NewBuffer(elem, 60), ir.NewBuffer(elem, 60)
		for k := range 60 {
			x.Float[k] = float64(float32(float64(k)*0.37 - 3))
			if k%3 == 1 {
				x.Float[k] = float64(float32(special[k/3%len(special)]))
			}
			y.Float[k] = float64(float32(2.5 - 0.3*float64(k)))
		}
		for _, width := range []codegen.Target{16, 32, 64} {
			machine := codegen.Machine{Target: width}
			ops := slices.DeleteFunc(dtype.Functions(), func(op dtype.Op) bool {
				return !op.Approximates() && !op.IsFunction() || !op.On(elem) || !machine.Vectorizes(op, elem)
			})
			slices.Sort(ops)
			m := applied(ops, elem)
			compiled := crun.Compile(t, ir.Vectorize(m, machine), crun.Options{Warnings: true, Optimize: true})
			for _, op := range ops {
				most := 4.0
				if op == "log2" || op == dtype.Pow { // Go's, which the interpreter takes, are less accurate
					most = 32
				}
				for _, n := range []int64{0, 1, 5, 23, 60} {
					args := []ir.Arg{ir.ArrayArg(x), ir.ArrayArg(y), ir.ScalarArg(n)}
					for range 4 {
						args = append(args, ir.ArrayArg(ir.NewBuffer(elem, 60)))
					}
					got, want := ir.CloneArgs(args), ir.CloneArgs(args)
					if _, err := ir.Run(m, "f_"+string(op), want); err != nil {
						t.Fatal(err)
					}
					compiled.Run(t, []string{"f_" + string(op)}, got)
					for i := 3; i < len(args); i++ {
						for k, w := range want[i].Array.Float {
							if g := got[i].Array.Float[k]; units(elem, g, w) > most {
								t.Errorf("%s of %s in %d bytes, loop %d of %d: of %v and %v %v, want %v", op, elem, width, i-3, n, x.Float[k], y.Float[k], g, w)
							}
						}
					}
				}
			}
		}
	}
}
