package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libsparse/libsparse"
)

const spmv = `{"spec": "ij,j->i", "operands": [
	{"name": "A", "format": "ds", "dtype": "f32", "shape": [100, 100], "nnz": 1000},
	{"name": "x", "format": "d", "dtype": "f32", "shape": [100]}]`

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"version"}, nil, &out); err != nil || out.String() != Version+"\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"help"}, {"run", "-h"}, {"explain", "y(i) = x(i)", "--help"}} {
		var out bytes.Buffer
		if err := run(args, nil, &out); err != nil || !strings.HasPrefix(out.String(), "usage: libsparse COMMAND") {
			t.Errorf("%v: %q, %v", args, out.String(), err)
		}
	}
}

func TestCompile(t *testing.T) {
	target, err := json.Marshal(libsparse.Target{CPU: "test", Path: os.Getenv("PATH"), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var first bytes.Buffer
	for i := range 2 {
		var out bytes.Buffer
		if err := run([]string{"compile"}, strings.NewReader(spmv+`, "target": `+string(target)+"}"), &out); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = out
		} else if out.String() != first.String() {
			t.Errorf("compiled again: %s, not %s", out.String(), first.String())
		}
	}
	var k libsparse.Kernel
	if err := json.Unmarshal(first.Bytes(), &k); err != nil {
		t.Fatal(err)
	}
	if k.ABI != libsparse.ABI || k.Version != Version || k.Compute == "" || k.Assemble != "" || len(k.Slots) != 8 {
		t.Errorf("%s", first.String())
	}
	if filepath.IsAbs(k.Object) {
		t.Errorf("the object's path %s is not relative to the cache", k.Object)
	}
}

func TestExplain(t *testing.T) {
	for stage, want := range map[string]string{
		"":         "== notation ==\nout(i) = A(i,j) * x(j)\n",
		"notation": "out(i) = A(i,j) * x(j)\n",
		"formats":  "A: \"ds\" of f32  (given)\nx: \"d\" of f32  (given)\nout: \"d\" of f32  (inferred)\n",
		"c":        "/* out(i) = A(i,j) * x(j)\n",
	} {
		var out bytes.Buffer
		if err := run([]string{"explain", stage}, strings.NewReader(spmv+"}"), &out); err != nil || !strings.HasPrefix(out.String(), want) {
			t.Errorf("%q: %v\n%s", stage, err, out.String())
		}
	}
}

// The format that a request gives its result holds for the last of several steps.
func TestExplainSteps(t *testing.T) {
	const r = `{"expr": "y(i) = A(i,j) * x(j) + z(i)", "operands": [{"name": "A", "format": "ds", "dtype": "f32", "shape": [100, 100], "nnz": 300},
		{"name": "x", "format": "d", "dtype": "f32", "shape": [100]}, {"name": "z", "format": "s", "dtype": "f32", "shape": [100], "nnz": 9}], "output": {"format": "s"}}`
	var out bytes.Buffer
	if err := run([]string{"explain", "formats"}, strings.NewReader(r), &out); err != nil || !strings.Contains(out.String(), "y: \"s\" of f32  (asked for)\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestErrors checks errors as they are printed: JSON with a kind and a message.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		args             []string
		in, kind, wanted string
	}{
		"nothing":       {[]string{"compile"}, "", "syntax", "no valid JSON"},
		"malformed":     {[]string{"compile"}, `{"spec": `, "syntax", "no valid JSON"},
		"unknown field": {[]string{"compile"}, `{"sepc": "ij,j->i"}`, "syntax", "sepc"},
		"no expression": {[]string{"compile"}, `{}`, "syntax", "one of spec and expr"},
		"two":           {[]string{"explain"}, `{"spec": "i->i", "expr": "y(i) = x(i)"}`, "syntax", "one of spec and expr"},
		"unknown stage": {[]string{"explain", "nonsense"}, spmv + "}", "unsupported", `no stage "nonsense"; the stages are notation, `},
		"no cache":      {[]string{"compile"}, spmv + "}", "cache", "names no cache folder"},
		"no compiler":   {[]string{"compile"}, spmv + `, "target": {"path": "/nowhere", "cache_dir": "` + t.TempDir() + `"}}`, "toolchain", "no C compiler was found"},
	} {
		var out bytes.Buffer
		err := run(c.args, strings.NewReader(c.in), &out)
		if err == nil {
			t.Errorf("%s: no error, but\n%s", name, out.String())
			continue
		}
		var printed struct{ Kind, Message string }
		if err := json.Unmarshal(libsparse.ErrorJSON(err), &printed); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if printed.Kind != c.kind || !strings.Contains(printed.Message, c.wanted) {
			t.Errorf("%s: %q: %s; want %q with %q", name, printed.Kind, printed.Message, c.kind, c.wanted)
		}
	}
}

func TestExpressionOnTheCommandLine(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"explain", "scheduled", "C(i,k) = A(i,j) * B(j,k)", "-f=A:ds", "-d=k:16", "-t=A:f64"}, nil, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"forall i on threads", "w(k) += A(i,j) * B(j,k)", "bound k = 16"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, &out)
		}
	}
	for flag, want := range map[string]string{
		"-x=A:ds": "is no option", "-f=A": "is no option", "-d=i:many": "is no extent", "-f=A:dx": `"x" is no level`, "-t=A:f8": "dtype",
		"-f=Q:ds": "Q is no tensor of", "-d=q:5": "q is no index and no operand", "-d=A:5": "A(i,j) has 2 indices", "-s=split(i)": "expected split(",
		"-s=parallelize(j)": "iterations over j write the same elements", "-time=0": "no number of times", "-fill=A:2": "no density",
		"-i=A:nowhere.mtx": "nowhere.mtx can't be read", "-stage=nonsense": "no stage", "-i=y:a.mtx": "y is the result", "A": "is no option",
	} {
		err := run([]string{"explain", "y(i) = A(i,j) * x(j)", flag}, nil, &out)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", flag, err, want)
		}
	}
}

func TestFrontier(t *testing.T) {
	args := []string{"frontier", "C(i,j) = A(i,k) * B(k,j)", "-f=A:ds", "-f=B:ds"}
	var out bytes.Buffer
	if err := run(args, nil, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"96 programs with nests of at most 3 loops; on the frontier 12", "{ [i,j,k] | A(i,k) and B(k,j) }",
		"i k j: C[a(i)i(j)] += A[l(i)s(k)] * B[l(k)s(j)]", "of class 1",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, &out)
		}
	}
	out.Reset()
	if err := run(append(args, "-json", "-taco"), nil, &out); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Universe, Frontier int
		Classes            []struct {
			Programs []struct {
				Kernels []struct {
					Formats  map[string]string
					Commands []string
				}
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc.Universe != 16 || doc.Frontier != 4 || len(doc.Classes[0].Programs) != 4 {
		t.Fatalf("%v: %s", err, &out)
	}
	if ks := doc.Classes[0].Programs[0].Kernels; len(ks) != 1 || ks[0].Formats["A"] != "ds" || ks[0].Commands[0] != "reorder(i, k, j)" {
		t.Errorf("kernels %v", ks)
	}
	err := run([]string{"frontier", "a = B(i,j,k,l) * C(j,k,l,m) * D(k,l,m,n)", "-f=B:ssss", "-f=C:ssss", "-f=D:ssss"}, nil, &out)
	if err == nil || !strings.Contains(err.Error(), "programs, more than 40000000") {
		t.Errorf("a universe without end: %v", err)
	}
}
