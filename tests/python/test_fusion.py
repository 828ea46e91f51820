"""`ls.compile`: what is put together, and that nothing else changes: results, gradients, random numbers, order."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from assignments import plain
from fusion_operands import K, N, dense, matrix
from libsparse._fusion import following
from torch import nn

import libsparse as ls


def traced(fn, *args):
    """The result of a function, and the expressions and operations that ran."""
    done: list = []
    result = following.call(fn, args, {}, done)
    return result, [step.group.expression if step.group else step.name for step in done]


A, B, S, T = matrix(0), matrix(1), dense(2, N), dense(3, K)
X, Y, Q, R = dense(4, N, K), dense(5, N, K), dense(6, N, 2), dense(7, N, 2)
P = A.to_format("ell")
D = ls.diag(dense(8, N).abs())

# A function, and the expressions that compute it.
FUSED = {
    "bias and activation": (lambda: torch.relu(A @ X + T), ["y(i,k) = relu(((sum(A(i,j) * B(j,k)) + 0) + C(k)))"]),
    "vector": (lambda: torch.abs(A @ S - S), ["y(i) = abs(((sum(A(i,j) * B(j)) + 0) - C(i)))"]),
    "both sides": (lambda: 1 - 2 * torch.mm(X.T, A) / 3, ["y(i,k) = (1 - (((sum(A(j,k) * B(i,j)) + 0) * 2) / 3))"]),
    "rows of the result": (lambda: (A @ X) * S[:, None], ["y(i,k) = ((sum(A(i,j) * B(j,k)) + 0) * C(i))"]),
    "scaled columns": (lambda: (A * S) @ X, ["y(i,k) = A(i,j) * B(j) * C(j,k)"]),
    "scaled rows": (
        lambda: torch.relu((S[:, None] * A * -2) @ X),
        ["y(i,k) = relu((sum((-2) * A(i,j) * B(i) * C(j,k)) + 0))"],
    ),
    "degrees": (lambda: D @ A @ D, ["y(i,j) = A(i,j) * B(i) * C(j)"]),
    "degrees and features": (lambda: D @ A @ D @ X, ["y(i,k) = A(i,j) * B(i) * C(j) * D(j,k)"]),
    "samples": (lambda: A * (Q @ R.T), ["y(i,j) = A(i,j) * B(i,d) * C(d,j)"]),
    "scaled samples": (lambda: 0.5 * A * (Q @ R.T) * S, ["y(i,j) = 0.5 * A(i,j) * B(i,d) * C(d,j) * D(j)"]),
    "sddmm": (lambda: -ls.sddmm(A, Q, R.T), ["y(i,j) = (-1) * A(i,j) * B(i,d) * C(d,j)"]),
    "chain": (lambda: torch.square(A * 2) * S + A, ["y(i,j) = ((square((A(i,j) * 2)) * C(j)) + B(i,j))"]),
    "sum of products": (lambda: A @ X + B @ Y, ["matmul", "y(i,k) = ((sum(A(i,j) * B(j,k)) + 0) + C(i,k))"]),
    "used twice": (lambda: (h := A @ X) * torch.relu(h), ["matmul", "relu", "mul"]),
    "idle dropout": (
        lambda: F.dropout(torch.relu(A @ X + T), training=False) * 2,
        ["y(i,k) = (relu(((sum(A(i,j) * B(j,k)) + 0) + C(k))) * 2)"],
    ),
    "row sums": (lambda: (A * 2).square().sum(1), ["y(i) = square((A(i,j) * 2))"]),
    "column sums": (lambda: torch.sum(A * S * -0.5, 0), ["y(j) = ((A(i,j) * B(j)) * (-0.5))"]),
    "padded": (lambda: torch.relu(P @ X + T), ["y(i,k) = relu(((sum(A(i,j) * B(j,k)) + 0) + C(k)))"]),
    "by itself": (lambda: (A @ X).sum(), ["matmul", "torch.Tensor.sum"]),
}


@pytest.mark.parametrize("name", FUSED)
def test_one_expression_computes_several_operations(name):
    fn, expressions = FUSED[name]
    want = fn()
    result, ran = traced(fn)
    torch.testing.assert_close(plain(result), plain(want))
    assert type(result) is type(want)
    assert getattr(result, "format", None) == getattr(want, "format", None)
    assert ran == expressions


@pytest.mark.parametrize("name", FUSED)
def test_gradients_are_those_of_the_operations(name):
    fn, _ = FUSED[name]
    leaves = [A.values(), B.values(), D.values(), S, T, X, Y, Q, R]
    for leaf in leaves:
        leaf.requires_grad_()
    try:
        want, got = fn(), ls.compile(fn)()
        one, two = (plain(result).square().sum() for result in (want, got))
        grads = [torch.autograd.grad(t, leaves, create_graph=True, allow_unused=True) for t in (one, two)]
        used = [n for n, grad in enumerate(grads[0]) if grad is not None]
        assert used == [n for n, grad in enumerate(grads[1]) if grad is not None]
        for n in used:
            torch.testing.assert_close(grads[1][n], grads[0][n])
        totals = [sum((g[n] ** 2).sum() for n in used) for g in grads]
        seconds = [torch.autograd.grad(t, [leaves[n] for n in used], allow_unused=True) for t in totals]
        for first, second in zip(*seconds, strict=True):
            assert (first is None) == (second is None)
            if first is not None:
                torch.testing.assert_close(second, first)
    finally:
        for leaf in leaves:
            leaf.requires_grad_(False)


def test_dropout_draws_in_the_order_of_the_calls():
    def fn():
        first = F.dropout(torch.relu(A @ X + T), 0.3)
        noise = torch.rand(N, K)
        return first, noise, F.dropout(A @ Y, 0.5)

    torch.manual_seed(3)
    want = fn()
    torch.manual_seed(3)
    for one, other in zip(want, ls.compile(fn)(), strict=True):
        torch.testing.assert_close(other, one)


def test_writes_come_after_reads():
    def fn(x):
        x = x.clone()
        h = A @ x
        x.mul_(2)
        g = A @ x + T
        x[0] = 5
        h += 1
        view = h.view(-1)
        k = torch.relu(h + 1)
        view.zero_()
        torch.add(x, 1, out=x)
        return h, g, k, x

    for one, other in zip(fn(X), ls.compile(fn)(X), strict=True):
        torch.testing.assert_close(other, one)


def test_a_write_that_torch_does_not_tell_of_is_an_error():
    x = X.clone()
    torch_add = x.add_

    def fn(x):
        h = A @ x
        with torch._C.DisableTorchFunction():
            torch_add(1)
        return h

    with pytest.raises(ls.UnsupportedError, match="changed in place"):
        ls.compile(fn)(x)


def test_numbers_steer_the_function():
    def fn(x):
        h = A @ x
        if h.sum() > 0:
            h = h - float(h.max())
        for row in h:
            if bool(row.isnan().any()):
                return None
        return {"h": h, "shape": h.shape, "n": len(h), "all": [h * 2, (A * 2, repr(A * 3))]}

    want, got = fn(X), ls.compile(fn)(X)
    assert (want.keys(), want["shape"], want["n"]) == (got.keys(), got["shape"], got["n"])
    torch.testing.assert_close(got["h"], want["h"])
    assert [type(got["h"]), type(got["all"][1][0])] == [torch.Tensor, ls.SparseTensor]
    assert got["all"][1][1] == want["all"][1][1]


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


doubled = Doubled.apply


def test_functions_of_users_get_tensors_that_autograd_follows():
    x = X.clone().requires_grad_()
    (grad,) = torch.autograd.grad(ls.compile(lambda: Doubled.apply(A @ x).sum())(), x)
    torch.testing.assert_close(grad, (2 * A.to_dense().T.sum(1, keepdim=True)).expand(N, K))
    with pytest.raises(ls.UnsupportedError, match="call MyFunction"):
        ls.compile(lambda: doubled(A @ x))()
    assert doubled(X).sum() == 2 * X.sum()


def test_gradients_are_off_where_the_function_turns_them_off():
    x = X.clone().requires_grad_()

    def fn():
        with torch.no_grad():
            h = A @ x
        return h, torch.relu(h + T), A @ x

    flags = [t.requires_grad for t in ls.compile(fn)()]
    assert flags == [t.requires_grad for t in fn()] == [False, False, True]


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.A, self.linear, self.activation = A.to(torch.float32), nn.Linear(K, K), nn.ReLU()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.activation(self.A @ self.linear(x)))


def test_modules_share_their_parameters():
    module = Layer()
    fast = ls.compile(module)
    assert isinstance(fast, Layer)
    assert list(fast.state_dict()) == list(module.state_dict())
    assert fast.linear is module.linear
    x = X.float()
    for training in (True, False):
        module.train(training)
        fast.train(training)
        torch.manual_seed(1)
        want = module(x)
        torch.manual_seed(1)
        torch.testing.assert_close(fast(x), want)


def test_modules_are_pickled_and_copied():
    module, x = Layer().eval(), X.float()
    fast = ls.compile(module)
    for copied in (pickle.loads(pickle.dumps(fast)), copy.deepcopy(fast), ls.compile(fast)):
        assert type(copied) is type(fast)
        assert isinstance(copied, Layer)
        torch.testing.assert_close(copied(x), module(x))
    assert copy.deepcopy(fast).linear is not fast.linear


def test_functions_keep_their_names_and_nest():
    @ls.compile
    def inner(x):
        """Doc."""
        return A @ x

    @ls.compile
    def outer(x):
        return torch.relu(inner(x))

    assert (inner.__name__, inner.__doc__) == ("inner", "Doc.")
    torch.testing.assert_close(outer(X), torch.relu(A @ X))
    assert traced(outer, X)[1] == ["y(i,k) = relu((sum(A(i,j) * B(j,k)) + 0))"]
    with pytest.raises(ls.DtypeError, match="takes a function"):
        ls.compile(3)


def test_errors_come_from_the_line_that_makes_them():
    reached = []

    def fn(x):
        h = torch.relu(A @ x)
        reached.append(1)
        return h @ x @ x

    with pytest.raises(RuntimeError):
        ls.compile(fn)(dense(0, N, N + 1))
    assert reached == [1]
    with pytest.raises(ls.ShapeError):
        ls.compile(lambda x: A @ x)(dense(0, N + 1, 2))
    assert not isinstance(ls.compile(lambda: A @ X)(), ls.SparseTensor)  # the next call is not disturbed


def test_tensors_that_outlive_the_call_are_computed():
    kept = []
    ls.compile(lambda: kept.extend([A @ X, A * 2]))()
    torch.testing.assert_close(kept[0] + 1, A @ X + 1)
    torch.testing.assert_close(kept[1].values(), A.values() * 2)
    assert type(kept[1]) is ls.SparseTensor


def test_explain_tells_groups_and_reasons():
    def fn(x):
        return torch.softmax(torch.relu(A @ x + T), -1), A @ B

    text = ls.explain(ls.compile(fn), X)
    assert text.startswith("fn: 3 operations in 1 group, 2 by themselves")
    assert "y(i,k) = relu(((sum(A(i,j) * B(j,k)) + 0) + C(k)))" in text
    assert "   C: 4, dense, torch.float64" in text
    assert "forall i" in text
    assert "softmax by itself: it is not among the functions that are put together" in text
    assert "matmul by itself: the pattern of a product of two sparse matrices is found while it is computed" in text
    assert "kernel_compute" in ls.explain(fn, X, stage="c")


def test_long_chains_take_no_longer_than_their_length():
    def fn():
        h = A @ X
        for step in range(300):
            h = torch.relu(h + 1) if step % 2 else h - 0.5
        return h

    result, ran = traced(fn)
    torch.testing.assert_close(result, fn())
    assert ran[0].count("relu") > 4
    assert set(ran[1:]) == {"relu", "add", "sub"}
