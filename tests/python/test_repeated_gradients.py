"""Calls like an earlier one that autograd follows: the same results and gradients as calls that nothing is known of."""

from __future__ import annotations

from typing import Any

import pytest
import test_repeated_calls as repeated_calls
import torch
from libsparse._tensor import repeated

import libsparse as ls

_PIECEWISE = {"argmax", "any", "whole quotient", "count", "sparse twice"}
_CALLS = {name: call for name, call in repeated_calls.CALLS.items() if name not in _PIECEWISE}


def _leaves(arguments: dict[str, Any], followed: int) -> list[torch.Tensor]:
    """The elements of the arguments, which autograd is made to follow: of all, or of one."""
    leaves = []
    for number, (name, value) in enumerate(arguments.items()):
        elements = value.values() if isinstance(value, ls.SparseTensor) else value
        if followed in (-1, number % 2):
            elements = elements.detach().clone().requires_grad_()
            arguments[name] = (
                ls.SparseTensor(value.pattern, elements) if isinstance(value, ls.SparseTensor) else elements
            )
            leaves.append(elements)
    return leaves


def _elements(result: Any) -> torch.Tensor:
    return result.values() if isinstance(result, ls.SparseTensor) else result


def _computed(name: str, arguments: dict[str, Any], leaves: list[torch.Tensor], twice: bool) -> list[Any]:
    """The result, the gradients of its elements, and the gradients of those."""
    result = _elements(_CALLS[name](**arguments))
    if not result.requires_grad:
        return [result]
    torch.manual_seed(1)
    grad = torch.rand_like(result)
    first = torch.autograd.grad(result, leaves, grad, create_graph=twice, allow_unused=True)
    found = [result, *first]
    wanted = [g for g in first if g is not None and g.requires_grad]
    if twice and wanted:
        found += torch.autograd.grad([g.square().sum() for g in wanted], leaves, allow_unused=True)
    return found


def _forget(arguments: dict[str, Any]) -> None:
    for value in arguments.values():
        if isinstance(value, ls.SparseTensor):
            value.pattern.repeated.clear()


def _alone(name: str, arguments: dict[str, Any], leaves: list[torch.Tensor], twice: bool) -> list[Any]:
    """What is computed where nothing is known of any call."""
    misses = dict(repeated._misses)
    _forget(arguments)
    try:
        return _computed(name, arguments, leaves, twice)
    finally:
        repeated._misses.clear()
        repeated._misses.update(misses)


def _check(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for first, second in zip(found, expected, strict=True):
        assert (first is None) == (second is None)
        if first is not None:
            assert first.requires_grad == second.requires_grad
            torch.testing.assert_close(first, second, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "format"), [(name, format) for n, name in enumerate(_CALLS) for format in (None, ("coo", "ell")[n % 2])]
)
def test_repeated_gradients_are_right(name: str, format: str | None) -> None:
    for followed in (-1, 0, 1):
        for turn in range(5):
            arguments = repeated_calls._arguments(_CALLS[name], format, torch.float32)
            leaves = _leaves(arguments, followed)
            if not leaves:
                break
            twice = turn == 4 and followed == -1 and format is None and name not in ("product", "std")
            try:
                found = _computed(name, arguments, leaves, twice)
            except ls.UnsupportedError as error:
                with pytest.raises(type(error)):
                    _alone(name, arguments, leaves, twice)
                break
            if turn > 2:
                _check(found, _alone(name, arguments, leaves, twice))


def test_steps_of_gradients_are_found() -> None:
    A, x = ls.random((6, 5), density=0.5), torch.rand(5, 3)
    calls = {
        "product": lambda S: ls.einsum("ij,jk->ik", S, x),
        "expression": lambda S: ls.evaluate("y(i) = exp(A(i,j)) * A(i,j)", A=S),
        "softmax": lambda S: torch.softmax(S, 1).values(),
    }
    for name, call in calls.items():
        A.pattern.repeated.clear()
        repeated._misses.clear()
        for _ in range(3):
            S = ls.SparseTensor(A.pattern, A.values().clone().requires_grad_())
            call(S).square().sum().backward()
        steps = {type(key[0]) is int: bool(known) for key, known in A.pattern.repeated.items() if known}
        assert steps.get(True), f"the gradient of {name} is computed anew"
        assert steps.get(False), f"{name} is computed anew"


def test_gradients_accumulate_and_graphs_are_kept() -> None:
    A, x = ls.random((6, 5), density=0.5), torch.rand(5, 3, requires_grad=True)
    for turn in range(4):
        y = torch.softmax(A, 1) @ x
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        torch.testing.assert_close(x.grad, 2 * (turn + 1) * torch.softmax(A, 1).sum(0)[:, None].expand(5, 3))


def test_elements_that_change_between_forward_and_backward_are_an_error() -> None:
    A = ls.random((6, 5), density=0.5)
    values, v = A.values().clone().requires_grad_(), torch.rand(5)
    S = ls.SparseTensor(A.pattern, values)
    for _ in range(3):
        y = ls.einsum("ij,j->i", S, v)
        y.sum().backward()
    y = ls.einsum("ij,j->i", S, v)
    v.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_softmax_of_several_dtypes() -> None:
    A = ls.random((6, 5), density=0.5)
    for _ in range(4):
        values = A.values().clone().requires_grad_()
        S = ls.SparseTensor(A.pattern, values)
        torch.softmax(S, 1, dtype=torch.float64).values().square().sum().backward()
        single, values.grad = values.grad, None
        torch.softmax(S, 1).values().square().sum().backward()
        torch.testing.assert_close(values.grad, single)


def test_checkpoints_compute_again() -> None:
    from torch.utils.checkpoint import checkpoint

    A, x = ls.random((6, 5), density=0.5), torch.rand(5, 3)
    values = A.values().clone().requires_grad_()

    def layer(values: torch.Tensor) -> torch.Tensor:
        return torch.softmax(ls.SparseTensor(A.pattern, values), 1) @ x

    expected = torch.autograd.grad(layer(values).square().sum(), values)
    for _ in range(3):
        found = torch.autograd.grad(checkpoint(layer, values, use_reentrant=False).square().sum(), values)
        torch.testing.assert_close(found, expected)


def test_patterns_are_released() -> None:
    import gc
    import weakref

    A, x = ls.random((40, 50), density=0.5), torch.rand(50, 3, requires_grad=True)
    for _ in range(4):
        values = A.values().clone().requires_grad_()
        (torch.softmax(ls.SparseTensor(A.pattern, values), 1) @ x).sum().backward()
    released = weakref.ref(A.pattern)
    gc.disable()
    try:
        del A
        assert released() is None
    finally:
        gc.enable()
