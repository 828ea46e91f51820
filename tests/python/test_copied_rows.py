"""Rows that are copied: vectors run over their ends, and the first call of an operation keeps no places of values."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from libsparse._ops.indexing import copied_rows, keys

import libsparse as ls

LENGTHS = ([], [0], [0, 0, 0], [1], [7, 0, 9], [8, 8], [3, 0, 0, 40, 1, 2], [1, 0, 0] * 30, [5] * 40, [64, 0, 17] * 700)
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex128)
OPERATIONS = {
    "step": (lambda A: A[::2], lambda S: S[::2]),
    "range": (lambda A: A[1:4], lambda S: S[1:4]),
    "from behind": (lambda A: A[-5:-1:3], lambda S: S[-5:-1:3]),
    "flip": (lambda A: A.flip(0), lambda S: S[::-1]),
    "roll": (lambda A: A.roll(2, 0), lambda S: S[np.roll(np.arange(S.shape[0]), 2)]),
    "narrow": (lambda A: A.narrow(0, 0, A.shape[0] // 2), lambda S: S[: S.shape[0] // 2]),
}


def _matrix(lengths: list[int], dtype: torch.dtype = torch.float32, index: torch.dtype = torch.int32):
    crow = torch.tensor([0, *lengths]).cumsum(0)
    nothing = [torch.empty(0, dtype=torch.int64)]
    columns = torch.cat([*nothing, *(torch.randperm(128)[:n].sort().values for n in lengths)])
    values = torch.randint(1, 9, (int(crow[-1]),)).to(dtype)
    wide = 2**31 + 7 if index == torch.int64 else 128
    return ls.from_csr(crow, columns, values, (len(lengths), wide))


def _same(found: ls.SparseTensor, expected: sp.csr_array) -> None:
    assert tuple(found.shape) == expected.shape
    assert found.crow_indices().tolist() == expected.indptr.tolist()
    assert found.col_indices().tolist() == expected.indices.tolist()
    values = found.values()
    assert (values.float() if values.dtype == torch.bfloat16 else values).tolist() == expected.data.tolist()


def _scipy(A: ls.SparseTensor) -> sp.csr_array:
    values = A.values().float() if A.dtype == torch.bfloat16 else A.values()
    parts = values.numpy(), A.col_indices().numpy().copy(), A.crow_indices().numpy().copy()
    return sp.csr_array(parts, shape=tuple(A.shape))


@pytest.mark.parametrize("lengths", LENGTHS, ids=lambda lengths: f"{len(lengths)}-rows-{sum(lengths)}")
@pytest.mark.parametrize("index", [torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_any_rows(lengths, index, threads):
    A, before = _matrix(lengths, index=index), torch.get_num_threads()
    assert A.pattern.index_dtype == index
    torch.set_num_threads(threads)
    try:
        count = len(lengths)
        for chosen in (torch.randperm(count), torch.randint(max(count, 1), (count,)), torch.empty(0).long()):
            _same(A[chosen], _scipy(A)[chosen.numpy()])
            _same(A[chosen.int()], _scipy(A)[chosen.numpy()])
        some = torch.rand(count) < 0.4
        for mask in (some, ~some, torch.zeros_like(some), torch.ones_like(some)):
            _same(A[mask], _scipy(A)[mask.numpy()])
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
def test_first_and_later_calls(name, dtype):
    ours, theirs = OPERATIONS[name]
    for lengths in LENGTHS[1:]:
        A = _matrix(lengths, dtype)
        expected, first = theirs(_scipy(A)), ours(A)
        for found in (first, ours(A), ours(A), ours(A)):
            _same(found, expected)
            assert found.pattern is first.pattern
        doubled = A.with_values(A.values().clone())
        _same(ours(doubled), theirs(_scipy(doubled)))


@pytest.mark.parametrize("name", OPERATIONS)
def test_first_calls_of_columns_patterns_and_gradients(name):
    ours, theirs = OPERATIONS[name]
    A = _matrix([3, 0, 5, 1, 20, 0, 2])
    for format in ("csc", "coo", "dcsr"):
        B = A.to_format(format)
        assert torch.equal(ours(B).to_dense(), torch.from_numpy(theirs(_scipy(A)).toarray()))
    pattern = ls.from_csr(A.crow_indices(), A.col_indices(), None, A.shape)
    assert torch.equal(ours(pattern).to_dense(), torch.from_numpy(theirs(_scipy(A)).toarray() != 0))
    for _ in range(3):
        leaf = A.clone().requires_grad_()
        ours(leaf).sum().backward()
        assert ours(A).nnz == int(leaf.grad.values().sum())


def test_first_calls_keep_nothing_alive():
    A = _matrix([5] * 40)
    before = dict(A.pattern.derived)
    A[::2], A.flip(0)
    assert dict(A.pattern.derived) == before


def test_other_ways_where_there_is_no_compiler(monkeypatch):
    monkeypatch.setattr(copied_rows, "_copier", lambda width, index: None)
    A = _matrix([3, 0, 5, 1, 20, 0, 2])
    for ours, theirs in OPERATIONS.values():
        _same(ours(A), theirs(_scipy(A)))


def test_masks_are_read_in_c_and_by_torch(monkeypatch):
    A, mask = _matrix([3, 0, 5, 1, 20, 0, 2]), torch.tensor([True, False, True, True, False, False, True])
    found = A[mask]
    monkeypatch.setattr(keys.sorting, "in_c", lambda: None)
    _same(A[mask], _scipy(found))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.complex64])
def test_listed_rows_have_gradients(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    D = torch.where(torch.rand(8, 5) < 0.5, torch.randn(8, 5), 0).to(dtype)
    A = ls.from_torch(D).to_format("csr")
    at = tuple(A.indices())
    for key in (torch.tensor([1, 1, 3]), torch.tensor([-1, 0]), torch.rand(8) < 0.5, torch.empty(0, dtype=torch.int64)):
        values, dense = A.values().clone().requires_grad_(), D.clone().requires_grad_()
        found, wanted = A.with_values(values)[key], dense[key]
        torch.testing.assert_close(found.to_dense(), wanted)
        weight = torch.randint(1, 5, wanted.shape).to(dtype)
        (first,) = torch.autograd.grad((found.to_dense() * weight).sum().abs(), values)
        (second,) = torch.autograd.grad((wanted * weight).sum().abs(), dense)
        torch.testing.assert_close(first, second[at])
