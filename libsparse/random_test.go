package libsparse

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"libsparse/codegen/crun"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/tests/corpus"
)

// Random einsums of one to three operands over up to four variables; assignments are in randomexpr_test.go.

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func randomFormat(rng *rand.Rand, order int) string {
	text, level := "", ""
	for range order {
		level = pick(rng, []string{"d", "d", "d", "s", "s", "s", "s", "b", "p", "l(2)", "h", "w(4)", "n"})
		if strings.HasSuffix(text, "d") && rng.IntN(4) == 0 {
			level = pick(rng, []string{"o", "k(2,2)", "k(3,1)", "k(1,4)"})
		}
		text += level
	}
	if order >= 2 && rng.IntN(6) == 0 {
		text = "u" + strings.Repeat("c", order-2) + "q"
	}
	perm := rng.Perm(order)
	if order > 1 && rng.IntN(2) == 0 {
		for i, m := range perm {
			text += string(":,"[min(i, 1)]) + strconv.Itoa(m)
		}
	}
	return text
}

// randomRequest makes an expression with the extents of its variables.
func randomRequest(rng *rand.Rand) (*Request, sizes) {
	vars := []index.Var{"i", "j", "k", "l"}[:1+rng.IntN(4)]
	z := sizes{vars: map[index.Var]int{}, modes: map[string]int{}}
	for _, v := range vars {
		z.vars[v] = pick(rng, []int{0, 1, 2, 3, 5, 7, 8, 11, 16, 19})
	}
	if len(vars) == 4 {
		for _, v := range vars {
			z.vars[v] = min(z.vars[v], 7)
		}
	}
	r := &Request{}
	if rng.IntN(12) == 0 {
		return layoutRequest(rng, r, vars[:min(len(vars), 3)], z), z
	}
	if rng.IntN(3) == 0 {
		return exprRequest(rng, r, vars, z), z
	}
	var terms []string
	used := map[index.Var]bool{}
	for i := range 1 + rng.IntN(3) {
		perm := rng.Perm(len(vars))[:rng.IntN(min(len(vars), 3)+1)]
		term := ""
		for _, v := range perm {
			term += string(vars[v])
			used[vars[v]] = true
		}
		terms = append(terms, term)
		r.addOperand(rng, i, term, z.vars)
	}
	out := ""
	for _, i := range rng.Perm(len(vars)) {
		if used[vars[i]] && rng.IntN(2) == 0 && len(out) < 3 {
			out += string(vars[i])
		}
	}
	r.Spec = strings.Join(terms, ",") + "->" + out
	if rng.IntN(3) == 0 {
		r.vary(rng)
	}
	if rng.IntN(3) == 0 {
		r.Reduce = pick(rng, []string{"sum", "min", "max", "any", "all", "xor", "mean"})
		r.Combine = pick(rng, []string{"mul", "add", "sub", "min", "max", "first", "second", "lt", "ge", "eq", "xor", "and"})
	}
	if r.Reduce == "" && rng.IntN(5) == 0 {
		elem := pick(rng, []string{"i16", "i32", "i64"})
		for i := range r.Operands {
			r.Operands[i].Dtype = elem
		}
	}
	if rng.IntN(2) == 0 {
		r.Output.Format = randomFormat(rng, len(out))
	}
	return r, z
}

// layoutRequest copies a tensor to a format with a level that is laid out by all of what is stored.
func layoutRequest(rng *rand.Rand, r *Request, vars []index.Var, z sizes) *Request {
	term := ""
	for _, v := range vars {
		term += string(v)
	}
	r.addOperand(rng, 0, term, z.vars)
	for range 100 {
		to := format.MustParse(randomFormat(rng, len(term)))
		at := slices.IndexFunc(to.Levels, func(l format.Level) bool { return l.Props().ConversionOnly })
		if at < 0 {
			continue
		}
		from := format.Format{Levels: slices.Clone(to.Levels), ModeOrder: to.ModeOrder}
		from.Levels[at] = to.Levels[at].(format.Layouter).Source()
		for l := at + 1; l < len(to.Levels); l++ {
			if made, ok := to.Levels[l].(format.Layouter); ok { // one is laid out at a time
				to.Levels[l], from.Levels[l] = made.Source(), made.Source()
			}
		}
		r.Operands[0].Format, r.Operands[0].PatternOnly = from.String(), false
		r.Output.Format = to.String()
		break
	}
	r.Spec = term + "->" + term
	return r
}

// vary has extents below 64 be of the class of those that vary from call to call.
func (r *Request) vary(rng *rand.Rand) {
	terms, _, _ := strings.Cut(r.Spec, "->")
	chosen := map[rune]bool{}
	for _, v := range terms {
		chosen[v] = rng.IntN(2) == 0
	}
	for i, term := range strings.Split(terms, ",") {
		for m, v := range term {
			if n := r.Operands[i].Shape[m]; chosen[v] && n < 64 {
				r.Operands[i].Shape[m] = 10
			}
		}
	}
}

func (r *Request) addOperand(rng *rand.Rand, i int, term string, extents map[index.Var]int) {
	o := Operand{Name: string(rune('A' + i)), Format: randomFormat(rng, len(term)), Dtype: string(pick(rng, dtype.All()))}
	volume := int64(1)
	for _, v := range term {
		n := int64(extents[index.Var(v)])
		volume *= n
		o.Shape = append(o.Shape, index.SizeClass(n))
	}
	if i > 0 && rng.IntN(4) > 0 {
		o.Dtype = r.Operands[0].Dtype
	}
	o.NNZ = volume / 3 * pick(rng, []int64{1, 1, 1 << 18}) // large counts make the scheduler choose other things
	o.Far = o.NNZ > volume
	o.PatternOnly = rng.IntN(8) == 0 && strings.ContainsAny(o.Format, "subplokhw")
	r.Operands = append(r.Operands, o)
}

// TestRandomPrograms compares the meanings of random programs, each as autoschedule runs it and with a random schedule.
// LIBSPARSE_FUZZ=n tries n of them; LIBSPARSE_SEED=s starts from another seed. make fuzz sets both.
func TestRandomPrograms(t *testing.T) {
	count, seed := fromEnv("LIBSPARSE_FUZZ", 3000), fromEnv("LIBSPARSE_SEED", 1)
	for first := 0; first < count; first += batched {
		last := min(first+batched, count)
		t.Run(fmt.Sprintf("%d-%d", seed+first, seed+last-1), func(t *testing.T) {
			t.Parallel()
			var b batch
			for n := first; n < last; n++ {
				b.addSeed(t, uint64(seed+n))
			}
			b.compile(t, crun.Options{Warnings: true, Quick: true, Sanitize: first/batched%sanitized == 0})
		})
	}
}

const (
	batched   = 100 // programs whose C is compiled together
	sanitized = 20  // batches to one that is compiled with sanitizers, which takes several times as long
	together  = 50  // kernels in a unit that is compiled with sanitizers, so that the C compiler keeps to its time on slow machines
)

// batch is programs whose C is compared together.
type batch struct {
	checks []compiledCheck
	owner  []*trial // of each check
}

// addSeed adds the program of a seed, and the same with a random schedule.
func (b *batch) addSeed(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	c := &trial{Seed: seed}
	var z sizes
	c.Request, z = randomRequest(rng)
	c.Extents, c.Modes = z.vars, z.modes
	c.Density = pick(rng, densities)
	if !b.add(t, c) {
		return
	}
	var other *Request
	if failure := failureOf(t, func(t testing.TB) { other = rescheduled(t, rng, c.Request, c.Extents) }); failure != "" {
		t.Fatalf("seed %d: %s", seed, failure)
	}
	if other != nil {
		b.add(t, &trial{Request: other, Extents: c.Extents, Modes: c.Modes, Density: pick(rng, densities), Seed: seed})
	}
}

// add compares the meanings of a program but that of the C; ok is false for one that has none, such as complex remainders.
func (b *batch) add(t *testing.T, c *trial) (ok bool) {
	corpus.Record(t, c.Request)
	var checks []compiledCheck
	if failure := failureOf(t, func(t testing.TB) { checks = c.interpret(t) }); failure != "" {
		c.report(t, failure)
	}
	for _, check := range checks {
		b.checks, b.owner = append(b.checks, check), append(b.owner, c)
	}
	return len(checks) > 0
}

// compile compares the C. Where the unit or a check fails, each program is compiled by itself to find the one that does.
func (b *batch) compile(t *testing.T, opts crun.Options) {
	unit := len(b.checks)
	if opts.Sanitize {
		unit = together
	}
	failure := failureOf(t, func(t testing.TB) {
		for checks := range slices.Chunk(b.checks, max(unit, 1)) {
			runAll(t, checks, opts)
		}
	})
	if failure == "" {
		return
	}
	for _, c := range slices.Compact(b.owner) {
		c.Compiled = true
		c.check(t)
	}
	t.Fatalf("in units of %d kernels, but in none by itself: %s", unit, failure)
}

var densities = []float64{0, 0.2, 0.5, 1}

func fromEnv(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}
