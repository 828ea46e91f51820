package autoschedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/infer"
	"libsparse/libsparse/schedule"
)

// The families of formats of order 2 that a row of the table is asked in: those that store a matrix by rows or by columns
// in an order that loops can follow, and those that have to be converted or are walked in no order.
var (
	byRows    = []string{"ds", "ss", "bs", "db"}
	byColumns = []string{"ds:1,0", "ss:1,0", "bs:1,0", "db:1,0"}
	others    = []string{"uq", "uq:1,0", "dh", "dh:1,0"}
	matrices  = slices.Concat(byRows, byColumns, others)
)

// tableRow is an expression of the table of schedules that have to come out.
type tableRow struct {
	spec string
	// formats has the alternatives of each operand.
	formats [][]string
	out     string
	// extents are those of indices that are not 4097.
	extents map[string]int64
	nnz     int64 // of sparse operands; 16 a row if 0
	orders  []string
	// wants is what else has to hold: it says what is wrong, or "".
	wants func(c *tableCase) string
}

// tableCase is a row with formats and the operands in some order, and what was decided.
type tableCase struct {
	formats map[string]string // by operand
	steps   []string
	*Decision
}

func (c *tableCase) has(command string) bool {
	return slices.ContainsFunc(c.Commands, func(s schedule.Command) bool { return strings.HasPrefix(s.String(), command) })
}

func (c *tableCase) converts(name string) bool {
	return slices.ContainsFunc(c.Conversions, func(conv Conversion) bool { return conv.Tensor.Name == name })
}

func (c *tableCase) order() string { return names(c.Order) }

// in reports whether an operand has one of some formats.
func (c *tableCase) in(name string, formats []string) bool {
	return slices.Contains(formats, c.formats[name])
}

var dense1, dense2 = []string{"d"}, []string{"dd", "dd:1,0"}

// table is what the specification asks for. Where it leaves a choice to the prices, several orders are allowed: a matrix
// stored by columns can be scattered from or transposed, and what is walked in no order is always converted. Rows of the
// result that come out by columns are the same algorithm with the roles of rows and columns exchanged.
var table = []tableRow{
	{ // SpMV
		spec: "ij,j->i", formats: [][]string{matrices, dense1}, orders: []string{"i j", "j i"},
		wants: func(c *tableCase) string {
			switch {
			case c.in("A", byRows) && (c.order() != "i j" || len(c.Conversions) > 0):
				return "rows are walked as they are stored"
			case c.order() == "i j" && !c.has("precompute(all, w, at=1, tile)"):
				return "the sum of a row stays in a register"
			case c.order() == "j i" && !c.in("A", byColumns) && !c.in("A", others):
				return "only columns are scattered from"
			}
			return ""
		},
	},
	{ // SpMM; a B that is stored by columns is read with a stride, since its layout is the caller's
		spec: "ij,jk->ik", formats: [][]string{matrices, {"dd"}}, orders: []string{"i j k"},
		wants: func(c *tableCase) string {
			switch {
			case !c.has("split(k, k0, k1, 64"):
				return "k is tiled"
			case c.has("split(i") || c.has("split(j"):
				return "nothing but k is tiled"
			case c.in("A", byRows) && len(c.Conversions) > 0:
				return "rows are walked as they are stored"
			}
			return ""
		},
	},
	{ // Gustavson; inner products (j innermost) and outer products (j outermost) are never chosen
		spec: "ij,jk->ik", formats: [][]string{matrices, matrices}, out: "ds", orders: []string{"i j k"},
		wants: gustavson,
	},
	{
		spec: "ij,jk->ik", formats: [][]string{byColumns, byColumns}, out: "ds:1,0", orders: []string{"k j i"},
		wants: func(c *tableCase) string {
			if !c.has("precompute(all, w, at=1, adaptive)") || len(c.Conversions) > 0 && !c.in("A", []string{"ss:1,0", "bs:1,0"}) {
				return "columns of the result are rows of workspace, and nothing is converted"
			}
			return ""
		},
	},
	{ // B is transposed, then Gustavson
		spec: "ij,kj->ik", formats: [][]string{byRows, byRows}, out: "ds", orders: []string{"i j k"},
		wants: func(c *tableCase) string {
			if !c.converts("B") {
				return "B is transposed"
			}
			return gustavson(c)
		},
	},
	{ // SDDMM, fused; a mask that is stored by columns is walked by columns, and hash tables in their own order. Where both
		// dense operands are stored with k outermost, k innermost would miss the cache twice a step, so that the mask is
		// walked once for each k
		spec: "ij,ik,kj->ij", formats: [][]string{slices.Concat(byRows, byColumns, []string{"uq", "dh"}), dense2, dense2},
		extents: map[string]int64{"k": 64}, orders: []string{"i j k", "j i k", "i k j", "j k i"}, wants: fused,
	},
	{ // MTTKRP, with long fibers: B is multiplied once for each i and k
		spec: "ikl,kj,lj->ij", formats: [][]string{{"dss", "sss", "dss:0,2,1"}, {"dd"}, {"dd"}},
		extents: map[string]int64{"k": 32, "l": 512, "j": 32}, nnz: 4097 * 32 * 64, orders: []string{"i k l j", "i l k j"},
		wants: func(c *tableCase) string {
			switch {
			case c.in("A", []string{"dss", "sss"}) && c.order() != "i k l j":
				return "the tensor is walked as it is stored"
			case !c.has("precompute(all, w, at=1, tile)"):
				return "the sums over j stay in registers"
			case c.order() == "i k l j" && !c.has("precompute(A*C, w_l, at=1, tile)") && !c.has("precompute(C*A, w_l, at=1, tile)"):
				return "the partial product over l is kept in a workspace over j"
			}
			return ""
		},
	},
	{ // two products with vectors, not a triple nest
		spec: "ij,jk,k->i", formats: [][]string{matrices, matrices, dense1},
		wants: func(c *tableCase) string {
			if len(c.steps) != 2 || !strings.HasPrefix(c.steps[0], "t1(j)") {
				return "B times x comes first"
			}
			return ""
		},
	},
	{ // merges of rows and columns; of different mode orders, all but one are converted
		spec: "ij,ij,ij->ij", formats: [][]string{{"ds", "ss"}, {"ds", "ss"}, {"ds", "ds:1,0"}}, out: "ds", orders: []string{"i j"},
		wants: func(c *tableCase) string {
			if c.converts("C") != (c.formats["C"] == "ds:1,0") {
				return "C is converted where it is stored by columns"
			}
			return ""
		},
	},
	{
		spec: "ij,ij->ij", formats: [][]string{{"ds", "ss"}, {"ds", "ds:1,0"}}, out: "ds", orders: []string{"i j"},
		wants: func(c *tableCase) string {
			if c.has("precompute") || c.has("assemble(insert)") {
				return "entries come in order, so nothing is kept"
			}
			return ""
		},
	},
}

func gustavson(c *tableCase) string {
	if !c.has("precompute(all, w, at=1, adaptive)") {
		return "the sums of a row are in a row of workspace"
	}
	return ""
}

func fused(c *tableCase) string {
	switch {
	case len(c.steps) != 1:
		return "no temporary of the size of the result"
	case c.in("A", byRows) && c.order() != "i j k" || c.in("A", byColumns) && c.order() != "j i k":
		return "the mask is walked as it is stored"
	case c.converts("A"):
		return "the mask is not converted"
	case c.converts("B") != c.in("B", []string{"dd:1,0"}) || c.converts("C") != c.in("C", []string{"dd"}):
		return "dense operands are copied where k is not contiguous"
	case !c.has("precompute(B*C, w, at=2, tile)") && !c.has("precompute(C*B, w, at=2, tile)"):
		return "each sum stays in a register"
	}
	return ""
}

// TestTable asks for every row with the operands in every order, in all formats of the families, and with sums where the
// row has them.
func TestTable(t *testing.T) {
	for _, r := range table {
		t.Run(fmt.Sprintf("%s->%s", r.spec, r.out), func(t *testing.T) {
			count := 0
			for _, formats := range choices(r.formats) {
				terms := strings.Split(strings.Split(r.spec, "->")[0], ",")
				order := make([]int, len(terms))
				for i := range order {
					order[i] = i
				}
				permute(order, 0, func(order []int) {
					count++
					if wrong := r.wrong(t, terms, formats, order); wrong != "" {
						t.Errorf("%v, operands %v: %s", formats, order, wrong)
					}
				})
			}
			t.Logf("%d cases", count)
		})
	}
}

func choices(parts [][]string) [][]string {
	out := [][]string{nil}
	for _, part := range parts {
		var longer [][]string
		for _, o := range out {
			for _, p := range part {
				longer = append(longer, append(slices.Clone(o), p))
			}
		}
		out = longer
	}
	return out
}

// wrong is what is wrong with the decision for one choice of formats, the operands in an order.
func (r *tableRow) wrong(t *testing.T, terms, formats []string, order []int) string {
	t.Helper()
	c := &tableCase{formats: map[string]string{}}
	a := r.assignment(t, terms, formats, order)
	for n, f := range formats {
		c.formats[string(rune('A'+n))] = f
	}
	for _, step := range Path(a, index.Names([]*index.Assignment{a.Assignment}), "", nil) {
		c.steps = append(c.steps, step.String())
	}
	if len(c.steps) == 1 {
		d, err := Decide(a, "")
		if err != nil {
			return err.Error()
		}
		c.Decision = d
		if !slices.Contains(r.orders, c.order()) {
			return fmt.Sprintf("loops %s, want one of %v", c.order(), r.orders)
		}
	} else if r.orders != nil {
		return "takes steps " + strings.Join(c.steps, "; ")
	}
	if wrong := r.wants(c); wrong != "" {
		var commands []string
		if c.Decision != nil {
			for _, command := range c.Commands {
				commands = append(commands, command.String())
			}
		}
		return fmt.Sprintf("%s, but %v %v", wrong, c.steps, commands)
	}
	return ""
}

// assignment is the einsum with the operands in an order; they keep their names.
func (r *tableRow) assignment(t *testing.T, terms, formats []string, order []int) bind.Assignment {
	t.Helper()
	var inputs []string
	var operands []*index.Tensor
	var storage *bind.Table
	extent := func(v rune) int64 {
		if n := r.extents[string(v)]; n > 0 {
			return n
		}
		return 4097
	}
	for _, n := range order {
		x := &index.Tensor{Name: string(rune('A' + n)), Elem: dtype.F32}
		s := bind.Storage{Format: format.MustParse(formats[n]), Index: dtype.I32, Statistics: bind.Statistics{NNZ: r.nnz}}
		for _, v := range terms[n] {
			s.Extents = append(s.Extents, extent(v))
		}
		if r.nnz == 0 {
			s.NNZ = 16 * s.Extents[0]
		}
		inputs, operands, storage = append(inputs, terms[n]), append(operands, x), storage.With(x, s)
	}
	result := &index.Tensor{Name: "out", Elem: dtype.F32}
	_, output, _ := strings.Cut(r.spec, "->")
	notation, err := index.ParseEinsum(strings.Join(inputs, ",")+"->"+output, operands, result, dtype.Mul, dtype.Add)
	if err != nil {
		t.Fatal(err)
	}
	a := bind.Assignment{Assignment: notation, Table: storage}
	if r.spec == "ij,ij->ij" { // the sum
		a.RHS = index.Term(dtype.Add, operandsOf(notation)[0], operandsOf(notation)[1])
	}
	s := bind.Storage{Index: dtype.I32}
	for _, v := range a.LHS.Vars {
		s.Extents = append(s.Extents, a.Extent(v))
	}
	if s.Format, s.SamePattern = infer.Output(a); r.out != "" {
		s.Format, s.SamePattern = format.MustParse(r.out), nil
	}
	return a.With(result, s)
}

func operandsOf(a *index.Assignment) []index.Expr {
	var out []index.Expr
	for _, acc := range index.Accesses(a.RHS) {
		out = append(out, acc)
	}
	return out
}
