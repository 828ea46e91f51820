"""Activation functions in expressions against torch: values, fill values, types, and gradients of both orders."""

from __future__ import annotations

import functools

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import libsparse as ls

PLAIN = "gelu hardsigmoid hardswish logsigmoid mish relu6 selu silu softplus softsign tanhshrink"
PLAIN += " celu elu hardtanh leaky_relu"
CASES = {f"{name}(A(i,j))": getattr(functional, name) for name in PLAIN.split()} | {
    "leaky_relu(A(i,j), 0.3)": functools.partial(functional.leaky_relu, negative_slope=0.3),
    "leaky_relu(A(i,j), -0.3)": functools.partial(functional.leaky_relu, negative_slope=-0.3),
    "elu(A(i,j), 2)": functools.partial(functional.elu, alpha=2.0),
    "celu(A(i,j), 0.5)": functools.partial(functional.celu, alpha=0.5),
    "hardtanh(A(i,j), -2)": functools.partial(functional.hardtanh, min_val=-2.0),
    "hardtanh(A(i,j), 1, 2)": functools.partial(functional.hardtanh, min_val=1.0, max_val=2.0),
}
VALUES = torch.tensor([-900.0, -6, -2.5, -1, -0.25, 0, 0.25, 0.75, 2.5, 4, 7, 900], dtype=torch.float64)
MASK = torch.arange(24).remainder(2).reshape(4, 6) == 0


def operand(dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.zeros(4, 6, dtype=dtype).masked_scatter(MASK, VALUES.to(dtype))


def stored() -> ls.SparseTensor:
    """All of VALUES in a matrix of 24 elements, the zero among them."""
    return ls.tensor(MASK.double(), format="csr").with_values(VALUES)


@pytest.mark.parametrize("call", CASES)
def test_values(call):
    want = CASES[call](operand())
    outside = float(CASES[call](torch.zeros((), dtype=torch.float64)))
    made = ls.evaluate(f"Y(i,j) = {call}", A=stored())
    torch.testing.assert_close(made.to_dense(), want)
    assert made.fill_value == pytest.approx(outside, rel=1e-12)
    assert made.nnz == len(VALUES)


@pytest.mark.parametrize("call", CASES)
def test_gradients(call):
    weights = torch.linspace(-1, 1, len(VALUES), dtype=torch.float64)
    found = []
    for function in (
        lambda v: ls.evaluate(f"Y(i,j) = {call}", A=stored().with_values(v)).values(),
        lambda v: CASES[call](v),
    ):
        leaf = VALUES.clamp(-300, 300).requires_grad_()  # torch has nan beyond
        (first,) = torch.autograd.grad((function(leaf) * weights).sum(), leaf, create_graph=True)
        second = None
        if first.requires_grad and "hardsigmoid" not in call:  # of which torch has no second derivative
            (second,) = torch.autograd.grad(first.sum(), leaf, allow_unused=True)
        found.append((first, torch.zeros_like(leaf) if second is None else second))
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("name", ["celu", "gelu", "hardtanh", "leaky_relu", "logsigmoid", "softsign"])
def test_types(name):
    half = operand(torch.bfloat16)
    made = ls.evaluate(f"Y(i,j) = {name}(A(i,j))", A=ls.tensor(half, format="csr"))
    assert made.dtype == torch.bfloat16
    want = getattr(functional, name)(half.float())  # torch rounds in between
    torch.testing.assert_close(made.to_dense(), want.to(torch.bfloat16))


def test_parameters_may_be_left_out_from_the_end():
    assert str(ls.explain("y(i) = hardtanh(a(i), -2)", a=torch.ones(4))) == str(
        ls.explain("y(i) = hardtanh(a(i), -2, 1)", a=torch.ones(4))
    )
    with pytest.raises(ls.FormatError, match="elu takes 2 arguments, not 3"):
        ls.evaluate("Y(i,j) = elu(A(i,j), 1, 2)", A=stored())
