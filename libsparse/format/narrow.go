package format

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Narrow is a compressed level whose coordinates have 16 bits: half of the memory, and of what a kernel that waits for memory reads. The
// extent of its mode is at most 2^15.
type Narrow struct {
	listed
	compressed
}

// Props implements Level.
func (Narrow) Props() Props {
	return Props{Ordered: true, Unique: true, ConversionOnly: true, HasPos: true, HasCrd: true, Segmented: true}
}

func (Narrow) String() string { return "n" }

// Name implements Level.
func (Narrow) Name() string { return "compressed, with 16-bit coordinates" }

// CrdType implements Level.
func (Narrow) CrdType(dtype.T) dtype.T { return dtype.I16 }

// Most implements Bounded.
func (Narrow) Most() int64 { return 1 << 15 }

// Positions implements Layouter.
func (Narrow) Positions(crd, _ ir.Expr) ir.Expr { return crd }

// Measure implements Layouter: positions stay.
func (Narrow) Measure(l *Layout) (stmts []ir.Stmt, crd ir.Expr) {
	return []ir.Stmt{
		ir.Put(l.To.Pos, ir.Const(0), ir.Const(0)),
		l.parents(func(p *ir.Var) []ir.Stmt {
			return []ir.Stmt{ir.Put(l.To.Pos, ir.Next(p), ir.IndexAt(l.From.Pos, ir.Next(p)))}
		}),
	}, ir.IndexAt(l.From.Pos, l.Parents)
}

// Fill implements Layouter.
func (Narrow) Fill(l *Layout) []ir.Stmt {
	return []ir.Stmt{l.parents(func(p *ir.Var) []ir.Stmt {
		return []ir.Stmt{l.each(p, func(q, c *ir.Var) []ir.Stmt {
			return []ir.Stmt{ir.Put(l.To.Crd, q, c), ir.Put(l.Place, q, q)}
		})}
	})}
}
