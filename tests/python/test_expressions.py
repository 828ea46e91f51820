"""`evaluate` against dense torch: reductions, several assignments, windows, regions, functions of the user."""

from __future__ import annotations

import pytest
import torch
from assignments import M, N, as_format, check, plain

import libsparse as ls

# Reductions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", ["+", "*", "min", "max", "mean", "|", "&", "^", "any", "all", "sum", "prod"])
@pytest.mark.parametrize("format", ["csr", "coo"])
def test_reductions_run_over_existing_terms(data, sign, format):
    stored = data != 0
    count = stored.sum(1)
    odd = (count % 2).double()
    want = {
        "+": data.sum(1),
        "*": torch.where(stored, data, 1.0).prod(1),
        "min": torch.where(stored, data, torch.inf).amin(1),
        "max": torch.where(stored, data, -torch.inf).amax(1),
        "mean": data.sum(1) / count.clamp(min=1),
        "|": stored.any(1).double(),
        "&": torch.ones(N, dtype=torch.float64),
        "^": odd,
    }
    want |= {"any": want["|"], "all": want["&"], "sum": want["+"], "prod": want["*"]}
    check(ls.evaluate(f"y(i) {sign}= A(i,j)", A=as_format(data, format)), want[sign])


@pytest.mark.parametrize("sign", ["+", "*", "min", "max", "-", "/"])
def test_old_elements_take_part(data, sign):
    A, y = ls.tensor(data), torch.randn(N, dtype=torch.float64)
    stored = data != 0
    want = {
        "+": y + data.sum(1),
        "*": y * torch.where(stored, data, 1.0).prod(1),
        "min": torch.minimum(y, torch.where(stored, data, torch.inf).amin(1)),
        "max": torch.maximum(y, torch.where(stored, data, -torch.inf).amax(1)),
        "-": y - data.sum(1),
        "/": y / (data.sum(1) + 9 * M),
    }
    right = "(A(i,j) + B(i,j))" if sign == "/" else "A(i,j)"
    operands = {"B": torch.full((N, M), 9.0).double()} if sign == "/" else {}
    check(ls.evaluate(f"y(i) {sign}= {right}", A=A, y=y, **operands), want[sign])


def test_an_old_element_is_a_term_where_it_is_stored():
    old, new = torch.tensor([2.0, 0, 3, 0]), torch.tensor([5.0, 7, 0, 0])
    check(ls.evaluate("y(i) *= a(i)", y=ls.tensor(old), a=ls.tensor(new)), torch.tensor([10.0, 7, 3, 0]))
    check(ls.evaluate("y(i) min= a(i)", y=ls.tensor(old), a=ls.tensor(new)), torch.tensor([2.0, 7, 3, 0]))


@pytest.mark.parametrize("format", ["csr", None, "dense"])
def test_means_of_sparse_products_are_sparse(data, format):
    A, B = ls.tensor(data), ls.tensor(data.T.contiguous())
    number = (data != 0).double() @ (data.T != 0).double()
    made = ls.einsum("ij,jk->ik", A, B, reduce="mean", format=format)
    assert isinstance(made, ls.SparseTensor) == (format != "dense")
    check(made, data @ data.T / number.clamp(min=1))


def test_means_of_integers_and_patterns_are_floating(data):
    whole = (data * 3).to(torch.int64)
    count = (whole != 0).sum(1).clamp(min=1)
    check(ls.einsum("ij->i", ls.tensor(whole), reduce="mean"), (whole.sum(1) / count).float())
    check(ls.einsum("ij->i", ls.from_mask(data != 0), reduce="mean"), (data != 0).any(1).float())


REDUCED = ["sum", "min", "max", "mean", "any"]
COMBINED = ["mul", "add", "sub", "min", "max", "first", "second", "lt", "ge", "eq", "atan2", "xor"]


@pytest.mark.parametrize("combine", COMBINED)
@pytest.mark.parametrize("reduce", REDUCED)
def test_semirings(data, reduce, combine):
    x = torch.randn(M, dtype=torch.float64)
    a, b = data, x.expand(N, M)
    term = {
        "mul": a * b,
        "add": a + b,
        "sub": a - b,
        "min": torch.minimum(a, b),
        "max": torch.maximum(a, b),
        "first": a,
        "second": b,
        "lt": (a < b).double(),
        "ge": (a >= b).double(),
        "eq": (a == b).double(),
        "atan2": torch.atan2(a, b),
        "xor": ((a != 0) ^ (b != 0)).double(),
    }[combine]
    stored = data != 0
    want = {
        "sum": torch.where(stored, term, 0).sum(1),
        "min": torch.where(stored, term, torch.inf).amin(1),
        "max": torch.where(stored, term, -torch.inf).amax(1),
        "mean": torch.where(stored, term, 0).sum(1) / stored.sum(1).clamp(min=1),
        "any": (stored & (term != 0)).any(1).double(),
    }[reduce]
    A = ls.tensor(data)
    check(ls.einsum("ij,j->i", A, x, reduce=reduce, combine=combine), want)
    if (REDUCED.index(reduce) + COMBINED.index(combine)) % 2 == 0:  # the same, written otherwise
        check(ls.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x, reduce=reduce, combine=combine), want)


# Several assignments -------------------------------------------------------------------------------------------


def test_later_assignments_read_earlier_ones(data):
    A, x = ls.tensor(data), torch.randn(M, dtype=torch.float64)
    text = "t(i) = A(i,j) * x(j); t(i) = t(i) * t(i) + 1; n = t(i); y(i) = t(i) / n"
    t = (data @ x) ** 2 + 1
    check(ls.evaluate(text, A=A, x=x), t / t.sum())


def test_sparse_temporaries_stay_sparse(data):
    A = ls.tensor(data)
    made = ls.evaluate("T(i,k) = A(i,j) * B(k,j); C(i,k) = T(i,k) * T(i,k)", A=A, B=A)
    assert isinstance(made, ls.SparseTensor)
    check(made, (data @ data.T) ** 2)


def test_power_iteration_by_hand(data):
    A, x = ls.tensor(data), torch.rand(M, dtype=torch.float64, requires_grad=True)
    out = ls.evaluate("y(i) = A(i,j)*x(j); z(j) = A(i,j)*y(i); s = z(j)*z(j); r(j) = z(j)/sqrt(s)", A=A, x=x)
    z = data.T @ (data @ x)
    check(out, z / z.norm())
    assert torch.autograd.gradcheck(lambda x: ls.evaluate("y(i) = A(i,j)*x(j); r = y(i)*y(i)", A=A, x=x), (x,))


def test_what_is_wrong_with_programs(data):
    A = ls.tensor(data)
    with pytest.raises(ls.FormatError, match="'b' is given and not used"):
        ls.evaluate("t(i) = A(i,j); y(i) = t(i)", A=A, b=A)
    with pytest.raises(ls.FormatError, match="'u' is not given"):
        ls.evaluate("t(i) = A(i,j); y(i) = u(i)", A=A)
    with pytest.raises(ls.FormatError, match="'y' is given and not used"):
        ls.evaluate("y(i) = A(i,j)", A=A, y=torch.ones(N))
    with pytest.raises(ls.FormatError, match="no old elements"):
        ls.evaluate("y(i) -= A(i,j)", A=A)
    with pytest.raises(ls.FormatError, match="mean="):
        ls.evaluate("y(i) mean= A(i,j)", A=A, y=torch.ones(N))


# Gradients -----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::libsparse.DenseResultWarning")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y(i) = sin(A(i,j)) * x(j)", lambda a, s, x: (torch.where(s, a.sin(), 0) * x).sum(1)),
        ("y(i) = A(i,j) / x(j)", lambda a, s, x: (a / x).sum(1)),
        ("y(i) = pow(A(i,j), 3) * exp(x(j))", lambda a, s, x: (a**3 * x.exp()).sum(1)),
        ("y(i) = max(A(i,j) * x(j), 0) + 1", lambda a, s, x: (a * x).relu().sum(1) + 1),
        ("y(i) max= A(i,j) * x(j)", lambda a, s, x: torch.where(s, a * x, -torch.inf).amax(1)),
        ("y(i) mean= A(i,j) * x(j)", lambda a, s, x: (a * x).sum(1) / s.sum(1).clamp(min=1)),
        ("y(i) = tanh(A(i,j) * x(j)) * sigmoid(x(j))", lambda a, s, x: ((a * x).tanh() * x.sigmoid()).sum(1)),
        ("C(i,j) = min(A(i,j), x(j))", lambda a, s, x: torch.minimum(a, x.expand(N, M))),
        ("C(i,j) = A(i,j) * square(x(j)) - A(j(0:5),i) / 2", None),
        ("y(i) = where(gt(A(i,j), 0), A(i,j) * x(j), 0)", lambda a, s, x: (a.relu() * x).sum(1)),
        ("s = add[every](A(i,j), x(j)) * A(i,j)", lambda a, s, x: (torch.where(s, a + x, 0) * a).sum()),
    ],
)
def test_gradients(data, text, expected):
    data[2, 1] = 0.75  # without a term there is no gradient
    x = torch.randn(M, dtype=torch.float64) + 2
    A, stored = ls.tensor(data), data != 0
    values = A.values().clone()
    if expected is None:
        data, stored = data[:5], stored[:5]
        A = ls.tensor(data)
        values = A.values().clone()
        expected = lambda a, s, x: a * x.square() - a.T / 2  # noqa: E731
    leaves = values.requires_grad_(), x.clone().requires_grad_()
    twins = data.clone().requires_grad_(), x.clone().requires_grad_()
    weight = torch.rand(expected(twins[0], stored, twins[1]).shape, dtype=torch.float64)
    made = plain(ls.evaluate(text, A=A.with_values(leaves[0]), x=leaves[1]))
    want = expected(twins[0], stored, twins[1])
    torch.testing.assert_close(made, want)
    (made * weight).sum().backward()
    (want * weight).sum().backward()
    torch.testing.assert_close(leaves[0].grad, twins[0].grad[tuple(A.indices())])
    torch.testing.assert_close(leaves[1].grad, twins[1].grad)


# Einsum --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("ij , jk -> ik", [(3, 4), (4, 5)]),
        ("ij,jk", [(3, 4), (4, 5)]),
        ("ba", [(3, 4)]),
        ("bA,Ac", [(3, 4), (4, 2)]),
        ("ii->i", [(4, 4)]),
        ("iij->j", [(4, 4, 3)]),
        ("ii", [(4, 4)]),
        ("ij->", [(3, 4)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
        ("...ij,jk->...ik", [(2, 3, 4), (4, 5)]),
        ("i...,i...->...", [(3, 2, 4), (3, 1, 4)]),
        ("ij,ij->ij", [(1, 4), (3, 4)]),
        ("ij,ij->j", [(3, 1), (1, 4)]),
        ("ij,jk,kl,lm->im", [(3, 4), (4, 5), (5, 2), (2, 3)]),
        ("i,i,i,i->i", [(5,), (5,), (5,), (5,)]),
        (",ij->ij", [(), (3, 4)]),
    ],
)
@pytest.mark.parametrize("sparse", ["first", "all"])
def test_torchs_syntax(spec, shapes, sparse):
    dense = [torch.randn(shape).where(torch.rand(shape) < 0.6, 0) for shape in shapes]
    operands = [ls.tensor(t) if t.ndim and (n == 0 or sparse == "all") else t for n, t in enumerate(dense)]
    check(ls.einsum(spec, *operands), torch.einsum(spec, *dense))


@pytest.mark.parametrize(
    "sublists",
    [([0, 1], [1, 2], [0, 2]), ([0, 1], [1, 2]), ([30, 2], [2, 7]), ([..., 1], [1, 2], [..., 2])],
)
def test_sublists(sublists):
    a, b = torch.randn(3, 4).relu(), torch.randn(4, 5)
    rest = sublists[2:]
    want = torch.einsum(a, list(sublists[0]), b, list(sublists[1]), *map(list, rest))
    check(ls.einsum(ls.tensor(a), list(sublists[0]), b, list(sublists[1]), *map(list, rest)), want)
    with pytest.raises(ls.FormatError, match="no index"):
        ls.einsum(ls.tensor(a), [0, 99], b, [1, 2])


@pytest.mark.parametrize("reduce", ["sum", "mean", "min", "max"])
@pytest.mark.parametrize("combine", ["mul", "add", "max"])
def test_gradients_of_semirings(data, reduce, combine):
    data[:, 0] = 1.0  # where there is no term the result is infinite
    A, stored = ls.tensor(data), (data != 0)[:, :, None]
    X = torch.randn(M, 3, dtype=torch.float64)
    values, x = A.values().clone().requires_grad_(), X.clone().requires_grad_()
    twin, y = data.clone().requires_grad_(), X.clone().requires_grad_()
    a, b = twin[:, :, None], y[None]
    term = {"mul": a * b, "add": a + b, "max": torch.maximum(a, b)}[combine]
    want = {
        "sum": torch.where(stored, term, 0).sum(1),
        "mean": torch.where(stored, term, 0).sum(1) / stored.sum(1),
        "min": torch.where(stored, term, torch.inf).amin(1),
        "max": torch.where(stored, term, -torch.inf).amax(1),
    }[reduce]
    made = ls.einsum("ij,jk->ik", A.with_values(values), x, reduce=reduce, combine=combine)
    check(made, want)
    made.square().sum().backward()
    want.square().sum().backward()
    torch.testing.assert_close(values.grad, twin.grad[tuple(A.indices())])
    torch.testing.assert_close(x.grad, y.grad)


def test_one_number_everywhere_else_is_the_fill_value(data):
    A = ls.tensor(data)
    for text, fill in [("A(i,j) + 1", 1), ("stored[~0](A(i,j))", 1), ("(A(i,j) + 1) * A(i,j)", 0), ("exp(A(i,j))", 1)]:
        made = ls.evaluate(f"C(i,j) = {text}", A=A)
        assert isinstance(made, ls.SparseTensor)
        assert (made.fill_value, made.nnz) == (fill, A.nnz)
