"""Values and gradients of products against dense torch, for every format."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

import libsparse as ls

MATRIX_FORMATS = ["csr", "csc", "dcsr", "dcsc", "coo", "uq:1,0"]
CUBE_FORMATS = ["csf", "coo", "sss:2,0,1", "dss", "dds", "sds"]


def sparse(shape, format, density=0.4, seed=0):
    """A random SparseTensor of doubles."""
    g = torch.Generator().manual_seed(seed)
    return ls.random(shape, density, format=format, generator=g, dtype=torch.float64)


def dense(*shape, seed=1):
    """A random dense tensor of doubles."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def to_dense(t):
    """A dense tensor of a result of either kind."""
    return t.to_dense() if isinstance(t, ls.SparseTensor) else t


# spec, shape of the sparse operand, shapes of the dense operands
MATRIX_CASES = [
    ("ij,jk->ik", (6, 5), [(5, 3)]),
    ("ij,j->i", (6, 5), [(5,)]),
    ("ij,ik->jk", (6, 5), [(6, 3)]),
    ("ij,ik,jk->ij", (6, 5), [(6, 3), (5, 3)]),
    ("ij,ij->ij", (6, 5), [(6, 5)]),
    ("ij,i->ij", (6, 5), [(6,)]),
    ("ij->i", (6, 5), []),
    ("ij->j", (6, 5), []),
    ("ij->", (6, 5), []),
    ("ij,i,j->", (6, 5), [(6,), (5,)]),
    ("ij,jk->i", (6, 5), [(5, 3)]),
]
CUBE_CASES = [
    ("ijk,jr,kr->ir", (4, 3, 5), [(3, 2), (5, 2)]),
    ("ijk,ir,kr->jr", (4, 3, 5), [(4, 2), (5, 2)]),
    ("ijk,kr->ijr", (4, 3, 5), [(5, 2)]),
    ("ijk,k->ij", (4, 3, 5), [(5,)]),
    ("ijk->k", (4, 3, 5), []),
]
CASES = [(f, *c) for f in ("csr", "csc", "coo") for c in MATRIX_CASES]
CASES += [(("dcsr", "dcsc", "uq:1,0")[n % 3], *c) for n, c in enumerate(MATRIX_CASES)]
CASES += [(f, *c) for f in CUBE_FORMATS[::3] for c in CUBE_CASES]
CASES += [(f, *c) for n, c in enumerate(CUBE_CASES) for f in ("coo", "sss:2,0,1", "dds", "sds")[n % 2 :: 2]]


@pytest.mark.parametrize(("format", "spec", "shape", "others"), CASES)
def test_values_and_gradients(format, spec, shape, others):
    a = sparse(shape, format)
    operands = [dense(*s, seed=n) for n, s in enumerate(others)]
    sampled = spec.split("->")[1] == spec.split(",")[0].split("->")[0]
    wish = a.format if sampled else "dense" if spec.split("->")[1] else None

    values = a.values().clone().requires_grad_()
    mine = [x.clone().requires_grad_() for x in operands]
    out = ls.einsum(spec, a.with_values(values), *mine, format=wish)

    theirs_a = a.to_dense().requires_grad_()
    theirs = [x.clone().requires_grad_() for x in operands]
    want = torch.einsum(spec, theirs_a, *theirs)
    torch.testing.assert_close(to_dense(out), want)

    weight = dense(*want.shape, seed=9)
    (to_dense(out) * weight).sum().backward()
    (want * weight).sum().backward()
    at = tuple(a.indices())
    torch.testing.assert_close(values.grad, theirs_a.grad[at])
    for x, y in zip(mine, theirs, strict=True):
        torch.testing.assert_close(x.grad, y.grad)


CHECKED = [("ij,jk->ik", [(4, 2)]), ("ij,j->i", [(4,)]), ("ij,ik,jk->ij", [(3, 2), (4, 2)]), ("ij->i", [])]


@pytest.mark.parametrize(
    ("format", "spec", "others"),
    [
        (format, *case)
        for case, another in zip(CHECKED, ("csc", "coo", "dcsr", "csc"), strict=True)
        for format in ("csr", another)
    ],
)
def test_gradcheck(format, spec, others):
    a = sparse((3, 4), format, 0.5)
    inputs = [a.values().clone().requires_grad_()] + [dense(*s, seed=n).requires_grad_() for n, s in enumerate(others)]
    wish = a.format if spec.endswith("->ij") else "dense"

    def run(values, *rest):
        out = ls.einsum(spec, a.with_values(values), *rest, format=wish)
        return out.values() if isinstance(out, ls.SparseTensor) else out

    assert gradcheck(run, inputs)
    assert gradgradcheck(run, inputs)


@pytest.mark.parametrize("formats", [("csr", "csr"), ("csr", "csc"), ("dcsr", "csr"), ("csc", "csc")])
def test_sparse_times_sparse(formats):
    a, b = sparse((5, 6), formats[0]), sparse((6, 4), formats[1], seed=3)
    va, vb = a.values().clone().requires_grad_(), b.values().clone().requires_grad_()
    out = ls.einsum("ij,jk->ik", a.with_values(va), b.with_values(vb), format="csr")
    assert out.format == "csr"
    ta, tb = a.to_dense().requires_grad_(), b.to_dense().requires_grad_()
    want = ta @ tb
    torch.testing.assert_close(out.to_dense(), want)
    weight = dense(5, 4)
    (out.to_dense() * weight).sum().backward()
    (want * weight * (out.detach().map(torch.ones_like).to_dense())).sum().backward()
    torch.testing.assert_close(va.grad, ta.grad[tuple(a.indices())])
    torch.testing.assert_close(vb.grad, tb.grad[tuple(b.indices())])


def test_sparse_times_sparse_gradcheck():
    a, b = sparse((3, 4), "csr"), sparse((4, 3), "csr", seed=3)

    def run(x, y):
        return ls.einsum("ij,jk->ik", a.with_values(x), b.with_values(y), format="csr").values()

    inputs = [a.values().clone().requires_grad_(), b.values().clone().requires_grad_()]
    assert gradcheck(run, inputs)
    assert gradgradcheck(run, inputs)


def test_repeated_product_keeps_its_pattern():
    a = sparse((5, 6), "csr")
    first = ls.einsum("ij,jk->ik", a, a.T, format="csr")
    again = ls.einsum("ij,jk->ik", a * 2, (a * 3).T, format="csr")
    assert again.pattern is first.pattern
    torch.testing.assert_close(again.to_dense(), 6 * first.to_dense())


def test_gram_matrix_of_one_tensor():
    a = sparse((4, 5), "csr")
    values = a.values().clone().requires_grad_()
    x = a.with_values(values)
    (ls.einsum("ij,ij->", x, x)).backward()
    torch.testing.assert_close(values.grad, 2 * a.values())


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0), (1, 1)])
def test_empty_shapes(shape):
    a = ls.tensor(torch.ones(shape))
    out = a @ torch.ones(shape[1], 3)
    torch.testing.assert_close(out, torch.ones(shape) @ torch.ones(shape[1], 3))


def test_no_entries():
    a = ls.tensor(torch.zeros(3, 4))
    x = torch.ones(4, 2, requires_grad=True)
    out = a @ x
    assert torch.equal(out, torch.zeros(3, 2))
    out.sum().backward()
    assert torch.equal(x.grad, torch.zeros(4, 2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.int32])
def test_dtypes(dtype):
    a = ls.tensor(torch.randint(0, 3, (5, 6)).to(dtype))
    x = torch.randint(-4, 4, (6, 3)).to(dtype)
    out = a @ x
    assert out.dtype == dtype
    assert torch.equal(out, a.to_dense() @ x)


def test_dtypes_promote():
    a = ls.tensor(torch.randint(0, 3, (5, 6)))
    x = torch.randn(6, 3, dtype=torch.float64)
    out = a @ x
    assert out.dtype == torch.float64
    torch.testing.assert_close(out, a.to_dense().double() @ x)


def test_pattern_only():
    mask = torch.rand(5, 6) < 0.5
    a, x = ls.from_mask(mask), torch.randn(6, 3)
    torch.testing.assert_close(a @ x, mask.float() @ x)


def test_strides():
    a = ls.tensor((torch.rand(5, 6) < 0.5).float())
    for x in (torch.randn(3, 6).T, torch.randn(6, 6)[:, ::2], torch.randn(6, 1).expand(6, 4), torch.randn(12, 3)[::2]):
        torch.testing.assert_close(a @ x, a.to_dense() @ x)


@given(st.integers(1, 7), st.integers(1, 7), st.booleans(), st.sampled_from(MATRIX_FORMATS), st.integers(0, 10**6))
def test_matmul_random(n, m, narrow, format, seed):
    k = 1 if narrow else 3
    a, x = sparse((n, m), format, 0.5, seed), dense(m, k, seed=seed)
    torch.testing.assert_close(a @ x, a.to_dense() @ x)
    y = dense(k, n, seed=seed)
    torch.testing.assert_close(y @ a, y @ a.to_dense())


@pytest.mark.parametrize("spec", ["ij, jk", "...j,jk->...k", "ij...,jk->ik", " i j , j k -> i k "])
def test_spellings(spec):
    a, x = sparse((5, 6), "csr"), dense(6, 3)
    torch.testing.assert_close(to_dense(ls.einsum(spec, a, x)), a.to_dense() @ x)


@pytest.mark.parametrize("format", MATRIX_FORMATS)
def test_diagonal(format):
    a = sparse((5, 5), format)
    values = a.values().clone().requires_grad_()
    out = ls.einsum("ii->", a.with_values(values))
    torch.testing.assert_close(out, a.to_dense().trace())
    out.backward()
    rows, cols = a.indices()
    torch.testing.assert_close(values.grad, (rows == cols).double())
    torch.testing.assert_close(to_dense(ls.einsum("ii->i", a, format="dense")), a.to_dense().diagonal())


def test_mean():
    a, x = sparse((5, 6), "csr"), dense(6, 3)
    count = (a.to_dense() != 0).sum(1, keepdim=True).clamp(min=1)
    torch.testing.assert_close(ls.matmul(a, x, reduce="mean"), a.to_dense() @ x / count)


def test_sddmm_and_mttkrp():
    mask = ls.from_mask(torch.rand(5, 6) < 0.5)
    q, k = dense(5, 3), dense(3, 6)
    torch.testing.assert_close(ls.sddmm(mask, q, k).to_dense(), (q @ k) * mask.to_dense())
    t = sparse((4, 3, 5), "csf")
    factors = [dense(n, 2, seed=n) for n in t.shape]
    want = torch.einsum("ijk,ir,kr->jr", t.to_dense(), factors[0], factors[2])
    torch.testing.assert_close(ls.mttkrp(t, factors, 1), want)


def test_values_changed_in_place():
    a, x = sparse((5, 6), "csr"), dense(5, 3)
    before = a.T @ x
    torch.testing.assert_close(before, a.to_dense().T @ x)
    a.values().mul_(2)
    torch.testing.assert_close(a.T @ x, 2 * before)
    torch.testing.assert_close(a @ dense(6, 2), a.to_dense() @ dense(6, 2))


def test_no_grad_and_inference_mode():
    a, x = sparse((5, 6), "csr").requires_grad_(), dense(6, 3)
    with torch.no_grad():
        assert not (a @ x).requires_grad
    with torch.inference_mode():
        torch.testing.assert_close(a @ x, a.detach().to_dense() @ x)
    assert (a @ x).requires_grad
