"""With gradients an expression means what it means without."""

from __future__ import annotations

import pytest
import torch
from libsparse._ops.evaluate import last

import libsparse as ls


def both(text: str, **operands: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The value without and with gradients asked for."""
    leaves = {name: value.clone().requires_grad_() for name, value in operands.items()}
    return ls.evaluate(text, **operands), ls.evaluate(text, **leaves)


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        ("x(i) * -y(i)", lambda x, y: -x * y),
        ("x(i) - -y(i)", lambda x, y: x + y),
        ("2 * -x(i) + y(i)", lambda x, y: -2 * x + y),
        ("-(x(i) - 2 * y(i)) * 3", lambda x, y: -3 * (x - 2 * y)),
        ("x(i) / 4 - y(i) / (1 + 1)", lambda x, y: x / 4 - y / 2),
        ("x(i) * (y(i) + 1)", lambda x, y: x * (y + 1)),
        ("x(i) + sum(j)", None),
    ],
)
def test_signs_and_parentheses(right, expected):
    x, y = torch.randn(5, dtype=torch.float64), torch.randn(5, dtype=torch.float64)
    if expected is None:
        with pytest.raises(ls.FormatError, match="'sum' is not given"):
            both(f"z(i) = {right}", x=x)
        return
    plain, followed = both(f"z(i) = {right}", x=x, y=y)
    torch.testing.assert_close(plain, expected(x, y))
    torch.testing.assert_close(followed.detach(), expected(x, y))
    a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
    expected(a, b).sum().backward()
    c, d = x.clone().requires_grad_(), y.clone().requires_grad_()
    ls.evaluate(f"z(i) = {right}", x=c, y=d).sum().backward()
    torch.testing.assert_close((c.grad, d.grad), (a.grad, b.grad))


def test_what_is_no_expression_is_refused():
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(ls.FormatError, match="column 15"):
        ls.evaluate("z(i) = x(i) * * x(i)", x=x)
    with pytest.raises(ls.FormatError, match="the end"):
        ls.evaluate("z(i) = x(i) +", x=x)
    with pytest.raises(ls.UnsupportedError, match="'any' has no gradient"):
        ls.evaluate("z |= x(i)", x=x)


def test_products_are_as_long_as_sums():
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    out = ls.evaluate("z(i) = x(i)" + " * x(i)" + " * 1.001" * 1500, x=x)
    torch.testing.assert_close(out, x**2 * 1.001**1500)
    torch.testing.assert_close(torch.autograd.grad(out.sum(), x)[0], 2 * x.detach() * 1.001**1500)


@pytest.mark.parametrize("n", [8, 16, 40])
def test_loops_over_too_many_sets_of_operands_are_refused_at_once(n):
    operands = {f"A{k}": ls.random((6, 6), 0.4) for k in range(n)}
    text = " * ".join(f"({name}(i,j) + x(j))" for name in operands)
    with pytest.raises(ls.UnsupportedError, match="more than 128 sets of operands may store an entry"):
        ls.evaluate(f"y(i) = {text}", x=torch.ones(6), **operands)


@pytest.mark.parametrize("n", [101, 700, 5000])
@pytest.mark.parametrize(("begin", "end"), [("(", ")"), ("-", ""), ("exp(", ")"), ("x(i) - (", ")")])
def test_nesting_is_limited_whatever_calls_it(begin, end, n):
    with pytest.raises(ls.FormatError, match=r"nested too deeply|more than 20000"):
        ls.evaluate("z(i) = " + begin * n + "x(i)" + end * n, x=torch.ones(3))
    n = 99 if begin != "-" else 98
    assert len(ls.evaluate("z(i) = " + begin * n + "x(i)" + end * n, x=torch.zeros(3))) == 3


@pytest.mark.parametrize("right", ["(" * 5000 + "x(i)" + ")" * 5000, "-" * 5000 + "x(i)"])
def test_nesting_is_limited(right):
    with pytest.raises(ls.FormatError, match="nested too deeply"):
        ls.evaluate(f"z(i) = {right}", x=torch.ones(3))


def test_dense_terms_are_repeated_along_missing_indices(dense):
    A, x, b = ls.tensor(dense), torch.randn(3), torch.randn(3, requires_grad=True)
    out = ls.evaluate("C(i,k) = A(i,j) * x(j) * b(k) + b(k) + 2", A=A, x=x, b=b)
    want = torch.outer(dense @ x, b) + b + 2
    torch.testing.assert_close(out, want)
    torch.testing.assert_close(torch.autograd.grad(out.sum(), b), torch.autograd.grad(want.sum(), b))
    out = ls.evaluate("C(i,k) = A(i,j) + b(k) * d(k)", A=A, b=b, d=ls.tensor(torch.ones(3)))
    want = dense.sum(1)[:, None] + b
    torch.testing.assert_close(out.to_dense() if isinstance(out, ls.SparseTensor) else out, want)
    torch.testing.assert_close(torch.autograd.grad(out.sum(), b), torch.autograd.grad(want.sum(), b))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("o = -al + A(i,j) * al", lambda A, al: -al + (A * al).sum()),
        ("C(i,k) = A(i,j) * A(j,k) - A(i,k) * al", lambda A, al: A @ A - A * al),
        ("C(i,j) = (A(i,j) + A(j,i)) * (al - -1) + 0.5 * A(i,j)", lambda A, al: (A + A.T) * (al + 1) + 0.5 * A),
    ],
)
def test_operands_may_be_read_several_times(dense, text, expected):
    al = torch.tensor(0.7)
    want_leaf = dense.clone().requires_grad_()
    want = expected(want_leaf, al)
    values = ls.tensor(dense).values().clone().requires_grad_()
    A = ls.tensor(dense).with_values(values)
    for operand in (A.detach(), A):
        out = ls.evaluate(text, A=operand, al=al)
        out = out.to_dense() if isinstance(out, ls.SparseTensor) else out
        torch.testing.assert_close(out, want)
    want.sum().backward()
    out.sum().backward()
    torch.testing.assert_close(values.grad, want_leaf.grad[tuple(A.indices())])


def test_long_sums():
    names = [f"a{n}" for n in range(700)]
    text = "z(i) = " + " + ".join(f"{name}(i)" for name in names)
    asked = last(text, {name: torch.ones(2) for name in names}, None, "sum", "mul").problem
    assert asked.names == tuple(names)
    out = ls.evaluate("z(i) = " + " + ".join(["a(i)"] * 200), a=torch.ones(2))
    torch.testing.assert_close(out, torch.full((2,), 200.0))


def test_expressions_of_any_length_are_computed_or_refused():
    text = "z(i) = " + " + ".join(["1"] * 100_000) + " + x(i)"
    with pytest.raises(ls.FormatError, match="name a part"):
        ls.evaluate(text, x=torch.ones(2))


@pytest.mark.parametrize("text", ["y = x(i) * i", "y(i) = X(i,j) * j * i", "y = X(i(1:3),j) * j * i"])
def test_index_variables_as_values(text):
    given = {"x": (4,), "X": (3, 4)}
    names = [name for name in given if f"{name}(" in text]
    inputs = tuple(torch.rand(given[name], dtype=torch.float64, requires_grad=True) for name in names)
    assert torch.autograd.gradcheck(lambda *t: ls.evaluate(text, **dict(zip(names, t, strict=True))), inputs)


@pytest.mark.parametrize("text", ["y(i) = (A(i,l) + c(i)) * l", "y(i) = A(i,l) - c(k) * i", "y(i) = c(i) - t(l) * i"])
def test_index_variables_as_values_in_several_steps(text):
    A = ls.random((4, 5), 0.5, dtype=torch.float64)
    c, t = (torch.rand(n, dtype=torch.float64, requires_grad=True) for n in (4, 5))

    def function(values, c, t):
        given = {"A": A.with_values(values), "c": c, "t": t}
        return ls.evaluate(text, **{name: made for name, made in given.items() if f"{name}(" in text})

    inputs = (A.values().clone().requires_grad_(), c, t)
    used = [tensor if f"{name}(" in text else tensor.detach() for name, tensor in zip("Act", inputs, strict=True)]
    assert torch.autograd.gradcheck(function, tuple(used))


@pytest.mark.filterwarnings("ignore:`torch.jit")  # of torch.func.jvp, when it is first called
@pytest.mark.parametrize("columns", [(), (2,)])
def test_transforms_of_solutions(columns):
    A = ls.tensor(torch.tensor([[4.0, 1, 0], [0, 3, 1], [1, 0, 5]], dtype=torch.float64))
    b = torch.arange(1.0, 4, dtype=torch.float64).reshape(3, *[1] * len(columns)) * torch.ones(columns).double()

    def sparse(values, b):
        return ls.linalg.solve(A.with_values(values), b, method="direct")

    def dense(values, b):
        return torch.linalg.solve(A.with_values(values).to_dense(), b)

    inputs = (A.values(), b)
    for transform in (torch.func.jacrev, torch.func.jacfwd, lambda f: torch.func.hessian(lambda v: f(v, b).sum())):
        given = inputs if transform in (torch.func.jacrev, torch.func.jacfwd) else inputs[:1]
        torch.testing.assert_close(transform(sparse)(*given), transform(dense)(*given))
    tangents = (torch.cos(inputs[0]), torch.sin(b))
    torch.testing.assert_close(torch.func.jvp(sparse, inputs, tangents), torch.func.jvp(dense, inputs, tangents))
    rows = torch.stack([b, b * 2])
    torch.testing.assert_close(
        torch.vmap(lambda b: sparse(A.values(), b))(rows), torch.stack([sparse(A.values(), r) for r in rows])
    )
