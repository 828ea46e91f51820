package conformance

import (
	"testing"

	"libsparse/libsparse"
	"libsparse/libsparse/index"
)

type data = map[string]*fixture

// The expressions of TACO's tests, group by group.
var tacoStorage = []row{
	{expr: "a = -2", types: "f64"},
	{expr: "a = -b", given: data{"b": scalar(4)}, want: "val -4"},
	{expr: "a = b * c", given: data{"b": scalar(2), "c": scalar(10)}, want: "val 20"},
	{expr: "a = b + c", given: data{"b": scalar(2), "c": scalar(10)}, want: "val 12"},
	{expr: "a(i) = -b(i)", formats: "d->d s->s", given: data{"b": d5a}},
	{expr: "a(i) = -b(i)", formats: "s->s", given: data{"b": d5a}, want: "pos0 0,2 crd0 1,4 val -2,-3"},
	{expr: "a(i) = b(i) * alpha", formats: "d,->d s,->s"},
	{expr: "a(i) = b(i) + alpha", formats: "d,->d s,->d"},
	{expr: "a(i) = b(i) * c(i)", formats: "d,d->d s,d->d d,s->d", given: data{"b": d5a, "c": d5b}, want: "val 0,40,0,0,0"},
	{expr: "a(i) = b(i) * c(i)", formats: "s,s->s", given: data{"b": d5a, "c": d5b}, want: "pos0 0,1 crd0 1 val 40"},
	{expr: "a(i) = b(i) + c(i)", formats: "d,d->d s,d->d", given: data{"b": d5a, "c": d5b}, want: "val 10,22,0,0,3"},
	{expr: "a(i) = b(i) + c(i)", formats: "s,d->s", given: data{"b": d5a, "c": d5b}, want: "pos0 0,5 crd0 0,1,2,3,4 val 10,22,0,0,3"},
	{expr: "a(i) = b(i) + c(i)", formats: "s,s->s", given: data{"b": d5a, "c": d5b}, want: "pos0 0,3 crd0 0,1,4 val 10,22,3"},
	{expr: "a(i) = (b(i) + c(i)) * d(i)", formats: "s,d,d->d s,s,s->s s,d,d->s s|d,s|d,s|d->s|d", sizes: eight},
	{expr: "a(i) = b(i) * (c(i) + d(i))", formats: "s,d,d->d s|d,s|d,s|d->s|d", sizes: eight},
	{expr: "a(i) = (c(i) + d(i)) * b(i)", formats: "s,d,d->d s|d,s|d,s|d->s|d", sizes: eight},
	{expr: "a(i) = b(i) + c(i) + d(i) * e(i)", formats: "d,d,d,d->d s,s,s,d->s s,d,s,s->s s,s,s,s->s xx,xx,xx,xx->s|d", sizes: eight},
	{expr: "a(i) = (b(i) + c(i) + d(i)) * e(i)", formats: "d,d,d,d->d s,s,s,d->s s,d,s,s->s s,s,s,s->s xx,xx,xx,xx->s|d", sizes: eight},
	{expr: "a(i) = b(i) + c(i) + d(i) + e(i)", formats: "s,s,s,s->s xx,xx,xx,xx->s|d", sizes: eight},
	{expr: "a(i) = b(i) * c(i) + d(i)", formats: "s,s,s->s xx,xx,xx->xx", sizes: eight},
	{expr: "a(i) = b(i) + (c(i) * d(i))", formats: "s,d,d->d s,d,s->s xx,xx,xx->xx", sizes: eight},
	{expr: "A(i,j) = -B(i,j)", formats: "dd->dd ss->ss", given: data{"B": d33a}},
	{expr: "A(i,j) = B(i,j) * C(i,j)", formats: "ss,ss->ss", given: data{"B": d33a, "C": d33b}, want: "pos0 0,1 crd0 0 pos1 0,1 crd1 1 val 40"},
	{expr: "A(i,j) = B(i,j) + C(i,j)", formats: "dd,dd->dd ds,ds->dd", given: data{"B": d33a, "C": d33b}, want: "val 10,22,0,0,0,0,3,30,4"},
	{expr: "A(i,j) = B(i,j) + C(i,j)", formats: "ds,ds->ds", given: data{"B": d33a, "C": d33b}, want: "pos1 0,2,2,5 crd1 0,1,0,1,2 val 10,22,3,30,4"},
	{expr: "A(i,j) = B(i,j) + C(i,j)", formats: "dsT,dsT->dsT", given: data{"B": d33a, "C": d33b}, want: "pos1 0,2,4,5 crd1 0,2,0,2,2 val 10,3,22,30,4"},
	{expr: "A(i,j) = B(i,j) + C(i,j)", formats: "ss,ss->ss", given: data{"B": d33a, "C": d33b}, want: "pos0 0,2 crd0 0,2 pos1 0,2,5 crd1 0,1,0,1,2 val 10,22,3,30,4"},
	{expr: "A(i,j) = B(i,j) + C(i,j)", formats: "ds,ds->ds dsT,dsT->dsT", sizes: map[index.Var]int{"i": 3, "j": 4}},
	{expr: "A(i,j,k) = B(i,j,k) * C(i,j,k)", formats: "sss,sss->sss", given: data{"B": d233a}},
	{expr: "A(i,j,k) = B(i,j,k) * C(i,j,k)", formats: "sss,sss->sss", given: data{"B": d233a, "C": d233a}, want: "pos0 0,2 crd0 0,1 pos1 0,2,4 val 4,9,16,25,36,49"},
	{expr: "r(i) = b(i) - A(i,j) * x(j)", formats: "d,dd,d->d s,ss,s->d s,ss,s->s xx,xx,xx->xx"},
	{expr: "y(i) = alpha * (B(i,j) + C(i,j)) * d(j)", formats: ",ds,ds,d->d"},
	{expr: "a(i) = 2 * (B(i,j) * c(j)) + 3", formats: "ds,d->d dd,d->d"},
	{expr: "a(i) = B(i,j) * c(j) + d(i)", formats: "dd,d,d->d ds,d,d->d ss,s,s->s ss,s,s->d"},
	{expr: "a(i) = alpha * B(i,j) * c(j) + beta * d(i)", formats: ",ds,d,,d->d"},
	{expr: "a = b(i) * c(i)", formats: "d,d-> s,s-> d,s-> s,d->", given: data{"b": d3a, "c": d3b}, want: "val 9"},
	{expr: "a(i) = B(i,j) * c(j)", formats: "dd,d->d ddT,d->d ds,d->d ds,s->d ss,s->d", given: data{"B": d33a, "c": d3b}, want: "val 0,0,18"},
	{expr: "a(i) = B(i,j) * c(j)", formats: "ss,s->s", given: data{"B": d33a, "c": d3a}, want: "pos0 0,2 crd0 0,2 val 4,13"},
	{expr: "a(i,j) = B(i,k,j,l) * c(k,l)", formats: "dsdd,dd->dd dsds,dd->dd ssss,ss->ss"},
	{expr: "a(i) = B(j,i,k) * c(k)", formats: "ddd,d->d dds,d->d sds,d->d"},
	{expr: "a = B(i,j)", formats: "dd-> ss-> any->", given: data{"B": d33a}, want: "val 9"},
	{expr: "A(i,k) = B(i,j) * C(j,k)", formats: "dd,ddT->dd dd,dd->dd ddT,ddT->ddT"},
	{expr: "A(i,j) = B(i,j,k) * c(k)", formats: "ddd,d->dd sss,d->dd sss,s->ss xx,xx->xx", types: "f64"},
	{expr: "a(i) = B(i,j,k) * C(j,k)", formats: "ddd,dd->d sss,dd->d sss,ss->s"},
	{expr: "A(i,m,j) = B(i,m,l) * C(l,j)", formats: "ddd,dd->ddd sss,dd->ddd sss,ss->sss xx,dd->ddd"},
	{expr: "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)", formats: "sss,dd,dd->dd xx,dd,dd->dd sss,ss,ss->ss"},
	{expr: "A(i,j) = 2 * D(i,j)", formats: "xx->xx"},
	{expr: "A(i,j) = b(i) * D(i,j)", formats: "xx,xx->xx"},
	{expr: "A(i,j) = (b(i) + c(i)) * D(i,j)", formats: "xx,xx,xx->xx"},
	{expr: "A(i,j) = b(i) * D(i,j) * e(i)", formats: "xx,xx,xx->xx"},
	{expr: "A(i,j,m) = b(i) * D(i,j,m) * e(j)", formats: "xx,xx,xx->ddd|dss|sss", types: "f64"},
}

var eight = map[index.Var]int{"i": 8}

// The statements of TACO's tests of lowering.
var tacoLower = []row{
	{expr: "a(i) = -b(i)", formats: "any->any"},
	{expr: "a(i) = b(i) / c(i)", formats: "any,any->xx"},
	{expr: "a(i) = b(i) // c(i)", formats: "any,any->xx", types: "i32 i64 u8 f64 i32->f64"},
	{expr: "a(i) = b(i) // (2 * c(i) + 1)", formats: "any,any->any", types: "i16 i64"},
	{expr: "A(i,j,k) = B(i,j,k) // C(i,j,k)", formats: "ddd,ddd->ddd dsd,ddd->dsd dds,ddd->dds dss,ddd->dss sss,ddd->sss sss,sss->sss", types: "i32 u8 f64"},
	{expr: "A(i,j) = pow(B(i,j), 3) % 5", formats: "any->xx", types: "i8 i64"},
	{expr: "y(i) = A(i,j) % x(j)", formats: "ds|dsT|ss|oo|ell,d->d|s", types: "i32 u8"},
	{expr: "a(i) = b(i) - c(i)", formats: "any,any->any", types: "f64 f32 i64"},
	{expr: "a = b(i) * c(i)", formats: "any,any->", types: "f64 f32 i32"},
	{expr: "a(i) = or(b(i), c(i))", formats: "xx,xx->xx", types: "bool"},
	{expr: "a(i) = and(b(i), c(i))", formats: "xx,xx->xx", types: "bool"},
	{expr: "A(i,j) = -B(i,j)", formats: "xx->xx"},
	{expr: "A(j,i) = -B(i,j)", formats: "xx->xx"},
	{expr: "A(i,j) = B(i,j) + C(j,i)", formats: "xx,dd->dd xx,dd->xx"},
	{expr: "a = B(i,j)", formats: "xx->"},
	{expr: "a(i) = B(i,j)", formats: "xx->xx"},
	{expr: "a(i) = B(i,j) * c(j)", formats: "xx,xx->xx"},
	{expr: "a(i) = B(i,j,k)", formats: "xx->xx"},
	{expr: "a(k) = B(i,j,k)", formats: "xx->xx"},
	{expr: "A(i,j) = B(i,j,k)", formats: "xx->xx"},
	{expr: "A(i,k) = B(i,j,k)", formats: "xx->xx", types: "f64"},
	{expr: "t = b; a = t", types: "f64"},
	{expr: "t(i) = b(i) * c(i); a(i) = t(i) + d(i)", formats: "xx,xx,xx->xx"},
	{expr: "T(i,j) = B(i,j) * C(i,j); A(i,j) = T(i,j) + D(i,j)", formats: "xx,xx,xx->xx", types: "f64"},
	{expr: "t(i) = B(i,j) * x(j); a(i) = t(i)", formats: "xx,d->xx"},
	{expr: "T(i,k) = B(i,j) * C(j,k); A(i,k) = T(i,k)", formats: "dd|ds,dd|ds->dd|ds"},
	{expr: "a(i) = b(i); d(i) = c(i) * 2", formats: "xx,xx->xx"},
	{expr: "a = b(i) * c(i); d = e(i)", formats: "xx,xx,xx->", types: "f64"},
	{expr: "A(i,j) = b(i)", formats: "xx->xx"},
	{expr: "A(i,j) = b(j)", formats: "xx->xx"},
	{expr: "A(i,j) = b(i) + C(i,j)", formats: "xx,xx->xx"},
	{expr: "A(i,j) = b(j) * C(i,j)", formats: "xx,xx->xx"},
	{expr: "A(i,j) = b", formats: "->xx"},
	{expr: "a(i) = max(b(i), c(i))", formats: "any,any->xx"},
	{expr: "a(i) = min(b(i), c(i))", formats: "any,any->xx"},
	{expr: "a(i) = heaviside(b(i), c(i))", formats: "any,any->xx"},
	{expr: "a(i) = not(b(i))", formats: "any->xx", types: "bool f32"},
	{expr: "a = max(b(i), c(i))", formats: "xx,xx->"},
	{expr: "a(i) max= B(i,j)", formats: "xx->xx"},
	{expr: "a(i) min= B(i,j) + c(j)", formats: "xx,xx->xx"},
	{expr: "a(i) *= B(i,j)", formats: "xx->xx"},
	{expr: "a(i) mean= B(i,j)", formats: "xx->xx"},
}

// intrinsics are functions of one argument, comparisons of two.
var (
	intrinsics = []string{
		"abs", "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
		"cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "floor", "ceil", "trunc", "round", "square", "cube", "reciprocal", "rsqrt",
		"sigmoid", "relu", "silu", "softplus", "sign", "frac", "isnan",
		"leaky_relu", "elu", "celu", "selu", "gelu", "mish", "hardtanh", "relu6", "hardsigmoid", "hardswish", "logsigmoid", "tanhshrink", "softsign",
	}
	binaries = []string{"lt", "le", "gt", "ge", "eq", "ne", "pow", "atan2", "fmod", "remainder", "hypot", "first", "second", "xor"}
)

func TestIntrinsics(t *testing.T) {
	var table []row
	for _, f := range intrinsics {
		table = append(table, row{expr: "a(i) = " + f + "(b(i))", formats: "d|s->d|s"}, row{expr: "a = " + f + "(b(i)) * c(i)", formats: "s,d->", types: "f64"})
	}
	for _, f := range binaries {
		table = append(table, row{expr: "a(i) = " + f + "(b(i), c(i))", formats: "d|s,d|s->d|s"})
	}
	for _, f := range []string{"floor_divide", "remainder", "fmod", "pow"} {
		table = append(table, row{expr: "a(i) = " + f + "(b(i), c(i)) + 0", formats: "d|s,d|s->d|s", types: "i8 u8 i64"})
	}
	checkAll(t, table)
}

// function is a definition, cases as "region: body".
func function(name string, params []string, cases ...index.CaseText) []libsparse.Function {
	return []libsparse.Function{{Name: name, Params: params, Cases: cases}}
}

// majority has a value where two of its arguments have one, another for each pair.
var majority = function("majority", []string{"x", "y", "z"},
	index.CaseText{Region: "x & y & z", Body: "x * y * z"}, index.CaseText{Region: "x & y", Body: "x + y"},
	index.CaseText{Region: "x & z", Body: "x - z"}, index.CaseText{Region: "y & z", Body: "max(y, z)"})

// either has a value of its own in three regions.
var either = function("either", []string{"x", "y"},
	index.CaseText{Region: "x & y", Body: "x * y"}, index.CaseText{Region: "x", Body: "42"}, index.CaseText{Region: "y", Body: "-y"})

var tacoFunctions = []row{
	{expr: "a(i) = majority(b(i), c(i), d(i))", formats: "s,s,s->s s,s,s->d d,s,s->s s,d,d->d s,s,d->s any,xx,xx->xx", functions: majority},
	{expr: "A(i,j) = majority(B(i,j), C(i,j), D(i,j))", formats: "xx,ss|ds,xx->ss|dd", functions: majority, types: "f64"},
	{expr: "a(i) = either(b(i), c(i))", formats: "any,any->any", functions: either},
	{expr: "A(i,j) = either(B(i,j), C(i,j))", formats: "xx,xx->xx", functions: either},
	{expr: "y(i) |= first[0 & ~1](A(i,j) * f(j), v(i))", formats: "ds,s,s->d", types: "bool"},
	{expr: "y(i) |= and[0 & ~1](A(i,j), v(i))", formats: "ds|dsT|oo,s|b->s|d|b", types: "bool f32"},
	{expr: "t(i) |= A(i,j) * f(j); y(i) = first[0 & ~1](t(i), v(i))", formats: "ds|dsT!,s|b|d,s|b->s|d", types: "bool f32"},
	{expr: "y(i) min= A(i,j) + x(j)", formats: "ds|dsT|ss|oo,d|s->d|s"},
	{expr: "ij,j->i", formats: "ds|dsT|ss|oo,d|s->d|s", reduce: "min", combine: "add"},
	{expr: "ij,jk->ik", formats: "ds|dsT|ss|oo,dd|ds->dd|ds", reduce: "max", combine: "min"},
	{expr: "a(i) = add[0 ^ 1](b(i), c(i))", formats: "any,any->any"},
	{expr: "A(i,j) = add[0 ^ 1](B(i,j), C(i,j))", formats: "plain,plain->xx", types: "f64"},
}

// The regions of TACO's tests of merge lattices.
var tacoLattices = []row{
	{expr: "a(i) = (b(i) + c(i)) * d(i)", formats: "any,any,any->s|d", types: "f64"},
	{expr: "a(i) = b(i) * c(i) + d(i)", formats: "any,any,any->s|d", types: "f64"},
	{expr: "a(i) = (b(i) * c(i)) + (d(i) * e(i))", formats: "d|s|h,d|s|h,d|s|b,d|s->s|d", types: "f64"},
	{expr: "a(i) = (b(i) + c(i)) * (d(i) + e(i))", formats: "d|s|h,d|s|h,d|s|b,d|s->s|d", types: "f64"},
	{expr: "a(i) = b(i) * c(i) * d(i)", formats: "h|s|d,h|s|d,h|s|d->h|s|d"},
	{expr: "a(i) = b(i) + c(i) + d(i)", formats: "h|s|d,h|s|d,h|s|d->h|s|d"},
	{expr: "a(i) = mul[~(~0 | ~1)](b(i), c(i))", formats: "any,any->any"},
	{expr: "a(i) = add[~0 & ~1](b(i) + 1, c(i))", formats: "any,any->xx"},
	{expr: "a(i) = heaviside[~(0 & 1)](b(i), c(i))", formats: "any,any->xx"},
	{expr: "a(i) = sub[~(0 | 1)](b(i), c(i))", formats: "any,any->xx"},
	{expr: "a(i) = sub[~0 & 1](b(i), c(i))", formats: "any,any->any"},
	{expr: "a(i) = sub[0 & ~1](b(i), c(i))", formats: "any,any->any"},
	{expr: "a(i) = sub[0 | ~1](b(i), c(i))", formats: "any,any->xx"},
	{expr: "a(i) = where[0 & ~1 | 2](b(i), c(i), d(i))", formats: "any,any,any->s|d", types: "f64"},
	{expr: "a(i) = where[0 ^ 1 ^ 2](b(i), c(i), d(i))", formats: "any,any,any->s|d", types: "f64"},
	{expr: "a = add[0 & ~1](b(i), c(i))", formats: "any,any->"},
	{expr: "A(i,j) = sub[0 & ~1](B(i,j), c(i))", formats: "plain,xx->xx"},
	{expr: "A(i,j) = sub[0 & ~1](B(i,j), c(j))", formats: "plain,xx->xx"},
	{expr: "a(i) = 1", formats: ""},
}

// Tensor decompositions, the Kronecker product, and a quantum-chemistry sum.
var tacoApplications = []row{
	{expr: "a(i) = sqrt(v(i))", formats: "d->d s->s"},
	{expr: "A(i,k) = B(j,i) * C(j,k)", formats: "dd,dd->dd ds,ds->ds"},
	{expr: "a(j) = B(i,j) * C(i,j)", formats: "dd,dd->d ds,ds->d ds,ds->s"},
	{expr: "A(i,j) = B(i,j) / c(j)", formats: "dd,d->dd ds,d->ds dsT,d->dsT"},
	{expr: "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)", formats: "sss,dd,dd->dd"},
	{expr: "A(j,r) = T(i,j,k) * B(i,r) * C(k,r)", formats: "sss|sss@102,dd,dd->dd"},
	{expr: "A(k,r) = T(i,j,k) * B(i,r) * C(j,r)", formats: "sss|sss@201,dd,dd->dd"},
	{expr: "a = S(i,j,k) * T(i,j,k)", formats: "sss,sss-> ddd,sss->", given: data{"S": d233a, "T": d233a}, want: "val 139"},
	{expr: "a = v(r) * w(s) * A(i,r) * B(i,s) * C(j,r) * D(j,s) * E(k,r) * F(k,s)", types: "f64"},
	{expr: "a = T(i,j,k) * v(r) * B(i,r) * C(j,r) * D(k,r)", formats: "sss,d,dd,dd,dd-> xx,d,dd,dd,dd->", types: "f64"},
	{expr: "A(i,j,k,l) = B(i,k) * C(j,l)", formats: "dd,dd->dddd ds,ds->dsds ds,ds->ssss"},
	{expr: "tau = z(i) * x(j) * theta(i,j)", formats: "d,d,dd-> d,d,ds-> s,s,ss->"},
	{expr: "tau = z(i) * x(j) * square(theta(i,j))", formats: "d,d,dd-> d,d,ds-> s,s,ss->"},
	{expr: "tau = z(i) * x(j) * cube(theta(i,j))", formats: "d,d,dd-> d,d,ds-> s,s,ss->"},
	{expr: "tau = z(i) * x(j) * theta(i,j) * phi(i,j)", formats: "d,d,dd,dd-> d,d,ds,ds-> s,s,ss,ss->"},
}

// Windows, strides, and sets of indices, which are patterns.
var tacoWindows = []row{
	{expr: "A(i,j) = B(i(2:4),j(2:4)) + C(i(4:6),j(4:6)) + D(i(1:3),j(1:3))", formats: "xx,xx,xx->xx", types: "f64"},
	{expr: "A(i,j) = B(i(2:4),j(2:4)) * C(i(4:6),j(4:6))", formats: "xx,xx->xx"},
	{expr: "A(i(2:4),j(2:4)) = B(i(2:4),j(2:4)) + C(i(0:2),j(1:3))", formats: "xx,xx->xx"},
	{expr: "A(i(2:4),j(2:4)) = B(i(4:6),j(0:2)) * C(i(0:2),j(1:3))", formats: "xx,xx->xx"},
	{expr: "A(i,k) = B(i(2:6),j(1:5)) * C(j(0:4),k(3:9))", formats: "xx,xx->xx", types: "f64"},
	{expr: "y(i) = A(i(1:4),j(2:6)) * x(j)", formats: "plain,xx->xx"},
	{expr: "T(i,j) = B(i(1:4),j(1:4)); A(i,j) = T(i,j) * C(i(0:3),j(2:5))", formats: "xx,xx->xx", types: "f64"},
	{expr: "a(i) = b(i(0:10:5)) + c(i(3:7:2))", formats: "any,any->any"},
	{expr: "A(i,j) = B(i(0:10:5),j(1:9:3))", formats: "any->xx"},
	{expr: "A(i(0:10:5),j(1:9:3)) = B(i,j)", formats: "plain->xx"},
	{expr: "A(i(0:10:5),j) += B(i(0:2),j) + C(i,j)", formats: "xx,xx->xx", types: "f64"},
	{expr: "a(i) = S(i,k) * x(k)", formats: "ds!|oo!,any->xx"},
	{expr: "A(i,j) = S(i,k) * T(j,l) * B(k,l)", formats: "ds!,ds!,xx->xx", types: "f64"},
	{expr: "A(k,j) = S(k,i) * B(i,j)", formats: "dsT!|oo!,xx->xx"},
}

// Types and what they are promoted to.
var tacoTypes = []row{
	{expr: "a(i) = b(i) + c(i)", formats: "d,d->d s,s->s s,d->d", types: everyType},
	{expr: "a(i) = b(i) * c(i)", formats: "d,d->d s,s->s s,d->d", types: everyType},
	{expr: "y(i) = A(i,j) * x(j)", formats: "dd,d->d ds,d->d ss,s->s", types: everyType},
	{expr: "A(i,j) = B(i,j)", formats: "ds->dsT ss->dd oo->ds", types: everyType},
	{expr: "a = b(i)", formats: "d-> s->", types: everyType},
	{expr: "a(i) = b(i) * c(i)", formats: "xx,xx->xx", types: "f32,f64 f64,f32 i32,f32 f64,i64 u8,i16 bool,f32 f32,c64 c64,f64 i8,c128 f16,bf16"},
	{expr: "a(i) = b(i) + c(i)", formats: "xx,xx->xx", types: "f32,f64 f64,f32 i32,f32 f64,i64 u8,i16 bool,f32 f32,c64 c64,f64 i8,c128 f16,bf16"},
}

const everyType = "bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128"

func TestTACO(t *testing.T) {
	for name, table := range map[string][]row{
		"storage": tacoStorage, "lower": tacoLower, "functions": tacoFunctions, "lattices": tacoLattices, "applications": tacoApplications,
		"windows": tacoWindows, "types": tacoTypes,
	} {
		t.Run(name, func(t *testing.T) { checkAll(t, table) })
	}
}

// TestUnionsGrow adds vectors with more entries than anything is allocated for at first.
func TestUnionsGrow(t *testing.T) {
	r := row{expr: "a(i) = b(i) + c(i)", formats: "s,s->s", sizes: map[index.Var]int{"i": 10000}, density: 0.25}
	r.check(t)
}
