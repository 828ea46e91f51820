"""Diagonals of many entries, put in by a kernel that merges patterns; extrema and places of all entries."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from libsparse._ops import alignment, union

import libsparse as ls

SHAPES = ((400, 300), (300, 400), (3, 40000), (40000, 3))
FORMATS = ("csr", "csc", "coo", "dcsr", "bsr(2,2)")


def _matrix(shape: tuple[int, int], dtype: torch.dtype = torch.float32, empty: int = 0) -> torch.Tensor:
    """A dense matrix, half of it zeros, with some rows and columns without elements."""
    dense = torch.where(torch.rand(shape) < 0.6, torch.randint(1, 100, shape), 0)
    dense[:empty] = 0
    dense[:, :empty] = 0
    return dense.to(dtype)


def _with_diagonal(dense: torch.Tensor, values: torch.Tensor | float, k: int) -> torch.Tensor:
    wanted = dense.clone()
    wanted.diagonal(k).copy_(torch.as_tensor(values).expand_as(wanted.diagonal(k)))
    return wanted


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_set(shape, format, threads):
    dense, before = _matrix(shape, empty=1), torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for k in (-2, 0, 1):
            A = ls.tensor(dense, format=format)
            assert A.nnz >= alignment.MANY
            values = torch.rand(dense.diagonal(k).shape)
            for _ in range(2):
                found = A.set_diag(values, k)
                assert torch.equal(found.to_dense(), _with_diagonal(dense, values, k))
                assert found.format == A.format
            if not found.format.padded:
                assert found.nnz == (_with_diagonal(dense, 1.0, k) != 0).sum()
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int64, torch.uint8, torch.complex64], ids=str)
def test_fill(dtype):
    dense = _matrix((400, 300), dtype)
    assert torch.equal(ls.tensor(dense).fill_diag(7).to_dense(), _with_diagonal(dense, 7, 0))


def test_indices_of_64_bits():
    dense = _matrix((400, 300))
    A = ls.tensor(dense)
    wide = ls.from_csr(A.crow_indices().long(), A.col_indices().long(), A.values(), (400, 2**31 + 5))
    found = wide.fill_diag(7.0)
    assert found.pattern.index_dtype == torch.int64
    assert torch.equal(
        found[:, :400].to_dense()[:, :300], _with_diagonal(torch.nn.functional.pad(dense, (0, 100)), 7.0, 0)[:, :300]
    )


def test_patterns_and_gradients():
    dense = _matrix((400, 300), torch.float64)
    pattern = ls.from_mask(dense != 0)
    assert torch.equal(pattern.set_diag().to_dense(), _with_diagonal(dense != 0, True, 0))
    leaf, values = ls.tensor(dense).requires_grad_(), torch.rand(300, dtype=torch.float64, requires_grad=True)
    weight = torch.rand(400, 300, dtype=torch.float64)
    (leaf.set_diag(values) * weight).sum().backward()
    assert torch.equal(values.grad, weight.diagonal())
    assert torch.equal(leaf.grad.to_dense(), _with_diagonal(torch.where(dense != 0, weight, 0), 0.0, 0))


def test_without_the_kernel(monkeypatch):
    dense = _matrix((400, 300))
    wanted = ls.tensor(dense).fill_diag(3.0)
    monkeypatch.setattr(union, "over", lambda below, above: None)
    found = ls.tensor(dense).fill_diag(3.0)
    for mine, other in zip(found.pattern.tensors(), wanted.pattern.tensors(), strict=True):
        assert torch.equal(mine, other)
    assert torch.equal(found.values(), wanted.values())


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr"])
@pytest.mark.parametrize("shape", [*SHAPES, (5, 7), (1, 1), (0, 4), (4, 0)], ids=str)
def test_taken_out(shape, format):
    dense = _matrix(shape)
    for k in (-3, -1, 0, 2, 299):
        if -shape[0] <= k <= shape[1]:
            found = ls.tensor(dense, format=format).diagonal(k)
            assert torch.equal(found.to_dense(), dense.diagonal(k))
    S = sp.csr_array(dense.numpy())
    assert torch.equal(ls.from_scipy(S).diagonal().to_dense(), torch.from_numpy(S.diagonal()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.uint8, torch.bool], ids=str)
@pytest.mark.parametrize("format", FORMATS)
def test_extrema_of_all(dtype, format):
    for shape in ((40, 30), (1, 1), (2, 2)):
        for dense in (_matrix(shape, dtype), torch.zeros(shape, dtype=dtype), -_matrix(shape, torch.float32) - 1):
            A = ls.tensor(dense, format=format)
            for _ in range(3):
                assert torch.equal(A.amax(), dense.amax())
                assert torch.equal(A.amin(), dense.amin())
                if dense.dtype != torch.bool:
                    assert torch.equal(A.max(), dense.max())
                    assert torch.equal(A.min(), dense.min())
    nothing = ls.tensor(torch.tensor([[0.0, float("nan")], [-1.0, 2.0]]), format=format)
    assert nothing.max().isnan()
    assert nothing.min().isnan()


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shape", [*SHAPES, (0, 4), (4, 0), (1, 1)], ids=str)
def test_places_of_nonzeros(shape, format):
    dense = _matrix(shape, empty=min(1, *shape))
    A = ls.tensor(dense, format=format)
    stored = A.with_values(torch.where(A.values() > 50, A.values(), 0))
    for given in (A, stored):
        wanted = given.to_dense().nonzero()
        for _ in range(2):
            assert torch.equal(given.nonzero(), wanted)
            for found, expected in zip(given.nonzero(as_tuple=True), wanted.unbind(1), strict=True):
                assert torch.equal(found, expected)
    first = A.nonzero()
    first.fill_(-1)  # which nobody else sees
    assert torch.equal(A.nonzero(), dense.nonzero())
    assert np.array_equal(np.stack(sp.csr_array(dense.numpy()).nonzero(), 1), A.nonzero().numpy())
