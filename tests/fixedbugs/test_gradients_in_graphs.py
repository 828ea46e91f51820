"""In a graph of torch.compile, an expression of a sparse argument that has steps of dense operands had no gradients.

Such a step has no shapes of sparse operands, and torch takes an empty list for one of tensors.
"""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

DENSE = {
    "Y(i,k) = A(i,j)*x(j,k) + 2": "x",
    "Y(i,k) = tanh(sum(A(i,j)*x(j,k)))": "x",
    "Y(i,k) = A(i,j)*x(j,k) + y(i,k)": "xy",
    "Y(i) = A(i,j)*b(j) + c(i)": "bc",
    "s(i) = A(i,j)*b(j); y(i) = s(i)*s(i)": "b",
    "Y(i) = tanh(sum(A(i,j)))": "",
}
"""The dense operands of expressions."""

FUNCTION = "Y(i,k) = tanh(sum(A(i,j)*x(j,k)))"


def operands(text: str, rows: int, dtype: torch.dtype) -> tuple[ls.SparseTensor, list[torch.Tensor]]:
    """The sparse operand of an expression, and its values and the dense operands, all with gradients."""
    torch.manual_seed(rows)
    A = ls.random((rows, 5), 0.4, dtype=dtype)
    shapes = {"x": (5, 2), "y": (rows, 2), "b": (5,), "c": (rows,)}
    dense = [torch.randn(shapes[name], dtype=dtype) for name in DENSE[text]]
    return A, [leaf.requires_grad_() for leaf in (A.values().clone(), *dense)]


def check(text: str, dtype: torch.dtype, dynamic: bool | None, weighted: bool = True) -> None:
    """Compares gradients of a compiled function with those of eager calls, also of a second shape."""

    def function(A: ls.SparseTensor, *dense: torch.Tensor) -> torch.Tensor:
        return ls.evaluate(text, A=A, **dict(zip(DENSE[text], dense, strict=True)))

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for rows in (6, 9):
        A, (values, *dense) = operands(text, rows, dtype)
        leaves = [values, *dense] if weighted else dense
        found = []
        for call in (function, compiled):
            result = call(A.with_values(values) if weighted else A, *dense)
            found.append((result.detach(), *torch.autograd.grad(result.abs().sum(), leaves)))
        torch.testing.assert_close(*found)


@pytest.mark.parametrize("text", DENSE)
def test_gradients_are_those_of_eager_calls(text):
    check(text, torch.float32, None)


@pytest.mark.parametrize(("dtype", "dynamic"), [(torch.complex64, None), (torch.float64, True)])
def test_gradients_of_other_dtypes_and_of_symbolic_shapes(dtype, dynamic):
    check(FUNCTION, dtype, dynamic)


def test_only_dense_operands_have_gradients():
    check(FUNCTION, torch.float32, None, weighted=False)
