package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun runs expressions as C, each checked against a dense evaluation.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	matrix := file("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 4\n1 1 2\n3 4 -1\n2 2 5\n2 2 1\n")
	tensor := file("t.tns", "1 1 1 2\n2 3 4 1.5\n")
	theta := file("theta.ttx", "%%MatrixMarket tensor coordinate real general\n3 3 4\n1 1 2\n1 3 -1\n2 2 3\n3 1 4\n")
	z := file("z.ttx", "%%MatrixMarket tensor array real general\n3\n1\n2\n3\n")
	rb := file("a.rb", "a title\n3 1 1 1\nrua 3 4 3 0\n(5I2) (3I2) (3F4.1)\n 1 2 2 3 4\n 1 3 2\n 1.5-2.0 4.0\n")
	out := filepath.Join(dir, "c.mtx")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"y(i) = A(i,j) * x(j)", "-f=A:ds", "-i=A:" + matrix}, []string{`y: "d" of f32, shape [3], 3 entries`}},
		{[]string{"y(i) = A(i,j) * x(j)", "-f=A:ds", "-i=A:" + matrix, "-d=A:5x6"}, []string{"shape [5]"}},
		{
			[]string{
				"y(i) = A(i,j) * x(j)", "-f=A:ds", "-d=A:300x200", "-fill=A:0.05", "-t=A:f64", "-t=x:f64", "-time=3", "-threads=2",
				"-s=fuse(i, j, f); pos(f, p, A)", "-s=split(p, p0, p1, 16); parallelize(p0, threads, temporary)",
			},
			[]string{"time: ", "median of 3, threads 2"},
		},
		{[]string{"C(i,k) = A(i,j) * B(j,k)", "-f=A:ds", "-f=B:ds", "-f=C:ds", "-i=A:" + matrix, "-d=k:7", "-o=" + out}, []string{`C: "ds"`}},
		{[]string{"y(i) = A(i,j) * x(j) + b(i)", "-f=A:ds:1,0", "-i=A:" + matrix}, []string{"t1", "y: "}},
		{[]string{"D(i,j) = T(i,k,l) * B(k,j) * C(l,j)", "-f=T:sss", "-i=T:" + tensor, "-d=j:3"}, []string{"D: "}},
		{[]string{"a = x(i)", "-t=x:i64", "-d=i:10"}, []string{`a: "" of i64`}},
		{[]string{"a = z(i) * y(j) * theta(i,j)", "-f=theta:ds", "-i=z:" + z, "-i=y:" + z, "-i=theta:" + theta}, []string{"sum 23"}},
		{[]string{"a = z(i) * y(j) * square(theta(i,j))", "-f=theta:ss", "-i=z:" + z, "-i=y:" + z, "-i=theta:" + theta}, []string{"sum 91"}},
		{
			[]string{"a = z(i) * y(j) * theta(i,j) * t(i,j) * u(i,j)", "-f=theta:ds", "-f=t:ds", "-f=u:ss", "-i=z:" + z, "-i=y:" + z, "-i=theta:" + theta, "-i=t:" + theta, "-i=u:" + theta},
			[]string{"sum 305"},
		},
		{
			[]string{"a = z(i) * z(j) * theta(i,j) * theta(i,j) * theta(i,j)", "-f=theta:csc", "-i=z:" + z, "-i=theta:" + theta},
			[]string{"theta_3(i,j)", "sum 305"},
		},
		{[]string{"B(k,j) = A(i,j) * A(i,k)", "-f=A:bsr(2,2)", "-f=B:coo", "-i=A:" + matrix}, []string{`B: "uq"`}},
		{[]string{"a = A(i,j)", "-f=A:ds:1,0", "-i=A:" + rb}, []string{"sum 3.5"}},
		{[]string{"A(i,j) = B(i,j) // (2 * c(j) + 1)", "-f=B:ds", "-t=B:i64", "-t=c:i64", "-i=B:" + matrix, "-d=c:4"}, []string{"of i64, shape [3 4]"}},
	} {
		var printed bytes.Buffer
		if err := run(append(append([]string{"run"}, c.args...), "-check"), nil, &printed); err != nil {
			t.Errorf("%v: %v", c.args, err)
			continue
		}
		for _, want := range append(c.want, "check: as a dense evaluation") {
			if !strings.Contains(printed.String(), want) {
				t.Errorf("%v: lacks %q:\n%s", c.args, want, &printed)
			}
		}
	}
	if text, err := os.ReadFile(out); err != nil || !strings.HasPrefix(string(text), "%%MatrixMarket matrix coordinate real general\n3 7 ") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestRunErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "z.mtx")
	if err := os.WriteFile(path, []byte("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	few := filepath.Join(t.TempDir(), "few.tns")
	if err := os.WriteFile(few, []byte("1 1 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	huge := []string{"C(i,j) = A(i,j) + B(i,j)", "-f=A:ss", "-f=B:ss", "-i=B:" + few, "-f=C:ss", "-i=A:" + few, "-d=A:10000000000x10000000000", "-d=B:10000000000x10000000000"}
	spmv := "y(i) = A(i,j) * x(j)"
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "run needs an expression"},
		{[]string{spmv, "-i=A:" + path}, "complex values"},
		{[]string{spmv, "-i=A:" + path, "-d=x:3"}, "index j has extent"},
		{[]string{spmv, "-i=x:" + path}, "x(j) has 1 indices and"},
		{[]string{spmv, "-f=A:ds", "-s=bound(j, 3)"}, "does not suit the extents"},
		{[]string{spmv, "-d=i:100000", "-d=j:100000"}, "too large"},
		{[]string{spmv, "-f=A:ds", "-d=i:100000", "-d=j:100000", "-fill=A:0.000001", "-check"}, "-check would visit 1e+10 points"},
		{[]string{spmv, "-f=A:ds", "-o=y.mtx"}, "can't be written there"},
		{[]string{"y(i) = A(i,j) *"}, "expected"},
		{append(huge, "-s=precompute(A, w, at=0, row)"), "does not suit the extents"},
		{[]string{"y = A(i,j)", "-f=A:ss", "-i=A:" + few, "-d=A:10000000000x10000000000", "-s=fuse(i, j, f)"}, "does not suit the extents"},
	} {
		err := run(append([]string{"run"}, c.args...), nil, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want an error with %q", c.args, err, c.want)
		}
	}
	if err := run([]string{"compute"}, nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "there is no command") {
		t.Error(err)
	}
}
