package libsparse

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"libsparse/libsparse/index"
)

// Random assignments: two or three operands with signs, functions, regions, windows, and sometimes a second assignment
// that reads the first.

// Calls of functions that are rounded: of those that make zero of zero, and of those that don't.
var (
	smooth  = []string{"sin(", "tanh(", "elu("}
	nonzero = []string{"exp(", "cos(", "sigmoid(", "softplus(", "hardsigmoid("}
	rounded = regexp.MustCompile(`\b(sin|tanh|elu|leaky_relu|exp|cos|sigmoid|softplus|hardsigmoid)\(`)
)

// exprMaker writes the text of one request.
type exprMaker struct {
	rng  *rand.Rand
	r    *Request
	vars []index.Var
	z    sizes
}

func exprRequest(rng *rand.Rand, r *Request, vars []index.Var, z sizes) *Request {
	m := &exprMaker{rng: rng, r: r, vars: vars, z: z}
	if rng.IntN(4) == 0 {
		r.Functions = randomFunctions(rng)
	}
	used := map[string]bool{}
	terms := []string{m.term(used)}
	for range 1 + rng.IntN(2) {
		terms = append(terms, m.term(used))
	}
	rhs := terms[0]
	for _, t := range terms[1:] {
		rhs = m.join(rhs, t)
	}
	sign := " = "
	if rng.IntN(4) == 0 {
		sign = pick(rng, []string{" += ", " min= ", " max= ", " mean= ", " |= ", " &= "})
	}
	jumps := slices.ContainsFunc([]string{"floor_divide", "remainder", "fmod", "//", "%"}, func(op string) bool { return strings.Contains(rhs, op) })
	if jumps { // what is rounded in the last place may fall on another side of a whole number
		sign = strings.Replace(sign, " mean= ", " += ", 1)
		rhs = rounded.ReplaceAllString(rhs, "abs(")
	}
	term := m.result(used)
	if rng.IntN(6) > 0 {
		r.Expr = "out" + m.indices("out", term, nil) + sign + rhs
	} else {
		first := "mid" + m.indices("mid", term, nil)
		r.Expr = first + sign + rhs + "; out(" + strings.Join(strings.Split(term, ""), ",") + ") = 2 * " + first + " - 1"
	}
	if rng.IntN(2) == 0 {
		r.Output.Format = randomFormat(rng, len(term))
	}
	if rng.IntN(3) == 0 { // whole numbers are divided otherwise
		for i := range r.Operands {
			r.Operands[i].Dtype = pick(rng, []string{"u8", "i8", "i16", "i32", "i64", "i64"})
		}
	}
	if jumps { // the absolute value of a complex number is rounded, too
		for i := range r.Operands {
			r.Operands[i].Dtype = cmp.Or(map[string]string{"c64": "f32", "c128": "f64"}[r.Operands[i].Dtype], r.Operands[i].Dtype)
		}
	}
	return r
}

// join puts two terms together by a sign, a function or an operator with a region of its own.
func (m *exprMaker) join(x, y string) string {
	rng := m.rng
	switch rng.IntN(8) {
	case 0:
		return fmt.Sprintf("%s(%s, %s)", pick(rng, []string{"min", "max", "lt", "ge", "eq", "ne", "xor", "and", "or", "first", "second", "heaviside", "floor_divide", "remainder", "fmod"}), x, y)
	case 1:
		op := pick(rng, []string{"add", "sub", "mul", "max", "first", "or"})
		region := pick(rng, []string{"0 & 1", "0 | 1", "0 ^ 1", "0 & ~1", "~0 & 1", "0", "1", "~0", "all", "~(0 & 1)", "~(0 | 1)"})
		return fmt.Sprintf("%s[%s](%s, %s)", op, region, x, y)
	case 2:
		if rng.IntN(3) == 0 { // an odd divisor, which no integer overflows to zero
			return fmt.Sprintf("%s(%s, 2 * %s + 1)", pick(rng, []string{"floor_divide", "remainder", "fmod"}), x, y)
		}
		if len(m.r.Functions) > 0 {
			return fmt.Sprintf("%s(%s, %s)", pick(rng, m.r.Functions).Name, x, y)
		}
		return "(" + x + ") * (" + y + ")"
	default:
		return x + pick(rng, []string{" + ", " - ", " * ", " + ", " - ", " * ", " + ", " - ", " * ", " // ", " % "}) + y
	}
}

// term is an access, perhaps with something done to it.
func (m *exprMaker) term(used map[string]bool) string {
	rng := m.rng
	perm := rng.Perm(len(m.vars))
	if rng.IntN(3) == 0 {
		perm = perm[:rng.IntN(len(perm)+1)]
	}
	term := ""
	for _, v := range perm {
		term += string(m.vars[v])
		used[string(m.vars[v])] = true
	}
	m.r.addOperand(rng, len(m.r.Operands), term, m.z.vars)
	o := &m.r.Operands[len(m.r.Operands)-1]
	text := o.Name + m.indices(o.Name, term, o.Shape)
	switch rng.IntN(14) {
	case 0:
		return pick(rng, append(smooth, "abs(", "-(", "trunc(", "square(", "sign(", "relu(", "not(", "stored(", "leaky_relu(")) + text + ")"
	case 6:
		return pick(rng, nonzero) + text + ")"
	case 5:
		return "pow(" + text + ", " + strconv.Itoa(rng.IntN(4)) + ")"
	case 1:
		if term == "" {
			return text
		}
		return text + " * " + string(term[0])
	case 2:
		return "2.5 * " + text
	case 3:
		return "(" + text + " / 4)"
	case 4:
		return "(" + text + " + 1)"
	default:
		return text
	}
}

// indices writes the variables of an access, some with windows.
func (m *exprMaker) indices(name, term string, shape []int64) string {
	if term == "" {
		return ""
	}
	parts := make([]string, len(term))
	for i, v := range term {
		parts[i] = string(v)
		if m.rng.IntN(6) == 0 {
			n := m.z.vars[index.Var(v)]
			lo, step := m.rng.IntN(4), 1+m.rng.IntN(3)
			hi := lo + step*(n-1) + 1 + m.rng.IntN(step)
			if n == 0 {
				hi = lo
			}
			parts[i] += fmt.Sprintf("(%d:%d:%d)", lo, hi, step)
			m.z.modes[modeName(name, i)] = hi + m.rng.IntN(3)
			if shape != nil {
				shape[i] = index.SizeClass(int64(m.z.modes[modeName(name, i)]))
			}
		}
	}
	return "(" + strings.Join(parts, ",") + ")"
}

// result picks some of the variables that the right side uses.
func (m *exprMaker) result(used map[string]bool) string {
	term := ""
	for _, v := range m.rng.Perm(len(m.vars)) {
		if used[string(m.vars[v])] && m.rng.IntN(3) > 0 {
			term += string(m.vars[v])
		}
	}
	return term
}

// randomFunctions are functions of two arguments with and without regions.
func randomFunctions(rng *rand.Rand) []Function {
	cases := pick(rng, [][]index.CaseText{
		{{Body: "a * b + a"}},
		{{Body: "a + 2 * b", Region: "a ^ b"}},
		{{Body: "a * a", Region: "a & b"}, {Body: "a", Region: "a"}, {Body: "-b", Region: "b"}},
		{{Body: "a - b + 1", Region: "~a"}, {Body: "3", Region: "a & ~b"}},
		{{Body: "where(gt(a, b), a, b)", Region: "a | b"}},
		{{Body: "max(a, 1) / 2"}},
	})
	return []Function{{Name: "custom", Params: []string{"a", "b"}, Cases: cases}}
}
