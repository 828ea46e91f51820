package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/cmplx"
	"os"
	"slices"
	"time"

	"libsparse/codegen/native"
	"libsparse/libsparse"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/execute"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lower"
	"libsparse/libsparse/tensorfile"
)

// run computes the program, step by step, and says what came out.
func (p *program) run(ctx context.Context, out io.Writer) error {
	unit, err := libsparse.Divide(p.request, native.New())
	if err != nil {
		return err
	}
	held := map[string][]format.Entry{} // by name
	for _, t := range unit.Operands {
		if held[t.Name], err = p.entriesOf(t, unit.Storage.Of(t).Format); err != nil {
			return err
		}
	}
	for i, n := range unit.Nests {
		if err := n.Lower(); err != nil {
			return err
		}
		result, err := p.step(ctx, n, held, out)
		if err != nil {
			return err
		}
		t := n.Assignment.LHS.Tensor
		held[t.Name] = result.Entries()
		if i == len(unit.Nests)-1 && p.output != "" {
			return tensorfile.Write(p.output, tensorfile.New(result.Shape, t.Elem, result.Entries()))
		}
	}
	return nil
}

// step computes one assignment.
func (p *program) step(ctx context.Context, n *libsparse.Nest, held map[string][]format.Entry, out io.Writer) (*format.Data, error) {
	call := &execute.Call{
		Assignment: n.Assignment, Kernel: n.Kernel, Threads: p.threads, Extents: map[index.Var]int{}, Shape: p.shape(n.Assignment.LHS),
		Stored: map[*index.Tensor]*format.Data{}, Perms: map[*index.Tensor][]int64{},
	}
	for v, n := range p.size {
		call.Extents[v] = int(n)
	}
	for _, a := range index.Accesses(n.Assignment.RHS) {
		s := n.Assignment.Of(a.Tensor)
		d, err := packed(a.Tensor.Name, s.Format, p.shape(a), held[a.Tensor.Name])
		if err != nil {
			return nil, err
		}
		call.Stored[a.Tensor] = d
		if s.Permuted { // packed as the kernel reads it, so each value is where its position says
			for at := range d.Vals {
				call.Perms[a.Tensor] = append(call.Perms[a.Tensor], int64(at))
			}
		}
	}
	t, f := n.Assignment.LHS.Tensor, n.Assignment.Result().Format
	if f.Dense() {
		if _, err := volume(t.Name, p.shape(n.Assignment.LHS)); err != nil {
			return nil, err
		}
	}
	result, took, err := p.compiled(ctx, n, call)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%s\n%s: %q of %s, shape %v, %d entries, sum %s\n", n.Assignment, t.Name, f, t.Elem, result.Shape,
		len(result.Vals), sum(t.Elem, result.Vals))
	if p.repeat > 0 {
		slices.Sort(took)
		text += fmt.Sprintf("time: %v at best, %v in the median of %d, threads %d\n", took[0], took[len(took)/2], len(took), p.threads)
	}
	if _, err := io.WriteString(out, text); err != nil || !p.check {
		return result, err
	}
	return result, p.compare(n, call, result, out)
}

// sum is the number that a summary prints to tell results apart.
func sum(t dtype.T, values []dtype.Value) string {
	total := complex128(0)
	for _, v := range values {
		total += dtype.Convert(v, t, dtype.C128).Num
	}
	if t.IsComplex() {
		return fmt.Sprintf("%.6g", total)
	}
	return fmt.Sprintf("%.6g", real(total))
}

// compiled runs a kernel as C.
func (p *program) compiled(ctx context.Context, n *libsparse.Nest, call *execute.Call) (*format.Data, []time.Duration, error) {
	dir, err := os.MkdirTemp("", "libsparse")
	if err != nil {
		return nil, nil, diag.Errorf(diag.Toolchain, "no folder for the executable can be made: %v", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // in the folder for temporary files anyway
	prog, err := n.Backend.Load(ctx, p.request.Target.Tools(), dir, n.Loops)
	if err != nil {
		return nil, nil, err
	}
	var took []time.Duration
	result, err := call.Result(func(fn string, args []ir.Arg) (int64, error) {
		repeat := 0
		if fn == lower.ComputeName {
			repeat = p.repeat
		}
		status, times, err := prog.Run(ctx, []string{fn}, args, repeat)
		took = times
		return status, err
	})
	if status, ok := errors.AsType[*execute.Status](err); ok {
		err = refused(status.Code)
	}
	return result, took, err
}

// refused is the error for a kernel's status.
func refused(code int64) error {
	switch code {
	case ir.NoMemory:
		return diag.Errorf(diag.Shape, "the kernel could not allocate its workspace")
	case lower.TooLarge:
		return diag.Errorf(diag.Shape, "the result has more entries than 32 bits can count")
	case ir.DividedByZero:
		return diag.Errorf(diag.Dtype, "an integer is divided by zero by //, %% or fmod; choose with where(ne(y, 0), x // y, 0), or take a floating dtype")
	case lower.WrongSize:
		return diag.Errorf(diag.Shape, "the schedule does not suit the extents: a bound, a tail, or a workspace or fused loop that is too large")
	default:
		return diag.Errorf(diag.Internal, "the kernel returned status %d", code)
	}
}

// tolerance is the relative error that is expected of sums of type t, each element rounded once.
func tolerance(t dtype.T) float64 {
	switch t {
	case dtype.BF16:
		return 1e-2
	case dtype.F16:
		return 2e-3
	case dtype.F32, dtype.C64:
		return 1e-4
	default:
		return 1e-9
	}
}

// maxChecked is the number of points of the iteration space up to which a result is compared.
const maxChecked = 1 << 26

// compare evaluates the assignment densely.
func (p *program) compare(n *libsparse.Nest, call *execute.Call, got *format.Data, out io.Writer) error {
	points := 1.0
	for _, v := range n.Assignment.Vars() {
		points *= float64(p.size[v])
	}
	if points > maxChecked {
		return diag.Errorf(diag.Shape, "-check would visit %.3g points; use smaller extents", points)
	}
	data := map[*index.Tensor]*index.Dense{}
	for t, d := range call.Stored {
		data[t] = index.NewDense(d.Shape)
		for _, e := range d.Entries() {
			data[t].Set(e.Coord, e.Value)
		}
	}
	want := n.Evaluate(call.Extents, call.Shape, data)
	have := index.NewDense(got.Shape)
	for _, e := range got.Entries() {
		have.Set(e.Coord, e.Value)
	}
	elem := n.Assignment.LHS.Tensor.Elem
	worst := 0.0
	for i := range want.Vals {
		w := dtype.Convert(want.Vals[i], elem.Wide(), dtype.C128).Num
		h := dtype.Convert(have.Vals[i], elem, dtype.C128).Num
		worst = max(worst, cmplx.Abs(h-w)/(1+cmplx.Abs(w)))
	}
	if worst > tolerance(elem) || math.IsNaN(worst) {
		return diag.Errorf(diag.Internal, "the result differs from a dense evaluation by %.3g, relatively", worst)
	}
	_, err := fmt.Fprintf(out, "check: as a dense evaluation, but for %.2g\n", worst)
	return err
}
