"""Compiled functions that are called again: traces are followed as far as they hold, and left where they don't."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
import torch.nn.functional as F
from assignments import plain
from fusion_operands import K, N, dense, matrix
from libsparse._fusion import following, replay

import libsparse as ls

pytestmark = pytest.mark.usefixtures("without_trials")
A, B = matrix(1), matrix(2)
X, Y, T = dense(3, N, K), dense(4, N, K), dense(5, K)


@pytest.fixture
def followed(monkeypatch):
    """How many calls have followed a trace to its end, and how many have left one."""
    counts = {"followed": 0, "left": 0}
    results, leave = replay.Trace.results, following.Follower.leave

    def count_results(self, *args):
        found = results(self, *args)
        counts["followed"] += found
        return found

    def count_leave(self):
        counts["left"] += 1
        leave(self)

    monkeypatch.setattr(replay.Trace, "results", count_results)
    monkeypatch.setattr(following.Follower, "leave", count_leave)
    return counts


def check(fn, compiled, *args):
    with torch.no_grad():
        want, got = fn(*args), compiled(*args)
    for one, other in zip(*((r if isinstance(r, tuple) else (r,)) for r in (want, got)), strict=True):
        assert type(one) is type(other)
        torch.testing.assert_close(plain(other), plain(one))


FOLLOWED = {
    "epilogue": lambda A, x: torch.relu(A @ x + T),
    "two products": lambda A, x: torch.relu(A @ torch.tanh(A @ x * 2)) - x,
    "several results": lambda A, x: (A @ x + 1, A * 2, (A * 2).square() + A),
    "sampled": lambda A, x: A * (x @ x.T),
    "attention": lambda A, x: torch.softmax(A * (x @ x.T), 1) @ x,
    "softmax": lambda A, x: torch.softmax(A * 2, -1),
    "sparse product": lambda A, x: (A @ B) @ x + 1,
    "dense functions": lambda A, x: A @ F.gelu(x) + torch.ones(K).double().cos(),
    "idle dropout": lambda A, x: F.dropout(torch.relu(A @ x), 0.5, False) + F.dropout(A @ x, 0.0) * 2,
    "attributes": lambda A, x: (A @ x).view(x.shape) if A.shape[0] < 0 else A @ x / x.shape[0] + 2.5,
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_calls_like_an_earlier_one_follow_its_trace(name, followed):
    fn = FOLLOWED[name]
    compiled = ls.compile(fn)
    for seed in range(6):
        check(fn, compiled, A.with_values(dense(seed, A.nnz)), dense(seed + 9, N, K))
    assert followed == {"followed": 4, "left": 0}


def test_other_arguments_have_traces_of_their_own(followed):
    fn = FOLLOWED["epilogue"]
    compiled = ls.compile(fn)
    for _ in range(4):
        for matrix_, x in ((A, X), (B, X), (A, X.float()), (A.to_format("csc"), X), (A, X[:, :K])):
            check(fn, compiled, matrix_, x)
    assert followed["followed"] >= 6


def test_what_python_reads_may_change(followed):
    state = {"scale": 2.0, "flip": False, "tensor": Y}

    def fn(A, x):
        h = A @ x * state["scale"]
        return torch.relu(h) - state["tensor"] if state["flip"] else h + state["tensor"]

    compiled = ls.compile(fn)
    for step in range(12):
        state["scale"] = 2.0 + step // 5
        state["flip"] = step in (3, 4, 8)
        state["tensor"] = dense(step, N, K) if step < 10 else dense(step, K)
        check(fn, compiled, A, X)
    assert followed["left"] >= 3


def test_numbers_are_read_in_the_middle():
    def fn(A, x, limit):
        h = A @ x + 1
        return torch.relu(h) if h.sum() > limit else h * 2

    compiled = ls.compile(fn)
    for limit in (1e9, 1e9, 1e9, -1e9, -1e9, 1e9):
        check(fn, compiled, A, X, limit)


def test_results_that_are_kept_are_not_shared(followed):
    kept = []

    def fn(A, x):
        h = A @ x + 1
        kept.append(h)
        return h * 2

    compiled = ls.compile(fn)
    results = [compiled(A, dense(seed, N, K)) for seed in range(5)]
    for seed, (h, result) in enumerate(zip(kept, results, strict=True)):
        torch.testing.assert_close(h + 0, A @ dense(seed, N, K) + 1)
        torch.testing.assert_close(result, 2 * (A @ dense(seed, N, K) + 1))
    assert followed["followed"] == 0


def test_writes_in_the_function():
    def fn(A, x):
        x = x.clone()
        h = A @ x
        x.mul_(2)
        return h + 1, A @ x

    compiled = ls.compile(fn)
    for seed in range(5):
        check(fn, compiled, A, dense(seed, N, K))


def test_a_write_that_torch_does_not_tell_of_is_an_error():
    def fn(A, x, write):
        h = A @ x
        if write[0]:
            with torch._C.DisableTorchFunction():
                x.add_(1)
        return h + 1

    compiled, write, x = ls.compile(fn), [False], X.clone()
    for _ in range(4):
        check(lambda A, x, _: A @ x + 1, compiled, A, x, write)
    write[0] = True
    with pytest.raises(ls.UnsupportedError, match="changed in place"), torch.no_grad():
        compiled(A, x, write)
    write[0] = False
    check(lambda A, x, _: A @ x + 1, compiled, A, x, write)


def gradients(fn, *args):
    """The results of a function, and the gradients of its operands and of T by all of them."""
    leaves = [t.values() if isinstance(t, ls.SparseTensor) else t for t in (*args, T)]
    leaves = [leaf for leaf in leaves if leaf.requires_grad]
    found = fn(*args)
    found = [plain(r) for r in (found if isinstance(found, tuple) else (found,))]
    total = sum((r.double() * torch.linspace(0, 1, r.numel()).view(r.shape)).sum() for r in found)
    if not total.requires_grad:
        return found
    first = torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
    again = sum((g * g).sum() for g in first if g is not None)
    second = torch.autograd.grad(again, leaves, allow_unused=True) if again.requires_grad else [None] * len(leaves)
    return [*found, *first, *second]


DROPPING = {
    "dropout": lambda A, x: F.dropout(torch.relu(A @ x + T), 0.5),
    "dropouts": lambda A, x: F.dropout(A @ F.dropout(A @ x, 0.25), p=0.5, training=True) * 2,
    "dropout of a layer": lambda A, x: A @ torch.dropout(torch.relu(A @ x), 0.5, True) + x,
}


@pytest.mark.parametrize("followed_by", ["all", "the matrix", "the rest"])
@pytest.mark.parametrize("name", [*FOLLOWED, *DROPPING])
def test_calls_with_gradients_and_dropout_follow_traces(name, followed_by, followed):
    fn = {**FOLLOWED, **DROPPING}[name]
    compiled = ls.compile(fn)
    T.requires_grad_(followed_by != "the matrix")
    try:
        for seed in range(6):
            a, x = A.with_values(dense(seed, A.nnz)), dense(seed + 9, N, K)
            a.values().requires_grad_(followed_by != "the rest")
            x.requires_grad_(followed_by != "the matrix")
            sides = []
            for side in (fn, compiled):
                torch.manual_seed(seed)
                sides.append(gradients(side, a, x))
            for one, other in zip(*sides, strict=True):
                same = [torch.zeros(()) if t is None else t for t in (one, other)]  # no gradient is one of zeros
                torch.testing.assert_close(*torch.broadcast_tensors(*same), check_dtype=False)
        assert followed == {"followed": 4, "left": 0}
        with torch.no_grad():
            torch.manual_seed(0)
            want = fn(a, x)
            torch.manual_seed(0)
            for one, other in zip(
                *((r if isinstance(r, tuple) else (r,)) for r in (want, compiled(a, x))), strict=True
            ):
                torch.testing.assert_close(plain(other), plain(one))
    finally:
        T.requires_grad_(False)


def test_calls_of_modules_with_gradients_follow_traces(followed):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.dropout = torch.nn.Linear(K, K).double(), torch.nn.Dropout(0.5)

        def forward(self, A, x):
            return self.dropout(torch.relu(A @ self.linear(x)))

    plain_module = Layer()
    module = ls.compile(plain_module)
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    for step in range(12):
        module.train(step < 6)
        plain_module.train(step < 6)
        losses = []
        for each in (plain_module, module):
            torch.manual_seed(step)
            optimizer.zero_grad()
            loss = each(A, X).square().sum()
            loss.backward()
            losses.append([loss.detach(), *(p.grad.clone() for p in module.parameters())])
        torch.testing.assert_close(losses[0], losses[1])
        optimizer.step()
    assert followed["followed"] >= 7


def test_what_autograd_follows_is_compared(followed):
    weight, fn = T.clone(), lambda A, x: torch.relu(A @ x + weight)
    compiled, x = ls.compile(fn), X.clone().requires_grad_()
    for step in range(16):
        weight = T.clone().requires_grad_(step % 5 == 3)
        out, want = compiled(A, x), fn(A, x)
        torch.testing.assert_close(out, want)
        leaves = [x, weight] if weight.requires_grad else [x]
        torch.testing.assert_close(torch.autograd.grad(out.sum(), leaves), torch.autograd.grad(want.sum(), leaves))
    assert followed["left"] >= 2
    assert followed["followed"] >= 2


def test_functions_of_autograd_are_no_part_of_a_trace(followed):
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return A @ x

        @staticmethod
        def backward(ctx, grad):
            return A.T @ grad

    def fn(x):
        y = Product.apply(x)
        return torch.relu(A @ x + 1) + y

    compiled, x = ls.compile(fn), X.clone().requires_grad_()
    for _ in range(4):
        out, want = compiled(x), fn(x)
        torch.testing.assert_close(out, want)
        torch.testing.assert_close(torch.autograd.grad(out.sum(), x), torch.autograd.grad(want.sum(), x))


def test_memory_of_gradients_is_freed():
    compiled, x = ls.compile(FOLLOWED["two products"]), X.clone().requires_grad_()
    seen = []
    for _ in range(5):
        out = compiled(A, x)
        out.grad_fn.metadata["token"] = token = torch.ones(())
        seen.append(weakref.ref(token))
        out.sum().backward()
        del out, token
    gc.collect()
    assert not any(ref() for ref in seen)


def test_gradients_are_followed_after_calls_without():
    compiled = ls.compile(FOLLOWED["epilogue"])
    x = X.clone()
    for _ in range(4):
        compiled(A, x)
    x.requires_grad_()
    for _ in range(3):
        out = compiled(A, x)
        (grad,) = torch.autograd.grad(out.sum(), x)
        torch.testing.assert_close(grad, torch.autograd.grad(torch.relu(A @ x + T).sum(), x)[0])
    x.requires_grad_(False)
    assert not compiled(A, x).requires_grad


def test_parameters_are_read_where_gradients_are_off(followed):
    weight = torch.nn.Parameter(T.clone())
    fn = lambda A, x: torch.relu(A @ x + weight)  # noqa: E731
    compiled, a = ls.compile(fn), A.with_values(A.values().clone().requires_grad_())
    for _ in range(4):
        check(fn, compiled, a, X)
    assert followed == {"followed": 2, "left": 0}
    out = compiled(a, X)
    (grad,) = torch.autograd.grad(out.sum(), weight)
    torch.testing.assert_close(grad, torch.autograd.grad(fn(a, X).sum(), weight)[0])


def test_modes_of_torch():
    fn = FOLLOWED["epilogue"]
    compiled, a, x = ls.compile(fn), A.to(torch.float32), X.float()
    t = T.float()
    fn = lambda A, x: torch.relu(A @ x + t)  # noqa: E731
    compiled = ls.compile(fn)
    for _ in range(3):
        compiled(a, x)
    with torch.autocast("cpu"):
        assert compiled(a, x).dtype == fn(a, x).dtype
    with torch.inference_mode():
        assert compiled(a, x).is_inference()
    found = torch.vmap(lambda x: compiled(a, x))(torch.stack([x, 2 * x]))
    torch.testing.assert_close(found[1], fn(a, 2 * x))


def test_errors_leave_nothing_behind():
    def fn(A, x, fails):
        h = A @ x + 1
        if fails[0]:
            raise KeyError("stop")
        return torch.relu(h)

    compiled, fails = ls.compile(fn), [False]
    for step in range(8):
        fails[0] = step in (3, 5)
        if fails[0]:
            with pytest.raises(KeyError):
                compiled(A, X, fails)
        else:
            check(fn, compiled, A, X, fails)


def test_a_trace_does_not_keep_patterns():
    a = matrix(7)
    pattern = weakref.ref(a.pattern)
    compiled = ls.compile(FOLLOWED["epilogue"])
    for _ in range(4):
        compiled(a, X)
    del a
    gc.collect()
    assert pattern() is None
