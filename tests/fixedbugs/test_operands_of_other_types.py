"""Objects that are no tensors: their own operators and functions have their turn, others are refused."""

from __future__ import annotations

import operator

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

A = ls.random((3, 3), 0.5)


class Other:
    """A type with operators."""

    def __rmatmul__(self, other):
        return "matmul"

    def __radd__(self, other):
        return "add"

    def __rpow__(self, other):
        return "pow"


class Asked(Other):
    """A type that torch asks for the results of its functions."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__


@pytest.mark.parametrize("kind", [Other, Asked])
def test_operators_of_other_types(kind):
    for name in ("matmul", "add", "pow"):
        assert getattr(operator, name)(A, kind()) == name


def test_functions_of_other_types():
    for name in ("mm", "add", "maximum", "linear"):
        function = getattr(torch, name, None) or getattr(torch.nn.functional, name)
        assert function(A, Asked()) == name
    assert A.add(Asked()) == "add"


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
@pytest.mark.parametrize("other", [None, "a", [1.0], Other()])
def test_methods_refuse_what_is_no_operand(name, other):
    with pytest.raises(ls.DtypeError, match=rf"torch.Tensor.{name} of SparseTensor, {type(other).__name__}; expected"):
        getattr(A, name)(other)


@pytest.mark.parametrize(
    "function",
    [lambda x: A @ x, lambda x: torch.mm(A, x), lambda x: x.T @ A, lambda x: A * x, lambda x: torch.relu(A @ x) + A],
)
def test_functions_of_torch_fx(function):
    x = torch.rand(3, 3)
    torch.testing.assert_close(torch.fx.symbolic_trace(function)(x), function(x))
