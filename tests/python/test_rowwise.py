"""Expressions whose parts are numbers of rows, in one kernel: softmax, its gradient, and quotients by sums."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from libsparse._compiler import kernel

import libsparse as ls

SHAPES = {"csr": (9, 13), "csc": (9, 13), "dds": (3, 5, 7), "dss": (5, 6, 7), "dsd": (5, 6, 4), "ddsd": (2, 3, 5, 3)}


def filled(format: str, dtype: torch.dtype = torch.float64) -> ls.SparseTensor:
    shape = SHAPES[format]
    mask = torch.rand(shape[: len(shape) - format.endswith("d")]) < 0.4
    dense = torch.randn(shape, dtype=torch.float64) * (mask[..., None] if format.endswith("d") else mask)
    return ls.tensor(dense.to(dtype), format=format)


def stored(A: ls.SparseTensor) -> torch.Tensor:
    mask = torch.zeros(A.shape, dtype=torch.bool)
    mask[tuple(A.indices())] = True
    return mask


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("format", list(SHAPES))
def test_softmax_over_each_dimension(format: str, dtype: torch.dtype) -> None:
    A = filled(format, dtype)
    mask, close = stored(A), {"rtol": 2e-2, "atol": 2e-2} if dtype == torch.bfloat16 else {"rtol": 1e-5, "atol": 1e-6}
    for dim in range(A.ndim):
        dense, mine = A.to_dense().double().requires_grad_(), A.clone().requires_grad_()
        want = torch.softmax(dense.masked_fill(~mask, -torch.inf), dim)
        got = torch.softmax(mine, dim)
        assert got.pattern is A.pattern
        torch.testing.assert_close(got.to_dense().double(), torch.where(mask, want, 0), **close)
        log = torch.log_softmax(A, dim).to_dense().double()
        torch.testing.assert_close(log, torch.where(mask, want.log(), 0), **close)
        got.values().square().sum().backward()
        torch.where(mask, want, 0).square().sum().backward()
        assert mine.grad is not None
        assert dense.grad is not None
        torch.testing.assert_close(mine.grad.to_dense().double(), dense.grad.nan_to_num(), **close)


@pytest.mark.parametrize("function", [torch.softmax, torch.log_softmax])
@pytest.mark.parametrize("format", ["csr", "coo", "dsd"])
def test_first_and_second_gradients(format: str, function: Any) -> None:
    A = filled("csr" if format == "coo" else format).to_format(format)
    values = A.values().clone().requires_grad_()
    for dim in range(A.ndim):
        for _ in range(3):

            def results(values: torch.Tensor, dim: int = dim) -> torch.Tensor:
                got: torch.Tensor = function(A.with_values(values), dim).values()
                return got

            assert torch.autograd.gradcheck(results, values)
            assert torch.autograd.gradgradcheck(results, values)


def test_infinite_and_missing_scores() -> None:
    rows, columns = torch.tensor([[0, 0, 1, 1, 2, 4, 4], [0, 1, 0, 2, 1, 0, 1]])
    values = torch.tensor([torch.inf, 1, -torch.inf, -torch.inf, torch.nan, 1e30, -1e30])
    A = ls.from_coo(torch.stack([rows, columns]), values, (5, 3), "csr")
    assert torch.softmax(A, 1).values().isnan().tolist() == [True] * 5 + [False] * 2
    assert torch.softmax(A, 1).values()[5:].tolist() == [1, 0]
    assert torch.log_softmax(A, 1).values()[5:].tolist() == [0, pytest.approx(-2e30)]


@pytest.mark.parametrize("entries", [3_000, 12_000, 30_000])
def test_threads_write_no_row_of_another(entries: int) -> None:
    """Vectors run over the ends of rows, but not over the last row of a thread."""
    A = ls.random((1500, 700), density=entries / (1500 * 700), generator=torch.Generator().manual_seed(0))
    with ls.options(num_threads=1):
        one = torch.softmax(A, 1).values()
    for threads in (2, 3, 7):
        with ls.options(num_threads=threads):
            for _ in range(20):
                assert torch.equal(torch.softmax(A, 1).values(), one)


def test_quotients_by_sums_are_one_kernel() -> None:
    A = filled("csr")
    kernel.forget()
    got = ls.evaluate("y(i,j) = A(i,j) / sum(A(i,k))", A=A)
    assert [found.steps for _, found in kernel.known()] == [()]
    assert got.pattern is A.pattern
    torch.testing.assert_close(got.to_dense(), (A.to_dense() / A.to_dense().sum(1, keepdim=True)).nan_to_num())
