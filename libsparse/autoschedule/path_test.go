package autoschedule

import (
	"strings"
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/bind/bindtest"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
)

func TestPath(t *testing.T) {
	for _, c := range []struct {
		spec    string
		formats []string
		want    string
	}{
		{"ij,jk,k->i", []string{"ds", "ds", "d"}, "t1(j) = B(j,k) * C(k); out(i) = A(i,j) * t1(j)"},
		{"ij,jk,kl->il", []string{"ds", "ds", "dd"}, "t1(j,l) = B(j,k) * C(k,l); out(i,l) = A(i,j) * t1(j,l)"},
		{"ij,ik,kj->ij", []string{"ds", "dd", "dd"}, "out(i,j) = A(i,j) * B(i,k) * C(k,j)"},
		{"ij,ik,jk->ij", []string{"ds", "dd", "dd"}, "out(i,j) = A(i,j) * B(i,k) * C(j,k)"},
		{"ikl,kj,lj->ij", []string{"dss", "dd", "dd"}, "out(i,j) = A(i,k,l) * B(k,j) * C(l,j)"},
		{"i,j,k->ijk", []string{"d", "d", "d"}, "out(i,j,k) = A(i) * B(j) * C(k)"},
		{"ij,jk->ik", []string{"ds", "ds"}, "out(i,k) = A(i,j) * B(j,k)"},
		{"ij,jk,kl,l->i", []string{"ds", "ds", "ds", "d"}, "t2(k) = C(k,l) * D(l); t1(j) = B(j,k) * t2(k); out(i) = A(i,j) * t1(j)"},
		{"ij,jk->k", []string{"ds", "dd"}, "t1(j) = A(i,j); out(k) = t1(j) * B(j,k)"},
		{"ij,jk->i", []string{"ds", "ds"}, "t1(j) = B(j,k); out(i) = A(i,j) * t1(j)"},
		{"ij,jk->", []string{"ds", "dd"}, "t1(j) = B(j,k); out = A(i,j) * t1(j)"},
		{"ij,j->i", []string{"ds", "d"}, "out(i) = A(i,j) * B(j)"},
		{"i,ij,jk->k", []string{"d", "ds", "dd"}, "t1(j) = A(i) * B(i,j); out(k) = t1(j) * C(j,k)"},
		{"ij,il,lm,jm->ij", []string{"ds", "dd", "dd", "dd"}, "t1(i,m) = B(i,l) * C(l,m); out(i,j) = A(i,j) * t1(i,m) * D(j,m)"},
	} {
		var got []string
		a := request(t, c.spec, c.formats, "", 4096)
		for _, s := range Path(a, index.Names([]*index.Assignment{a.Assignment}), "", nil) {
			got = append(got, s.String())
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s %v\n got %s\nwant %s", c.spec, c.formats, strings.Join(got, "; "), c.want)
		}
	}
}

// TestPathOfOnePattern has two operands with the same entries be counted as one: a temporary with a block for each of them is no small one.
func TestPathOfOnePattern(t *testing.T) {
	a := request(t, "ij,ij,ik,kj->ij", []string{"ds", "ds", "dd", "dd"}, "ds", 4096)
	accs := index.Accesses(a.RHS)
	a = bindtest.Change(a, a.Tensors(), func(name string, s *bind.Storage) {
		if name == "B" {
			s.SamePattern = accs[0].Tensor
		}
	})
	for _, step := range Path(a, index.Names([]*index.Assignment{a.Assignment}), "", nil) {
		if len(step.LHS.Vars) > 2 {
			t.Errorf("%s has a block for each entry", step)
		}
	}
}

func BenchmarkPath(b *testing.B) {
	for _, c := range []struct {
		spec    string
		formats []string
	}{
		{"ij,jk,kl->il", []string{"ds", "ds", "dd"}},
		{"ij,jk,kl,l->i", []string{"ds", "ds", "ds", "d"}},
		{"ij,jk,kl,lm,mn,n->i", []string{"ds", "ds", "ds", "ds", "ds", "d"}},
	} {
		b.Run(c.spec, func(b *testing.B) {
			var t testing.T
			for b.Loop() {
				Path(request(&t, c.spec, c.formats, "", 4096), map[string]bool{}, "", nil)
			}
		})
	}
}

// TestPathOfSemirings has products of three operands whose reduction distributes over what combines them be divided.
func TestPathOfSemirings(t *testing.T) {
	for _, c := range []struct {
		reduce, combine dtype.Op
		elem            dtype.T
		steps           int
	}{
		{dtype.Min, dtype.Add, dtype.F32, 2},
		{dtype.Max, dtype.Add, dtype.BF16, 2},
		{dtype.Max, dtype.Add, dtype.I32, 1},
		{dtype.Max, dtype.Min, dtype.I32, 2},
		{dtype.Or, dtype.And, dtype.Bool, 2},
		{dtype.Max, dtype.Mul, dtype.F32, 1},
		{dtype.Add, dtype.Min, dtype.F32, 1},
	} {
		a := request(t, "ij,jk,k->i", []string{"ds", "ds", "d"}, "", 4096)
		accs := index.Accesses(a.RHS)
		result := a.Result()
		rhs := index.Term(c.combine, index.Term(c.combine, accs[0], accs[1]), accs[2])
		lhs := &index.Access{Tensor: &index.Tensor{Name: "y", Elem: c.elem}, Vars: a.LHS.Vars}
		whole := &index.Assignment{LHS: lhs, Reduce: c.reduce, RHS: index.Reducible(c.reduce, rhs)}
		steps := Path(bind.Assignment{Assignment: whole, Table: a.With(lhs.Tensor, *result).Table}, index.Names([]*index.Assignment{whole}), "", nil)
		if len(steps) != c.steps || steps[0].Reduce != c.reduce {
			t.Errorf("%s of %s has %d steps, want %d: %s", whole, c.elem, len(steps), c.steps, steps)
		}
	}
}
