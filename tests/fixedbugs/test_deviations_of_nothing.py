"""Standard deviations and norms at 0, where gradients of roots are infinite and torch's are 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import libsparse as ls

DENSE = torch.tensor(
    [[1.0, 1, 1, 1], [1, 2, 0, 0], [0, 0, 0, 0], [3, 0, 0, 0], [0.1, 0.1, 0.1, 0.1]], dtype=torch.float64
)
FORMATS = ["csr", "csc", "coo", "dcsr", "bsr(2,2)"]


def _derivatives(function: Callable[[Tensor], Tensor], values: Tensor) -> list[Tensor]:
    """The result, its gradient, its tangent, second derivatives both ways, and gradients of a batch."""
    tangents = torch.linspace(-1, 2, values.numel(), dtype=values.dtype)

    def weighted(v: Tensor) -> Tensor:
        found = function(v)
        return (found * torch.linspace(0.5, 1.7, found.numel(), dtype=values.dtype).reshape(found.shape)).sum()

    leaf = values.clone().requires_grad_()
    gradient = torch.autograd.grad(weighted(leaf), leaf, create_graph=True)[0]
    second = torch.autograd.grad((gradient * tangents).sum(), leaf)[0]
    return [
        function(values),
        gradient.detach(),
        second,
        torch.func.jvp(function, (values,), (tangents,))[1],
        torch.func.jvp(torch.func.grad(weighted), (values,), (tangents,))[1],
        torch.func.vmap(torch.func.grad(weighted))(torch.stack([values, tangents, values * 0])),
    ]


def _dense(x: Any) -> Any:
    return x.to_dense() if isinstance(x, ls.SparseTensor) else x


def _compare(function: Callable[[Any], Tensor], A: Any) -> None:
    found = _derivatives(lambda v: function(A.with_values(v)), A.values())
    wanted = _derivatives(lambda v: function(A.with_values(v).to_dense()), A.values())
    for got, want in zip(found, wanted, strict=True):
        torch.testing.assert_close(got, want, equal_nan=True, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dim", [None, 0, 1, (0, 1)])
def test_derivatives_of_deviations(format: str, dim: Any):
    A = ls.tensor(DENSE, format=format)
    for correction in (0, 1, 2):
        _compare(lambda x, c=correction: torch.std(x, dim, correction=c), A)
    _compare(lambda x: torch.std(x, dim, correction=1, keepdim=True), A)
    _compare(lambda x: sum(torch.std_mean(x, dim, correction=1)), A)


@pytest.mark.filterwarnings("ignore:std.*degrees of freedom")
def test_groups_of_one_element():
    """Their deviation is NaN without a correction of 0, and so is its gradient."""
    A = ls.tensor(torch.ones(3, 1, dtype=torch.float64))
    for correction in (0, 1):
        _compare(lambda x, c=correction: torch.std(x, 1, correction=c), A)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.complex64])
def test_gradients_by_dtype(dtype: torch.dtype):
    for fill in (0, 1):
        A = ls.tensor((DENSE[:4] - fill).to(dtype))
        A = A + fill if fill else A
        grads = []
        for whole in (False, True):
            values = A.values().clone().requires_grad_()
            taken = A.with_values(values)
            torch.std(taken.to_dense() if whole else taken, 1).sum().backward()
            grads.append(values.grad)
        torch.testing.assert_close(*grads, rtol=2e-2 if dtype == torch.float16 else 1e-5, atol=1e-3)


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, math.inf])
def test_derivatives_of_norms(p: float):
    A = ls.tensor(DENSE)
    other = torch.ones_like(DENSE)
    functions: list[Callable[[Any], Any]] = [
        lambda x: torch.linalg.vector_norm(x, p, 1),
        lambda x: F.cosine_similarity(x, other, 1),
        lambda x: torch.dist(x, other, p),
    ]
    if p >= 1:
        functions.append(lambda x: _dense(F.normalize(x, p, 1)))
    for function in functions:
        _compare(function, A)


def test_derivatives_of_logarithms_of_sums():
    _compare(lambda x: torch.logsumexp(x, 1), ls.tensor(DENSE))


def test_norms_of_infinite_elements():
    """The norm for a negative number is infinite where all elements are."""
    D = torch.tensor([[math.inf, -math.inf], [math.inf, 2]])
    for p in (-1, -2):
        torch.testing.assert_close(torch.linalg.vector_norm(ls.tensor(D), p, 1), torch.linalg.vector_norm(D, p, 1))
