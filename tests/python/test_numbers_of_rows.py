"""What rows have a number for, at their entries: vectors run over the ends of rows, and over nothing else."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

FEW = ([1, 0, 3, 2, 0, 5], [17, 1, 0, 16, 15, 33, 2], [0, 0], [40], [1] * 50, [0, 64, 0, 7, 100, 0])
BALANCED = 8192  # entries from which on threads take rows with equal numbers of them, whose ends vectors run over
LENGTHS = [*FEW, *(lengths * (BALANCED // sum(lengths) + 1) for lengths in FEW if sum(lengths))]
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int32)


def _matrix(lengths: list[int], dtype: torch.dtype) -> ls.SparseTensor:
    crow = torch.tensor([0, *lengths]).cumsum(0)
    columns = torch.cat([torch.randperm(128)[:n].sort().values for n in lengths])
    values = torch.randint(1, 9, (int(crow[-1]),)).to(dtype)
    return ls.from_csr(crow, columns, values, (len(lengths), 128))


def _numbers(lengths: list[int], dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    of_rows = torch.randint(1, 9, (len(lengths),)).to(dtype)
    return of_rows, of_rows.repeat_interleave(torch.tensor(lengths))


@pytest.mark.parametrize("lengths", LENGTHS, ids=lambda lengths: f"{len(lengths)}-rows-{max(lengths)}")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_products(lengths, dtype):
    A, (of_rows, at_entries) = _matrix(lengths, dtype), _numbers(lengths, dtype)
    assert torch.equal((A * of_rows[:, None]).values(), A.values() * at_entries)


@pytest.mark.parametrize("lengths", LENGTHS, ids=lambda lengths: f"{len(lengths)}-rows-{max(lengths)}")
def test_an_element_has_the_same_bits_wherever_it_stands(lengths):
    A, (of_rows, at_entries) = _matrix(lengths, torch.float32), _numbers(lengths, torch.float32)
    A = A.with_values(torch.randn_like(A.values()))
    got = ls.evaluate("e(i,j) = A(i,j) * exp(A(i,j) - m(i))", A=A, m=of_rows).values()
    for place in (0, A.nnz // 2, A.nnz - 1) if A.nnz else ():
        alone = ls.from_csr([0, 1], [0], A.values()[place : place + 1].clone(), (1, 1))
        one = ls.evaluate("e(i,j) = A(i,j) * exp(A(i,j) - m(i))", A=alone, m=at_entries[place : place + 1].clone())
        assert torch.equal(one.values(), got[place : place + 1])
    expected = A.values() * torch.exp(A.values() - at_entries)
    torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_write_their_own_rows(threads):
    lengths = torch.randint(0, 12, (20000,)).tolist()
    A, (of_rows, at_entries) = _matrix(lengths, torch.float32), _numbers(lengths, torch.float32)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for _ in range(20):
            assert torch.equal((A / of_rows[:, None]).values(), A.values() / at_entries)
            weights = A.softmax(1).values()
    finally:
        torch.set_num_threads(before)
    rows = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths))
    sums = torch.zeros(len(lengths)).index_add_(0, rows, weights)
    torch.testing.assert_close(sums[torch.tensor(lengths) > 0], torch.ones(int((torch.tensor(lengths) > 0).sum())))


def test_vectors_run_over_the_ends_of_rows():
    lengths = [4] * BALANCED
    A, (of_rows, _) = _matrix(lengths, torch.float32), _numbers(lengths, torch.float32)
    assert "_within" in str(ls.explain("e(i,j) = A(i,j) * s(i)", A=A, s=of_rows, stage="c"))
