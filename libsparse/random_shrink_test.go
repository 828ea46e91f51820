package libsparse

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"libsparse/codegen/crun"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
	"libsparse/tests/corpus"
)

// trial is one program with what its data is made from. Its JSON form is a regression test, see TestFixedPrograms.
type trial struct {
	Request *Request          `json:"request"`
	Extents map[index.Var]int `json:"extents"`
	// Modes are the extents of modes that are accessed through windows, see modeName.
	Modes    map[string]int `json:"modes,omitempty"`
	Density  float64        `json:"density"`
	Seed     uint64         `json:"seed"`
	Compiled bool           `json:"compiled,omitempty"`
}

// probe turns a failed or skipped check into a value.
type probe struct {
	testing.TB
	failure string
}

func (p *probe) Fatalf(format string, args ...any) { p.Fatal(fmt.Sprintf(format, args...)) }

func (p *probe) Fatal(args ...any) {
	p.failure = fmt.Sprint(args...)
	panic(p)
}

func (p *probe) Skip(...any) { panic(p) }

// failureOf runs a check and says how it failed, or that something panicked; "" where all is well.
func failureOf(t testing.TB, check func(t testing.TB)) (failure string) {
	p := &probe{TB: t}
	defer func() {
		if r := recover(); r != nil {
			if failure = p.failure; r != any(p) {
				failure = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
			}
		}
	}()
	check(p)
	return ""
}

// run says how the meanings of a program differ, or that something panicked; "" where all is well.
func (c *trial) run(t testing.TB) (failure string) {
	return failureOf(t, func(t testing.TB) {
		if checks := c.interpret(t); c.Compiled {
			runAll(t, checks, crun.Options{Warnings: true, Sanitize: true})
		}
	})
}

// interpret compares all meanings of a program but that of the C, which it returns.
func (c *trial) interpret(t testing.TB) []compiledCheck {
	rng, z := rand.New(rand.NewPCG(c.Seed, 1)), sizes{c.Extents, c.Modes}
	program := newProgram(t, c.Request, z, c.Density, rng, nil)
	if len(program.unit.Nests) > 1 {
		return program.agreeSteps(t, c.Request, z, rng)
	}
	return []compiledCheck{program.agree(t, c.Request)}
}

// invalid reports whether a failure is the refusal of a program that shrinking has made impossible.
func (c *trial) invalid() bool {
	_, err := Lower(c.Request, avx2)
	return err != nil && diag.From(err).Kind != diag.Internal
}

// shrunk is a smallest trial that still fails, and how.
func (c *trial) shrunk(t testing.TB, failure string) (*trial, string) {
	for range 200 {
		smaller := false
		for _, d := range c.smaller() {
			// A kernel refuses extents beyond a bound that was chosen for others, and steps those that the request doesn't give.
			refused := func(f string) bool { return strings.Contains(f, "status 3") || strings.Contains(f, "elsewhere") }
			if f := d.run(t); f != "" && refused(f) == refused(failure) && !d.invalid() {
				c, failure, smaller = d, f, true
				break
			}
		}
		if !smaller {
			break
		}
	}
	return c, failure
}

// smaller lists simpler trials, the boldest first.
func (c *trial) smaller() []*trial {
	var out []*trial
	with := func(change func(d *trial)) {
		d, r := *c, *c.Request
		r.Operands = slices.Clone(r.Operands)
		d.Request, d.Extents = &r, maps.Clone(c.Extents)
		change(&d)
		out = append(out, &d)
	}
	commands := strings.Split(strings.TrimSuffix(c.Request.Schedule, ";"), ";")
	for i := range commands {
		if c.Request.Schedule != "" {
			with(func(d *trial) {
				d.Request.Schedule = strings.Join(slices.Delete(slices.Clone(commands), i, i+1), ";") + ";"
			})
		}
	}
	for v, n := range c.Extents {
		for _, m := range []int{n / 2, n - 1} {
			if m > 0 && m < n {
				with(func(d *trial) { d.Extents[v] = m })
			}
		}
	}
	for i, o := range c.Request.Operands {
		letters, order, _ := strings.Cut(o.Format, ":")
		if order != "" {
			with(func(d *trial) { d.Request.Operands[i].Format = letters })
		}
		for at := range letters {
			if strings.ContainsRune("sb", rune(letters[at])) {
				with(func(d *trial) {
					d.Request.Operands[i].Format = strings.TrimSuffix(letters[:at]+"d"+letters[at+1:]+":"+order, ":")
				})
			}
		}
		if o.PatternOnly {
			with(func(d *trial) { d.Request.Operands[i].PatternOnly = false })
		}
	}
	if c.Density != 1 {
		with(func(d *trial) { d.Density = 1 })
	}
	if c.Compiled {
		with(func(d *trial) { d.Compiled = false })
	}
	return out
}

// check fails t with a small reproducer if the meanings of c differ.
func (c *trial) check(t *testing.T) {
	t.Helper()
	corpus.Record(t, c.Request)
	if failure := c.run(t); failure != "" {
		c.report(t, failure)
	}
}

// report fails t with a small program that fails as c does.
func (c *trial) report(t *testing.T, failure string) {
	t.Helper()
	small, why := c.shrunk(t, failure)
	text, err := json.MarshalIndent(small, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(failure)
	t.Fatalf("%s\nThe smallest program that fails is below; as a file of tests/fixedbugs/programs it is a test.\n%s", why, text)
}

// TestFixedPrograms runs the programs that once failed.
func TestFixedPrograms(t *testing.T) {
	files, err := filepath.Glob("../tests/fixedbugs/programs/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := &trial{}
			if err := json.Unmarshal(text, c); err != nil {
				t.Fatal(err)
			}
			if failure := c.run(t); failure != "" {
				t.Fatal(failure)
			}
		})
	}
}

// TestShrinking makes a failure of its own small: a kernel that is called with other extents than it was bound to.
func TestShrinking(t *testing.T) {
	c := &trial{
		Request: &Request{
			Spec:     "ij,jk->ik",
			Operands: []Operand{{Name: "A", Format: "ss:0,1", Dtype: "f64", Shape: []int64{8, 8}}, {Name: "B", Format: "dd:0,1", Dtype: "f64", Shape: []int64{8, 8}}},
			Schedule: "reorder(i, j, k); bound(k, 3); unroll(j, 2); split(i, i0, i1, 2);",
		},
		Extents: map[index.Var]int{"i": 8, "j": 5, "k": 7}, Density: 0.5, Seed: 1,
	}
	small, why := c.shrunk(t, c.run(t))
	if !strings.Contains(why, "status 3") {
		t.Fatalf("failed otherwise: %s", why)
	}
	if got := strings.TrimSpace(small.Request.Schedule); !strings.Contains(got, "bound(k, 3)") || strings.Contains(got, "unroll") || small.Extents["i"] != 1 {
		t.Errorf("not small: %s %v", got, small.Extents)
	}
}
