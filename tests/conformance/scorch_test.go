package conformance

import (
	"testing"

	"libsparse/libsparse/index"
)

// What comes out of the data that Scorch's tests share.
const (
	productCSR = "pos1 0,5,7,9,11,13 crd1 0,1,2,3,4,0,1,0,2,0,3,0,4 val 1,2,3,4,5,4,4,9,9,16,16,25,25"
	productDD  = "val 1,2,3,4,5,4,4,0,0,0,9,0,9,0,0,16,0,0,16,0,25,0,0,0,25"
	diagonalSS = "pos0 0,5 crd0 0,1,2,3,4 pos1 0,1,2,3,4,5 crd1 0,1,2,3,4 val 1,4,9,16,25"
	diagonalOO = "pos0 0,5 crd0 0,1,2,3,4 crd1 0,1,2,3,4 val 1,4,9,16,25"
	sumCSR     = "pos1 0,5,7,9,10,13 crd1 0,1,2,3,4,0,1,0,2,3,0,3,4 val 2,2,3,4,5,2,4,3,3,1,5,3,6"
	sumCSC     = "pos1 0,4,6,8,11,13 crd1 0,1,2,4,0,1,0,2,0,3,4,0,4 val 2,2,3,5,2,4,3,3,4,1,3,5,6"
	sumCOO     = "crd0 0,0,0,0,0,1,1,2,2,3,4,4,4 crd1 0,1,2,3,4,0,1,0,2,3,0,3,4 val 2,2,3,4,5,2,4,3,3,1,5,3,6"
	a5b5CSR    = "pos1 0,4,6,7,7,10 crd1 0,1,3,4,0,1,0,0,3,4 val 1,4,19,5,2,4,3,5,15,5"
	a5b5CSC    = "pos1 0,4,6,6,8,10 crd1 0,1,2,4,0,1,0,4,0,4 val 1,2,3,5,4,4,19,15,5,5"
	batched012 = "pos1 0,2,2,4 crd1 0,2,0,1 pos2 0,1,2,3,5 crd2 1,1,2,0,2 val 4,12,8,5,12"
	batched210 = "pos1 0,1,3,5 crd1 1,0,2,0,1 pos2 0,1,2,3,4,5 crd2 2,0,0,2,2 val 5,4,12,8,12"
)

var (
	product5 = data{"A": e5, "B": n5}
	chain5   = data{"A": a5, "B": b5}
	batch    = data{"A": t3a, "B": t3b}
	v1Longer = numbers("1 0 2 0 3 0 4 0 5 0 8 4 5 0")
	v2Longer = numbers("2 2 2 2 2 0 0 0 0 0 1 2.5 0 14")
)

// Kernels with the arrays that have to come out (5a and 5c).
var scorchGiven = []row{
	{expr: "A(i,j) = B(i,j)", formats: "dd->dd", given: data{"B": e5}, want: "val 1,0,0,0,0,0,2,0,0,0,0,0,3,0,0,0,0,0,4,0,0,0,0,0,5"},
	{expr: "i,i->i", formats: "s,s->s", given: data{"A": v1, "B": v2}, want: "pos0 0,5 crd0 0,2,4,10,11 val 2,4,6,8,10"},
	{expr: "i,i->i", formats: "s,s->d", given: data{"A": v1Longer, "B": v2Longer}, want: "val 2,0,4,0,6,0,0,0,0,0,8,10,0,0"},
	{expr: "a(i) = b(i) + c(i)", formats: "s,s->s", given: data{"b": v1, "c": v2}, want: "pos0 0,9 crd0 0,1,2,3,4,6,8,10,11 val 3,2,4,2,5,4,5,9,6.5"},
	{
		expr: "a(i) = b(i) + c(i) + d(i)", formats: "s,s,s->s", want: "pos0 0,2 crd0 0,11 val 3,12",
		given: data{"b": points("0:1", 12), "c": points("0:2", 12), "d": numbers("0 0 0 0 0 0 0 0 0 0 0 12")},
	},
	{expr: "ij,ij->ij", formats: "oo,oo->oo ss,oo->oo oo,ss->oo ss,ss->oo ds,ds->oo", given: product5, want: diagonalOO},
	{expr: "ij,ij->ij", formats: "ss,ss->ss oo,ss->ss", given: product5, want: diagonalSS},
	{
		expr: "i,j->ij", formats: "s,s->ss", given: data{"A": numbers("1 0 2 0 3"), "B": numbers("7 8 0 9")},
		want: "pos0 0,3 crd0 0,2,4 pos1 0,3,6,9 crd1 0,1,3,0,1,3,0,1,3 val 7,8,9,14,16,18,21,24,27",
	},
	{expr: "ik,kj->ij", formats: "ds|ss|oo,ds|ss|oo->ds dsT,ds->ds ds|ss,dsT->ds", given: product5, want: productCSR},
	{expr: "ik,kj->ij", formats: "ds|ss|oo,ds|ss|oo->ss dsT,ds->ss", given: product5, want: "pos0 0,5 crd0 0,1,2,3,4 " + productCSR},
	{expr: "ik,kj->ij", formats: "ds|ss|oo,ds|ss|oo->dd", given: product5, want: productDD},
	{expr: "A(i,j) = B(i,j) + C(i,j)", formats: "ds,dsT->ds dsT,ds->ds dsT,dsT->ds ds,oo->ds ds,ds->ds", given: data{"B": a5, "C": b5}, want: sumCSR},
	{expr: "A(i,j) = B(i,j) + C(i,j)", formats: "ds,dsT->dsT dsT,dsT->dsT oo,ooT->dsT", given: data{"B": a5, "C": b5}, want: sumCSC},
	{expr: "A(i,j) = B(i,j) + C(i,j)", formats: "oo,ooT->oo ooT,oo->oo", given: data{"B": a5, "C": b5}, want: sumCOO},
	{expr: "ik,kj->ij", formats: "ds|dsT,ds|dsT->ds oo|ooT,oo|ooT->ds", given: chain5, want: a5b5CSR},
	{expr: "ik,kj->ij", formats: "ds|dsT,ds|dsT->dsT oo|ooT,oo|ooT->dsT", given: chain5, want: a5b5CSC},
	{expr: "ik,kj->ij", formats: "ds|dsT|oo|ooT,ds|dsT|oo|ooT->oo|ooT", given: chain5},
	{expr: "bij,bjk->bik", formats: "dss|dss@210,dss|dss@210->dss", given: batch, want: batched012},
	{expr: "bij,bjk->bik", formats: "dss|dss@210,dss|dss@210->dss@210", given: batch, want: batched210},
	{expr: "ik,jk->ji", formats: "oo|ooT,oo|ooT->oo|ooT|ds"},
}

// Conversions between formats and mode orders with the arrays that have to come out (5c and 5d).
var scorchConversions = []row{
	{
		expr: "A(i,j) = B(i,j)", formats: "oo|ss|dsT|ooT->ss", types: "i64 f64", given: data{"B": rows("12000/02000/00300/00040/00005")},
		want: "pos0 0,5 crd0 0,1,2,3,4 pos1 0,2,3,4,5,6 crd1 0,1,1,2,3,4 val 1,2,2,3,4,5",
	},
	{
		expr: "A(i,j) = B(i,j)", formats: "oo|ss|ds|dsT->ss", types: "i64", given: data{"B": rows("10000/02000/00345/00067/00008")},
		want: "pos0 0,5 crd0 0,1,2,3,4 pos1 0,1,2,5,7,8 crd1 0,1,2,3,4,3,4,4 val 1,2,3,4,5,6,7,8",
	},
	{
		expr: "A(i,j) = B(i,j)", formats: "oo|ooT|ss|dsT->ds", want: "pos1 0,1,3,5,7,7,9,10,10,10,11 crd1 6,0,9,2,9,0,6,0,7,1,5",
		given: data{"B": points("06:1 10:1 19:1 22:1 29:1 30:1 36:1 50:1 57:1 61:1 95:1", 10, 10)},
	},
	{expr: "A(i,j) = B(i,j)", formats: "dd|ds|oo|ss->ddT", given: data{"B": a5}, want: "val 1,2,3,0,5,2,2,0,0,0,3,0,3,0,0,4,0,0,0,0,5,0,0,0,5"},
	{expr: "A(i,j) = B(i,j)", formats: "ds|oo|ss|ssT|ooT->dsT", given: data{"B": a5}, want: "pos1 0,4,6,8,9,11 crd1 0,1,2,4,0,1,0,2,0,0,4 val 1,2,3,5,2,2,3,3,4,5,5"},
	{expr: "A(i,j) = B(i,j)", formats: "ds|oo|ss|ssT->ooT", given: data{"B": a5}, want: "pos0 0,11 crd0 0,0,0,0,1,1,2,2,3,4,4 crd1 0,1,2,4,0,1,0,2,0,0,4 val 1,2,3,5,2,2,3,3,4,5,5"},
	{expr: "A(i,j) = B(i,j)", formats: "dsT|ooT|ssT->ds", given: data{"B": a5}, want: "pos1 0,5,7,9,9,11 crd1 0,1,2,3,4,0,1,0,2,0,4 val 1,2,3,4,5,2,2,3,3,5,5"},
	{
		expr: "A(i,j,k) = B(i,j,k)", formats: "sss@012|sss@021|sss@102|sss@120|sss@201|sss@210|dss@210|ooo->sss", given: data{"B": t3a},
		want: "pos0 0,2 crd0 0,2 pos1 0,3,5 crd1 0,1,2,0,1 pos2 0,1,2,3,4,6 crd2 0,2,0,1,0,1 val 1,2,3,4,5,6",
	},
	{expr: "A(i,j,k) = B(i,j,k)", formats: "sss@012|sss@210->sss@021|sss@102|sss@120|sss@201|sss@210|dss@210|dds@201"},
	{expr: "A(i,j,k) = B(i,j,k)", formats: "ooo->dss|sss@210|ooo@210"},
}

// The other value tests (5a, 5b, 5e), on random data.
var scorchRandom = []row{
	{expr: "ijkl,ijkl->ijkl", formats: "oooo,dddd->dddd", sizes: map[index.Var]int{"i": 2, "j": 3, "k": 4, "l": 5}, density: 1},
	{expr: "ik,kj->ij", formats: "ds,ds->ds", density: 1},
	{expr: "ik,kj->ij", formats: "dd,dd->dd dd,dd->ds dd,dd->ss ss,ss->ds ds,dd->ds ds,dd->dd oo,dd->dd ds,ds->dd ds,ds->ds ds,ds->ss", types: "f32 f64 i64"},
	{expr: "ij,ik,kj->ij", formats: "ds,dd,dd->ds oo,dd,dd->oo ss,dd,dd->ss ds,dd,dd ds,dd,dd->dd", density: 0.15},
	{expr: "ij,ik,jk->ij", formats: "ds,dd,dd oo,dd,dd ss,dd,dd->ss", density: 0.1},
	{expr: "ij,j->i", formats: "oo,d->d ds,d->d ss,d->d dd,d->d", density: 0.2},
	{expr: "ij,ij->ij", formats: "ds,ds->ds oo,oo->oo ss,ss->ss ds,oo->ds ds,dd->ds", density: 0.3},
	{expr: "A(i,j) = B(i,j) + C(i,j)", formats: "ds|ss|oo,ds|ss|oo->ds|ss|oo ds|ss|oo,ds|ss|oo", density: 0.3},
	{expr: "ijk,ijk->ijk", formats: "dss,dss->dss sss,sss->sss dss,ddd->ddd", density: 0.3},
	{expr: "i,j->ij", formats: "s,s->ds|oo|dd|ss", density: 0.5},
	{expr: "ijk,km->ijm", formats: "ddd,dd->ddd", sizes: map[index.Var]int{"i": 3, "j": 3, "k": 3, "m": 4}},
	{expr: "ijk,km->ijm", formats: "ddd,dd->ddd dds,dd->ddd", sizes: map[index.Var]int{"i": 8, "j": 8, "k": 8, "m": 6}},
	{expr: "ijk,jm,km->im", formats: "ddd,dd,dd->dd", sizes: map[index.Var]int{"i": 3, "j": 3, "k": 3, "m": 2}},
	{expr: "ijk,jm,km->im", formats: "ddd,dd,dd->dd sss,dd,dd->dd", sizes: map[index.Var]int{"i": 6, "j": 6, "k": 6, "m": 4}},
	{expr: "ij,j->i", formats: "ds,d->d", given: data{"A": points("", 10, 10)}, want: "val 0,0,0,0,0,0,0,0,0,0"},
	{expr: "ij,ij->ij", formats: "ds,ds->ds", given: data{"A": points("01:1 20:2", 3, 3), "B": points("02:1 21:2", 3, 3)}, want: "pos1 0,0,0,0 crd1 - val -"},
	{expr: "ij,ij->ij", formats: "ds,ds->ds", given: data{"A": points("01:3 20:2", 3, 3), "B": points("01:5 21:2", 3, 3)}, want: "pos1 0,1,1,1 crd1 1 val 15"},
	{expr: "ik,kj->ij", formats: "ds,ds->ds", sizes: map[index.Var]int{"i": 30, "j": 30, "k": 30}, density: 0.01},
	{expr: "C(i,k) = A(i,j) * B(j,k)", formats: "ddT,dsT->ddT dsT,ddT->dd ooT,dd->ds dsT,dsT->dd ooT,ooT->dd ds,dd->dd ds,ds->dd dd|ddT,dd->dd"},
	{expr: "C(i,k) = A(i,j) * b(j)", formats: "ds,s->dd"},
	{expr: "C(i,k) = a(i) * B(j,k)", formats: "s,ddT->ddT"},
}

// Expressions that Scorch's tests print and never run (5f).
var scorchPrinted = []row{
	{expr: "a(i) = b(i) * c(i)", formats: "s,s->s s,s->d d,s->s"},
	{expr: "a(i) = b(i) * c(i) + d(i)", formats: "s,s,d->s s,s,d->d"},
	{expr: "a(i) = b(i) + c(i)", formats: "s,s->s s,s->d d,s->s"},
	{expr: "A(i,j) = B(i,j)", formats: "ds->dd oo->ds"},
	{expr: "A(i,j) = B(i,j) * C(i,j)", formats: "ss,ss->ss oo,oo->oo dd,ds->ds dd,ds->dd ss,ss->ds dd,ds->ss sd,sd->ss"},
	{expr: "A(i,j) = B(i,j) * C(j,i)", formats: "dd,dd->ss xx,xx->xx"},
	{expr: "A(i,j) = B(i,j) + C(i,j)", formats: "ss,ss->ss|ds|sd ds,ds->ds"},
	{expr: "A(i,j) = (B(i,j) + C(i,j)) * (D(i,j) + E(i,j))", formats: "ds,ds,ss,ss->ss xx,ss,ds|oo,ss|ds->ss|ds|dd"},
	{expr: "A(i,j) = B(i,j) * c(j)", formats: "ss,s->ss xx,xx->xx"},
	{expr: "A(i,j) = b(i) * c(j)", formats: "s,s->ss"},
	{expr: "A(i,j,k) = B(i,j,k) * C(i,j,k)", formats: "sss,sss->dss"},
	{expr: "A(i,j,k) = B(i,j,l) * C(l,k)", formats: "dds,dd->ddd"},
	{expr: "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)", formats: "sss,dd,dd->dd"},
	{expr: "A(i,j,k,l) = B(i,j,k,l)", formats: "oooo->ssss"},
	{expr: "A(i,j,k,l) = B(i,j,k,l) * C(i,j,k,l)", formats: "ssss,ssss->oooo|ssss|ssdd|dddd|ddss oooo,oooo->ssss dddd,ssss->ddss", density: 0.3},
	{expr: "y(i) = A(i,j) * x(j)", formats: "ds,d->d"},
	{expr: "C(i,j) = A(i,k) * B(k,j)", formats: "ds,ds->ds dd,ds->dd ds,dd->dd oo,dd->dd ds,ds->dd ds,ds->sd dsT,ds->ds"},
	{expr: "D(i,j) = S(i,j) * B(i,k) * C(k,j)", formats: "ds,dd,dd->ds"},
}

func TestScorch(t *testing.T) {
	for name, table := range map[string][]row{"given": scorchGiven, "conversions": scorchConversions, "random": scorchRandom, "printed": scorchPrinted} {
		t.Run(name, func(t *testing.T) { checkAll(t, table) })
	}
}
