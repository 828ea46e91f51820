"""Selections of whole rows and columns of blocks, and joined matrices of blocks, beside dense torch."""

from __future__ import annotations

import pytest
import torch
from libsparse._ops.indexing import getitem, joining

import libsparse as ls

FORMATS = ["bsr(4,8)", "bsc(4,8)", "bsr(8,4)"]
SHAPE = (48, 64)


def drawn(format="bsr(4,8)", shape=SHAPE, dtype=torch.float32, seed=0):
    """A matrix of blocks, of which a third is stored and some rows and columns have none."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(shape[0] // 8, shape[1] // 8, generator=generator) < 0.35
    mask[1], mask[:, 2] = False, False
    dense = torch.randn(shape, generator=generator).to(dtype) * mask.repeat_interleave(8, 0).repeat_interleave(8, 1)
    return ls.from_torch(dense.to_sparse()).to_format(format)


@pytest.fixture
def packed(monkeypatch):
    """What was packed from a list: of blocks it may be."""
    calls = []
    for module in (getitem, joining):
        monkeypatch.setattr(module, "pack", lambda *args, to=module.pack: calls.append(args[0].nnz) or to(*args))
    return calls


def rows(*blocks, size=8):
    """The numbers of the rows of some rows of blocks."""
    return (torch.tensor(blocks, dtype=torch.int64)[:, None] * size + torch.arange(size)).flatten()


def mask(*blocks, extent):
    found = torch.zeros(extent, dtype=torch.bool)
    found[rows(*blocks)] = True
    return found


KEYS = [
    rows(3, 0, 5, 3),
    rows(),
    mask(0, 1, 4, extent=48),
    (slice(None), rows(2, 7, 7, 1)),
    (slice(None), mask(0, 5, extent=64)),
    (slice(16, 40), rows(6, 0)),
    (rows(5, 2), slice(8, 64)),
    (slice(8, 24), slice(32, 48)),
    slice(0, 0),
]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_selected_blocks_are_those_of_dense_matrices(packed, format, key):
    A = drawn(format)
    for _ in range(2):
        values = A.values().clone().requires_grad_()
        found = A.with_values(values)[key]
        assert torch.equal(found.to_dense(), A.to_dense()[key])
        assert found.format == A.format
        weight = torch.randn(found.shape)
        (gradient,) = torch.autograd.grad(found.to_dense(), values, weight, allow_unused=True)
        dense = A.to_dense().requires_grad_()
        dense[key].backward(weight)
        assert torch.equal(
            A.with_values(gradient).to_dense(), dense.grad * (A.with_values(values * 0 + 1).to_dense() != 0)
        )
    assert max(packed, default=0) <= 3 * A.nnz // 32


@pytest.mark.parametrize(
    "key", [rows(3, 0)[1:], rows(3, 0).flip(0), torch.tensor([0, 8, 16, 24] * 2), slice(4, 20)], ids=str
)
def test_parts_of_blocks_take_the_long_way(key):
    A = drawn("bsr(8,8)")
    assert torch.equal(A[key].to_dense(), A.to_dense()[key])
    assert torch.equal(A[:, key].to_dense(), A.to_dense()[:, key])


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("format", FORMATS)
def test_joined_blocks_are_those_of_dense_matrices(packed, format, dim):
    A, B = drawn(format), drawn(format, seed=1)
    values = [M.values().clone().requires_grad_() for M in (A, B)]
    found = torch.cat([A.with_values(values[0]), B.with_values(values[1]), A], dim)
    assert torch.equal(found.to_dense(), torch.cat([A.to_dense(), B.to_dense(), A.to_dense()], dim))
    assert found.format == A.format
    weight = torch.randn(found.shape)
    gradients = torch.autograd.grad(found.to_dense(), values, weight)
    for M, gradient, part in zip((A, B), gradients, weight.chunk(3, dim)[:2], strict=True):
        assert torch.equal(gradient, part[tuple(M.indices())] if M.nnz else gradient)
    assert max(packed, default=0) <= 3 * A.nnz // 32


def test_blocks_beyond_the_shape_take_the_long_way():
    A = ls.tensor(drawn(shape=(48, 64)).to_dense()[:46, :60]).to_format("bsr(8,8)")
    assert torch.equal(A[rows(2, 0)].to_dense(), A.to_dense()[rows(2, 0)])
    assert torch.equal(torch.cat([A, A], 1).to_dense(), torch.cat([A.to_dense()] * 2, 1))
    assert torch.equal(torch.cat([A, A]).to_dense(), torch.cat([A.to_dense()] * 2))


def test_patterns_of_slices_are_kept():
    A = drawn()
    assert A[8:24].pattern is A[8:24].pattern
    assert A[:, 8:24].pattern is A[:, 8:24].pattern
