package ir_test

import (
	"strings"
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

func TestOverrun(t *testing.T) {
	i, p, last := iv("i"), iv("p"), iv("last")
	pos := &ir.Array{Name: "pos", Elem: dtype.I32}
	rows := func(lo ir.Expr, body ...ir.Stmt) ir.Stmt {
		return ir.Loop(i, lo, last, ir.Loop(p, ir.IndexAt(pos, i), ir.IndexAt(pos, ir.Next(i)), body...))
	}
	for _, c := range []struct {
		name string
		body ir.Stmt
		runs bool
	}{
		{"a number of each row", rows(ir.Const(0), put(y, p, at(x, i))), true},
		{"of some rows", rows(iv("first"), put(y, p, at(x, i))), true},
		{"entries times a number", rows(ir.Const(0), put(y, p, ir.Mul(at(x, p), at(x, i)))), true},
		{"in place", rows(ir.Const(0), put(y, p, ir.Mul(at(y, p), at(x, i)))), false},
		{"sums", rows(ir.Const(0), &ir.Store{Array: y, Index: p, Reduce: dtype.Add, Value: at(x, i)}), false},
		{"what is written by one row and read by another", rows(ir.Const(0), put(y, p, at(y, i))), false},
		{"neighbours", rows(ir.Const(0), put(y, p, at(x, ir.Next(p)))), false},
		{"beside the positions", rows(ir.Const(0), put(y, ir.Add(p, i), at(x, i))), false},
		{"by coordinates", rows(ir.Const(0), put(y, p, at(x, ir.IndexAt(idx, p)))), false},
	} {
		m := module(c.body)
		out := ir.Overrun(m, target(32))
		if runs := strings.Contains(text(out), "p_within"); runs != c.runs {
			t.Errorf("%s: vectors run over the ends of rows: %v, want %v\n%s", c.name, runs, c.runs, text(out))
		}
	}
}
