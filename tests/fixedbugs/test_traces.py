"""Calls of compiled functions that followed a trace where they should not have."""

import math

import pytest
import torch
from libsparse._tensor import traced_view
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from torch.utils.checkpoint import checkpoint

import libsparse as ls

A = ls.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, -3.0], [4.0, 0.0, 0.5]])
D = A.to_dense()
x, y = torch.rand(3, 3), torch.rand(3, 3)


@pytest.mark.parametrize(
    "fn",
    [
        lambda A, x, u, v: torch.relu(A @ x + u),
        lambda A, x, u, v: torch.tanh(A @ x + u) * v,
        lambda A, x, u, v: torch.add(A @ x, u),
        lambda A, x, u, v: A @ u + A @ v,
    ],
)
def test_one_tensor_in_two_places_then_two(fn):
    compiled = ls.compile(fn)
    for _ in range(4):
        torch.testing.assert_close(compiled(A, x, x, x), fn(D, x, x, x))
    for given in ((x, y, y), (x, x, y), (y, x, x), (x, y, x), (x, x, x)):
        for _ in range(3):
            torch.testing.assert_close(compiled(A, *given), fn(D, *given))


def test_one_sparse_tensor_in_two_places_then_two():
    compiled, B = ls.compile(lambda A, B: A * B * 2 + A), A * 3.0
    for _ in range(4):
        compiled(A, A)
    for _ in range(4):
        torch.testing.assert_close(compiled(A, B).to_dense(), D * D * 6 + D)


def test_a_result_that_survives_an_exception():
    kept, fails = [], False

    def fn(A, x):
        r = torch.relu(A @ x + 1.0)
        if fails:
            kept.append(r)
            raise KeyError
        return r * 1.0

    compiled = ls.compile(fn)
    for _ in range(4):
        compiled(A, x)
    fails = True
    with pytest.raises(KeyError):
        compiled(A, x)
    fails = False
    compiled(A, y)
    torch.testing.assert_close(kept[0] + 0, torch.relu(D @ x + 1))
    torch.testing.assert_close(compiled(A, y), torch.relu(D @ y + 1))


def test_a_container_that_is_returned_twice():
    kept, mode = [], False

    def fn(A, x):
        r = torch.relu(A @ x + 1.0)
        items = [r]
        if mode:
            kept.append(r)
        return (items, items) if mode else r

    compiled = ls.compile(fn)
    for _ in range(4):
        compiled(A, x)
    mode = True
    compiled(A, x)
    compiled(A, y)
    torch.testing.assert_close(kept[0] + 0, torch.relu(D @ x + 1))


def test_zeros_have_signs():
    s = 0.0
    compiled = ls.compile(lambda A, x: torch.reciprocal((A @ x) * s))
    for _ in range(4):
        compiled(A, x)
    s = -0.0
    found = compiled(A, x)
    assert torch.equal(found, torch.reciprocal((D @ x) * s))
    assert math.isinf(found[0, 0])


def test_reentrant_checkpoints_inside_of_compiled_functions_have_gradients():
    A = ls.random((20, 20), density=0.3)

    def fn(x):
        return checkpoint(lambda x: torch.relu(A @ x + 1), x, use_reentrant=True) * 2 + torch.relu(A @ x + 1)

    compiled = ls.compile(fn)
    for _ in range(5):
        x = torch.randn(20, 4)
        leaves = [x.clone().requires_grad_() for _ in range(2)]
        results = [call(leaf) for call, leaf in zip((fn, compiled), leaves, strict=True)]
        for result in results:
            result.sum().backward()
        torch.testing.assert_close(*results)
        torch.testing.assert_close(leaves[0].grad, leaves[1].grad)


@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace")  # where the graph is to break
def test_tracers_leave_a_tensor_alone_that_has_no_parts_yet():
    """Graphs of attention layers broke while a tensor was put together, and torch's tracer looked at it."""
    A = ls.eye(3)
    torch._dynamo.reset()
    made = torch.compile(lambda pattern, values: traced_view.wrap(pattern, values, 0), backend="eager")
    torch.testing.assert_close(made(A.pattern, A.values()).to_dense(), torch.eye(3))


def test_sums_in_a_fake_mode_write_to_no_memory_that_is_not_there() -> None:
    A, B = ls.random((40, 40), 0.2), ls.random((40, 40), 0.2)
    for operation in (lambda: A + B, lambda: A * B):  # a new pattern, whose size no fake tensor has
        with FakeTensorMode(allow_non_fake_inputs=True), pytest.raises(DynamicOutputShapeException):
            operation()
    torch.testing.assert_close((A + B).to_dense(), A.to_dense() + B.to_dense())


def test_selections_in_a_fake_mode_read_no_memory_that_is_not_there() -> None:
    B, index = ls.random((40, 40), 0.2), torch.tensor([3, 1, 1])
    for operation in (lambda: B[index], lambda: B[:, index]):
        wanted = operation()
        with FakeTensorMode(allow_non_fake_inputs=True), pytest.raises(DataDependentOutputException):
            operation()
        torch.testing.assert_close(operation().to_dense(), wanted.to_dense())
