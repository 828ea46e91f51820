"""`//`, `%`, `fmod` and `**` against dense torch: whole numbers stay whole, and a zero divisor is an error."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from covering import pairs

import libsparse as ls

WHOLE = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "fmod": torch.fmod,
    "pow": operator.pow,
}
DIVIDING = ["floor_divide", "remainder", "fmod"]


def values(dtype: torch.dtype, *shape: int, zeros: bool = True) -> torch.Tensor:
    """Small numbers of both signs and the extremes of the type, a third of them zero."""
    info = torch.iinfo(dtype)
    small = torch.randint(max(-9, info.min), 10, shape)
    drawn = torch.where(torch.rand(shape) < 0.1, torch.tensor(info.min), small)
    if zeros:
        return torch.where(torch.rand(shape) < 0.4, 0, drawn).to(dtype)
    return torch.where(drawn == 0, -1 if dtype.is_signed else 3, drawn).to(dtype)


def same(made: Any, wanted: torch.Tensor) -> None:
    dense = made.to_dense() if isinstance(made, ls.SparseTensor) else made
    assert dense.dtype == wanted.dtype
    exact = {} if dense.is_floating_point() else {"rtol": 0, "atol": 0}
    torch.testing.assert_close(dense, wanted, equal_nan=True, **exact)


@pytest.mark.parametrize(("name", "dtype", "format"), pairs(list(OPERATORS), WHOLE, ["csr", "coo", "ell", "bsr(2,2)"]))
def test_numbers(name: str, dtype: torch.dtype, format: str) -> None:
    dense = values(dtype, 6, 8)
    A = ls.tensor(dense, format=format)
    for number in [1, 2, 3, 2.5, *([-1, -4] if dtype.is_signed and name != "pow" else [])]:
        made = OPERATORS[name](A, number)
        assert isinstance(made, ls.SparseTensor)
        same(made, OPERATORS[name](dense, number))
    if name != "fmod":
        full = values(dtype, 4, 6, zeros=False)
        same(OPERATORS[name](7, ls.tensor(full, format=format)), OPERATORS[name](7, full))
    same(2**A, 2**dense)
    assert (2**A).fill_value == 1


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("name", DIVIDING)
def test_tensors_that_are_divided(name: str, dtype: torch.dtype) -> None:
    dense, divisor, row = values(dtype, 6, 8), values(dtype, 6, 8, zeros=False), values(dtype, 8, zeros=False)
    A, B = ls.tensor(dense), ls.tensor(divisor, format="coo")
    function = OPERATORS[name]
    for other, by in ((B, divisor), (divisor, divisor), (row, row), (divisor[:, :1], divisor[:, :1])):
        made = function(A, other)
        assert isinstance(made, ls.SparseTensor)
        assert made.format == A.format
        same(made, function(dense, by))
    same(function(dense, B), function(dense, divisor))


@pytest.mark.parametrize("dtype", WHOLE)
def test_powers_of_tensors(dtype: torch.dtype) -> None:
    dense, other = values(dtype, 6, 8), values(dtype, 6, 8).clamp(-3, 9).to(dtype)
    A, B = ls.tensor(dense), ls.tensor(other, format="csc")
    made = A**B
    assert isinstance(made, ls.SparseTensor)
    assert made.fill_value == 1
    same(made, dense**other)
    same(A**other, dense**other)
    same(dense**B, dense**other)


@pytest.mark.parametrize("name", DIVIDING)
def test_zero_divides_nothing(name: str) -> None:
    function, dense = OPERATORS[name], values(torch.int32, 5, 5)
    A, full = ls.tensor(dense), ls.tensor(values(torch.int32, 5, 5, zeros=False))
    zeros = torch.ones(5, 5, dtype=torch.int32).fill_diagonal_(0)
    stored_zero = full.with_values(full.values().clone().index_fill_(0, torch.tensor([3]), 0))
    for left, right in (
        (A, 0),
        (A, A),
        (full, A),
        (dense, A),
        (A, zeros),
        (full, zeros),
        (full, stored_zero),
        (dense, stored_zero),
    ):
        with pytest.raises(ls.DivisionByZeroError) as error:
            function(left, right)
        assert isinstance(error.value, ZeroDivisionError)
        assert isinstance(error.value, RuntimeError)
        assert name in str(error.value)
    if name != "fmod":
        with pytest.raises(ls.DivisionByZeroError, match="not stored"):
            function(5, A)
    assert function(A.to(torch.float64), A.to(torch.float64)).fill_value != 0


@pytest.mark.parametrize("name", OPERATORS)
def test_floats(name: str) -> None:
    function = OPERATORS[name]
    dense = torch.where(torch.rand(7, 5) < 0.5, 0, torch.randn(7, 5)).double()
    other = torch.where(torch.rand(7, 5) < 0.5, 0, torch.randn(7, 5)).double()
    A, B = ls.tensor(dense), ls.tensor(other)
    same(function(A, 0.7), function(dense, 0.7))
    same(function(A, B), function(dense, other))
    same(function(A, other.abs() + 1), function(dense, other.abs() + 1))
    same(function(dense, B), function(dense, other))
    if name != "pow":
        with pytest.raises(ls.UnsupportedError, match="operand 1"):
            function(A, other)


def test_a_quotient_fits_its_remainder() -> None:
    x, y = torch.randn(40, 40).double() * 10, torch.randn(40).double()
    A = ls.tensor(x)
    assert torch.equal((A // y).to_dense(), x // y)  # to the last bit
    assert torch.equal((A % y).to_dense(), x % y)


@pytest.mark.parametrize(
    "text", ["pow(A(i,j), 2)", "fmod(A(i,j), 3)", "A(i,j) // 3", "A(i,j) % -3", "7 - A(i,j) // 2 % 5"]
)
def test_in_expressions(text: str) -> None:
    dense = values(torch.int64, 6, 6).masked_fill_(torch.rand(6, 6) < 0.2, 2**53 + 1)
    made = ls.evaluate(f"C(i,j) = {text}", A=ls.tensor(dense), format="dense")
    body = text.replace("A(i,j)", "A").replace("pow", "torch.pow").replace("fmod", "torch.fmod")
    same(made, eval(body, {"A": dense, "torch": torch}))


def test_expressions_that_divide_by_zero() -> None:
    A, y = ls.tensor(torch.tensor([[4, 0], [0, 9]])), torch.tensor([2, 0])
    for text in ("C(i,j) = A(i,j) // y(j)", "C(i) = A(i,j) % y(j)", "C(i) = A(i,j) * fmod(A(i,j), y(j))"):
        with pytest.raises(ls.DivisionByZeroError, match=r"y\(j\) is zero"):
            ls.evaluate(text, A=A, y=y)
    with pytest.raises(ls.DivisionByZeroError):
        ls.einsum("ij,j->i", A, y, combine="remainder")
    made = ls.evaluate("C(i,j) = where(ne(y(j), 0), A(i,j) // y(j), -1)", A=A, y=y, format="dense")
    assert made.tolist() == [[2, -1], [0, -1]]


def test_what_has_no_value() -> None:
    A = ls.tensor(torch.tensor([[4, 0], [0, 9]]))
    with pytest.raises(ls.DtypeError, match="negative powers"):
        ls.evaluate("C(i,j) = pow(A(i,j), -1)", A=A)
    with pytest.raises(RuntimeError, match="negative integer powers"):
        A**-1
    with pytest.raises(ls.DtypeError):
        ls.evaluate("C(i,j) = A(i,j) // A(i,j)", A=A.to(torch.bool))
    with pytest.raises(ls.ShapeError):
        A // ls.tensor(torch.ones(3, 3, dtype=torch.int64))


def test_gradients() -> None:
    x = torch.rand(4, 4, dtype=torch.float64).add(0.5).requires_grad_()
    y = torch.rand(4, dtype=torch.float64).add(0.5).requires_grad_()
    A = ls.tensor(torch.ones(4, 4, dtype=torch.float64))

    def values_of(v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        B = A.with_values(v.reshape(-1))
        return (B**w).sum() + (B % w).to_dense().sum() + (B**2.5).to_dense().sum()

    assert torch.autograd.gradcheck(values_of, (x, y))


def test_torch_names() -> None:
    dense = values(torch.int64, 5, 5)
    A = ls.tensor(dense)
    same(torch.floor_divide(A, 3), dense // 3)
    same(torch.remainder(A, 3), dense % 3)
    same(torch.pow(A, 2), dense**2)
    same(A.pow(3), dense**3)
    same(A.fmod(3), dense.fmod(3))
    same(torch.div(A, 4, rounding_mode="floor"), torch.div(dense, 4, rounding_mode="floor"))
    same(torch.div(A, 4, rounding_mode="trunc"), torch.div(dense, 4, rounding_mode="trunc"))
    same(torch.div(A, 4), dense / 4)
