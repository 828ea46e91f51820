"""Calls on patterns that are new each time, as those of mini-batches, come to the problem of others of their kind."""

from __future__ import annotations

import pytest
import torch
from libsparse._runtime import repeats

import libsparse as ls

pytestmark = pytest.mark.compiler

X, Y, V, W = torch.randn(9, 4), torch.randn(4, 7), torch.randn(9), torch.randn(7)
Z = torch.randn(7, 3)


def drawn(density=0.4, dtype=torch.float32, format="csr", shape=(9, 7)):
    dense = torch.randint(1, 5, shape).to(dtype) * (torch.rand(shape) < density)
    return ls.tensor(dense, format=format)


OPERATIONS = {
    "add": (lambda A, B: A + B, lambda a, b: a + b),
    "sub": (lambda A, B: A - B, lambda a, b: a - b),
    "spgemm": (lambda A, B: A @ B.T, lambda a, b: a @ b.T),
    "sddmm": (lambda A, _: ls.sddmm(A, X, Y), lambda a, _: a * (X @ Y)),
    "sum": (lambda A, _: A.sum(1), lambda a, _: a.sum(1)),
    "einsum": (lambda A, B: ls.einsum("ij,ij->j", A, B), lambda a, b: (a * b).sum(0)),
    "evaluate": (
        lambda A, _: ls.evaluate("N(i,j) = A(i,j) * d(i) * e(j)", A=A, d=V, e=W),
        lambda a, _: a * V[:, None] * W,
    ),
    "diagonal": (lambda A, B: ls.einsum("ii->i", (A @ B.T)), lambda a, b: (a @ b.T).diagonal()),
    "mean of terms": (lambda A, _: ls.einsum("ij->i", A, reduce="mean"), None),
    "mean": (lambda A, _: ls.matmul(A, Z, reduce="mean"), lambda a, _: (a @ Z) / (a != 0).sum(1, True).clamp(min=1)),
    "max": (lambda A, _: ls.matmul(A, Z, reduce="max"), lambda a, _: extremum(a, Z, "amax")),
    "min": (lambda A, _: ls.matmul(A, Z, reduce="min"), lambda a, _: extremum(a, Z, "amin")),
    "softmax": (lambda A, _: A.softmax(1), lambda a, _: softmax(a)),
}


def extremum(a, x, how):
    """Of the products of each row of `a` and a column of `x`, 0 where there is none."""
    if not a.shape[1]:
        return a @ x
    terms = torch.where(a[:, :, None] != 0, a[:, :, None] * x, -torch.inf if how == "amax" else torch.inf)
    return torch.where((a != 0).any(1, keepdim=True), getattr(terms, how)(1), 0)


def softmax(a):
    return torch.where(a != 0, torch.where(a != 0, a, -torch.inf).softmax(1), 0)


def dense(x):
    return x.to_dense() if isinstance(x, ls.SparseTensor) else x


@pytest.mark.parametrize("format", ["csr", "coo", "csc", "dcsr"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_results_on_new_patterns(name, format):
    ours, theirs = OPERATIONS[name]
    for density in (0.4, 0.3, 0.5, 0.0, 1.0, 0.4, 0.02, 0.6):
        A, B = drawn(density, format=format), drawn(0.3, format=format)
        a, b = A.to_dense(), B.to_dense()
        if theirs is None:
            counts = (a != 0).sum(1)
            wanted = torch.where(counts > 0, a.sum(1) / counts.clamp(min=1), 0)
        else:
            wanted = theirs(a, b)
        torch.testing.assert_close(dense(ours(A, B)), wanted)
    A = drawn(format=format)
    if theirs is not None:
        torch.testing.assert_close(dense(ours(A, A)), theirs(A.to_dense(), A.to_dense()))


@pytest.mark.parametrize("name", ["add", "spgemm", "sddmm", "sum", "einsum", "evaluate", "mean", "max", "softmax"])
def test_problems_are_looked_for_once(name, monkeypatch):
    ours, _ = OPERATIONS[name]
    monkeypatch.setattr(repeats, "_problems", {})
    for _ in range(2):
        ours(drawn(), drawn())
    if repeats.steps.native is None:  # nothing describes calls, and so nothing tells kinds apart
        assert not repeats._problems
        return
    assert any(kind.problem for kind in repeats._problems.values())
    monkeypatch.setattr(repeats, "_noted", None)
    for _ in range(3):
        ours(drawn(), drawn())


SIZED = {
    "add": (lambda A, B, x, y, v: A + B, lambda a, b, x, y, v: a + b),
    "add a row": (lambda A, B, x, y, v: A + B[:1], lambda a, b, x, y, v: a + b[:1]),
    "spgemm": (lambda A, B, x, y, v: A @ B.T, lambda a, b, x, y, v: a @ b.T),
    "squares": (lambda A, B, x, y, v: A @ A, lambda a, b, x, y, v: a @ a),
    "sddmm": (lambda A, B, x, y, v: ls.sddmm(A, x, y), lambda a, b, x, y, v: a * (x @ y)),
    "sddmm of a transposed": (lambda A, B, x, y, v: ls.sddmm(A, x, y.T.clone().T), lambda a, b, x, y, v: a * (x @ y)),
    "sum": (lambda A, B, x, y, v: A.sum(1), lambda a, b, x, y, v: a.sum(1)),
    "sum keepdim": (lambda A, B, x, y, v: A.sum(1, keepdim=True), lambda a, b, x, y, v: a.sum(1, keepdim=True)),
    "sum of all": (lambda A, B, x, y, v: A.sum(), lambda a, b, x, y, v: a.sum()),
    "diagonal": (lambda A, B, x, y, v: ls.einsum("ii->i", A @ B.T), lambda a, b, x, y, v: (a @ b.T).diagonal()),
    "outer": (lambda A, B, x, y, v: ls.einsum("ij,j->ij", A, v), lambda a, b, x, y, v: a * v),
    "transposed": (lambda A, B, x, y, v: ls.einsum("ij,kj->ki", A, x.T @ B), lambda a, b, x, y, v: (x.T @ b) @ a.T),
    "evaluate": (
        lambda A, B, x, y, v: ls.evaluate("N(i,j) = A(i,j) * v(j) + 2 * B(i,j)", A=A, v=v, B=B),
        lambda a, b, x, y, v: a * v + 2 * b,
    ),
    "window": (
        lambda A, B, x, y, v: ls.evaluate("N(i,j) = A(i,j(0:1)) * v(j(0:1))", A=A, v=v),
        lambda a, b, x, y, v: a[:, :1] * v[:1],
    ),
    "mean": (
        lambda A, B, x, y, v: ls.einsum("ij,j->i", A, v, reduce="mean"),
        lambda a, b, x, y, v: torch.where((n := (a != 0).sum(1)) > 0, (a @ v) / n.clamp(min=1), 0),
    ),
    "mean of rows": (
        lambda A, B, x, y, v: ls.matmul(A, y.T, reduce="mean"),
        lambda a, b, x, y, v: (a @ y.T) / (a != 0).sum(1, True).clamp(min=1),
    ),
    "max": (lambda A, B, x, y, v: ls.matmul(A, y.T, reduce="max"), lambda a, b, x, y, v: extremum(a, y.T, "amax")),
    "softmax": (lambda A, B, x, y, v: A.softmax(1), lambda a, b, x, y, v: softmax(a)),
    "mean of all": (lambda A, B, x, y, v: A.mean(1), lambda a, b, x, y, v: a.mean(1)),
}
SHAPES = [(9, 7), (8, 6), (7, 9), (5, 5), (6, 6), (4, 4), (1, 7), (1, 9), (9, 1), (8, 1), (3, 4), (12, 5), (1, 1)]


@pytest.mark.parametrize("format", ["csr", "coo"])
@pytest.mark.parametrize("name", SIZED)
def test_results_and_gradients_on_new_shapes(name, format):
    ours, theirs = SIZED[name]
    for turn, (n, m) in enumerate([*SHAPES, (0, 3), (3, 0), *SHAPES]):
        width = 4 if turn % 3 else 1 + turn
        if name == "squares" and n != m:
            continue
        if name == "window" and not m:
            continue
        A, B = drawn(dtype=torch.float64, format=format, shape=(n, m)), drawn(0.3, torch.float64, format, (n, m))
        given = torch.randn(n, width).double(), torch.randn(width, m).double(), torch.randn(m).double()
        a, b = A.to_dense().requires_grad_(), B.to_dense().requires_grad_()
        wanted = theirs(a, b, *[t.requires_grad_() for t in given])
        torch.testing.assert_close(dense(ours(A, B, *[t.detach() for t in given])), wanted.detach(), equal_nan=True)
        values, other = A.values().requires_grad_(), B.values().requires_grad_()
        operands = [t.detach().requires_grad_() for t in given]
        found = dense(ours(A.with_values(values), B.with_values(other), *operands))
        if not wanted.requires_grad:
            continue
        weights = torch.rand(wanted.shape, dtype=torch.float64)
        got = torch.autograd.grad((found * weights).sum(), [values, other, *operands], allow_unused=True)
        want = torch.autograd.grad((wanted * weights).sum(), [a, b, *given], allow_unused=True)
        for number, (g, w) in enumerate(zip(got, want, strict=True)):
            if g is None or w is None:
                assert g is None or not g.any(), (n, m, number)
                assert w is None or not w.any() or name == "mean", (n, m, number)
                continue
            source = (A, B)[number] if number < 2 else None
            if source is not None:
                g, w = source.with_values(g).to_dense(), w * (source.to_dense() != 0)
            torch.testing.assert_close(g, w)


def test_problems_are_those_of_all_shapes(monkeypatch):
    monkeypatch.setattr(repeats, "_problems", {})
    if repeats.steps.native is None:
        return
    for n in (5, 6, 7):
        ls.sddmm(drawn(shape=(n, 2 * n)), torch.randn(n, 3), torch.randn(3, 2 * n))
    (kind,) = repeats._problems.values()
    assert kind.varying == {0, 1}
    monkeypatch.setattr(repeats, "_noted", None)
    for n in (8, 9):
        ls.sddmm(drawn(shape=(n, 2 * n)), torch.randn(n, 3), torch.randn(3, 2 * n))


def test_problems_of_some_shapes_stay_theirs(monkeypatch):
    monkeypatch.setattr(repeats, "_problems", {})
    for n in (5, 6, 7, 5, 6, 7, 5, 6, 7):  # the shape of the result is in the way that it is seen
        A = drawn(shape=(n, 4))
        torch.testing.assert_close(A.sum(1, keepdim=True), A.to_dense().sum(1, keepdim=True))
    assert not any(kind.problem for kind in repeats._problems.values())


def _squares(out):
    return (out.values() if isinstance(out, ls.SparseTensor) else out).square().sum()


def _softmax(scores, there):
    weights = torch.where(there, (scores - scores.detach().amax()).exp(), 0.0)
    return weights / weights.sum(1, keepdim=True).clamp(min=1e-300)


DIFFERENTIATED = {
    "sddmm": (lambda A, x, y: ls.sddmm(A, x, y), lambda a, x, y, _: a * (x @ y)),
    "product": (lambda A, x, y: (A @ y.T).T @ x, lambda a, x, y, _: (a @ y.T).T @ x),
    "turned": (lambda A, x, y: x.T @ A, lambda a, x, y, _: x.T @ a),
    "softmax": (
        lambda A, x, y: torch.sparse.softmax(ls.sddmm(A, x, y), 1),
        lambda a, x, y, there: _softmax(a * (x @ y), there),
    ),
    "same twice": (lambda A, x, _: ls.sddmm(A @ A.T, x, x.T), lambda a, x, *_: (a @ a.T) * (x @ x.T)),
    "evaluate": (
        lambda A, x, y: ls.evaluate("R(i,j) = tanh(A(i,j)) * sum(x(i,k) * y(k,j))", A=A, x=x, y=y),
        lambda a, x, y, _: a.tanh() * (x @ y),
    ),
    "least": (
        lambda A, x, _: ls.evaluate("r(j,k) = A(i,j) * x(i,k)", A=A, x=x, reduce="max"),
        None,
    ),
}


@pytest.mark.parametrize("format", ["csr", "coo", "csc", "bsr(3,7)"])
@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients_on_new_patterns(name, format):
    ours, theirs = DIFFERENTIATED[name]
    for density in (0.4, 0.3, 0.5, 0.0, 1.0, 0.4, 0.1):
        A = drawn(density, dtype=torch.float64, format=format)
        x, y = X.double().requires_grad_(), Y.double().requires_grad_()
        values = A.values().requires_grad_()
        A = A.with_values(values)
        a = A.to_dense().detach().requires_grad_()
        _squares(ours(A, x, y)).backward()
        found = [x.grad, y.grad, A.with_values(values.grad).to_dense() if values.grad is not None else None]
        if theirs is None:
            masked = torch.where(a.detach() != 0, 0.0, -torch.inf)[:, :, None] + a[:, :, None] * x.detach()[:, None]
            if format == "bsr(3,7)":  # whose zeros are terms
                continue
            wanted = torch.autograd.grad(masked.amax(0).nan_to_num(neginf=0).square().sum(), a)
            torch.testing.assert_close(found[2], wanted[0])
            continue
        x2, y2 = X.double().requires_grad_(), Y.double().requires_grad_()
        stored = A.with_values(torch.ones_like(values)).to_dense() != 0
        _squares(theirs(a, x2, y2, stored)).backward()
        for got, want in zip(found, [x2.grad, y2.grad, a.grad * stored], strict=True):
            if want is not None:
                torch.testing.assert_close(got, want)


def test_other_elements_are_another_kind():
    for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64, torch.float16) * 3:
        A, B = drawn(dtype=dtype), drawn(dtype=dtype)
        found = A + B
        assert found.dtype == dtype
        torch.testing.assert_close(found.to_dense(), A.to_dense() + B.to_dense())
    for shape in ((9, 7), (7, 9), (9, 7), (9, 1)) * 2:
        A, B = drawn(shape=shape), drawn(shape=shape)
        torch.testing.assert_close((A + B).to_dense(), A.to_dense() + B.to_dense())
    with pytest.raises(ls.ShapeError, match="do not broadcast"):
        drawn() + drawn(shape=(7, 9))


def test_gradients_and_modes_are_followed():
    for n in range(6):
        A, B = drawn(), drawn()
        if n % 2:
            A.requires_grad_()
        out = ls.sddmm(A, X, Y).sum(1)
        assert out.requires_grad == bool(n % 2)
        with torch.no_grad():
            assert not (A + B).requires_grad
    for n in range(6):
        A = drawn()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bool(n % 2)):
            assert ls.sddmm(A, X, Y).dtype == (torch.bfloat16 if n % 2 else torch.float32)
    for _ in range(3):
        with torch.inference_mode():
            torch.testing.assert_close((drawn(1.0) - drawn(0.0)).to_dense().min() > 0, torch.tensor(True))


def test_numbers_that_are_no_divisors_are_refused_as_before():
    d = torch.tensor([1, 2, 0, 1, 1, 1, 1])
    for _ in range(4):
        A = drawn(1.0, dtype=torch.int64)
        with pytest.raises(ls.DivisionByZeroError):
            ls.evaluate("y(i,j) = A(i,j) // d(j)", A=A, d=d)
        assert ls.evaluate("y(i,j) = A(i,j) // d(j)", A=A, d=d.clamp(min=1)).shape == (9, 7)


def test_arguments_that_an_operation_does_not_take_are_refused_as_before():
    for _ in range(4):
        with pytest.raises(ls.DtypeError, match="got an unexpected keyword argument 'foo'"):
            drawn().sum(dim=0, foo=1)


def test_means_of_factors_with_indices_of_their_own_count_the_terms_of_each_call():
    for n, m in ((2, 6), (2, 6), (3, 4), (5, 7), (4, 3)):
        found = ls.einsum("ij,kl->i", ls.tensor(torch.eye(11, 13)), torch.ones(n, m), reduce="mean")
        torch.testing.assert_close(found, torch.ones(11))
