"""Functions of two sparse tensors with different patterns that one kernel computes, beside dense torch."""

from __future__ import annotations

import pytest
import torch
from libsparse._ops import pointwise, union
from libsparse._runtime import likes

import libsparse as ls

NAMES = ["eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum"]
FEW = ["eq", "maximum"]
CASES = [
    ("csr", torch.float32, NAMES),
    *(("csr", dtype, FEW) for dtype in (torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8)),
    *((format, torch.float32, FEW) for format in ("csc", "dcsr", "coo", "csf")),
]
MANY = 20_000  # entries of each, of which both together are worth a kernel of their own


@pytest.fixture
def merged(monkeypatch):
    """What kernels that merge have given for each call, None where there was another way."""
    found = []

    def apply(*args):
        found.append(union_apply(*args))
        return found[-1]

    union_apply = union.apply
    monkeypatch.setattr(pointwise.union, "apply", apply)
    return found


def drawn(shape, dtype, entries=MANY):
    """A dense tensor, and the mask of its entries, of which some are zeros, NaN and infinite."""
    values = torch.randint(0 if dtype is torch.uint8 else -2, 3, shape).to(dtype)
    if dtype.is_floating_point:
        some = torch.rand(shape)
        values = torch.where(some < 0.1, torch.nan, torch.where(some < 0.2, torch.inf, values)).to(dtype)
    mask = torch.zeros(shape, dtype=torch.bool).flatten()
    mask[torch.randint(0, mask.numel(), (entries,))] = True
    mask = mask.reshape(shape)
    return values * mask if not dtype.is_floating_point else torch.where(mask, values, 0), mask


def stored(dense, mask, format):
    """A tensor with entries where the mask is true, also of zeros."""
    places = mask.nonzero().T
    return ls.from_coo(places, dense[tuple(places)], dense.shape, format=format)


@pytest.mark.parametrize(("format", "dtype", "names"), CASES, ids=str)
def test_results_are_those_of_dense_torch(merged, format, dtype, names):
    shape = (60, 40, 50) if format == "csf" else (300, 300)
    (a, a_mask), (b, b_mask) = drawn(shape, dtype), drawn(shape, dtype)
    A, B = stored(a, a_mask, format), stored(b, b_mask, format)
    for name in names:
        function = getattr(torch, name)
        for _ in range(2):
            found, wanted = function(A, B), function(a, b)
            assert found.format == A.format
            assert found.nnz == int((a_mask | b_mask).sum())
            torch.testing.assert_close(found.to_dense(), wanted, rtol=0, atol=0, equal_nan=True)
    assert len(merged) == 2 * len(names)
    assert None not in merged


@pytest.mark.parametrize(
    "other",
    [
        lambda A: A.T,  # converted
        lambda A: A.T.to(torch.float64),
        lambda A: A.with_values(-A.values()),  # of the same pattern
        lambda A: A.T + 1.0,  # with a fill value
        lambda A: stored(*drawn((300, 1), torch.float32, 100), "csr"),  # repeated along the other dimension
        lambda A: 2.0,
    ],
)
def test_other_operands_take_another_way_or_the_same(other):
    A = stored(*drawn((300, 300), torch.float32), "csr")
    B = other(A)
    dense = B.to_dense() if isinstance(B, ls.SparseTensor) else B
    for operator in (lambda a, b: a == b, lambda a, b: a > b):
        torch.testing.assert_close(operator(A, B).to_dense(), operator(A.to_dense(), dense), equal_nan=True)


def test_equality_of_tensors_with_different_patterns(merged):
    a, mask = drawn((300, 300), torch.int64)
    A = stored(a, mask, "csr")
    assert torch.equal(A, stored(a, a != 0, "csr"))  # which has no entries for zeros
    assert not torch.equal(A, stored(a + ~mask, torch.ones_like(mask), "csr"))
    assert merged[-1] is not None


def test_kernels_serve_what_autograd_follows(merged):
    (a, a_mask), (b, b_mask) = (drawn((300, 300), torch.float64) for _ in range(2))
    a, b = (x.nan_to_num(5.0, posinf=7.0) for x in (a, b))
    A, B = stored(a, a_mask, "csr"), stored(b, b_mask, "csr")
    values = A.values().clone().requires_grad_()
    dense = a.clone().requires_grad_()
    torch.maximum(A.with_values(values), B).to_dense().square().sum().backward()
    torch.maximum(dense, b).square().sum().backward()
    assert len(merged) == 1
    assert merged[0] is not None
    assert values.grad is not None
    torch.testing.assert_close(A.with_values(values.grad).to_dense(), dense.grad * a_mask)
    with torch.no_grad():
        torch.maximum(A.with_values(values), B)
    assert merged[-1] is not None


def test_few_entries_are_brought_to_the_union_until_a_kernel_pays(merged, monkeypatch):
    monkeypatch.setattr(likes, "_on_few", {})
    for _ in range(102):
        A, B = (stored(*drawn((30, 30), torch.float32, 90), "csr") for _ in range(2))
        torch.testing.assert_close((A < B).to_dense(), A.to_dense() < B.to_dense())
    assert merged[:100] == [None] * 100
    assert None not in merged[100:]


def test_vmap_and_make_fx_see_functions_of_torch():
    A, B = (stored(*drawn((300, 300), torch.float32), "csr") for _ in range(2))
    values = torch.stack([A.values(), 2 * A.values()])
    found = torch.vmap(lambda v: torch.maximum(A.with_values(v), B).to_dense())(values)
    for n in range(2):
        wanted = torch.maximum(A.with_values(values[n]).to_dense(), B.to_dense())
        torch.testing.assert_close(found[n], wanted, equal_nan=True)
