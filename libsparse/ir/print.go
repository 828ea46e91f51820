package ir

import (
	"fmt"
	"strings"

	"libsparse/libsparse/dtype"
)

// String is m as readable text, the same for equal modules.
func (m *Module) String() string {
	p := &printer{}
	for _, line := range m.Doc {
		p.line("# %s", line)
	}
	p.line("slots")
	p.depth++
	for i, s := range m.Slots {
		p.line("%d: %s", i, slotText(s))
	}
	p.depth--
	for _, f := range m.Funcs {
		p.fn(f)
	}
	return p.String()
}

// String is f as readable text.
func (f *Func) String() string {
	p := &printer{}
	p.fn(f)
	return p.String()
}

// StmtText is s as readable text of one or more lines.
func StmtText(s Stmt) string {
	p := &printer{}
	p.stmt(s)
	return p.String()
}

// summary is the first line of s, for messages.
func summary(s Stmt) string {
	line, _, _ := strings.Cut(strings.TrimSpace(StmtText(s)), "\n")
	return line
}

func (t Type) String() string {
	if t.Lanes > 1 {
		return fmt.Sprintf("%sx%d", t.Elem, t.Lanes)
	}
	return string(t.Elem)
}

func (k LoopKind) String() string {
	return [...]string{"", " shared", " simd", " unrolled"}[k]
}

func slotText(s Slot) string {
	switch {
	case s.Array != nil && s.Array.ReadOnly:
		return fmt.Sprintf("%s: %s[] readonly", s.Array.Name, s.Array.Elem)
	case s.Array != nil:
		return fmt.Sprintf("%s: %s[]", s.Array.Name, s.Array.Elem)
	case s.Out:
		return fmt.Sprintf("%s: %s out", s.Var.Name, s.Var.T)
	default:
		return fmt.Sprintf("%s: %s", s.Var.Name, s.Var.T)
	}
}

// printer writes indented lines.
type printer struct {
	strings.Builder
	depth int
}

func (p *printer) line(format string, args ...any) {
	p.WriteString(strings.Repeat("  ", p.depth))
	fmt.Fprintf(&p.Builder, format, args...)
	p.WriteByte('\n')
}

func (p *printer) fn(f *Func) {
	p.line("func %s", f.Name)
	p.body(f.Body)
}

// body writes the statements of b one level deeper.
func (p *printer) body(b *Block) {
	if b == nil {
		return
	}
	p.depth++
	for _, s := range b.Stmts {
		p.stmt(s)
	}
	p.depth--
}

func (p *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Block:
		p.line("block")
		p.body(s)
	case *Decl:
		word := "var"
		if s.Const {
			word = "let"
		}
		p.line("%s %s: %s = %s", word, s.Var.Name, s.Var.T, ExprText(s.Init))
	case *Assign:
		p.line("%s %s %s", s.Var.Name, assignSign(s.Reduce), ExprText(s.Value))
	case *Store:
		how := ""
		switch {
		case s.Atomic:
			how = "atomic "
		case s.Streams:
			how = "stream "
		}
		p.line("%s%s %s %s", how, cell(s.Array, s.Index, StoreLanes(s)), assignSign(s.Reduce), ExprText(s.Value))
	case *For:
		p.loop(s)
	case *While:
		p.line("while %s", ExprText(s.Cond))
		p.body(s.Body)
	case *If:
		p.branch("if", s)
	case *Parallel:
		cond := ""
		if s.Cond != nil {
			cond = " if " + ExprText(s.Cond)
		}
		p.line("parallel %s%s", ExprText(s.Threads), cond)
		p.body(s.Body)
	default:
		p.arrayStmt(s)
	}
}

func (p *printer) arrayStmt(s Stmt) {
	switch s := s.(type) {
	case *Alloc:
		zero := ""
		if s.Zero {
			zero = " zero"
		}
		p.line("alloc %s: %s[%s]%s", s.Array.Name, s.Array.Elem, ExprText(s.Size), zero)
	case *Grow:
		p.line("grow %s to %s capacity %s", s.Array.Name, ExprText(s.Size), s.Capacity.Name)
	case *Free:
		p.line("free %s", s.Array.Name)
	case *Prefetch:
		p.line("prefetch %s", cell(s.Array, s.Index, int(s.Count)))
	case *Drain:
		p.line("drain if %s", ExprText(s.If))
	case *Fill:
		p.line("fill %s[0:%s] = %s", s.Array.Name, ExprText(s.Count), ExprText(s.Value))
	case *PrefixSum:
		p.line("prefixsum %s[0:%s]", s.Array.Name, ExprText(s.Count))
	case *Sort:
		p.line("sort %s[%s:%s]", s.Array.Name, ExprText(s.Lo), ExprText(s.Hi))
	case *SortPlaces, *MarkPlace, *ListPlaces:
		p.placesStmt(s)
	case *SortBy:
		p.line("sort %s[0:%s] by %s below %s", s.Perm.Name, ExprText(s.Count), s.Key.Name, ExprText(s.Extent))
	case *Return:
		p.line("return %s", ExprText(s.Value))
	case *Comment:
		p.line("# %s", s.Text)
	default:
		panic(fmt.Sprintf("BUG: no text for statement %T", s))
	}
}

func (p *printer) loop(s *For) {
	step, chunk := "", ""
	if s.Step != 1 {
		step = fmt.Sprintf(" step %d", s.Step)
	}
	if s.Chunk != nil {
		chunk = " chunk " + ExprText(s.Chunk)
	}
	if s.Unroll > 1 {
		chunk += fmt.Sprintf(" unroll %d", s.Unroll)
	}
	p.line("for %s = %s .. %s%s%s%s", s.Var.Name, ExprText(s.Lo), ExprText(s.Hi), step, s.Kind, chunk)
	p.body(s.Body)
}

func (p *printer) branch(word string, s *If) {
	p.line("%s %s", word, ExprText(s.Cond))
	p.body(s.Then)
	switch rest := s.Else.(type) {
	case nil:
	case *If:
		p.branch("else if", rest)
	case *Block:
		p.line("else")
		p.body(rest)
	default:
		panic(fmt.Sprintf("BUG: else is a %T", rest))
	}
}

// assignSign is the sign of an assignment that reduces by op.
func assignSign(op dtype.Op) string {
	switch {
	case op == "":
		return "="
	case op.Infix() != "":
		return op.Infix() + "="
	default:
		return string(op) + "="
	}
}

func (p *printer) placesStmt(s Stmt) {
	switch s := s.(type) {
	case *SortPlaces:
		p.line("sort places %s[0:%s] below %s with %s", s.Array.Name, ExprText(s.Count), ExprText(s.Extent), s.Bits.Name)
	case *MarkPlace:
		p.line("mark %s in %s", ExprText(s.Place), s.Bits.Name)
	case *ListPlaces:
		count := ""
		if s.Count != nil {
			count = s.Count.Name
		}
		p.line("list places %s[0:%s] from %s to %s of %s", s.Array.Name, count, ExprText(s.Lo), ExprText(s.Hi), s.Bits.Name)
	}
}
