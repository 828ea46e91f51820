"""Sharing: a tensor and those that `detach()` and `.data` make of it have one pattern and one memory of values.

An in-place operation that keeps the pattern writes to that memory. One that brings another pattern replaces both, and
gives them to every tensor of the group. A group knows its tensors by weak references to their attributes: torch swaps
these when a module converts its parameters, and refuses to swap a tensor that is weakly referenced itself.
"""

from __future__ import annotations

import weakref
from typing import Any, TypeVar

import torch
from torch._C import _functorch

from libsparse._lang.errors import UnsupportedError
from libsparse._runtime.problem import Operand

from .autograd_view import keep_padding

_T = TypeVar("_T")
_GROUP = "_sharing"  # the attribute that has the group
_FEW = 8  # members up to which nobody looks for dead ones
_dispatch_modes = torch._C._len_torch_dispatch_stack


class Attributes(dict[str, Any]):
    """The attributes of a tensor of a group."""

    __slots__ = ("__weakref__",)


class Group:
    """Tensors of one memory, by weak references to their attributes.

    There is no lock: a handler of a signal, or a finaliser, may detach the tensor that its thread is detaching.
    """

    __slots__ = ("_references", "_room")

    def __init__(self) -> None:
        self._references: dict[int, weakref.ref[Attributes]] = {}
        self._room = _FEW

    def add(self, attributes: Attributes) -> None:
        """Takes in a tensor."""
        if len(self._references) >= self._room:
            self._forget()
            self._room = 2 * len(self._references) + _FEW
        self._references[id(attributes)] = weakref.ref(attributes)

    def _forget(self) -> None:
        """Drops what is gone."""
        for name, reference in self._references.copy().items():
            if reference() is None:
                there = self._references.pop(name, None)
                if there is not None and there() is not None:  # of the same name, which somebody has added meanwhile
                    self._references[name] = there

    def drop(self, attributes: Any) -> None:
        """Lets a tensor go."""
        self._references.pop(id(attributes), None)

    def members(self) -> list[Attributes]:
        """The attributes of the tensors that there are."""
        known = self._references.copy().values()
        return [attributes for reference in known if (attributes := reference()) is not None]


def hold(attributes: dict[str, Any], operand: Operand) -> None:
    """Puts the parts of a sparse operand among the attributes of a tensor."""
    pattern, (_, values, fill) = operand.sparsity, operand
    attributes["_whole"], attributes["_node"] = operand, None
    attributes["_pattern"], attributes["_held"], attributes["_fill"] = pattern, values, fill
    attributes["_fast"] = pattern.fast if fill == 0 else {}


def share(source: Any, tensor: _T) -> _T:
    """Puts a tensor of the entries and the memory of another into the group of that; returns the tensor."""
    if _transformed(source) or "_held" not in source.__dict__:
        return tensor
    group = source.__dict__.get(_GROUP)
    if group is None:
        group = Group()
        _join(source, group)
    _join(tensor, group)
    return tensor


def _join(tensor: Any, group: Group) -> None:
    attributes = tensor.__dict__
    if type(attributes) is not Attributes:
        attributes = tensor.__dict__ = Attributes(attributes)
    attributes[_GROUP] = group
    group.add(attributes)


def leave(tensor: Any) -> None:
    """Takes a tensor out of its group, which keeps what it has."""
    group = tensor.__dict__.pop(_GROUP, None)
    if group is not None:
        group.drop(tensor.__dict__)


def sharers(tensor: Any, found: Operand, name: str) -> list[dict[str, Any]]:
    """The attributes of the other tensors of the group, which are to take over what an in-place operation has found.

    A tensor whose `values()` were given another memory is none of them.

    Raises:
        UnsupportedError: They would have other values than autograd computed for one of them.
    """
    group = tensor.__dict__.get(_GROUP)
    if group is None or _transformed(tensor):
        return []
    whole = tensor._operand()
    known: list[dict[str, Any]] = [
        a for a in group.members() if a is not tensor.__dict__ and _same_memory(a["_whole"], whole)
    ]
    for attributes in known:
        other = attributes["_whole"]
        computed = other.data is not None and not other.data.is_leaf
        if computed and not _same_memory(other, found):
            raise UnsupportedError(
                f"{name}: the tensor shares its entries with one that autograd computed ({other}), which can't take "
                f"over the result ({found}); use A.detach().clone() for a tensor of its own, or the result of "
                f"{name.strip('_')}"
            )
    return known


def spread(tensors: list[dict[str, Any]], found: Operand) -> None:
    """Gives entries and values to tensors, each of which autograd follows as before."""
    for attributes in tensors:
        whole: Operand = attributes["_whole"]
        if _same_memory(whole, found):
            hold(attributes, whole._replace(fill=found.fill))
        elif found.data is None:
            hold(attributes, found)
        else:
            values = found.data.detach().requires_grad_(whole.data is not None and whole.data.requires_grad)
            hold(attributes, found.with_data(values))
            keep_padding(attributes, found.sparsity, values)


def _transformed(tensor: Any) -> bool:
    """Whether torch traces or transforms, which sees to in-place operations itself."""
    return bool(
        torch.compiler.is_compiling()
        or _dispatch_modes()
        or _functorch.peek_interpreter_stack() is not None
        or tensor._pattern.traced
    )


def _same_memory(first: Operand, second: Operand) -> bool:
    if first.pattern is not second.pattern or first.data is None or second.data is None:
        return first.pattern is second.pattern and first.data is second.data
    return first.data.data_ptr() == second.data.data_ptr()
