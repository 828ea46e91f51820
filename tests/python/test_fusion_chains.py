"""Random chains of operations under `ls.compile` have the results and gradients that they have without."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from assignments import plain
from fusion_operands import K, N, dense, matrix
from hypothesis import given, settings
from hypothesis import strategies as st

import libsparse as ls

pytestmark = pytest.mark.filterwarnings("ignore:Tensor.mT is deprecated on 0-D tensors")

FORMATS = ["csr", "csc", "coo", "dcsr", "dcsc", "bsr(2,2)", "ell", "sell(2)", "dia", "db", "hh"]
UNARY = [torch.relu, torch.tanh, torch.neg, torch.abs, torch.square, torch.sin, torch.sigmoid, torch.exp, F.silu]
UNARY += [F.gelu, F.elu, F.leaky_relu]
NUMBERS = [2, -1.5, 0.25, 0]
KINDS = ["unary", "number", "binary", "product", "sampled", "softmax", "write", "sum", "dropout"]


def chain(draw, operands):
    """A random function of some operands, as steps: a function of places among the results so far."""
    steps, results = [], [*operands]
    for _ in range(draw(st.integers(2, 8))):
        kind = draw(st.sampled_from(KINDS))
        a, b = draw(st.integers(0, 63)), draw(st.integers(0, 63))
        function, number = draw(st.sampled_from(UNARY)), draw(st.sampled_from(NUMBERS))
        steps.append((kind, a, b, function, number))
    return steps, results


def apply(step, results):
    kind, a, b, function, number = step
    one, two = results[-1 - a % min(len(results), 3)], results[b % len(results)]
    if kind == "unary":
        return function(one)
    if kind == "number":
        return [one * number, number - one if not isinstance(one, ls.SparseTensor) else one / 2, one + one][b % 3]
    if kind == "binary":
        return [torch.add, torch.sub, torch.mul][a % 3](one, two)
    if kind == "sampled":
        return results[0] * (results[-1] @ results[-1].mT) if not isinstance(results[-1], ls.SparseTensor) else one
    if kind == "sum":
        return one.sum(a % 2)[:, None] * two if a % 4 < 2 else one.sum(-1)
    if kind == "softmax":
        return torch.softmax(one, -1)
    if kind == "dropout":
        return F.dropout(one, 0.5) if not isinstance(one, ls.SparseTensor) else one
    if kind == "write":
        results[-1].mul_(1.5) if not isinstance(results[-1], ls.SparseTensor) else None
        return results[-1]
    return one @ two


def run_chain(steps, make):
    """All results of a chain; operations that don't take their operands are left out."""
    results = make()
    for step in steps:
        results.append(taken(step, results))
    return results[4:]


def taken(step, results):
    try:
        return apply(step, results)
    except ls.InternalError:
        raise
    except (RuntimeError, TypeError, ValueError, IndexError):
        return results[-1]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_random_chains_that_are_called_again(data):
    """Calls like an earlier one follow its trace, as long as everything that they read is like what that read."""
    formats = data.draw(st.sampled_from(FORMATS)), data.draw(st.sampled_from(FORMATS))
    steps, _ = chain(data.draw, [])
    others, _ = chain(data.draw, [])
    followed = data.draw(st.lists(st.booleans(), min_size=4, max_size=4))
    sparse = [matrix(11, formats[0]), matrix(12, formats[1])]

    def fn(A, B, x, y, branch):
        return run_chain([*steps[:2], *others] if branch else steps, lambda: [A, B, x, y])

    compiled = ls.compile(fn)
    for seed, branch in enumerate([False, False, False, True, False, True, True]):
        numbers = [torch.randn_like(t.values()) for t in sparse] + [dense(13 + seed, N, K), dense(14 + seed, N, N)]
        sides = []
        for call in (fn, compiled):
            leaves = [n.clone().requires_grad_(f) for n, f in zip(numbers, followed, strict=True)]
            A, B = (t.with_values(v) for t, v in zip(sparse, leaves, strict=False))
            torch.manual_seed(seed)
            results = call(A, B, leaves[2].clone(), leaves[3].clone(), branch)
            sides.append((results, gradients_of(results, leaves)))
        (want, first), (got, second) = sides
        for one, other in zip(want, got, strict=True):
            assert type(one) is type(other)
            assert one.requires_grad == other.requires_grad
            torch.testing.assert_close(plain(other), plain(one), equal_nan=True)
        for one, other in zip(first, second, strict=False):
            zero = None if one is None else torch.zeros_like(one)  # no gradient is one of zeros
            torch.testing.assert_close(zero if other is None else other, one, equal_nan=True)


def gradients_of(results, leaves):
    """The gradients of all results that autograd follows; none where an operation in place changed what they need."""
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    followed = [plain(result) for result in results if result.requires_grad]
    try:
        return (
            torch.autograd.grad([r.sum() for r in followed], wanted, allow_unused=True) if followed and wanted else ()
        )
    except RuntimeError:
        return ()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_random_chains_are_as_without(data):
    formats = data.draw(st.sampled_from(FORMATS)), data.draw(st.sampled_from(FORMATS))
    grads = data.draw(st.booleans())
    steps, _ = chain(data.draw, [])

    def make():
        found = [matrix(11, formats[0]), matrix(12, formats[1]), dense(13, N, K), dense(14, N, N)]
        for tensor in found if grads else ():
            (tensor.values() if isinstance(tensor, ls.SparseTensor) else tensor).requires_grad_()
        return found

    operands: list = [make(), make()]
    torch.manual_seed(0)
    want = run_chain(steps, lambda: [*operands[0]])
    torch.manual_seed(0)
    got = ls.compile(lambda: run_chain(steps, lambda: [*operands[1]]))()
    for one, other in zip(want, got, strict=True):
        assert type(one) is type(other)
        assert getattr(one, "fill_value", 0) == pytest.approx(getattr(other, "fill_value", 0), nan_ok=True)
        torch.testing.assert_close(plain(other), plain(one), equal_nan=True)
        assert one.requires_grad == other.requires_grad
    if grads and want[-1].requires_grad:
        leaves = [[t.values() if isinstance(t, ls.SparseTensor) else t for t in side] for side in operands]
        try:
            found = torch.autograd.grad(plain(want[-1]).sum(), leaves[0], allow_unused=True)
        except RuntimeError:  # an operation in place changed what it needs
            return
        same = torch.autograd.grad(plain(got[-1]).sum(), leaves[1], allow_unused=True)
        for one, other in zip(found, same, strict=True):
            zero = torch.zeros_like(one) if one is not None else None  # no gradient is one of zeros
            torch.testing.assert_close(zero if other is None else other, one, equal_nan=True)
