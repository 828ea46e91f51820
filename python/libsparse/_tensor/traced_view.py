"""TracedView: a SparseTensor as torch's compilers see it, a wrapper of plain tensors that take it apart.

In eager calls autograd follows the values of a SparseTensor, and nothing else knows of the wrapper. In a graph of torch
the wrapper is what autograd follows. Functions of autograd lead from the one to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._runtime.problem import Operand
from libsparse._storage import ordinary
from libsparse._storage.fakes import is_fake
from libsparse._storage.pattern import Pattern
from libsparse._trace import dynamo, library, patterns
from libsparse._trace.tracers import leave_alone

from . import dispatch_table

_MOST = 16  # levels


class _computed:
    """An attribute that is computed whenever the object has not got it: a property that an attribute hides."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else self._function(instance)


class _teaching(staticmethod):  # type: ignore[type-arg]
    """A static method that torch.compile's tracer is taught by: the tracer asks any class of tensors for it first."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        dispatch_table.load()  # the tracer reads the table
        dynamo.teach()
        return super().__get__(instance, owner)


class TracedView:
    """`__tensor_flatten__` and what it needs; mixed into `SparseTensor`.

    A tensor is in one of two states. One that was made of values has `_held`, and autograd follows these. One that was
    put together from the tensors of a graph has `_plain` in its place, values which autograd does not follow: it
    follows the wrapper, and `_held` is computed from that.
    """

    _pattern: Pattern
    _fill: int | float

    @_computed
    def _held(self: Any) -> Tensor | None:
        """The values, which autograd follows."""
        plain: Tensor | None = self._plain_values
        return self._followed_values if plain is not None and own(self, "requires_grad") else plain

    @_computed
    def _whole(self: Any) -> Operand:
        """The tensor as operations take it."""
        for name in self._parts():  # torch.export takes note of what is read in this way
            getattr(self, name)
        return Operand(self._pattern, self._held, self._fill)

    @_computed
    def _fast(self: Any) -> dict[Any, Any]:
        """The products that the pattern has prepared."""
        fast: dict[Any, Any] = self._pattern.fast if self._fill == 0 else {}
        return fast

    def __tensor_flatten__(self) -> tuple[list[str], tuple[Any, ...]]:
        """The names of the plain tensors, and what else there is to know."""
        dynamo.teach()
        pattern = self._pattern
        if not pattern.traced:
            patterns.remember(pattern)
        names = self._parts()
        if self._extents is not None:
            names.append("_extents")
        if self._plain_values is not None:
            names.append("_plain_values")
            follow_values(self)
        return names, (pattern.format.text, self._fill, pattern.block)

    @_teaching
    def __tensor_unflatten__(
        tensors: dict[str, Tensor], context: tuple[Any, ...], shape: Sequence[Any], strides: Sequence[Any]
    ) -> Any:
        """The tensor of these parts."""
        text, fill, block = context
        given = dict(tensors)
        values = given.pop("_plain_values", None)
        extents = given.pop("_extents", None)
        pattern = patterns.put_together(patterns.Arrays(text, list(shape), list(given.values())))
        pattern.expanded = extents
        if pattern.block != block:
            pattern = type(pattern)(pattern.format, pattern.shape, pattern.pos, pattern.crd, block)
        return wrap(pattern, values, fill)

    def _parts(self) -> list[str]:
        """The names of the arrays of the pattern."""
        return list(patterns.parts(self._pattern.format.text))

    def __dir__(self) -> list[str]:
        """The names that users read, and those of the plain tensors."""
        own = [name for name in object.__dir__(self) if not name.startswith("_") or name in dir(Tensor)]
        return [*own, *self._parts(), "_plain_values", "_followed_values"]

    def _rewrapped(self, values: Tensor | None) -> Any:
        """A wrapper of other values with the same pattern, below autograd."""
        return wrap(self._pattern, values, self._fill)

    def _stable_hash_for_caching(self) -> str:
        """What a compiled graph depends on, for torch's cache of them."""
        names, context = self.__tensor_flatten__()
        parts = [(name, str(array.dtype), *map(str, array.shape)) for name in names for array in [getattr(self, name)]]
        return repr((context, [*map(str, self._pattern.shape)], bool(self.requires_grad), parts))  # type: ignore[attr-defined]

    @property
    def _extents(self) -> Tensor | None:
        """What `Pattern.expanded` is."""
        return self._pattern.expanded

    @_extents.setter
    def _extents(self, value: Tensor | None) -> None:
        self._pattern.expanded = value

    @property
    def _followed_values(self) -> Tensor:
        """The values of a tensor that requires grad: exported programs read those of parameters by this name."""
        state = self.__dict__
        followed: Tensor | None = state.get("_held", state.get("_followed"))
        if followed is None:
            with torch.enable_grad():  # what comes after torch.no_grad() has the same values
                followed = state["_followed"] = _Unwrap.apply(self)
        return followed

    @property
    def _plain_values(self) -> Tensor | None:
        """The values, which autograd does not follow; the same tensor each time."""
        state = self.__dict__
        if "_plain" in state:
            plain: Tensor | None = state["_plain"]
            return plain
        held: Tensor | None = self._held
        if held is None or not held.requires_grad:
            return held if held is None else _apart(self, held)
        return _detached(state, held)


def _detached(state: dict[str, Any], held: Tensor) -> Tensor:
    """Values without what autograd knows of them, kept among the attributes of their tensor."""
    known = state.get("_detached")
    if known is None or known[0] is not held or not _same_memory(known[1], held):
        known = state["_detached"] = held, held.detach()
    detached: Tensor = known[1]
    return detached


def _same_memory(a: Tensor, b: Tensor) -> bool:
    return is_fake(b) or a.data_ptr() == b.data_ptr()


def _array(kind: str, level: int) -> property:
    return property(lambda self: _apart(self, getattr(self._pattern, kind)[level]))


def _apart(self: Any, part: Tensor) -> Tensor:
    """A part of an input of torch.export is an input of its own, as other patterns may come when the program runs.

    torch takes what two inputs share for shared in every call, without a check.
    """
    if not ordinary.are_exported() or self._pattern.traced or is_fake(part):
        return part
    with ordinary.unseen():
        return part.detach()


for _level in range(_MOST):
    for _kind in ("pos", "crd"):
        setattr(TracedView, f"_{_kind}{_level}", _array(_kind, _level))


def wrap(pattern: Pattern, values: Tensor | None, fill: int | float) -> Any:
    """A SparseTensor of values which autograd does not follow; it may come to follow the wrapper."""
    dtype = torch.bool if values is None else values.dtype
    self: Any = Tensor._make_wrapper_subclass(_classes[0], pattern.seen_shape, dtype=dtype)
    self._pattern, self._plain, self._fill, self._node = pattern, values, fill, None
    return self


leave_alone(wrap)  # after a break within it, torch.compile would look at a tensor without parts


def _as_input(pattern: Pattern) -> Any:
    """A pattern as a tensor; one of a format that pads must have values, though nobody reads them."""
    no_values = torch.zeros((), dtype=torch.bool, device="cpu").expand(pattern.size) if pattern.format.pads else None
    return wrap(pattern, no_values, 0)


setattr(Pattern, dynamo.AS_INPUT, property(_as_input))
_classes: list[Any] = []  # SparseTensor, once that is defined


def own(self: Any, name: str) -> Any:
    """What torch itself knows of a wrapper under the name of a property."""
    with torch._C.DisableTorchFunctionSubclass():
        return getattr(Tensor, name).__get__(self)


def set_own(self: Any, name: str, value: Any) -> None:
    """Sets what torch itself knows of a wrapper under the name of a property."""
    with torch._C.DisableTorchFunctionSubclass():
        getattr(Tensor, name).__set__(self, value)


def follow_values(self: Any) -> None:
    """Makes the gradient of a wrapper that of its values, since in a graph the wrapper is what autograd follows."""
    held = self.__dict__.get("_held")
    if held is None or not held.requires_grad or self.__dict__.get("_joined") is held:
        return
    with torch._C.DisableTorchFunctionSubclass(), torch.enable_grad():
        if own(self, "grad_fn") is None:
            set_own(self, "requires_grad", False)
        _Join.apply(self, held)
    self._joined = held
    _detached(self.__dict__, held)  # kept for when torch 2.4 takes results apart, where nothing can be detached


def _put_together(
    format: str, shape: Sequence[Any], arrays: Sequence[Tensor], values: Tensor | None, fill: Any, block: Sequence[int]
) -> Any:
    """A SparseTensor of its plain tensors, as an operator of a graph; autograd follows the values."""
    pattern = patterns.put_together(patterns.Arrays(format, list(shape), list(arrays)))
    if pattern.block != tuple(block):
        pattern = type(pattern)(pattern.format, pattern.shape, pattern.pos, pattern.crd, tuple(block))
    return _classes[0](pattern, values, fill)


library.define_whole(_put_together)


class _Join(torch.autograd.Function):
    """Leads from a wrapper to its values, in place."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, values: Tensor) -> Any:
        ctx.mark_dirty(tensor)
        ctx.set_materialize_grads(False)  # torch would make strided zeros of the sparse shape
        return tensor

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[None, Any]:
        return None, None if grad is None else grad.values().reshape(-1)  # flat, also where they are arrays


class _Unwrap(torch.autograd.Function):
    """The values of a wrapper that autograd follows."""

    @staticmethod
    def forward(ctx: Any, tensor: Any) -> Tensor:
        ctx.parts = tensor._pattern, tensor._fill
        values: Tensor = tensor._plain_values.detach()
        return values

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _Wrap.apply(grad, *ctx.parts)


class _Wrap(torch.autograd.Function):
    """A wrapper of values that autograd follows."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, pattern: Pattern, fill: int | float) -> Any:
        ctx.set_materialize_grads(False)
        return wrap(pattern, values.detach().contiguous(), fill)  # a compiled backward would have to replace others

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, None, None]:
        return None if grad is None else grad.values().reshape(-1), None, None
