"""Products that overflow beside zeros, infinite elements of means, and numbers that torch.vmap maps over."""

import math

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_products_beside_zeros(dtype, dim):
    dense = torch.full((40, 40), 100.0, dtype=dtype)
    dense[:, 0] = dense[0] = 0
    dense[1, 1] = -100
    A = ls.tensor(dense)
    found = A.prod() if dim is None else A.prod(dim)
    assert found.eq(0).all()


def test_products_of_infinite_elements_and_zeros():
    dense = torch.tensor([[math.inf, 0, 2], [math.nan, 0, 1], [-1.0, 0, 3], [-2, 5, 1], [0, 0, 0]])
    torch.testing.assert_close(ls.tensor(dense).prod(1), dense.prod(1), equal_nan=True)
    assert torch.equal(ls.tensor(dense).prod(1)[2:].signbit(), dense.prod(1)[2:].signbit())


@pytest.mark.parametrize("function", [torch.std_mean, torch.var_mean])
@pytest.mark.parametrize("dim", [0, 1, (0, 1), None])
@pytest.mark.parametrize("place", [(0, 0), (3, 0), (0, 4), (3, 4), (1, 2)])
def test_means_of_infinite_elements(function, dim, place):
    dense = torch.rand(4, 5)
    dense[place] = -math.inf
    for mine, other in zip(function(ls.tensor(dense), dim), function(dense, dim), strict=True):
        torch.testing.assert_close(mine, other, equal_nan=True)


@pytest.mark.parametrize(
    "function", [torch.mul, torch.div, lambda A, s: s * A, lambda A, s: torch.sin(A * s) @ torch.ones(4)]
)
def test_numbers_under_vmap(function):
    A, numbers = ls.random((5, 4), 0.5), torch.rand(3) + 0.5
    found = torch.vmap(lambda s: function(A, s))(numbers)
    for row, number in zip(found.to_dense() if isinstance(found, ls.SparseTensor) else found, numbers, strict=True):
        expected = function(A, number)
        torch.testing.assert_close(row, expected.to_dense() if isinstance(expected, ls.SparseTensor) else expected)
    slopes = torch.vmap(torch.func.grad(lambda s: (A * s).square().sum()))(numbers)
    torch.testing.assert_close(slopes, 2 * numbers * A.values().square().sum())


def test_other_fill_values_for_each_item():
    with pytest.raises(
        ls.UnsupportedError, match=r"add: elements that are not stored become another number for each item"
    ):
        torch.vmap(lambda s: ls.eye(3) + s)(torch.rand(2))
