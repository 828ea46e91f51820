"""Shapes of 2^63 elements and more, whose number wrapped or became a float."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import libsparse as ls

N, M = 2**31 + 7, 2**33
VALUES = torch.tensor([1.0, 2, 3, 4])


@pytest.fixture(params=["coo", "dcsr"])
def huge(request: pytest.FixtureRequest) -> Any:
    return ls.from_coo([[0, 5, N - 1, N - 1], [3, M - 1, 0, M - 1]], VALUES, (N, M), format=request.param)


@pytest.mark.parametrize(
    "count",
    [
        lambda A: (A == 0).sum(),
        lambda A: (A == 0).sum((0, 1), keepdim=True),
        lambda A: (A == 0).to(torch.int32).sum(),
        lambda A: (A == 0).sum_to_size(1, 1),
        lambda A: (A == 0).count_nonzero(),
        lambda A: ((A == 0).to(torch.int64) * 3).prod(),
        lambda A: A.nanmean(),
    ],
)
def test_counts_beyond_integers(huge: Any, count: Callable[[Any], Any]):
    with pytest.raises(ls.UnsupportedError, match=f"{N * M} elements .*can't be counted in torch.int64"):
        count(huge)


def test_counts_that_need_no_integer(huge: Any):
    assert (huge == 0).sum(dtype=torch.float64).item() == pytest.approx(N * M)
    assert huge.sum() == 10
    assert huge.count_nonzero().item() == (huge != 0).sum().item() == 4
    assert [(huge == 0).any(), (huge == 0).all(), (huge == 0).prod(), huge.prod()] == [True, False, 0, 0]


def test_products_of_ones_are_exact():
    """Integers went through float32, in which elements were counted."""
    A = ls.from_coo([[0], [3]], torch.tensor([2**40]), (N, M), format="coo") + 1
    assert A.prod() == 2**40 + 1
    with pytest.raises(ls.UnsupportedError, match="can't be counted"):
        (A + 1).prod()


@pytest.mark.parametrize("fill", [-1, 0, 1, 2])
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_products_with_fill_values(fill: int, dim: int | None):
    A = ls.from_coo([[0, 1, 1], [3, 0, 1]], torch.tensor([5, 2, 7]), (3, 4)) + fill
    for B in (A, A.double()):
        torch.testing.assert_close(B.prod(dim), B.to_dense().prod() if dim is None else B.to_dense().prod(dim))
    torch.testing.assert_close(A[:, :2].prod(1), A[:, :2].to_dense().prod(1))


def test_places_beyond_integers(huge: Any):
    for find in (torch.argmax, torch.argmin):
        with pytest.raises(ls.UnsupportedError, match=f"{N * M} elements can't be numbered"):
            find(huge)


def test_elements_by_their_numbers(huge: Any):
    numbers = torch.tensor([2**62, 3, 2**63 - 1, -1, -M, -M - 1, -(2**63)])
    assert huge.take(numbers).tolist() == [0, 1, 0, 4, 3, 0, 0]
    assert huge.take(numbers[None, :4]).shape == (1, 4)
    values = VALUES.clone().requires_grad_()
    huge.with_values(values).take(numbers).sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [1, 0, 1, 1]


def test_negative_numbers_of_elements():
    D = torch.arange(12.0).reshape(3, 4)
    A, numbers = ls.tensor(D), torch.arange(-12, 12)
    torch.testing.assert_close(A.take(numbers), D.take(numbers))
    for outside in (-13, 12):
        with pytest.raises(ls.IndexBoundsError, match=f"index {outside} is out of range"):
            A.take(torch.tensor([outside]))


def test_a_number_of_elements_that_wraps_to_0():
    A = ls.from_coo([[0], [1]], torch.ones(1), (2**32, 2**32), format="coo")
    assert 0.0 in A
    assert 2.0 not in A
    assert A.take(torch.tensor([1, -(2**63), 2**63 - 1])).tolist() == [1, 0, 0]
