"""Calls of functions that are tuned: with copies, so that nothing of the caller's changes, and with gradients."""

from __future__ import annotations

import copy
from collections import UserDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode

from libsparse._tensor.sparse_tensor import SparseTensor


def on_copies(function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> Any:
    """What a function returns for copies of its arguments, and a module with copies of its parameters and buffers."""
    memo: dict[int, Any] = {}
    with _OfAnyTensor():
        given, by_name = [_copied(a, memo) for a in args], {name: _copied(a, memo) for name, a in named.items()}
        if isinstance(function, nn.Module):  # a lazy one makes its parameters in the first call, whoever calls it
            tensors = [*function.named_parameters(), *function.named_buffers()]
            own = {name: _copied(tensor, memo) for name, tensor in tensors if not is_lazy(tensor)}
    if isinstance(function, nn.Module):
        return torch.func.functional_call(function, own, tuple(given), by_name)
    return function(*given, **by_name)


class _OfAnyTensor(TorchFunctionMode):
    """Has `copy.deepcopy` copy tensors that autograd's graph computes, too: as leaves, which it refuses otherwise."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Copies a tensor, or does what torch does."""
        if function is torch.Tensor.__deepcopy__:
            return _tensor(*args)
        return function(*args, **(kwargs or {}))


def _tensor(value: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    found = value.detach().clone().requires_grad_(value.requires_grad)
    memo[id(value)] = found
    return found


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    """A copy with the patterns of the original, which are immutable; what can't be copied is as it is.

    The parts of lists, tuples and dictionaries are copied one by one, so that one that can't be leaves the others.
    """
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter):
        return _tensor(value, memo)
    if type(value) in (list, dict):
        return _filled(type(value)(), value, memo)
    if type(value) is tuple:
        return tuple(_copied(v, memo) for v in value)
    before = dict(memo)
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # whatever classes raise that can't be copied
        memo.clear()
        memo.update(before)  # parts of copies that were begun
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(_copied(v, memo) for v in value)
    if isinstance(value, (list, dict, UserDict)):
        return _filled(copy.copy(value), value, memo)
    return value


def _filled(empty: Any, value: Any, memo: dict[int, Any]) -> Any:
    """A list or dictionary with copies of another's parts."""
    memo[id(value)] = empty
    if isinstance(value, list):
        empty[:] = [_copied(v, memo) for v in value]
    else:
        empty.update((name, _copied(v, memo)) for name, v in value.items())
    return empty


def differentiate(result: Any) -> None:
    """Computes the gradients of all leaves of autograd's graph, without adding them to anything."""
    outputs = [t for t in _tensors(result) if t.requires_grad and t.grad_fn is not None]
    leaves: dict[int, torch.Tensor] = {}
    nodes: list[Any] = [t.grad_fn for t in outputs]
    seen: set[Any] = set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves[id(node.variable)] = node.variable
        nodes.extend(following for following, _ in node.next_functions)
    if leaves:
        ones = [torch.ones_like(t) for t in outputs]
        torch.autograd.grad(outputs, list(leaves.values()), ones, allow_unused=True)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, SparseTensor):
        yield value.values()
    elif isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
