"""Groups in which all elements are stored, beside an infinite fill value; sums and squares beyond the dtype's range."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import libsparse as ls

pytestmark = pytest.mark.compiler

DENSE = torch.tensor([[1.0, 2, 3], [0, 3, 1], [0, 0, 0], [4, 5, 0.5]])
REDUCTIONS: list[Callable[[Tensor], Tensor]] = [
    lambda a: a.sum(1),
    lambda a: a.mean(1),
    lambda a: a.var(1),
    lambda a: a.std(1),
    lambda a: a.norm(dim=1),
    lambda a: a.norm(3, dim=1),
    lambda a: a.nansum(1),
    lambda a: torch.cosine_similarity(a, torch.ones(4, 3), dim=1),
]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("function", [torch.log, torch.reciprocal, lambda a: torch.where(a == 0, math.nan, a)])
def test_infinite_fill_values_of_nothing(function, reduction) -> None:
    leaves = [DENSE.clone().requires_grad_(), ls.tensor(DENSE).requires_grad_()]
    found, wanted = (reduction(function(leaf)) for leaf in reversed(leaves))
    torch.testing.assert_close(found, wanted, equal_nan=True)
    for result in (found, wanted):
        result[[0, 3]].sum().backward()
    stored = DENSE[[0, 3]]
    torch.testing.assert_close(leaves[1].grad.to_dense()[[0, 3]][stored != 0], leaves[0].grad[[0, 3]][stored != 0])


def test_infinite_fill_values_along_dimensions_without_elements() -> None:
    empty = ls.tensor(torch.zeros(3, 4, 0)).log()
    assert torch.equal(empty.sum(2), torch.zeros(3, 4))
    assert torch.equal(empty.norm(dim=(0, 2)), torch.zeros(4))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_more_elements_than_half_precision_counts(dtype: torch.dtype) -> None:
    dense = torch.eye(400, dtype=dtype) + 0.01
    found = (ls.eye(400).to(dtype) + 0.01).sum()
    assert found.dtype == dtype
    torch.testing.assert_close(found, dense.sum())


@pytest.mark.parametrize("scale", [1e30, 1e-30, 1])
def test_deviations_of_large_and_small_numbers(scale: float) -> None:
    leaves = [(DENSE * scale).requires_grad_(), ls.tensor(DENSE * scale).requires_grad_()]
    results = [leaf.std(1) for leaf in leaves]
    torch.testing.assert_close(results[1] / scale, results[0] / scale)
    for result in results:
        result[[0, 3]].sum().backward()
    torch.testing.assert_close(leaves[1].grad.to_dense()[[0, 3]], leaves[0].grad[[0, 3]])


def test_deviations_in_half_precision() -> None:
    dense = torch.tensor([[1000, 0, -500]], dtype=torch.float16)
    torch.testing.assert_close(ls.tensor(dense).std(1), dense.std(1))


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_complex_fill_values_lose_their_imaginary_part_as_elements_do(dtype: torch.dtype) -> None:
    A = ls.tensor(torch.tensor([[1 + 2j, 0], [0, 3 - 1j]])) + (2 + 1j)
    assert torch.equal(A.sum(1, dtype=dtype), A.to_dense().sum(1, dtype=dtype))
    assert torch.equal(A.prod(1, dtype=dtype), A.to_dense().prod(1, dtype=dtype))
