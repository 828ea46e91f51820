"""`evaluate` against dense torch: windows, regions, functions of the user."""

from __future__ import annotations

import itertools

import pytest
import torch
from assignments import FORMATS, M, N, as_format, check, plain
from covering import pairs

import libsparse as ls

# Windows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("x", "y"), [*itertools.product(FORMATS, FORMATS)])
def test_windows(data, x, y):
    A, B = as_format(data, x), as_format(data.flip(0).contiguous(), y)
    a, b = data, data.flip(0)
    check(ls.evaluate("C(i,j) = A(i(2:4),j(1:3)) + B(i(1:3),j(0:2))", A=A, B=B), a[2:4, 1:3] + b[1:3, :2])
    turn = (FORMATS.index(x) + 2 * FORMATS.index(y)) % 5 % 3
    if turn == 0:
        check(ls.evaluate("C(i,j) = A(i(0:6:2),j) * B(i(1:6:2),j)", A=A, B=B), a[::2] * b[1::2])
    elif turn == 1:
        check(ls.evaluate("C(i,k) = A(i,j(:3)) * B(k,j(2:))", A=A, B=B), a[:, :3] @ b[:, 2:].T)
    else:
        want = (a[-2:, :-1:3] * b[:2, :-1:3]).sum()
        check(ls.evaluate("s = A(i(-2:),j(:-1:3)) * B(i(:2),j(:-1:3))", A=A, B=B), want)
    check(ls.evaluate("C(i,j) = A(i(2:2),j)", A=A), a[2:2])


@pytest.mark.parametrize(("x", "sign", "y"), pairs(FORMATS, ["", "+", "-", "max", "*"], ["csr", "dense", "csc"]))
def test_windows_on_the_left(data, x, y, sign):
    old, new = data.flip(1).contiguous(), data[:3, :2]
    A, B = as_format(old, x), as_format(new.contiguous(), y)
    want = old.clone()
    part = want[1:6:2, 2:4]
    both, other = (part != 0) | (x == "dense"), (new != 0) | (y == "dense")
    merged = {
        "": new,
        "+": part + new,
        "-": part - new,
        "max": torch.where(both & other, torch.maximum(part, new), part + new),
        "*": torch.where(both & other, part * new, part + new),
    }[sign]
    want[1:6:2, 2:4] = merged
    before = plain(A).clone()
    check(ls.evaluate(f"A(i(1:6:2),j(2:4)) {sign}= B(i,j)", A=A, B=B), want)
    check(A, before)


@pytest.mark.parametrize("x", FORMATS)
@pytest.mark.parametrize("y", ["csr", "dense"])
def test_selections(data, x, y):
    A, B = as_format(data, x), as_format(data.flip(0).contiguous(), y)
    a, b = data, data.flip(0)
    check(
        ls.evaluate("C(i,j) = A(i([4,0,-1]),j(1:3)) + B(i(1:4),j([0,2]))", A=A, B=B), a[[4, 0, 5], 1:3] + b[1:4, [0, 2]]
    )
    check(ls.evaluate("C(i,j) = A(i([4,0,4]),j) * 2", A=A), a[[4, 0, 4]] * 2)
    want = a.clone()
    want[[5, 1, 2], 2:4] = b[:3, :2]
    check(ls.evaluate("A(i([5,1,2]),j(2:4)) = B(i(:3),j(:2))", A=A, B=B), want)
    want[[0, 2]] += b[1:3]
    check(ls.evaluate("A(i([5,1,2]),j(2:4)) = B(i(:3),j(:2)); A(i([0,2]),j) += B(i(1:3),j)", A=A, B=B), want)
    with pytest.raises(ls.IndexBoundsError, match="beyond"):
        ls.evaluate("C(i,j) = A(i([6]),j)", A=A)
    with pytest.raises(ls.FormatError, match="twice"):
        ls.evaluate("A(i([1,1]),j) = B(i(:2),j)", A=A, B=B)


def test_windows_out_of_range(data):
    A = ls.tensor(data)
    with pytest.raises(ls.IndexBoundsError, match="beyond the extent 6"):
        ls.evaluate("y(i) = A(i(2:9),j)", A=A)
    with pytest.raises(ls.ShapeError, match="no range"):
        ls.evaluate("y(i) = A(i(4:2),j)", A=A)
    with pytest.raises(ls.ShapeError, match="extent"):
        ls.evaluate("y(i) = A(i(0:2),j) + b(i)", A=A, b=torch.ones(3).double())
    with pytest.raises(ls.ShapeError, match="pass y="):
        ls.evaluate("y(i(0:6)) = A(i,j)", A=A)
    with pytest.raises(ls.ShapeError, match="the part"):
        ls.evaluate("y(i(0:3)) = A(i,j)", A=A, y=torch.ones(N))


def test_gradients_through_windows(data):
    values = ls.tensor(data).values().clone().requires_grad_()
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    y = torch.randn(8, dtype=torch.float64, requires_grad=True)
    A = ls.tensor(data)

    def function(values, x, y):
        text = "y(i(1:7:2)) += square(A(i(2:),j(:3))) * x(j)"
        return ls.evaluate(text, A=A.with_values(values), x=x, y=y)[[1, 3, 5, 7]]

    with pytest.raises(ls.ShapeError):
        function(values, x, y)

    def good(values, x, y):
        text = "y(i(1:8:2)) += square(A(i(2:),j(:3))) * x(j)"
        return ls.evaluate(text, A=A.with_values(values), x=x, y=y)

    assert torch.autograd.gradcheck(good, (values, x, y))


# Regions and functions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("formats", [*itertools.product("sd", repeat=2)])
@pytest.mark.parametrize(
    ("region", "holds"),
    [
        ("0 & 1", lambda a, b: a & b),
        ("0 | 1", lambda a, b: a | b),
        ("0 ^ 1", lambda a, b: a ^ b),
        ("0 & ~1", lambda a, b: a & ~b),
        ("~0 & 1", lambda a, b: ~a & b),
        ("~(0 & 1)", lambda a, b: ~(a & b)),
        ("~(0 | 1)", lambda a, b: ~(a | b)),
        ("~0 | ~1", lambda a, b: ~a | ~b),
        ("all", lambda a, b: a | ~a),
    ],
)
def test_regions(region, holds, formats):
    a, b = torch.tensor([0.0, 2, 0, 3, 5, 0]), torch.tensor([0.0, 0, 7, 1, 2, 0])
    operands = [ls.tensor(v) if f == "s" else v for v, f in zip((a, b), formats, strict=True)]
    there = [v != 0 if f == "s" else torch.ones(6).bool() for v, f in zip((a, b), formats, strict=True)]
    made = ls.evaluate(f"y(i) = stored(add[{region}](a(i), b(i)))", a=operands[0], b=operands[1])
    check(made, holds(*there).float())
    made = ls.evaluate(f"y(i) = add[{region}](a(i), b(i)) * 10", a=operands[0], b=operands[1])
    check(made, torch.where(holds(*there), a + b, 0) * 10)


@pytest.fixture
def registered():
    ls.register("unvisited(front, seen)", "front", region="front & ~seen")
    ls.register("two(b, c, d)", {"b & c & d": "b + c + d", "b & c": "b * c", "b & d": "b * d", "c & d": "c * d"})
    ls.register("shifted(x)", "x * x + 1 / 2")
    ls.register("sixth(x)", "shifted(x) / 6", region="x")
    yield
    for name in ("sixth", "shifted", "two", "unvisited"):
        ls.unregister(name)


@pytest.mark.parametrize("formats", [*itertools.product("sd", repeat=3)])
def test_functions_of_three_arguments(registered, formats):
    rows = torch.tensor([[2.0, 0, 3, 4, 0, 5, 0, 7], [3.0, 2, 0, 5, 0, 0, 6, 9], [0.0, 4, 5, 6, 0, 0, 0, 2]])
    operands = [ls.tensor(v) if f == "s" else v for v, f in zip(rows, formats, strict=True)]
    there = [v != 0 if f == "s" else torch.ones(8).bool() for v, f in zip(rows, formats, strict=True)]
    want = torch.zeros(8)
    for at, (b, c, d) in enumerate(rows.T):
        p, q, r = (bool(row[at]) for row in there)
        value = b + c + d if p and q and r else b * c if p and q else b * d if p and r else c * d
        want[at] = value if p + q + r > 1 else 0
    made = ls.evaluate("y(i) = two(b(i), c(i), d(i))", **dict(zip("bcd", operands, strict=True)))
    check(made, want)


def test_a_step_of_breadth_first_search(registered, data):
    edges = (data != 0).double()
    front, seen = torch.tensor([1.0, 0, 1, 0, 0, 1]).double(), torch.tensor([0.0, 1, 0, 0, 1]).double()
    made = ls.evaluate("next(j) |= A(i,j) * front(i); fresh(j) = unvisited(next(j), seen(j))",
                       A=ls.tensor(edges, format="csr"), front=ls.tensor(front), seen=ls.tensor(seen))  # fmt: skip
    check(made, ((edges.T @ front > 0) & (seen == 0)).double())


def test_functions_without_a_region_are_as_written_out(registered):
    a = torch.tensor([0.0, 2, 0, 3])
    check(ls.evaluate("y(i) = shifted(a(i))", a=ls.tensor(a)), a * a + 0.5)
    check(ls.evaluate("y(i) = sixth(a(i))", a=ls.tensor(a)), torch.where(a != 0, (a * a + 0.5) / 6, 0))


def test_definitions_are_part_of_the_key():
    a = ls.tensor(torch.tensor([0.0, 2]))
    for factor in (2, 3):
        ls.register("scaled(x)", f"{factor} * x")
        check(ls.evaluate("y(i) = scaled(a(i))", a=a), torch.tensor([0.0, 2 * factor]))
    ls.unregister("scaled")
    with pytest.raises(ls.FormatError, match="'scaled'"):
        ls.evaluate("y(i) = scaled(a(i))", a=a)


@pytest.mark.parametrize(
    ("head", "body", "region", "match"),
    [
        ("f", "x", None, "no head"),
        ("sqrt(x)", "x", None, "function of the compiler"),
        ("f(x, x)", "x", None, "different parameters"),
        ("f(x)", "x + y", None, "neither a parameter"),
        ("f(x)", "x +", None, "the end"),
        ("f(x)", "x", "y", "no region"),
        ("f(x)", "x", "x; system", "no region"),
        ("f(x)", {}, None, "a body for each"),
        ("f(a,b,c,d,e,f,g)", "a", None, "6 at most"),
    ],
)
def test_what_is_wrong_with_definitions(head, body, region, match):
    with pytest.raises(ls.FormatError, match=match):
        ls.register(head, body, region)


def test_second_derivatives(data, registered):
    A = ls.tensor(data)
    values, x = A.values().clone().requires_grad_(), torch.rand(M, dtype=torch.float64, requires_grad=True)

    def function(values, x):
        return ls.evaluate("y(i) = sin(A(i,j)) * exp(x(j)) + shifted(x(j)) * A(i,j)", A=A.with_values(values), x=x)

    assert torch.autograd.gradcheck(function, (values, x))
    assert torch.autograd.gradgradcheck(function, (values, x))
