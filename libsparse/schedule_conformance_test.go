package libsparse

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"libsparse/codegen/crun"
	"libsparse/libsparse/index"
)

// The schedules that TACO's tests use, and those of its papers, in this language: each has to be accepted, and to mean
// what the expression does in every interpreter and in C.
var conformance = []struct {
	name, expr, formats, schedule string
}{
	{"SpMV by rows", "y(i) = A(i,j) * x(j)", "A:ds", "split(i, i0, i1, 16); parallelize(i0, threads)"},
	{"SpMV by entries", "y(i) = A(i,j) * x(j)", "A:ds", "fuse(i, j, f); pos(f, fp, A); split(fp, p0, p1, 8); parallelize(p0, threads, atomics)"},
	{"SpMV by entries, combined", "y(i) = A(i,j) * x(j)", "A:ds", "fuse(i, j, f); pos(f, fp, A); split(fp, p0, p1, 8); parallelize(p0, threads, temporary)"},
	{"SpMV by entries of DCSR", "y(i) = A(i,j) * x(j)", "A:ss", "fuse(i, j, f); pos(f, fp, A); divide(fp, p0, p1, 4); parallelize(p0, threads, temporary)"},
	{"SpMV by entries of COO", "y(i) = A(i,j) * x(j)", "A:uq", "fuse(i, j, f); pos(f, fp, A); split(fp, p0, p1, 8); parallelize(p0, threads, atomics)"},
	{"SpMV, one entry at a time", "y(i) = A(i,j) * x(j)", "A:ds", "fuse(i, j, f); pos(f, fp, A); parallelize(fp, threads, atomics)"},
	{"SpMV with atomics", "y(i) = A(i,j) * x(j)", "A:ds:1,0", "reorder(j, i); parallelize(j, threads, atomics)"},
	{"slices with atomics", "y(j) = A(i,j,k) * x(k)", "A:dss", "reorder(i, j, k); parallelize(i, threads, atomics)"},
	{"dense slices", "y(j) = A(i,j,k) * x(k)", "", "reorder(j, i, k); parallelize(j, threads)"},
	{
		"SpMM", "C(i,k) = A(i,j) * B(j,k)", "A:ds",
		"split(i, i0, i1, 16); pos(j, jp, A); split(jp, jp0, jp1, 8); reorder(i0, i1, jp0, k, jp1); parallelize(i0, threads); vectorize(k)",
	},
	{"SpGEMM CSR x CSR", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds C:ds", "reorder(i, j, k); precompute(all, w, at=1, row); assemble(insert); parallelize(i, threads)"},
	{"SpGEMM by a bitmap", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds C:ds", "reorder(i, j, k); precompute(all, w, at=1, bitmap); assemble(bounded); parallelize(i, threads)"},
	{"SpGEMM by a bitmap and its words", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds C:ds", "reorder(i, j, k); precompute(all, w, at=1, blocks); assemble(append); parallelize(i, threads)"},
	{"SpGEMM by a bytemap", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds C:ds", "reorder(i, j, k); precompute(all, w, at=1, bytemap); assemble(bounded); parallelize(i, threads)"},
	{"SpGEMM by what each row chooses", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds C:ds", "reorder(i, j, k); precompute(all, w, at=1, adaptive); assemble(append); parallelize(i, threads)"},
	{"gradient of SpGEMM by lookups", "D(i,j) = A(i,j) * G(i,k) * B(j,k)", "A:ds G:ds B:ds D:ds", "reorder(i, j, k); precompute(G, row, at=1, lookup); precompute(A(i,j) * row(k) * B(j,k), w, at=1, tile); parallelize(i, threads)"},
	{"SpGEMM without branches", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds C:ds", "reorder(i, j, k); precompute(all, w, at=1, scatter); assemble(append); parallelize(i, threads)"},
	{"SpGEMM DCSR x CSR", "C(i,k) = A(i,j) * B(j,k)", "A:ss B:ds C:ds", "reorder(i, j, k); precompute(all, w, at=1, row); assemble(insert); parallelize(i, threads)"},
	{"SpGEMM DCSR x DCSR", "C(i,k) = A(i,j) * B(j,k)", "A:ss B:ss C:ds", "reorder(i, j, k); precompute(all, w, at=1, row); assemble(insert); parallelize(i, threads)"},
	{"SpGEMM CSR x CSC", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds:1,0 C:ds", "precompute(all, w, at=2, tile); assemble(insert); parallelize(i, threads)"},
	{"SpGEMM DCSR x DCSC", "C(i,k) = A(i,j) * B(j,k)", "A:ss B:ss:1,0 C:ds", "precompute(all, w, at=2, tile); assemble(insert); parallelize(i, threads)"},
	{"SpMM of DCSR", "C(i,k) = A(i,j) * B(j,k)", "A:ss", "reorder(i, j, k); parallelize(i, threads); vectorize(k)"},
	{"SpGEMM CSC x CSC", "C(i,k) = A(i,j) * B(j,k)", "A:ds:1,0 B:ds:1,0 C:ds:1,0", "reorder(k, j, i); precompute(all, w, at=1, row); assemble(insert); parallelize(k, threads)"},
	{"SpGEMM in strips", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds", "reorder(i, j, k); split(k, k0, k1, 4); reorder(k0, i, j, k1); precompute(all, w, at=2, tile)"},
	{"sum of CSR", "C(i,j) = A(i,j) + B(i,j)", "A:ds B:ds C:ds", "assemble(insert); parallelize(i, threads)"},
	{"sum of CSR in one pass", "C(i,j) = A(i,j) + B(i,j)", "A:ds B:ds C:ds", "parallelize(i, threads); assemble(bounded)"},
	{"SpGEMM in one pass", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds C:ds", "reorder(i, j, k); precompute(all, w, at=1, hash, rename=k:kw); parallelize(i, threads); assemble(bounded)"},
	{"sum of tensors in strips in one pass", "C(i,j,k) = A(i,j,k) + B(i,j,k)", "A:dds B:sss C:dds", "divide(i, i0, i1, 3); parallelize(i0, threads); assemble(bounded)"},
	{"sum of tensors", "C(i,j,k) = A(i,j,k) + B(i,j,k)", "A:dds B:dds C:dds", "assemble(insert); parallelize(i, threads)"},
	{"sum of strips", "C(i,j) = A(i,j) + B(i,j)", "A:ds B:ds C:ds", "split(i, i0, i1, 4); split(j, j0, j1, 3); parallelize(i0, threads)"},
	{
		"SDDMM", "D(i,k) = B(i,k) * C(i,j) * E(j,k)", "B:ds D:ds",
		"split(i, i0, i1, 16); pos(k, kp, B); split(kp, kp0, kp1, 8); reorder(i0, i1, kp0, j, kp1); parallelize(i0, threads); vectorize(kp1)",
	},
	{"SDDMM by entries", "D(i,k) = B(i,k) * C(i,j) * E(j,k)", "B:ds D:ds", "fuse(i, k, f); pos(f, fp, B); precompute(C(i,j) * E(j,k), w, at=1, tile); parallelize(fp, threads)"},
	{"TTV by fibers", "A(i,j) = B(i,j,k) * c(k)", "B:dss", "fuse(i, j, f); pos(f, fp, B); split(fp, p0, p1, 16); reorder(p0, p1, k); parallelize(p0, threads)"},
	{"TTV in strips of fibers", "A(i,j) = B(i,j,k) * c(k)", "B:dss", "fuse(i, j, f); pos(f, fp, B); split(fp, p0, p1, 4); pos(k, kp, B); split(kp, k0, k1, 2); reorder(p0, p1, k0, k1)"},
	{"TTV to CSR", "A(i,j) = B(i,j,k) * c(k)", "B:dss A:ds", "precompute(all, w, at=2, tile); assemble(insert); parallelize(i, threads)"},
	{"TTM", "A(i,j,l) = B(i,j,k) * C(k,l)", "B:dss", "reorder(i, j, k, l); fuse(i, j, f); pos(f, fp, B); split(fp, p0, p1, 8); parallelize(p0, threads); vectorize(l)"},
	{"MTTKRP", "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)", "B:dss", "reorder(i, k, l, j); precompute(B(i,k,l) * D(l,j), w, at=2); parallelize(i, threads)"},
	{"MTTKRP by entries", "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)", "B:sss", "reorder(i, k, l, j); fuse(i, k, f); fuse(f, l, g); pos(g, gp, B); split(gp, g0, g1, 8); parallelize(g0, threads, temporary)"},
	{"precompute a factor", "y(i) = A(i,j) * x(j)", "", "precompute(x(j), w, at=0)"},
	{"precompute in 2-D", "C(i,k) = A(i,j) * B(j,k)", "", "precompute(A(i,j) * B(j,k), w, at=0)"},
	{"precompute in 3-D", "C(i,j,k) = A(i,j,k) * B(j,k)", "", "precompute(A(i,j,k), w, at=0)"},
	{"precompute in 4-D", "D(i,j,k,l) = A(i,j,k,l) + B(i,l)", "", "precompute(A(i,j,k,l), w, at=0)"},
	{"tiles in 2-D", "C(i,k) = A(i,j) * B(j,k)", "", "split(i, i0, i1, 4); split(k, k0, k1, 3); reorder(i0, k0, j, i1, k1); precompute(all, w, at=2, tile)"},
	{"two workspaces", "C(i,j) = A(i,j) * B(i,j) * x(j)", "A:ds", "precompute(x(j), v, at=0); precompute(A(i,j) * B(i,j), w, at=1)"},
	{"a workspace in a workspace", "y(i) = A(i,j) * B(j,k) * x(k)", "", "precompute(all, w, at=1, tile); precompute(B(j,k) * x(k), v, at=1)"},
	{"bound and split, 16 by 4", "a(i) = b(i) * c(i)", "", "bound(i, 16); split(i, i0, i1, 4); precompute(all, w, at=1, tile)"},
	{"bound and split, 16 by 5", "a(i) = b(i) * c(i)", "", "bound(i, 16); split(i, i0, i1, 5); precompute(b(i), w, at=1, tile)"},
	{"bound and split, 17 by 4", "a(i) = b(i) * c(i)", "", "bound(i, 17); split(i, i0, i1, 4); precompute(b(i), w, at=1, tile); vectorize(i1)"},
	{"bound and divide, 17 in 4", "a(i) = b(i) * c(i)", "", "bound(i, 17); divide(i, i0, i1, 4); precompute(all, w, at=1, array)"},
	{"split with a shifted tail", "a(i) = b(i) * c(i)", "", "split(i, i0, i1, 4, tail=2); vectorize(i1)"},
	{"rows ahead of dot products", "C(i,j) = A(i,j) * B(i,k) * D(j,k)", "A:ds C:ds", "reorder(i, j, k); bound(k, 16); precompute(B*D, w, at=2, tile); prefetch(j, 3); unroll(j, 4); vectorize(k); parallelize(i, threads)"},
	{"copied strips", "C(i,k) = A(i,j) * B(j,k)", "A:ds", "bound(k, 16); split(k, k0, k1, 8); reorder(k0, i, j, k1); precompute(B, p, at=1, array, rename=j:jp k1:kp); precompute(A(i,j) * p(j,k1), w, at=1, tile); vectorize(k1); vectorize(kp); parallelize(jp, threads); parallelize(i, threads)"},
	{"copied strips, the last one shorter", "C(i,k) = A(i,j) * B(j,k)", "A:ds", "bound(k, 17); split(k, k0, k1, 8); reorder(k0, i, j, k1); precompute(B, p, at=1, array, rename=j:jp k1:kp); precompute(A(i,j) * p(j,k1), w, at=1, tile); parallelize(i, threads)"},
	{"copied strips of any width", "C(i,k) = A(i,j) * B(j,k)", "A:ds", "split(k, k0, k1, 3); reorder(k0, i, j, k1); precompute(B, p, at=1, array, rename=j:jp k1:kp); parallelize(i, threads)"},
	{"entries ahead", "y(i) = A(i,j) * x(j)", "A:ds", "reorder(i, j); precompute(all, w, at=1, tile); vectorize(j); unroll(i, 4); ahead(j, A, 5); parallelize(i, threads)"},
	{"entries ahead, two vectors", "y(i) = A(i,j) * x(j)", "A:ds", "reorder(i, j); precompute(all, w, at=1, tile); unroll(j, 2); vectorize(j); ahead(j, A, 512)"},
	{"entries and rows ahead", "C(i,k) = A(i,j) * B(j,k)", "A:ds", "reorder(i, j, k); bound(k, 16); precompute(all, w, at=1, tile); prefetch(j, 3); ahead(j, A, 2); vectorize(k); parallelize(i, threads)"},
	{"entries ahead of columns", "y(i) = A(i,j) * x(j)", "A:ds:1,0", "reorder(j, i); ahead(i, A, 40)"},
	{"entries of a list of rows ahead", "C(i,k) = A(i,j) * B(j,k)", "A:ss", "reorder(i, j, k); ahead(j, A, 4096)"},
	{"rows of adjacent coordinates in lanes", "y(i) = A(i,j) * x(j)", "A:dl(8)", "reorder(i, j); precompute(all, w, at=1, tile); unroll(j, 4); unroll(i, 8); adjacent(j); parallelize(i, threads)"},
	{"elements gathered at once in lanes", "y(i) = A(i,j) * x(j)", "A:dl(8)", "reorder(i, j); precompute(all, w, at=1, tile); unroll(j, 8); unroll(i, 8); gather(j); parallelize(i, threads)"},
	{"adjacent elements gathered at once", "y(i) = A(i,j) * x(j)", "A:dl(8)", "reorder(i, j); precompute(all, w, at=1, tile); unroll(j, 4); unroll(i, 8); adjacent(j); gather(j)"},
	{"elements of a row gathered at once", "y(i) = A(i,j) * x(j)", "A:ds", "reorder(i, j); precompute(all, w, at=1, tile); unroll(j, 2); vectorize(j); gather(j); unroll(i, 4); parallelize(i, threads)"},
	{"begins of rows ahead", "C(i,k) = A(i,j) * B(j,k)", "A:ds", "reorder(i, j, k); bound(k, 16); precompute(all, w, at=1, tile); prefetch(j, 3, begin); vectorize(k); parallelize(i, threads)"},
	{"adjacent coordinates of a row", "y(i) = A(i,j) * x(j)", "A:ds", "reorder(i, j); precompute(all, w, at=1, tile); vectorize(j); adjacent(j)"},
	{"entries ahead of dot products", "C(i,j) = A(i,j) * B(i,k) * D(j,k)", "A:ds C:ds", "reorder(i, j, k); bound(k, 16); precompute(B*D, w, at=2, tile); ahead(j, A, 9); unroll(j, 4); vectorize(k); parallelize(i, threads)"},
	{"copied strips of two operands", "C(i,k) = A(i,j) * B(j,k) * gt(D(i,k), E(j,k))", "A:ds", "bound(k, 16); split(k, k0, k1, 8); reorder(k0, i, j, k1); precompute(B, p, at=1, array, rename=j:jp k1:kp); precompute(E, q, at=0, array, rename=j:jq k1:kq); precompute(A(i,j) * p(j,k1) * gt(D(i,k), q(j,k1)), w, at=1, tile); vectorize(k1); vectorize(kp); vectorize(kq); parallelize(jp, threads); parallelize(jq, threads); parallelize(i, threads)"},
	{"rows ahead", "C(i,k) = A(i,j) * B(j,k)", "A:ds", "reorder(i, j, k); bound(k, 16); precompute(all, w, at=1, tile); prefetch(j, 3); vectorize(k); parallelize(i, threads)"},
	{"rows ahead of a list of rows", "C(i,k) = A(i,j) * B(j,k)", "A:ss", "reorder(i, j, k); prefetch(i, 2); prefetch(j, 200)"},
	{"entries in flight", "C(i,k) = A(i,j) * B(j,k)", "A:ds", "reorder(i, j, k); bound(k, 5); precompute(all, w, at=1, tile); unroll(j, 4); vectorize(k); parallelize(i, threads)"},
	{"sums together", "C(i,j) = A(i,j) * X(i,k) * Y(j,k)", "A:ds", "reorder(i, j, k); precompute(X*Y, w, at=2, tile); unroll(j, 4); vectorize(k); parallelize(i, threads)"},
	{"sums of rows in lanes", "y(i) = A(i,j) * x(j)", "A:ds", "precompute(all, w, at=1, tile); vectorize(j)"},
	{"renamed, 16 by 4", "a(i) = b(i) * c(i)", "", "bound(i, 16); precompute(all, w, at=0, rename=i:iw); split(iw, iw0, iw1, 4); vectorize(i)"},
	{"renamed, 16 by 5", "a(i) = b(i) * c(i)", "", "bound(i, 16); precompute(all, w, at=0, rename=i:iw); split(iw, iw0, iw1, 5); unroll(i, 4)"},
	{"renamed, 17 by 4", "a(i) = b(i) * c(i)", "", "bound(i, 17); precompute(b(i), w, at=0, rename=i:iw); split(iw, iw0, iw1, 4); split(i, i0, i1, 8)"},
	{"renamed and bound, 17 by 4", "a(i) = b(i) * c(i)", "", "precompute(b(i), w, at=0, rename=i:iw); bound(iw, 17); split(iw, iw0, iw1, 4)"},
	{"a strip renamed, 16 by 4", "a(i) = b(i) * c(i)", "", "bound(i, 16); split(i, i0, i1, 4); precompute(all, w, at=1, tile, rename=i1:iw); unroll(iw, 2); vectorize(i1)"},
	{"a strip renamed, 16 by 5", "a(i) = b(i) * c(i)", "", "bound(i, 16); split(i, i0, i1, 5); precompute(b(i), w, at=1, tile, rename=i1:iw); split(iw, iw0, iw1, 2)"},
	{"a strip renamed, 17 by 4", "a(i) = b(i) * c(i)", "", "bound(i, 17); split(i, i0, i1, 4); precompute(b(i), w, at=1, tile, rename=i1:iw); split(iw, iw0, iw1, 3); vectorize(i1)"},
	{"strips and what is in them renamed", "a(i) = b(i) * c(i)", "", "split(i, i0, i1, 4); precompute(b(i), w, at=0, rename=i0:u i1:v); reorder(v, u); parallelize(i0, threads)"},
	{"renamed, with a shifted tail", "a(i) = b(i) * c(i)", "", "precompute(b(i), w, at=0, rename=i:iw); split(iw, iw0, iw1, 4, tail=2); vectorize(iw1)"},
	{"renamed in a shifted tail", "a(i) = b(i) * c(i)", "", "split(i, i0, i1, 4, tail=2); precompute(b(i), w, at=1, tile, rename=i1:iw); vectorize(iw)"},
	{"dot product in tiles, renamed", "a = b(i) * c(i)", "", "split(i, i0, i1, 4); precompute(all, w, at=1, tile, rename=i1:iw); vectorize(iw)"},
	{"dot product in a tile, renamed", "a = b(i) * c(i)", "", "split(i, i0, i1, 4); reorder(i1, i0); precompute(all, w, at=1, rename=i0:iw); parallelize(iw, threads)"},
	{
		"dot product of copies, renamed", "a = b(i) * c(i)", "",
		"split(i, i0, i1, 4); precompute(all, w, at=1, tile, rename=i1:u); precompute(b(i), v, at=0, rename=u:s); precompute(c(i), z, at=0, rename=u:t); vectorize(s); unroll(t, 2)",
	},
	{"renamed in 2-D", "C(i,k) = A(i,j) * B(j,k)", "", "precompute(all, w, at=0, rename=i:iw k:kw); reorder(j, kw); reorder(iw, j); split(kw, k0, k1, 3)"},
	{"renamed in 2-D, in another order", "C(i,j) = A(i,j) + B(i,j)", "", "precompute(A(i,j), w, at=0, rename=i:iw j:jw); reorder(jw, iw); parallelize(jw, threads); vectorize(j)"},
	{"renamed in 2-D, fused", "C(i,j) = A(i,j) + B(i,j)", "A:ds", "precompute(A(i,j), w, at=0, rename=i:iw j:jw); fuse(iw, jw, f); pos(f, fp, A); split(fp, p0, p1, 4); parallelize(p0, threads)"},
	{"renamed in 3-D", "D(i,j) = A(i,j,k,l) * c(l) * d(k)", "c:s d:s", "precompute(A(i,j,k,l) * c(l), w, at=0, rename=i:iw j:jw k:kw)"},
	{"a copy by position, read densely", "y(i) = A(i,j) * x(j)", "x:s", "precompute(x(j), w, at=0, rename=j:jw); pos(jw, jp, x); split(jp, p0, p1, 4); parallelize(i, threads)"},
	{"a row filled in strips, read whole", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds C:ds", "reorder(i, j, k); precompute(all, w, at=1, row, rename=k:kw); split(kw, k0, k1, 2); assemble(insert); parallelize(i, threads)"},
	{"a row filled whole, read in strips", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds C:ds", "reorder(i, j, k); precompute(all, w, at=1, row, rename=k:kw); split(k, k0, k1, 2); assemble(insert); parallelize(i, threads)"},
	{"a renamed list in columns", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds C:ds:1,0", "reorder(i, j, k); precompute(all, w, at=0, list, rename=i:iw k:kw)"},
	{"a renamed list filled on threads", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds C:ds:1,0", "reorder(i, j, k); precompute(all, w, at=0, list, rename=i:iw k:kw); parallelize(iw, threads)"},
	{"a renamed row over two variables", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds C:ds:1,0", "reorder(i, j, k); precompute(all, w, at=0, row, rename=i:iw k:kw); split(iw, i0, i1, 3)"},
	{"a renamed galloping product", "a(i) = b(i) * c(i) + d(i)", "b:s c:s d:d", "precompute(b(i) * c(i), w, at=0, rename=i:iw); mergeby(iw, gallop); vectorize(i)"},
	{"a window, renamed", "a(i) = b(i(1:9)) * c(i)", "b:s", "bound(i, 8); precompute(b(i(1:9)), w, at=0, rename=i:iw); unroll(iw, 2)"},
	{"a sum read by strips", "y(i) = A(i,j) * x(j)", "A:ds", "precompute(all, w, at=0, hash, rename=j:jw i:iw); split(j, j0, j1, 3)"},
	{"a sum by positions, read whole", "y(i) = A(i,j) * x(j)", "A:ds", "precompute(all, w, at=1, row, rename=j:jw); pos(jw, jp, A); split(jp, p0, p1, 2); unroll(j, 2)"},
	{"strips of positions renamed", "y(i) = A(i,j) * x(j)", "A:ds", "pos(j, jp, A); split(jp, p0, p1, 4); precompute(all, w, at=2, rename=p1:q); split(q, q0, q1, 2); unroll(p1, 4)"},
	{"a mask set by what reads a workspace", "y(i) = A(i,j) * x(j)", "A:ds y:b", "precompute(all, w, at=1, rename=j:jw)"},
	{"a maximum in strips, in another order", "y(i) max= A(i,j) * x(j)", "", "precompute(all, w, at=0, rename=j:jw i:iw); reorder(jw, iw); split(jw, j0, j1, 4); parallelize(j0, threads)"},
	{"positions in a strip that a workspace is over", "a(i) = b(i) * c(i)", "b:s c:s", "divide(i, i0, i1, 2); precompute(c(i), w, at=0, array, rename=i1:u); pos(i1, p, b)"},
	{
		"positions in a strip in a workspace in a workspace", "a = b(i)", "b:s",
		"precompute(all, w, at=0, array, rename=i:u); split(u, u0, u1, 3); precompute(b(i), v, at=1, tile, rename=u1:x); pos(x, p, b); split(p, p0, p1, 2); parallelize(u0, threads)",
	},
	{"a padded matrix, renamed", "C(i,j) = A(i,j) + B(i,j)", "A:dp", "precompute(A(i,j), w, at=0, rename=i:iw j:jw); split(i, i0, i1, 4)"},
	{"dot product in tiles", "a = b(i) * c(i)", "", "split(i, i0, i1, 4); precompute(all, w, at=1, tile)"},
	{"dot product in a tile", "a = b(i) * c(i)", "", "split(i, i0, i1, 4); reorder(i1, i0); precompute(all, w, at=1, tile); unroll(i0, 4)"},
	{"dot product of a copy", "a = b(i) * c(i)", "", "split(i, i0, i1, 4); precompute(b(i), w, at=1, tile)"},
	{"dot product in lanes", "a = b(i) * c(i)", "", "precompute(all, w, at=0, tile); vectorize(i)"},
	{"dot product on threads", "a = b(i) * c(i)", "", "parallelize(i, threads, temporary)"},
	{"dot products of a ragged width", "C(i,j) = A(i,j) * B(i,k) * D(j,k)", "A:ds C:ds", "reorder(i, j, k); bound(k, 9, 15); precompute(B*D, w, at=2, tile); unroll(j, 4); vectorize(k); parallelize(i, threads)"},
	{"dot products of many lanes", "C(i,j) = A(i,j) * B(i,k) * D(j,k)", "A:ds C:ds", "reorder(i, j, k); bound(k, 20, 41); precompute(B*D, w, at=2, tile); vectorize(k)"},
	{"the largest of few", "y(i) max= B(i,k) * D(i,k)", "", "reorder(i, k); bound(k, 3, 6); precompute(all, w, at=1, tile); vectorize(k)"},
	{"columns of a ragged width", "C(j,k) = A(i,j) * B(i,k)", "A:ds", "reorder(i, j, k); bound(k, 17, 23); vectorize(k)"},
	{"elements of a ragged width", "C(i,j) = A(i,j) + B(i,j)", "", "bound(j, 9, 15); vectorize(j)"},
	{"split", "a(i) = b(i) * c(i)", "b:d c:d", "split(i, i0, i1, 2)"},
	{"split of an intersection", "a(i) = b(i) * c(i)", "b:s c:s", "split(i, i0, i1, 2)"},
	{"split of a union", "a(i) = b(i) + c(i)", "b:s c:s a:s", "split(i, i0, i1, 2)"},
	{"split of a mixture", "a(i) = b(i) + c(i)", "b:s c:d", "split(i, i0, i1, 2); parallelize(i0, threads)"},
	{"dense tiles", "C(i,j) = A(i,j) + B(i,j)", "", "split(i, i0, i1, 2); split(j, j0, j1, 4); reorder(i0, j0, i1, j1)"},
	{"positions", "a(i) = b(i)", "b:s", "pos(i, ip, b)"},
	{"positions and a sparse factor", "a(i) = b(i) * c(i)", "b:s c:s", "pos(i, ip, b)"},
	{"positions in a strip", "a(i) = b(i) * c(i)", "b:s c:s", "split(i, i0, i1, 4); pos(i1, ip, b)"},
	{"strips of positions", "a(i) = b(i) * c(i)", "b:s c:b", "pos(i, ip, b); split(ip, p0, p1, 3)"},
	{"fuse", "C(i,j) = A(i,j) * B(i,j)", "", "fuse(i, j, f); split(f, f0, f1, 8); parallelize(f0, threads)"},
	{"matrix product in tiles", "C(i,j) = A(i,k) * B(k,j)", "", "split(i, i0, i1, 4); split(j, j0, j1, 4); split(k, k0, k1, 4); reorder(i0, j0, k0, i1, j1, k1); parallelize(i0, threads)"},
	{"galloping", "a(i) = b(i) * c(i)", "b:s c:s a:s", "mergeby(i, gallop)"},
	{"galloping over three", "a = b(i) * c(i) * d(i)", "b:s c:s d:s", "mergeby(i, gallop)"},
	{"galloping in rows", "C(i,j) = A(i,j) * B(i,j)", "A:ds B:ds C:ds", "mergeby(j, gallop); assemble(insert); parallelize(i, threads)"},
	{"galloping in both dimensions", "a = A(i,j) * B(i,j)", "A:ss B:ss", "mergeby(i, gallop); mergeby(j, gallop)"},
	{"galloping where a third is dense or probed", "a(i) = b(i) * c(i) * d(i) * e(i)", "b:s c:s d:d e:h", "mergeby(i, gallop)"},
	{"galloping in strips", "a = b(i) * c(i)", "b:s c:s", "split(i, i0, i1, 4); mergeby(i1, gallop)"},
	{"two fingers", "a(i) = b(i) * c(i)", "b:s c:s a:s", "mergeby(i, gallop); mergeby(i, twofinger)"},
	{"inner products of sparse rows and columns", "C(i,k) = A(i,j) * B(j,k)", "A:ds B:ds:1,0", "reorder(i, k, j); mergeby(j, gallop); parallelize(i, threads)"},
	{"divide", "y(i) = A(i,j) * x(j)", "A:ds", "divide(i, i0, i1, 4); divide(j, j0, j1, 2); reorder(i0, i1, j0, j1); parallelize(i0, threads)"},
}

// scheduledTrial makes a trial of a row.
func scheduledTrial(t *testing.T, expr, formats, commands, elem string, extents map[index.Var]int) *trial {
	t.Helper()
	given := map[string]string{}
	for _, f := range strings.Fields(formats) {
		name, text, _ := strings.Cut(f, ":")
		given[name] = text
	}
	c := &trial{Request: &Request{Expr: expr, Schedule: commands}, Extents: extents, Modes: map[string]int{}, Density: 0.4, Seed: 5}
	a, err := index.ParseAssignment(expr, func(name string, _ int, result bool) (*index.Tensor, error) {
		if f, ok := given[name]; result && ok {
			c.Request.Output.Format = f
		}
		return &index.Tensor{Name: name}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, acc := range index.Accesses(a.RHS) {
		o := Operand{Name: acc.Tensor.Name, Format: given[acc.Tensor.Name], Dtype: elem}
		if o.Format == "" {
			o.Format = strings.Repeat("d", len(acc.Vars))
		}
		for m, v := range acc.Vars {
			o.Shape = append(o.Shape, int64(extents[v]))
			if w := acc.Window(m); w != nil {
				o.Shape[m] += w.Lo + 1 // beyond it on both sides
				c.Modes[modeName(o.Name, m)] = int(o.Shape[m])
			}
		}
		c.Request.Operands = append(c.Request.Operands, o)
	}
	if c.Request.Output.Format == "" {
		c.Request.Output.Format = strings.Repeat("d", len(a.LHS.Vars))
	}
	return c
}

var bounds = regexp.MustCompile(`bound\((\w+), (\d+)(?:, (\d+))?\)`)

// withinBounds is extents with those that a schedule bounds, of which n chooses one. Variables have one letter, names that commands make more.
func withinBounds(schedule string, extents map[index.Var]int, n int) map[index.Var]int {
	extents = maps.Clone(extents)
	for _, m := range bounds.FindAllStringSubmatch(schedule, -1) {
		least, _ := strconv.Atoi(m[2])
		most, err := strconv.Atoi(m[3])
		if err != nil {
			most = least
		}
		extents[index.Var(m[1][:1])] = least + (3+5*n)%(most-least+1)
	}
	return extents
}

func TestConformance(t *testing.T) {
	sizes := []map[index.Var]int{
		{"i": 16, "j": 7, "k": 5, "l": 6}, {"i": 17, "j": 9, "k": 5, "l": 3}, {"i": 1, "j": 19, "k": 2, "l": 4}, {"i": 0, "j": 0, "k": 1, "l": 1},
	}
	var compiled batch
	for _, row := range conformance {
		t.Run(row.name, func(t *testing.T) {
			for n, extents := range sizes {
				extents = withinBounds(row.schedule, extents, n)
				if strings.Contains(row.schedule, "tail=") && extents["i"] < 2 {
					continue
				}
				for _, elem := range []string{"f64", "f32"} {
					c := scheduledTrial(t, row.expr, row.formats, row.schedule, elem, extents)
					if elem == "f64" && n == 0 {
						compiled.add(t, c)
					} else if failure := c.run(t); failure != "" {
						t.Fatal(fmt.Sprint(extents), failure)
					}
				}
			}
		})
	}
	compiled.compile(t, crun.Options{Warnings: true, Sanitize: true})
}
