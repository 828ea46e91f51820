package libsparse

import (
	"slices"
	"strings"
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/execute"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// gathering is the request for rows of a matrix.
func gathering(spec, matrix, result string) *Request {
	return &Request{
		Spec: spec,
		Operands: []Operand{
			{Name: "A0", Format: "dq", Dtype: "bool", PatternOnly: true, Index: "i64", Shape: []int64{16, 16}, NNZ: 16},
			{Name: "A1", Format: matrix, Dtype: "i32", Index: "i32", Shape: []int64{16, 16}, NNZ: 64},
		},
		Output: Output{Format: result, Dtype: "i32", Index: "i32"},
	}
}

// gathered runs the kernel of gathering on a matrix of three rows of three columns.
func gathered(t *testing.T, rows []int64) (*format.Data, error) {
	t.Helper()
	n, err := Single(gathering("ij,jk->ik", "ds", "ds"), avx2)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Lower(); err != nil {
		t.Fatal(err)
	}
	value := func(v int64) dtype.Value { return dtype.Int(dtype.I32, v) }
	call := &execute.Call{
		Assignment: n.Assignment, Kernel: n.Kernel, Shape: []int{len(rows), 3}, Threads: 2,
		Extents: map[index.Var]int{"i": len(rows), "j": 3, "k": 3},
		Stored: map[*index.Tensor]*format.Data{
			n.Operands[0]: {Format: format.Selection, Shape: []int{len(rows), 3}, Pos: make([][]int64, 2), Crd: [][]int64{nil, rows}},
			n.Operands[1]: {
				Format: format.MustParse("ds"), Shape: []int{3, 3}, Pos: [][]int64{nil, {0, 2, 2, 3}}, Crd: [][]int64{nil, {0, 2, 1}},
				Vals: []dtype.Value{value(1), value(2), value(3)},
			},
		},
	}
	return call.Result(func(fn string, args []ir.Arg) (int64, error) { return ir.Run(n.Loops, fn, args) })
}

func TestRowsAreCopied(t *testing.T) {
	got, err := gathered(t, []int64{2, 0, 1, 0})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Pos[1], []int64{0, 1, 3, 3, 5}) || !slices.Equal(got.Crd[1], []int64{1, 0, 2, 0, 2}) {
		t.Errorf("positions %v and columns %v", got.Pos[1], got.Crd[1])
	}
	for i, want := range []int64{3, 1, 2, 1, 2} {
		if got.Vals[i] != dtype.Int(dtype.I32, want) {
			t.Errorf("value %d is %v, want %d", i, got.Vals[i], want)
		}
	}
}

func TestRowsOfAMatrixWithoutValuesAreOne(t *testing.T) {
	r := gathering("ij,jk->ik", "ds", "ds")
	r.Operands[1].PatternOnly, r.Operands[1].Dtype, r.Output.Dtype = true, "bool", "bool"
	n, err := Single(r, avx2)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Lower(); err != nil {
		t.Fatal(err)
	}
	call := &execute.Call{
		Assignment: n.Assignment, Kernel: n.Kernel, Shape: []int{2, 3}, Threads: 1, Extents: map[index.Var]int{"i": 2, "j": 2, "k": 3},
		Stored: map[*index.Tensor]*format.Data{
			n.Operands[0]: {Format: format.Selection, Shape: []int{2, 2}, Pos: make([][]int64, 2), Crd: [][]int64{nil, {1, 0}}},
			n.Operands[1]: {Format: format.MustParse("ds"), Shape: []int{2, 3}, Pos: [][]int64{nil, {0, 1, 3}}, Crd: [][]int64{nil, {0, 1, 2}}},
		},
	}
	got, err := call.Result(func(fn string, args []ir.Arg) (int64, error) { return ir.Run(n.Loops, fn, args) })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Crd[1], []int64{1, 2, 0}) || slices.Contains(got.Vals, dtype.Int(dtype.Bool, 0)) {
		t.Errorf("columns %v and values %v", got.Crd[1], got.Vals)
	}
}

func TestRowsThatDoNotExistAreRefused(t *testing.T) {
	for _, row := range []int64{3, -1} {
		if _, err := gathered(t, []int64{0, row}); err == nil || !strings.Contains(err.Error(), "status 3") {
			t.Errorf("row %d: %v", row, err)
		}
	}
}

func TestSelectionsSelectRows(t *testing.T) {
	for _, r := range []*Request{
		gathering("ij,jk->ik", "ds:1,0", "ds"),
		gathering("ij,jk->ik", "ds", "dd"),
		gathering("ij,jk->ik", "ss", "ss"),
		gathering("ij,kj->ik", "ds", "ds"),
	} {
		if _, err := Lower(r, avx2); err == nil || !strings.Contains(err.Error(), "a selection (dq) selects rows") {
			t.Errorf("%s of %s: %v", r.Spec, r.Operands[1].Format, err)
		}
	}
}
