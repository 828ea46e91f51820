"""Functions at entries are computed by vectors of them; sums of several matrices have a loop for each."""

from __future__ import annotations

import re

import pytest
import torch

import libsparse as ls

SHAPE = (700, 600)


@pytest.fixture(scope="module")
def data() -> dict[str, torch.Tensor]:
    """Matrices with enough entries for steps of their own, and dense operands."""
    generator = torch.Generator().manual_seed(5)
    A, B = (ls.random(SHAPE, 0.03, generator=generator, dtype=torch.float64) for _ in range(2))
    vectors = {"e": SHAPE[0], "d": SHAPE[1], "x": SHAPE[1]}
    given = {name: torch.rand(n, generator=generator, dtype=torch.float64) for name, n in vectors.items()}
    X, Y = (torch.rand(n, 5, generator=generator, dtype=torch.float64) for n in reversed(SHAPE))
    return {"A": A, "B": B, "X": X, "Y": Y, **given}


# An expression, and the values of its factor at the entries of A, given A, e and d at each of them.
AT_ENTRIES = {
    "A(i,j) * exp(e(i) + d(j))": lambda a, e, d, i, j: a * (e + d).exp(),
    "tanh(A(i,j))": lambda a, e, d, i, j: a.tanh(),
    "stored(A(i,j)) * exp(A(i,j) - e(i))": lambda a, e, d, i, j: (a - e).exp(),
    "exp(A(i,j) - e(i)) * stored(A(i,j))": lambda a, e, d, i, j: (a - e).exp(),
    "sin(A(i,j) * d(j) * e(i))": lambda a, e, d, i, j: (a * d * e).sin(),
    "A(i,j) * d(j) * sigmoid(2 * e(i) - d(j)) * e(i)": lambda a, e, d, i, j: a * d * e * (2 * e - d).sigmoid(),
    "A(i,j) * exp(-abs(i - j) / 100)": lambda a, e, d, i, j: a * (-(i - j).abs().double() / 100).exp(),
    "A(i,j) * log(1 + exp(sin(e(i) * d(j)) + A(i,j)))": lambda a, e, d, i, j: a * (1 + ((e * d).sin() + a).exp()).log(),
    "A(i,j) * pow(1 + e(i), d(j))": lambda a, e, d, i, j: a * (1 + e) ** d,
}


def _factor(data: dict[str, torch.Tensor], text: str, values: torch.Tensor) -> torch.Tensor:
    """The factor of an expression as a dense matrix."""
    i, j = data["A"].indices()
    found = AT_ENTRIES[text](values, data["e"][i], data["d"][j], i, j).to(values.dtype)
    return torch.zeros(SHAPE, dtype=values.dtype).index_put((i, j), found)


def _read(data: dict[str, torch.Tensor], text: str) -> dict[str, torch.Tensor]:
    """The operands that an expression reads."""
    return {name: value for name, value in data.items() if re.search(rf"\b{name}\(", text)}


@pytest.mark.parametrize("text", AT_ENTRIES)
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr"])
def test_products_with_functions_at_entries(data: dict[str, torch.Tensor], text: str, format: str) -> None:
    """Products, sums of columns, and their gradients are those of dense tensors, in every format."""
    values = data["A"].values().clone().requires_grad_()
    factor = _factor(data, text, values)
    A = data["A"].with_values(values).to_format(format)
    for whole, expected in {
        f"Z(i,k) = {text} * X(j,k)": factor @ data["X"],
        f"Z(j,k) = {text} * Y(i,k)": factor.mT @ data["Y"],
        f"Z(i,k) = relu(sum({text} * X(j,k)) - 1)": (factor @ data["X"] - 1).relu(),
        f"z(j) = {text}": factor.sum(0),
        f"z(i) = {text} * x(j)": factor @ data["x"],
    }.items():
        got = ls.evaluate(whole, **{**_read(data, whole), "A": A})
        torch.testing.assert_close(got, expected)
        (one,), (other,) = (torch.autograd.grad((z * z).sum(), [values], retain_graph=True) for z in (got, expected))
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("text", AT_ENTRIES)
@pytest.mark.parametrize("density", [0.01, 0.03, 0.2])
def test_functions_at_entries_of_short_rows(text: str, density: float) -> None:
    """Values at entries are those of torch whatever the length of rows, and have the pattern of the operand."""
    generator = torch.Generator().manual_seed(7)
    A = ls.random(SHAPE, density, generator=generator)
    data = {"A": A, "e": torch.rand(SHAPE[0], generator=generator), "d": torch.rand(SHAPE[1], generator=generator)}
    got = ls.evaluate(f"C(i,j) = {text}", **_read(data, text))
    assert isinstance(got, ls.SparseTensor)
    assert got.nnz == A.nnz
    torch.testing.assert_close(got.to_dense(), _factor(data, text, A.values()))


SUMS = {
    "y(i) = A(i,j) * x(j) + B(i,j) * d(j) + e(i)": lambda A, B, X, Y, x, e, d: A @ x + B @ d + e,
    "y(i) = (A(i,j) - B(i,j) / 3) * x(j)": lambda A, B, X, Y, x, e, d: (A - B / 3) @ x,
    "y(i) = A(i,j) - 2 * (B(i,j) + A(i,j) * B(i,j))": lambda A, B, X, Y, x, e, d: (A - 2 * (B + A * B)).sum(1),
    "y(i) = A(i,j) * x(j) + B(i,j) + d(j)": lambda A, B, X, Y, x, e, d: A @ x + B.sum(1) + d.sum(),
    "Z(i,k) = (A(i,j) + B(i,j)) * X(j,k)": lambda A, B, X, Y, x, e, d: (A + B) @ X,
    "Z(i,k) = tanh(sum((A(i,j) - B(i,j)) * X(j,k)) + Y(i,k))": lambda A, B, X, Y, x, e, d: ((A - B) @ X + Y).tanh(),
    "Z(j,k) = (A(i,j) + B(i,j)) * Y(i,k)": lambda A, B, X, Y, x, e, d: (A + B).mT @ Y,
    "Z(i,k) = (-A(i,j) - B(i,j)) * (X(j,k) + x(j))": lambda A, B, X, Y, x, e, d: -(A + B) @ (X + x[:, None]),
    "z = A(i,j) * e(i) + B(i,j) * e(i)": lambda A, B, X, Y, x, e, d: e @ (A + B).sum(1),
}


@pytest.mark.parametrize("text", SUMS)
@pytest.mark.parametrize("formats", [("csr", "csr"), ("csr", "dcsr"), ("csc", "coo")])
def test_sums_of_several_matrices(data: dict[str, torch.Tensor], text: str, formats: tuple[str, str]) -> None:
    """Sums over the entries of two matrices, and the gradients of those, are those of dense tensors."""
    read = _read(data, text)
    values = [data[name].values().clone().requires_grad_() for name in "AB"]
    sparse = [data[name].with_values(v) for name, v in zip("AB", values, strict=True)]
    expected = SUMS[text](*(m.to_dense() for m in sparse), *(data[name] for name in ("X", "Y", "x", "e", "d")))
    for name, matrix, format in zip("AB", sparse, formats, strict=True):
        read[name] = matrix.to_format(format)
    got = ls.evaluate(text, **read)
    torch.testing.assert_close(got, expected)
    grads = [torch.autograd.grad((z * z).sum(), values) for z in (got, expected)]
    torch.testing.assert_close(grads[0], grads[1])


def test_sums_of_several_matrices_have_loops_of_their_own(data: dict[str, torch.Tensor]) -> None:
    """No loop merges the entries of two operands, unless they have the same."""
    read = {name: data[name] for name in "ABX"}
    text = str(ls.explain("Z(i,k) = (A(i,j) + B(i,j)) * X(j,k)", **read))
    assert "jA == jB" not in text
    read["B"] = read["A"].with_values(read["A"].values() + 1)
    assert "w2" not in str(ls.explain("Z(i,k) = (A(i,j) + B(i,j)) * X(j,k)", **read))


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_entries_divided_by_sums_of_columns(data: dict[str, torch.Tensor], format: str) -> None:
    """The sums are a dense vector, with zeros for empty columns; the quotients have the entries of the matrix."""
    A = data["A"].with_values(data["A"].values().clone().requires_grad_())
    got = ls.evaluate("C(i,j) = A(i,j) / sum(A(m,j))", A=A.to_format(format))
    assert got.nnz == A.nnz
    sums = A.to_dense().sum(0)
    expected = A.to_dense() / torch.where(sums == 0, 1, sums)
    torch.testing.assert_close(got.to_dense(), expected)
    grads = [torch.autograd.grad((z * z).sum(), [A.values()]) for z in (got.to_dense(), expected)]
    torch.testing.assert_close(grads[0], grads[1])
    text = str(ls.explain("C(i,j) = A(i,j) / sum(A(m,j))", A=data["A"]))
    assert 't1: "d" of f64' in text
