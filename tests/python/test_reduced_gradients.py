"""Gradients through reductions other than sums: products over an index, the least and the greatest."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import libsparse as ls


def values(made):
    return made.values() if isinstance(made, ls.SparseTensor) else made


def operands(dtype: torch.dtype = torch.float64):
    torch.manual_seed(3)
    A, B = ls.random((4, 6), 0.5), ls.random((6, 3), 0.6)
    a, b = (torch.rand(x.nnz, dtype=torch.float64).to(dtype) + 0.1 for x in (A, B))
    if dtype.is_complex:
        a = a + 1j * torch.rand(A.nnz, dtype=torch.float64)
    return A, B, a.requires_grad_(), b.requires_grad_()


@pytest.mark.parametrize("combine", ["mul", "add"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_products_over_an_index(dtype, combine):
    A, B, a, b = operands(dtype)

    def sparse(a, b):
        return values(
            ls.einsum("ij,jk->ik", A.with_values(a), B.with_values(b), reduce="prod", combine=combine, format="csr")
        )

    def dense(a, x):
        return ls.einsum("ij,jk->ik", A.with_values(a), x, reduce="prod", combine=combine)

    x = torch.rand(6, 2, dtype=torch.float64).to(dtype).requires_grad_()
    assert gradcheck(sparse, (a, b))
    assert gradcheck(dense, (a, x))
    if dtype.is_complex == (combine == "mul"):
        assert gradgradcheck(sparse, (a, b))
    else:
        assert gradgradcheck(dense, (a, x))
    assert gradcheck(lambda a: ls.evaluate("y(i) *= A(i,j) * 2 + 1", A=A.with_values(a)), (a,))


def test_products_with_zeros():
    A, _, a, _ = operands()
    with torch.no_grad():
        a[3] = a[7] = a[8] = 0

    def rows(a):
        return ls.einsum("ij->i", A.with_values(a), reduce="prod")

    assert gradcheck(rows, (a,))
    assert gradgradcheck(rows, (a,))


@pytest.mark.parametrize("reduce", ["min", "max", "prod"])
def test_nothing_of_the_dense_shape_is_made(reduce):
    n = 300_000  # 360 GB if it were dense
    places = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
    A = ls.from_coo(places, torch.full((n - 1,), 2.0), (n, n)).requires_grad_()
    out = ls.einsum("ij,jk->ik", A, A, reduce=reduce, combine="add")
    out.values().sum().backward()
    torch.testing.assert_close(A.grad.values()[1:-1], torch.full((n - 3,), 2.0))  # each is in two terms


@pytest.mark.parametrize("reduce", ["mean", "amax"])
def test_reductions_are_traced_and_transformed(reduce):
    A, x = ls.random((20, 20), density=0.1), torch.randn(20, 8)
    wanted = ls.spmm(A, x, reduce=reduce)
    graph = torch.compile(lambda A, x: ls.spmm(A, x, reduce=reduce), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(graph(A, x), wanted)
    torch.testing.assert_close(torch.func.vmap(lambda y: ls.spmm(A, y, reduce=reduce))(x[None])[0], wanted)


@pytest.mark.parametrize(
    ("reduce", "values"), [("max", "floats"), ("min", "few integers"), ("max", "infinite and NaN")]
)
def test_maxima_of_wide_rows(reduce, values):
    """Of as many columns and entries as kernels read in strips; all that are equal share the gradient, as in torch."""
    torch.manual_seed(0)
    A = ls.random((4200, 500), 0.15)
    x = torch.randn(500, 256) if values == "floats" else torch.randint(-3, 3, (500, 256)).float()
    if values == "infinite and NaN":
        x[5, 10], x[9, 10], x[11, 40] = float("inf"), float("-inf"), float("nan")
    A = A.with_values(torch.randint(1, 3, (A.nnz,)).float())
    factors, upstream = A.to_dense()[:, :, None], torch.rand(4200, 256)
    sparse, dense = x.clone().requires_grad_(), x.clone().requires_grad_()
    ls.matmul(A, sparse, reduce=reduce).backward(upstream)
    outside, reduced = (float("-inf"), torch.amax) if reduce == "max" else (float("inf"), torch.amin)
    some = torch.tensor([0, 10, 31, 40, 63, 64, 100, 127, 128, 191, 200, 255])
    for columns in some.split(4):  # torch's terms are dense
        terms = torch.where(factors != 0, factors * dense[None, :, columns], outside)
        reduced(terms, 1).backward(upstream[:, columns])
    torch.testing.assert_close(sparse.grad[:, some], dense.grad[:, some], equal_nan=True)
