// Package codegen turns a loop program into C, and C into a shared object.
//
// The C is byte-stable for equal modules (its text is part of the cache key) and made to be read. The package knows
// nothing of tensors, formats or schedules, keeps no files, and reads no environment: paths come as arguments.
package codegen

import (
	"fmt"
	"strings"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Options changes what Emit writes.
type Options struct {
	// Serial leaves out threads, for targets without an OpenMP runtime.
	Serial bool
	// FunctionBytes is the size of the vectors on which the vector library computes functions, also single values and shorter vectors: of each
	// size it has functions of its own with other last bits. 0 leaves single values to the C library.
	FunctionBytes int
}

// Emit is m as one C file: GNU C11, without dependencies but the C library and OpenMP. Every function of m becomes
// `int32_t name(int64_t *slots)`. m must have passed ir.Verify.
func Emit(m *ir.Module, opts Options) (source string, err error) {
	e := &emitter{opts: opts, uses: newUses(opts.FunctionBytes)}
	if err := e.functions(m, func(name string) string { return name }); err != nil {
		return "", err
	}
	return doc(m) + e.uses.before(e.String()), nil
}

// EmitUnit is many modules as one C file, which share declarations, types and helper functions: compiling thousands of kernels
// costs far less than one by one. Function f of module k is called name(k, f).
func EmitUnit(modules []*ir.Module, name func(k int, f string) string, opts Options) (source string, err error) {
	e := &emitter{opts: opts, uses: newUses(opts.FunctionBytes)}
	for k, m := range modules {
		e.WriteString("\n" + doc(m))
		if err := e.functions(m, func(f string) string { return name(k, f) }); err != nil {
			return "", err
		}
	}
	return e.uses.before(e.String()), nil
}

// doc is the comment that a module's text begins with.
func doc(m *ir.Module) string {
	if len(m.Doc) == 0 {
		return ""
	}
	lines := make([]string, len(m.Doc))
	for i, line := range m.Doc {
		lines[i] = commentText(line)
	}
	return "/* " + strings.Join(lines, "\n * ") + "\n */\n"
}

// functions writes the functions of m, each under the name that rename gives it.
func (e *emitter) functions(m *ir.Module, rename func(string) string) error {
	for _, f := range m.Funcs {
		e.fn(m, f, rename(f.Name))
		if e.err != nil {
			return e.err
		}
	}
	return nil
}

// commentText is text that cannot end the comment it stands in.
func commentText(text string) string {
	text = strings.ReplaceAll(text, "*/", "* /")
	text = strings.ReplaceAll(text, "/*", "/ *")
	return strings.TrimRight(text, "\\ \t")
}

// emitter writes functions. Its errors are sticky.
type emitter struct {
	strings.Builder
	opts  Options
	depth int
	uses  *uses
	err   error

	// Of the current function:
	facts  *facts
	slots  []ir.Slot
	frame  *frame   // the block that a failed allocation leaves
	live   []string // heap arrays of the frame that are allocated
	region *region  // the enclosing parallel region
	fault  string   // the flag that says that an integer was divided by zero; "" if none can be
	simd   bool     // inside a loop with a directive for vector code
}

func (e *emitter) line(format string, args ...any) {
	e.WriteString(strings.Repeat("    ", e.depth))
	fmt.Fprintf(&e.Builder, format, args...)
	e.WriteByte('\n')
}

// pragma writes a directive at the current depth.
func (e *emitter) pragma(format string, args ...any) { e.line("#pragma "+format, args...) }

func (e *emitter) failf(format string, args ...any) {
	if e.err == nil {
		e.err = diag.Errorf(diag.Internal, "BUG: no C for "+format, args...)
	}
}

// fn writes one function under a name.
func (e *emitter) fn(m *ir.Module, f *ir.Func, name string) {
	e.facts, e.slots, e.region = gather(m.Slots, f), m.Slots, nil
	if head, region := e.split(f); region != nil {
		e.fault, e.live = "", nil
		e.outlined(f, name, head, region)
		return
	}
	frame := newFrame("status", e.facts.fresh("done"), f.Body.Stmts)
	e.line("")
	e.line("int32_t %s(int64_t *slots)", name)
	e.line("{")
	e.depth++
	e.prologue()
	if e.fault = ""; ir.Divides(f.Body) {
		e.fault = e.facts.fresh("fault")
		e.line("int32_t %s = %d;", e.fault, ir.OK)
	}
	if len(frame.arrays) > 0 {
		e.line("int32_t status = %d;", ir.OK)
	}
	e.enter(frame)
	body, last := f.Body.Stmts, ir.Expr(&ir.Int{Value: ir.OK, T: ir.Index.Elem})
	if ir.EndsInReturn(f.Body) {
		last = body[len(body)-1].(*ir.Return).Value
		body = body[:len(body)-1]
	}
	e.stmts(body)
	e.leave(last, true)
	if e.exit(); frame.used {
		e.line("return status;")
	}
	e.depth--
	e.line("}")
}

// prologue binds the slots that the function uses to names.
func (e *emitter) prologue() {
	bound := false
	for i, s := range e.slots {
		switch {
		case s.Array != nil && e.facts.arrays[s.Array.Name]:
			star := e.pointer(s.Array)
			e.line("%srestrict %s = (%s)slots[%d];", star, name(s.Array.Name), strings.TrimSpace(star), i)
			bound = true
		case s.Var != nil && e.facts.reads[s.Var.Name]:
			e.slotScalar(s, i)
			bound = true
		}
	}
	if !bound {
		e.line("(void)slots;")
	}
}

func (e *emitter) slotScalar(s ir.Slot, i int) {
	c := ctype(s.Var.T)
	switch {
	case s.Var.T.Elem.IsFloat():
		e.line("%s %s;", c, name(s.Var.Name))
		e.line("memcpy(&%s, &slots[%d], sizeof %s);", name(s.Var.Name), i, name(s.Var.Name))
	case s.Out:
		e.line("%s %s = %s;", c, name(s.Var.Name), narrowed(s.Var.T, fmt.Sprintf("slots[%d]", i)))
	default:
		e.line("const %s %s = %s;", c, name(s.Var.Name), narrowed(s.Var.T, fmt.Sprintf("slots[%d]", i)))
	}
}

func narrowed(t ir.Type, text string) string {
	if t == ir.Index {
		return text
	}
	return fmt.Sprintf("(%s)%s", ctype(t), text)
}

// pointer is the pointer type of array a in this function, ready for a name to follow.
func (e *emitter) pointer(a *ir.Array) string {
	if e.readOnly(a) {
		return fmt.Sprintf("const %s *", elemType(a.Elem))
	}
	return fmt.Sprintf("%s *", elemType(a.Elem))
}

// readOnly reports whether the function never writes a.
func (e *emitter) readOnly(a *ir.Array) bool { return a.ReadOnly || !e.facts.written[a.Name] }

// leave writes a return. Where arrays have to be released it goes to the end of the frame, which follows if last is set.
func (e *emitter) leave(status ir.Expr, last bool) {
	n, literal := status.(*ir.Int)
	if literal && n.Value == ir.OK && e.fault != "" {
		status, literal = &ir.Var{Name: e.fault, T: ir.Scalar(dtype.I32)}, false
	}
	framed := len(e.live) > 0 || last && e.frame.used
	text := e.valueAs(status, ir.Scalar("i32"))
	switch {
	case literal && n.Value == ir.OK:
		e.writeBack()
	case framed:
		e.line("status = %s;", text)
		e.writeBackIf(!literal)
	case !literal && e.hasOut():
		e.line("const int32_t status = %s;", text)
		e.writeBackIf(true)
		text = "status"
	}
	switch {
	case !framed:
		e.line("return %s;", text)
	case !last:
		e.jump()
	}
}

// writeBackIf writes scalars back where the status, which is not known before, turns out to be OK.
func (e *emitter) writeBackIf(unknown bool) {
	if !unknown || !e.hasOut() {
		return
	}
	e.line("if (status == %d) {", ir.OK)
	e.depth++
	e.writeBack()
	e.depth--
	e.line("}")
}

// hasOut reports whether the function sets a scalar that it has to write back.
func (e *emitter) hasOut() bool {
	for _, s := range e.slots {
		if s.Out && e.facts.assigned[s.Var.Name] {
			return true
		}
	}
	return false
}

func (e *emitter) writeBack() {
	for i, s := range e.slots {
		switch {
		case !s.Out || !e.facts.assigned[s.Var.Name]:
		case s.Var.T.Elem.IsFloat():
			e.line("memcpy(&slots[%d], &%s, sizeof %s);", i, name(s.Var.Name), name(s.Var.Name))
		default:
			e.line("slots[%d] = %s;", i, name(s.Var.Name))
		}
	}
}
