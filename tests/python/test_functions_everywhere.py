"""Functions act where nothing is stored: values, fill values, types and gradients against dense torch."""

from __future__ import annotations

import math
import warnings

import pytest
import torch
from torch import Tensor

import libsparse as ls

FORMATS = ["csr", "csc", "coo", "ell", "dcsr", "sell(2)", "dia", "db", "dh", "bsr(2,2)"]
N, M = 6, 5


def sparse(shape: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    values = torch.randint(1, 9, shape, generator=generator) - 4.5
    return torch.where(torch.rand(shape, generator=generator) < 0.4, values, 0).to(dtype)


DATA = {"A": sparse((N, M), 1), "B": sparse((N, M), 2), "b": sparse((N,), 3)}
DATA |= {"x": torch.linspace(-1, 2, M).double(), "m": torch.linspace(-2, 1, N).double()}
SPARSE = {"A", "B", "b"}


def operands(text: str, format: str, data: dict[str, Tensor] = DATA) -> dict[str, Tensor]:
    found = {name: value for name, value in data.items() if f"{name}(" in text.partition("=")[2]}
    return {
        name: ls.tensor(value, format=format if value.ndim == 2 else "s") if name in SPARSE else value
        for name, value in found.items()
    }


def dense(value: Tensor) -> Tensor:
    return value.to_dense() if isinstance(value, ls.SparseTensor) else value


# The fill value, or None where the result is dense.
ELEMENTWISE = [
    ("y(i) = exp(b(i))", lambda A, B, b, x, m: b.exp(), 1),
    ("Y(i,j) = exp(A(i,j)) - 1", lambda A, B, b, x, m: A.exp() - 1, 0),
    ("Y(i,j) = log(A(i,j))", lambda A, B, b, x, m: A.log(), -torch.inf),
    ("Y(i,j) = 1 / A(i,j)", lambda A, B, b, x, m: 1 / A, torch.inf),
    ("Y(i,j) = 2 - A(i,j)", lambda A, B, b, x, m: 2 - A, 2),
    ("Y(i,j) = cos(A(i,j)) + exp(B(i,j))", lambda A, B, b, x, m: A.cos() + B.exp(), 2),
    ("Y(i,j) = sigmoid(2 * A(i,j) + B(j(0:5),i(0:5)))", None, 0.5),
    ("Y(i,j) = B(i,j) * exp(A(i,j))", lambda A, B, b, x, m: A.exp() * B, 0),
    ("Y(i,j) = exp(A(i,j) * x(j))", lambda A, B, b, x, m: (A * x).exp(), 1),
    ("Y(i,j) = eq(A(i,j), B(i,j))", lambda A, B, b, x, m: A == B, 1),
    ("Y(i,j) = clamp(A(i,j), 1, 3)", lambda A, B, b, x, m: A.clamp(1, 3), 1),
    ("Y(i,j) = clamp(A(i,j), -1, 3)", lambda A, B, b, x, m: A.clamp(-1, 3), 0),
    ("Y(i,j) = pow(A(i,j), 2)", lambda A, B, b, x, m: A**2, 0),
    ("Y(i,j) = pow(A(i,j), 0)", lambda A, B, b, x, m: A**0, 1),
    ("Y(i,j) = exp(A(i,j) - m(i))", lambda A, B, b, x, m: (A - m[:, None]).exp(), None),
    ("Y(i,j) = exp(b(i)) + A(i,j)", lambda A, B, b, x, m: b.exp()[:, None] + A, None),
    ("T(i,j) = exp(A(i,j)); Y(i,j) = T(i,j) * 2 + B(i,j)", lambda A, B, b, x, m: A.exp() * 2 + B, 2),
]
REDUCED = [
    ("y(i) = exp(A(i,j))", lambda A, B, b, x, m: A.exp().sum(1)),
    ("y(i) += sigmoid(A(i,j)) * x(j) - m(i)", lambda A, B, b, x, m: A.sigmoid() @ x - m),
    ("y(i) = cos(A(i,j)) * exp(B(i,j)) * m(i) + b(i)", lambda A, B, b, x, m: (A.cos() * B.exp()).sum(1) * m + b),
    ("y(j) = m(i) - exp(A(i,j))", lambda A, B, b, x, m: m.sum() - A.exp().sum(0)),
    ("y = exp(A(i,j)) * exp(b(i))", lambda A, B, b, x, m: (A.exp() * b.exp()[:, None]).sum()),
    ("y(i) max= exp(A(i,j))", lambda A, B, b, x, m: A.exp().amax(1)),
    ("y(i) mean= exp(A(i,j))", lambda A, B, b, x, m: A.exp().mean(1)),
    ("y(i) = exp(A(i,j) + x(j))", lambda A, B, b, x, m: (A + x).exp().sum(1)),
    ("y(i) = gt(A(i,j), 0.5)", lambda A, B, b, x, m: (A > 0.5).sum(1)),
    ("y(i) = le(A(i,j), 0.5)", lambda A, B, b, x, m: (A <= 0.5).sum(1)),
    ("T(i,j) = exp(A(i,j)); y(i) = T(i,j) * x(j)", lambda A, B, b, x, m: A.exp() @ x),
    ("T(i,j) = log(A(i,j)); y(i) = exp(T(i,j)) * x(j)", lambda A, B, b, x, m: A.log().exp() @ x),
]


@pytest.mark.filterwarnings("ignore::libsparse.DenseResultWarning")
@pytest.mark.parametrize(("text", "want", "fill"), ELEMENTWISE, ids=[case[0] for case in ELEMENTWISE])
def test_elementwise(text, want, fill):
    data = DATA if want is not None else DATA | {"A": DATA["A"][:5], "B": DATA["B"][:5]}
    expected = want(**DATA) if want is not None else (2 * data["A"] + data["B"].T).sigmoid()
    place = [case[0] for case in ELEMENTWISE].index(text)
    for format in FORMATS if place == 1 else ("csr", FORMATS[1 + place % 2]):
        made = ls.evaluate(text, **operands(text, format, data))
        torch.testing.assert_close(dense(made), expected, equal_nan=True)
        assert (getattr(made, "fill_value", None) is None) == (fill is None)
        if fill is not None and format not in ("bsr(2,2)", "dia"):  # these store zeros
            assert made.fill_value == fill
            there = [value for name, value in data.items() if name in SPARSE and f"{name}(" in text]
            assert made.nnz <= sum(int((value != 0).sum()) for value in there)  # nothing else is computed


@pytest.mark.parametrize("format", FORMATS[:5])
def test_quotients_of_nothing_are_nan(format):
    given = operands("Y(i,j) = A(i,j) / B(i,j)", format)
    made = ls.evaluate("Y(i,j) = A(i,j) / B(i,j)", **given)
    torch.testing.assert_close(made.to_dense(), DATA["A"] / DATA["B"], equal_nan=True)
    assert math.isnan(made.fill_value)
    assert made.nnz <= given["A"].nnz + given["B"].nnz
    divided = ls.evaluate("Y(i,j) = A(i,j) / X(i,j)", A=given["A"], X=DATA["B"] + 9)
    torch.testing.assert_close(divided.to_dense(), DATA["A"] / (DATA["B"] + 9))
    assert divided.nnz == given["A"].nnz
    assert divided.fill_value == 0


def test_gradients_of_quotients():
    twins = [DATA[name].clone().requires_grad_() for name in "AB"]
    weights = torch.linspace(-1, 1, N * M).double().reshape(N, M)
    want = torch.autograd.grad((twins[0] / twins[1] * weights).sum(), twins)
    sparse = [ls.tensor(DATA[name], format="csr") for name in "AB"]
    leaves = [x.values().clone().requires_grad_() for x in sparse]
    A, B = (x.with_values(leaf) for x, leaf in zip(sparse, leaves, strict=True))
    made = ls.evaluate("Y(i,j) = A(i,j) / B(i,j)", A=A, B=B).to_dense()
    for leaf, twin, name in zip(torch.autograd.grad((made * weights).sum(), leaves), want, "AB", strict=True):
        torch.testing.assert_close(leaf, twin[DATA[name] != 0], equal_nan=True)  # infinite and nan where B is 0


@pytest.mark.parametrize(("text", "want"), REDUCED, ids=[case[0] for case in REDUCED])
def test_elements_that_are_not_stored_are_terms(text, want):
    for format in ("csr", "dcsc"):
        made = dense(ls.evaluate(text, **operands(text, format)))
        torch.testing.assert_close(made, want(**DATA), equal_nan=True)


@pytest.mark.filterwarnings("ignore::libsparse.DenseResultWarning")
@pytest.mark.parametrize(
    ("text", "want"),
    [(c[0], c[1]) for c in (ELEMENTWISE[0], ELEMENTWISE[5], ELEMENTWISE[8], ELEMENTWISE[14])] + REDUCED[:4],
)
def test_gradients(text, want):
    given = operands(text, "csr")
    leaves = {}
    for name, value in given.items():
        leaf = (value.values() if name in SPARSE else value).detach().clone().requires_grad_()
        leaves[name] = leaf
        given[name] = value.with_values(leaf) if name in SPARSE else leaf
    twins = {name: value.clone().requires_grad_() for name, value in DATA.items()}
    (dense(ls.evaluate(text, **given)) * 3).sum().backward()
    (want(**twins) * 3).sum().backward()
    for name, leaf in leaves.items():
        grad = twins[name].grad
        torch.testing.assert_close(leaf.grad, grad[DATA[name] != 0] if name in SPARSE else grad)


def test_second_derivatives():
    A = ls.tensor(DATA["A"])
    values, x = A.values().clone().requires_grad_(), DATA["x"].clone().requires_grad_()

    def function(values, x):
        return ls.evaluate("y(i) = exp(A(i,j)) * x(j)", A=A.with_values(values), x=x)

    assert torch.autograd.gradcheck(function, (values, x))
    assert torch.autograd.gradgradcheck(function, (values, x))


@pytest.mark.parametrize(
    ("text", "dtype", "want"),
    [
        ("Y(i,j) = isnan(A(i,j))", torch.bool, lambda a: a.isnan()),
        ("Y(i,j) = not(A(i,j))", torch.bool, lambda a: a.logical_not()),
        ("Y(i,j) = ge(A(i,j), 0.5)", torch.bool, lambda a: a >= 0.5),
        ("Y(i,j) = and(A(i,j), lt(A(i,j), 0.5))", torch.bool, lambda a: (a != 0) & (a < 0.5)),
        ("Y(i,j) = where(gt(A(i,j), 0.25), 1, 0)", torch.int64, lambda a: torch.where(a > 0.25, 1, 0)),
        ("Y(i,j) = gt(A(i,j), 0.25) * A(i,j)", torch.float64, lambda a: (a > 0.25) * a),
        ("Y(i,j) = lt(A(i,j), 1) * 2", torch.int64, lambda a: (a < 1) * 2),
        ("y(i) |= gt(A(i,j), 0.25)", torch.bool, lambda a: (a > 0.25).any(1)),
        ("y(i) = gt(A(i,j), 0.25) * lt(A(i,j), 1)", torch.int64, lambda a: ((a > 0.25) & (a < 1)).sum(1)),
    ],
)
def test_comparisons_are_bool_and_sums_count_them(text, dtype, want):
    data = torch.tensor([[0, 0.5, 0, -0.5], [2.0, 0, 0, 0.25]]).double()
    made = dense(ls.evaluate(text, A=ls.tensor(data)))
    torch.testing.assert_close(made, want(data))
    assert made.dtype == dtype


def test_a_dense_result_of_a_sparse_shape_warns_once():
    A, m = ls.tensor(DATA["A"]), DATA["m"]
    text = "W(i,j) = exp(A(i,j) - m(i))"
    with pytest.warns(ls.DenseResultWarning, match=r"stored\(A\(i,j\)\)"):
        ls.evaluate(text, A=A, m=m)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ls.evaluate(text, A=A, m=m)
        ls.evaluate("V(i,j) = exp(A(i,j) - m(i))", A=A, m=m, format="dense")
        made = ls.evaluate("V(i,j) = stored(A(i,j)) * exp(A(i,j) - m(i))", A=A, m=m)
        ls.evaluate("V(i,j) = A(i,j) + D(i,j)", A=A, D=DATA["A"])
    assert (made.nnz, made.fill_value) == (A.nnz, 0)


def test_operands_with_fill_values():
    a = ls.tensor(DATA["A"])
    for fill in (1.5, -2, torch.inf):
        A = ls.SparseTensor(a.pattern, a.values(), fill)
        want = torch.where(DATA["A"] != 0, DATA["A"], fill)
        torch.testing.assert_close(dense(ls.evaluate("Y(i,j) = 2 * A(i,j)", A=A)), 2 * want)
        torch.testing.assert_close(dense(ls.evaluate("y(i) = A(i,j)", A=A)), want.sum(1))
        made = ls.evaluate("Y(i,j) = A(i,j) * B(i,j)", A=A, B=ls.tensor(DATA["B"]))
        assert made.fill_value == 0
        if fill != torch.inf:  # where B stores nothing there is no term
            torch.testing.assert_close(dense(made), want * DATA["B"])
        made = ls.evaluate("y(i) = A(i,j) * x(j)", A=A, x=DATA["x"], reduce="max", combine="add")
        torch.testing.assert_close(made, (want + DATA["x"]).amax(1))
        torch.testing.assert_close(ls.evaluate("y(i) min= A(i,j)", A=A), want.amin(1))


def test_names_of_taco_and_of_torch():
    A = ls.tensor(DATA["A"])
    for name, usual in [("gte", "ge"), ("lte", "le"), ("neq", "ne"), ("logical_and", "and"), ("maximum", "max")]:
        made, want = (ls.evaluate(f"Y(i,j) = {f}(A(i,j), 1.5)", A=A) for f in (name, usual))
        torch.testing.assert_close(dense(made), dense(want))
    with pytest.raises(ls.FormatError, match="did you mean the function 'sigmoid'"):
        ls.evaluate("Y(i,j) = sigmoyd(A(i,j))", A=A)


def test_reductions_and_combinations_have_both_names():
    A, B = ls.tensor(DATA["A"]), ls.tensor(DATA["B"])
    for reduce, combine, same in [
        ("or", "and", ("any", "and")),
        ("and", "any", ("all", "or")),
        ("amax", "sum", ("max", "add")),
    ]:
        made = ls.einsum("ij,ij->i", A, B, reduce=reduce, combine=combine)
        torch.testing.assert_close(made, ls.einsum("ij,ij->i", A, B, reduce=same[0], combine=same[1]))
    with pytest.raises(ls.FormatError, match="no dimensions"):
        ls.einsum("ij->", A, format="csr")


def test_a_registered_function_acts_in_its_region():
    ls.register("anywhere(x)", "exp(x)")
    ls.register("inside(x)", "exp(x)", region="x")
    try:
        A = ls.tensor(DATA["A"])
        assert ls.evaluate("Y(i,j) = anywhere(A(i,j))", A=A).fill_value == 1
        made = ls.evaluate("Y(i,j) = inside(A(i,j))", A=A)
        torch.testing.assert_close(dense(made), torch.where(DATA["A"] != 0, DATA["A"].exp(), 0))
        torch.testing.assert_close(ls.evaluate("y(i) = inside(A(i,j))", A=A), dense(made).sum(1))
    finally:
        ls.unregister("anywhere")
        ls.unregister("inside")


def test_sums_over_a_huge_sparse_matrix_visit_entries_only():
    n = 200_000
    A = ls.from_coo([[0, n - 1], [1, 2]], torch.tensor([1.0, 2.0]).double(), (n, n))
    x = torch.ones(n, dtype=torch.float64)
    made = ls.evaluate("y(i) = exp(A(i,j)) * x(j)", A=A, x=x)
    torch.testing.assert_close(made[[0, 1, n - 1]], torch.tensor([n - 1 + torch.e, n, n - 1 + torch.e**2]).double())
