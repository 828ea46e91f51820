"""Functions and arithmetic on stored values, which loops of any length compute on vectors."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from libsparse._compiler import target

import libsparse as ls

FUNCTIONS = "acosh atan cbrt cos erf exp expm1 log1p sigmoid sin tanh"


def ragged(dtype, lengths):
    """A matrix of rows with so many entries."""
    values = torch.rand(sum(lengths), dtype=dtype, generator=torch.Generator().manual_seed(0)) + 1
    pos = torch.tensor([0, *lengths]).cumsum(0)
    crd = torch.cat([torch.arange(n) for n in lengths])
    return ls.from_csr(pos, crd, values, (len(lengths), max(lengths)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS.split())
def test_an_element_has_the_same_bits_wherever_it_stands(name, dtype):
    A = ragged(dtype, [*range(35), *range(35)])
    n = A.values().numel()
    whole = ls.from_csr(torch.tensor([0, n]), torch.arange(n), A.values(), (1, n))
    text = f"y(i,j) = {name}(A(i,j) * s(i)) * A(i,j)"
    found = ls.evaluate(text, A=A, s=torch.ones(A.shape[0], dtype=dtype))
    wanted = ls.evaluate(text, A=whole, s=torch.ones(1, dtype=dtype))
    assert torch.equal(found.values(), wanted.values())
    if hasattr(torch, name):
        torch.testing.assert_close(found.values(), getattr(torch, name)(A.values()) * A.values())


def test_results_do_not_depend_on_threads():
    A = ragged(torch.float32, [n % 53 for n in range(3000)])
    before = torch.get_num_threads()
    results = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        results.append(ls.evaluate("y(i,j) = tanh(A(i,j))", A=A).values())
    torch.set_num_threads(before)
    assert torch.equal(*results)


def test_sums_of_functions_and_elements():
    A = ragged(torch.float64, [3, 0, 21, 16, 40])
    wanted = torch.log1p(A.values() * 2) + A.values()
    torch.testing.assert_close(ls.evaluate("y(i,j) = log1p(A(i,j) * 2) + A(i,j)", A=A).values(), wanted)


@pytest.mark.parametrize(
    "right",
    ["exp(A(i,j)) * A(i,j)", "A(i,j) / x(j)", "A(i,j) + B(i,j)", "cos(B(i,j)) * A(i,j)", "A(i,j) * x(i) - B(i,j)"],
)
def test_results_have_the_pattern_of_their_operands(right):
    A = ragged(torch.float64, [3, 0, 21, 16, 21, 1, 2, 3] + [0] * 13)
    B, x = A.with_values(A.values() * 3), torch.rand(21, dtype=torch.float64) + 1
    given = {name: value for name, value in {"A": A, "B": B, "x": x}.items() if f"{name}(" in right}
    y = ls.evaluate(f"y(i,j) = {right}", **given)
    assert y.pattern is A.pattern
    a, b = A.to_dense(), B.to_dense()
    dense = {
        "exp(A(i,j)) * A(i,j)": a.exp() * a,
        "A(i,j) / x(j)": a / x,
        "A(i,j) + B(i,j)": a + b,
        "cos(B(i,j)) * A(i,j)": b.cos() * a,
        "A(i,j) * x(i) - B(i,j)": a * x[:, None] - b,
    }
    torch.testing.assert_close(y.to_dense(), dense[right])


@pytest.mark.parametrize("exponent", [2, 3])
def test_squares_and_cubes_are_products(exponent):
    A = ragged(torch.float32, [5, 33, 0, 7])
    A = A.with_values(-A.values())
    assert torch.equal(ls.evaluate(f"y(i,j) = pow(A(i,j), {exponent})", A=A).values(), A.values() ** exponent)


def test_selections_choose_lane_by_lane():
    A = ragged(torch.float32, [5, 33, 0, 70])
    A = A.with_values(A.values() - 1.5)
    found = ls.evaluate("y(i,j) = where(gt(A(i,j), 0), A(i,j), expm1(A(i,j)))", A=A)
    torch.testing.assert_close(found.values(), F.elu(A.values()))


@pytest.mark.parametrize("activation", [F.gelu, F.elu, lambda x: F.leaky_relu(x, 0.2), torch.tanh])
def test_compiled_functions_fuse_activations(activation):
    A = ragged(torch.float32, [5, 33, 0, 70])
    x = torch.randn(70, 8, generator=torch.Generator().manual_seed(1))

    def layer(A, x):
        return activation(A @ x + 1)

    compiled = ls.compile(layer)
    for _ in range(3):
        torch.testing.assert_close(compiled(A, x), layer(A, x))
    if target.has_vector_functions():
        assert "in 1 group, none by themselves" in str(ls.explain(layer, A, x))
