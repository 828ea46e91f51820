package index

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"libsparse/libsparse/dtype"
)

// library defines functions by operators: the head, where the last parameters may have values to take for arguments that are left out;
// the body, and the region in which it has a value, which is everywhere unless the function makes zero of zeros.
var library = []struct{ head, body, region string }{
	{"square(x)", "x * x", "x"},
	{"cube(x)", "x * x * x", "x"},
	{"reciprocal(x)", "1 / x", "all"},
	{"rsqrt(x)", "1 / sqrt(x)", "all"},
	{"sigmoid(x)", "1 / (1 + exp(-x))", "all"},
	{"relu(x)", "max(x, 0)", "x"},
	{"silu(x)", "x * sigmoid(x)", "x"},
	{"softplus(x)", "max(x, 0) + log1p(exp(-abs(x)))", "all"},
	{"logsigmoid(x)", "min(x, 0) - log1p(exp(-abs(x)))", "all"},
	{"leaky_relu(x, slope=0.01)", "where(gt(x, 0), x, slope * x)", "x"},
	{"elu(x, alpha=1)", "max(x, 0) + alpha * expm1(min(x, 0))", "x"},
	{"celu(x, alpha=1)", "max(x, 0) + alpha * expm1(min(x, 0) / alpha)", "x"},
	{"selu(x)", "1.0507009873554805 * max(x, 0) + 1.7580993408473766 * expm1(min(x, 0))", "x"},
	{"gelu(x)", "x * (1 + erf(0.7071067811865476 * x)) / 2", "x"},
	{"mish(x)", "x * tanh(softplus(x))", "x"},
	{"hardtanh(x, low=-1, high=1)", "min(max(x, low), high)", "all"},
	{"relu6(x)", "min(max(x, 0), 6)", "x"},
	{"hardsigmoid(x)", "relu6(x + 3) / 6", "all"},
	{"hardswish(x)", "x * relu6(x + 3) / 6", "x"},
	{"tanhshrink(x)", "x - tanh(x)", "x"},
	{"softsign(x)", "x / (1 + abs(x))", "x"},
	{"sign(x)", "gt(x, 0) - lt(x, 0)", "x"},
	{"frac(x)", "x - trunc(x)", "x"},
	{"not(x)", "eq(x, 0)", "all"},
	{"isnan(x)", "ne(x, x)", "x"},
	{"stored(x)", "1", "x"},
	{"truth(x)", "ne(x, 0)", "x"},
	{"heaviside(x, y)", "where(eq(x, 0), y, gt(x, 0))", "x | y"},
	{"hypot(x, y)", "sqrt(x * x + y * y)", "x | y"},
	{"clamp(x, low, high)", "min(max(x, low), high)", "all"},
}

// Library is the functions that every expression can call, by name.
var Library = sync.OnceValue(func() map[string]*Function {
	known := map[string]*Function{}
	for _, l := range library {
		name, list, _ := strings.Cut(strings.TrimSuffix(l.head, ")"), "(")
		var params []string
		var defaults []float64
		for _, param := range strings.Split(list, ", ") {
			param, number, given := strings.Cut(param, "=")
			params = append(params, param)
			if value, err := strconv.ParseFloat(number, 64); given && err == nil {
				defaults = append(defaults, value)
			}
		}
		f, err := NewFunction(name, params, []CaseText{{Region: l.region, Body: l.body}}, known)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		f.Defaults = defaults
		known[name] = f
	}
	return known
})

// Named replaces operators of e that are functions of the library, such as hypot as the combination of an einsum, by calls of them.
func Named(e Expr) Expr {
	c, ok := e.(*Call)
	if !ok {
		return e
	}
	args := make([]Expr, len(c.Args))
	for i, a := range c.Args {
		args[i] = Named(a)
	}
	named := c.With(args)
	if f := Library()[string(c.Op)]; f != nil && c.Function == nil && c.Op.Arity() == 0 && len(f.Params) == len(args) {
		named.Function = f
	}
	return named
}

// Signature describes a function to its callers: its name, its number of arguments, what the last of those are by default, whether its value is floating even for
// integers, and where it has a value: the bits of Region.Sets.
type Signature struct {
	Name     string    `json:"name"`
	Args     int       `json:"args"`
	Defaults []float64 `json:"defaults"`
	Float    bool      `json:"float"`
	Region   uint64    `json:"region"`
}

// Signatures lists every function that expressions can call, by name.
func Signatures() []Signature {
	var out []Signature
	for _, op := range append(dtype.Functions(), dtype.Sum) {
		out = append(out, Signature{string(op), op.Arity(), nil, op.NeedsFloat(), RegionOf(op).Sets})
	}
	for name, f := range Library() {
		out = append(out, Signature{name, len(f.Params), f.Defaults, needsFloat(f.Cases[0].Body), f.region().Sets})
	}
	slices.SortFunc(out, func(a, b Signature) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// needsFloat reports whether e is defined on floating operands only.
func needsFloat(e Expr) bool {
	c, ok := e.(*Call)
	if !ok {
		return false
	}
	if c.Function != nil {
		return needsFloat(c.Function.Cases[0].Body) || slices.ContainsFunc(c.Args, needsFloat)
	}
	return c.Op.NeedsFloat() || slices.ContainsFunc(c.Args, needsFloat)
}
