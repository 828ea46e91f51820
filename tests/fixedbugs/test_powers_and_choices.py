"""Powers of differences called a library for each element; a choice of an entry or zero visited all of a matrix."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


@pytest.fixture
def data() -> dict[str, torch.Tensor]:
    """A matrix with positive entries, and factors of its rows and columns."""
    generator = torch.Generator().manual_seed(3)
    A = ls.random((40, 30), 0.2, generator=generator)
    A = A.with_values(A.values().abs() + 0.5)
    return {"A": A, "Y": torch.rand(40, 16, generator=generator), "X": torch.rand(30, 16, generator=generator)}


@pytest.mark.parametrize("exponent", [2, 3, 4, 5, 8])
def test_small_powers_are_products(data: dict[str, torch.Tensor], exponent: int) -> None:
    """Sums of powers of differences are those of torch, without a library's power."""
    text = f"C(i,j) = A(i,j) * pow(Y(i,k) - X(j,k), {exponent})"
    expected = data["A"].to_dense() * (data["Y"][:, None] - data["X"]).pow(exponent).sum(2)
    torch.testing.assert_close(ls.evaluate(text, **data).to_dense(), expected)
    assert "pow_f32" not in str(ls.explain(text, **data))


@pytest.mark.parametrize("exponent", [0.5, -0.5, -1, -2, -3, 1, 9, 2.5, 0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_powers_of_entries(data: dict[str, torch.Tensor], exponent: float, dtype: torch.dtype) -> None:
    """Roots, quotients and powers that stay calls are those of torch."""
    A = data["A"].to(dtype)
    got = ls.evaluate(f"C(i,j) = stored(A(i,j)) * pow(A(i,j) + 1, {exponent})", A=A)
    torch.testing.assert_close(got.values(), (A.values() + 1).pow(exponent))


def test_nested_powers(data: dict[str, torch.Tensor]) -> None:
    """A power of a power of a power doesn't write its argument out without end."""
    text = "A(i,j)"
    for _ in range(12):
        text = f"pow({text} * 0.5 + 0.5, 8)"
    got = ls.evaluate(f"C(i,j) = stored(A(i,j)) * {text}", A=data["A"].with_values(torch.ones(data["A"].nnz)))
    torch.testing.assert_close(got.values(), torch.ones(data["A"].nnz))


@pytest.mark.parametrize(
    "choice", ["gt(A(i,j), 1), A(i,j), 0", "lt(A(i,j), 1), 0, A(i,j)", "gt(A(i,j), 1), A(i,j), 0.5 * A(i,j)"]
)
def test_choices_of_zero(data: dict[str, torch.Tensor], choice: str) -> None:
    """A choice that is zero where nothing is stored has the pattern of the matrix, and its products those entries."""
    A, dense = data["A"], data["A"].to_dense()
    first, second = (dense > 1, dense) if choice.startswith("gt") else (dense < 1, torch.zeros(()))
    third = {"0": torch.zeros(()), "A(i,j)": dense}.get(choice.split(", ")[-1], 0.5 * dense)
    expected = torch.where(first, second, third)
    got = ls.evaluate(f"C(i,j) = where({choice})", A=A)
    assert isinstance(got, ls.SparseTensor)
    assert got.nnz == A.nnz
    torch.testing.assert_close(got.to_dense(), expected)
    torch.testing.assert_close(
        ls.evaluate(f"Z(i,k) = where({choice}) * X(j,k)", A=A, X=data["X"]), expected @ data["X"]
    )


def test_gradients_of_choices_and_powers(data: dict[str, torch.Tensor]) -> None:
    """Both have the gradients of torch."""
    A, Y, X = data["A"], data["Y"].double().requires_grad_(), data["X"].double().requires_grad_()
    A = A.with_values(A.values().double().requires_grad_())
    got = ls.evaluate("y(i) = where(gt(A(i,j), 1), A(i,j), 0) * pow(Y(i,k) - X(j,k), 2)", A=A, Y=Y, X=X)
    dense = A.to_dense()
    expected = (torch.where(dense > 1, dense, 0)[:, :, None] * (Y[:, None] - X).pow(2)).sum((1, 2))
    operands = [A.values(), Y, X]
    weights = torch.linspace(-1, 1, 40, dtype=torch.float64)
    grads = [torch.autograd.grad((z * weights).sum(), operands) for z in (got, expected)]
    torch.testing.assert_close(grads[0], grads[1])


def test_sums_of_leaky_functions(data: dict[str, torch.Tensor]) -> None:
    """A choice between values of a sum is made in lanes."""
    text = "C(i,j) = A(i,j) * leaky_relu(Y(i,k) - X(j,k))"
    expected = data["A"].to_dense() * torch.nn.functional.leaky_relu(data["Y"][:, None] - data["X"]).sum(2)
    torch.testing.assert_close(ls.evaluate(text, **data).to_dense(), expected)
