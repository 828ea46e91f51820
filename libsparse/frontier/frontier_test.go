package frontier

import (
	"math/rand/v2"
	"strings"
	"testing"

	"libsparse/libsparse"
	"libsparse/libsparse/asymptotic"
)

// table is the kernels of the frontier paper's figure 6.
var table = []struct{ name, expr, formats string }{
	{"SpMV", "a(i) = B(i,j) * c(j)", "ds,d->d"},
	{"SpMV2", "a(i) = B(i,j) * C(j,k) * d(k)", "ds,ds,d->d"},
	{"SpMTTKRP", "A(i,j) = B(i,k,l) * C(j,k) * D(j,l)", "dss,ds,ds->ds"},
	{"SpGEMM", "A(i,j) = B(i,k) * C(j,k)", "ds,ds->ds"},
	{"SpGEMM2", "A(i,j) = B(i,k) * C(k,l) * D(j,l)", "ds,ds,ds->ds"},
	{"SpGEMMH", "A(i,j) = B(i,k) * C(j,k) * D(j,k)", "ds,ds,ds->ds"},
}

// sized is a request with large extents and n entries a row, so that asymptotic differences are larger than constants.
func sized(expr, formats string) *libsparse.Request {
	r := &libsparse.Request{Expr: expr}
	in, out, _ := strings.Cut(formats, "->")
	_, rhs, _ := strings.Cut(expr, "=")
	accesses := strings.FieldsFunc(rhs, func(c rune) bool { return c == '*' || c == '+' || c == ' ' })
	for i, f := range strings.Split(in, ",") {
		name, vars, _ := strings.Cut(accesses[i], "(")
		o := libsparse.Operand{Name: name, Format: f, Dtype: "f32", NNZ: 16384}
		for m := range strings.Split(vars, ",") {
			o.Shape = append(o.Shape, 65536)
			if m == 1 {
				o.NNZ *= 1024
			}
		}
		r.Operands = append(r.Operands, o)
	}
	r.Output.Format = out
	return r
}

// TestOnlineIsOnTheFrontier compares the online scheduler's choice with every program, for the paper's kernels, and with
// every other loop order and conversion (see asymptotic.ExploreOrders) for random ones. For SpMTTKRP the universe is TACO's, where results are inserted into in
// one mode at most, as in libsparse; docs/asymptotic.md says what the others do to be below.
func TestOnlineIsOnTheFrontier(t *testing.T) {
	for _, k := range table {
		r := sized(k.expr, k.formats)
		fs, err := Of(r, asymptotic.Options{TACO: k.name == "SpMTTKRP"})
		if err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		if f := fs[0]; f.Online.Class < 0 {
			t.Errorf("%s: the online scheduler chose\n %s\nwhich does more than\n %s", k.name, f.Online.Program, f.Online.Below)
		}
	}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		expr, formats := randomKernel(rng)
		s, err := standing(sized(expr, formats))
		if err != nil {
			t.Errorf("%d: %s %s: %v", seed, expr, formats, err)
		} else if s.Below != nil {
			t.Errorf("%d: %s %s: the online scheduler chose\n %s\nwhich does more than\n %s", seed, expr, formats, s.Program, s.Below)
		}
	}
}

// standing is where the online scheduler's choice stands among its loop orders and conversions.
func standing(r *libsparse.Request) (*asymptotic.Standing, error) {
	steps, err := explored(r)
	if err != nil {
		return nil, err
	}
	nests, err := online(steps[0], "")
	if err != nil {
		return nil, err
	}
	f, err := asymptotic.ExploreOrders(steps[0], nests)
	if err != nil {
		return nil, err
	}
	return f.Compare(nests)
}

// randomKernel is a product of two or three operands over up to four indices.
func randomKernel(rng *rand.Rand) (expr, formats string) {
	names := []string{"i", "j", "k", "l"}[:2+rng.IntN(3)]
	var terms, stored []string
	used := map[string]bool{}
	for n := range 2 + rng.IntN(2) {
		var vars []string
		f := ""
		for _, v := range rng.Perm(len(names))[:1+rng.IntN(min(len(names), 3))] {
			vars = append(vars, names[v])
			used[names[v]] = true
			if strings.Contains(f, "s") { // the model doesn't count what a dense level below a sparse one pads
				f += "s"
			} else {
				f += []string{"d", "s"}[rng.IntN(2)]
			}
		}
		terms = append(terms, string(rune('A'+n))+"("+strings.Join(vars, ",")+")")
		stored = append(stored, f)
	}
	var out []string
	for _, v := range rng.Perm(len(names)) {
		if used[names[v]] && rng.IntN(2) == 0 && len(out) < 3 {
			out = append(out, names[v])
		}
	}
	lhs := "out"
	if len(out) > 0 {
		lhs += "(" + strings.Join(out, ",") + ")"
	}
	return lhs + " = " + strings.Join(terms, " * "), strings.Join(stored, ",") + "->"
}
