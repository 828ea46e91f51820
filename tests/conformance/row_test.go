// Package conformance is a table of what a sparse tensor compiler has to accept: the expressions, formats and data of the tests
// of TACO and Scorch, and every combination of formats for the common expressions. Each row is compiled and compared with the
// dense evaluator, sparse results level by level.
//
// It has no logic of its own beyond that: a row that fails is a bug of the compiler, and schedules have a table elsewhere.
package conformance

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"libsparse/libsparse"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
)

// row is one expression with the formats in which it has to work.
type row struct {
	// expr is an assignment, several, or an einsum, whose operands are A, B, C, ...
	expr string
	// formats are alternatives, such as "ds,d->d ss|uq,s->s": operands in the order of the text, and the result; "|" separates
	// choices of one of them, "any" are all formats, "x" and "y" such as "xy" all of d and s. Without a result it is inferred.
	// A format that ends in "!" is a pattern without values. Empty means all dense.
	formats string
	// types are alternatives such as "f32", "f32,f64" by operand, "i32->f64" with the result; empty means f64 and f32.
	types string
	// given has the data of operands by name; the others are random. want is what then comes out.
	given map[string]*fixture
	want  string
	// sizes are extents of variables; the others are random.
	sizes           map[index.Var]int
	reduce, combine string
	functions       []libsparse.Function
	density         float64
}

// tensor is an operand of a row, as the expression accesses it.
type tensor struct {
	name  string
	shape []int
}

// trial is a row with one choice of formats, types and sizes.
type trial struct {
	name     string
	request  *libsparse.Request
	operands []tensor
	extents  map[index.Var]int
	row      *row
	rng      *rand.Rand
}

// drawn is how many choices of formats of a row are run, drawn from all of them; LIBSPARSE_CONFORMANCE=all runs all.
const drawn = 100

// check runs the choices of a row. Few failures are enough to see what is wrong.
func (r *row) check(t *testing.T) {
	t.Helper()
	types := strings.Fields(r.types)
	if r.types == "" {
		types = []string{"f64", "f32"}
	}
	failures := 0
	choices := r.choices(t)
	order := rand.New(rand.NewPCG(uint64(len(choices)), 1)).Perm(len(choices))
	if os.Getenv("LIBSPARSE_CONFORMANCE") != "all" {
		order = order[:min(drawn, len(order))]
	}
	for _, at := range order {
		formats := choices[at]
		for _, elem := range types {
			c := r.trial(t, formats, elem)
			if failure := c.run(t); failure != "" {
				t.Errorf("%s: %s\n%s", c.name, failure, c.json(t))
				if failures++; failures == 3 {
					t.Fatal("and perhaps others")
				}
			}
		}
	}
}

// checkAll runs a group of rows.
func checkAll(t *testing.T, rows []row) {
	for i := range rows {
		t.Run(rows[i].expr, func(t *testing.T) {
			t.Parallel()
			rows[i].check(t)
		})
	}
}

// parse reads the expression and lists its operands and results in order; variables are called i to n.
func (r *row) parse(t *testing.T) (program []*index.Assignment, operands []*index.Tensor) {
	t.Helper()
	tensor := func(name string) *index.Tensor { return &index.Tensor{Name: name, Elem: dtype.F64} }
	if inputs, _, einsum := strings.Cut(r.expr, "->"); einsum {
		for n := range strings.Split(inputs, ",") {
			operands = append(operands, tensor(string(rune('A'+n))))
		}
		a, err := index.ParseEinsum(r.expr, operands, tensor("out"), dtype.Mul, dtype.Add)
		if err != nil {
			t.Fatal(err)
		}
		return []*index.Assignment{a}, operands
	}
	functions, err := (&libsparse.Request{Functions: r.functions}).Library()
	if err != nil {
		t.Fatal(err)
	}
	program, err = index.Grammar{Functions: functions, Lookup: func(name string, order int, result bool) (*index.Tensor, error) {
		if variable := len(name) == 1 && name >= "i" && name <= "n"; variable && !result && order == 0 {
			return nil, diag.Errorf(diag.Syntax, "%s is a variable", name)
		}
		x := tensor(name)
		if !result {
			operands = append(operands, x)
		}
		return x, nil
	}}.Parse(r.expr)
	if err != nil {
		t.Fatal(err)
	}
	return program, operands
}

// trial chooses sizes and makes the request.
func (r *row) trial(t *testing.T, formats []string, elem string) *trial {
	t.Helper()
	program, operands := r.parse(t)
	c := &trial{name: fmt.Sprintf("%s %v %s", r.expr, formats, elem), row: r, extents: map[index.Var]int{}, request: &libsparse.Request{Functions: r.functions, Reduce: r.reduce, Combine: r.combine}}
	hash := fnv.New64()
	hash.Write([]byte(c.name))
	c.rng = rand.New(rand.NewPCG(hash.Sum64(), 1))
	if c.request.Expr = r.expr; strings.Contains(r.expr, "->") {
		c.request.Spec, c.request.Expr = r.expr, ""
	}
	elems, result, _ := strings.Cut(elem, "->")
	c.request.Output.Dtype = result
	byOperand := strings.Split(elems, ",")
	if len(formats) > len(operands) {
		c.request.Output.Format = formats[len(operands)]
	}
	c.measure(program)
	for n, x := range operands {
		shape := c.shape(accessOf(program, x))
		c.operands = append(c.operands, tensor{x.Name, shape})
		o := libsparse.Operand{Name: x.Name, Dtype: byOperand[min(n, len(byOperand)-1)], Format: formats[n], Shape: []int64{}, NNZ: 1}
		o.Format, o.PatternOnly = strings.TrimSuffix(formats[n], "!"), strings.HasSuffix(formats[n], "!")
		for _, e := range shape {
			o.Shape = append(o.Shape, index.SizeClass(int64(e)))
			o.NNZ *= int64(e)
		}
		o.NNZ = o.NNZ/3 + 1
		c.request.Operands = append(c.request.Operands, o)
	}
	return c
}

func accessOf(program []*index.Assignment, x *index.Tensor) *index.Access {
	for _, a := range program {
		for _, acc := range index.Accesses(a.RHS) {
			if acc.Tensor == x {
				return acc
			}
		}
	}
	panic("an operand without an access")
}

// measure chooses extents: those of windows and given data, then those of the row, the others at random.
func (c *trial) measure(program []*index.Assignment) {
	for _, a := range program {
		for _, acc := range append(index.Accesses(a.RHS), a.LHS) {
			for m, v := range acc.Vars {
				if w, given := acc.Window(m), c.row.given[acc.Tensor.Name]; w != nil {
					c.extents[v] = int(w.Extent())
				} else if given != nil {
					c.extents[v] = given.shape[m]
				}
			}
		}
	}
	for _, a := range program {
		for _, v := range a.Vars() {
			if _, ok := c.extents[v]; ok {
				continue
			}
			n, ok := c.row.sizes[v]
			if c.extents[v] = n; !ok {
				c.extents[v] = 2 + c.rng.IntN(7)
			}
		}
	}
}

// shape is that of an accessed tensor: the extents of its variables, and modes a little longer than their windows.
func (c *trial) shape(acc *index.Access) []int {
	if given := c.row.given[acc.Tensor.Name]; given != nil {
		return given.shape
	}
	shape := make([]int, len(acc.Vars))
	for m, v := range acc.Vars {
		if shape[m] = c.extents[v]; acc.Window(m) != nil {
			shape[m] = int(acc.Window(m).Hi) + c.rng.IntN(3)
		}
	}
	return shape
}

// choices are the formats of operands and result, one after the other.
func (r *row) choices(t *testing.T) [][]string {
	t.Helper()
	program, operands := r.parse(t)
	last := program[len(program)-1].LHS
	text := r.formats
	if text == "" {
		for n, x := range operands {
			text += strings.Repeat(",", min(n, 1)) + strings.Repeat("d", len(accessOf(program, x).Vars))
		}
		text += "->" + strings.Repeat("d", len(last.Vars))
	}
	var out [][]string
	for set := range strings.FieldsSeq(text) {
		inputs, result, asked := strings.Cut(set, "->")
		parts := strings.Split(inputs, ",")
		if asked {
			parts = append(parts, result)
		}
		if len(operands) == 0 {
			parts = parts[1:]
		}
		if len(parts) != len(operands) && len(parts) != len(operands)+1 {
			t.Fatalf("%s has %d operands, %q is of %d", r.expr, len(operands), set, len(parts))
		}
		choices := [][]string{nil}
		for n, part := range parts {
			order := len(last.Vars)
			if n < len(operands) {
				order = len(accessOf(program, operands[n]).Vars)
			}
			choices = product(choices, expand(part, order))
		}
		out = append(out, choices...)
	}
	return out
}

// product appends each of parts to each of choices.
func product(choices [][]string, parts []string) [][]string {
	var out [][]string
	for _, c := range choices {
		for _, p := range parts {
			out = append(out, append(slices.Clone(c), p))
		}
	}
	return out
}
