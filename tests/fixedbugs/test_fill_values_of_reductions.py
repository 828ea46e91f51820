"""Reductions of tensors with complex, infinite and NaN fill values, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import libsparse as ls

pytestmark = pytest.mark.compiler


def filled(dense: Tensor, stored: Tensor, fill: complex) -> tuple[ls.SparseTensor, Tensor]:
    """A tensor with the elements of a dense one where they are stored, and the dense one with the fill value."""
    number = torch.tensor(fill, dtype=dense.dtype)
    kept = ls.tensor(torch.where(stored, dense, 0))
    return torch.where(ls.tensor(stored), kept, number), torch.where(stored, dense, number)


STORED = torch.tensor([[True, False, False], [False, True, True], [True, True, True]])


@pytest.mark.parametrize("fill", [math.inf, -math.inf, complex(0, math.inf), 2 + 1j])
@pytest.mark.parametrize(
    "reduce",
    [lambda x: x.sum(1), lambda x: x.sum(), lambda x: x.mean(0), lambda x: x.logsumexp(1), lambda x: x.logsumexp(0)],
)
def test_complex_fill_values(fill: complex, reduce: Callable[[Tensor], Tensor]) -> None:
    sparse, dense = filled(torch.arange(9).reshape(3, 3) * (0.5 + 0.25j) - 1, STORED, fill)
    torch.testing.assert_close(reduce(sparse), reduce(dense), equal_nan=True)


@pytest.mark.parametrize("fill", [math.inf, math.nan, 2.0])
@pytest.mark.parametrize("dim", [0, 1])
def test_gradients_of_products_of_what_is_stored(fill: float, dim: int) -> None:
    sparse, dense = filled(torch.arange(1.0, 10).reshape(3, 3), STORED, fill)
    sparse, dense = sparse.detach().requires_grad_(), dense.requires_grad_()
    sparse.prod(dim).sum().backward()
    dense.prod(dim).sum().backward()
    assert sparse.grad is not None
    assert dense.grad is not None
    torch.testing.assert_close(sparse.grad.values(), dense.grad[STORED], equal_nan=True)


def test_means_beside_deviations_with_an_infinite_last_element() -> None:
    stored = torch.tensor([[True, False], [False, True], [True, True]])
    sparse, dense = filled(torch.arange(6.0).reshape(3, 2), stored, -math.inf)
    for found, wanted in zip(torch.var_mean(sparse, 1), torch.var_mean(dense, 1), strict=True):
        torch.testing.assert_close(found, wanted, equal_nan=True)


@pytest.mark.parametrize("fill", [math.inf, math.nan])
def test_products_of_two_infinite_fill_values_have_no_gradient(fill: float) -> None:
    sparse, _ = filled(torch.arange(9.0).reshape(3, 3), STORED, fill)
    with pytest.raises(ls.UnsupportedError, match="operand 0 takes elements that are not stored for 0"):
        sparse.detach().requires_grad_() @ sparse.mT
