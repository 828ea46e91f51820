"""Copying: deep copies, pickles, copies of other types, and other memory for a SparseTensor; mixed into it."""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, UnsupportedError
from libsparse._storage.pattern import Pattern

from .repeated import Known
from .traced_view import _classes


class Copying(Known):
    """A copy is a parameter of modules where the tensor is one."""

    if TYPE_CHECKING:
        _pattern: Pattern
        _held: Tensor | None
        _fill: int | float
        _is_param: bool
        requires_grad: bool
        dtype: torch.dtype

        def to(self, *args: Any, **kwargs: Any) -> Any: ...
        def is_pinned(self) -> bool: ...
        def _operand(self) -> Any: ...
        def detach(self) -> Any: ...

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickles as a pattern and values."""
        parts = self._pattern, self._operand().data, self.requires_grad, self._fill
        return restore_tensor, (*parts, True) if hasattr(self, "_is_param") else parts

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy of the values and their gradient on the same (immutable) pattern."""
        if self._held is not None and not self._held.is_leaf:
            raise UnsupportedError("only tensors made by the user (leaves) can be deep-copied; use detach()")
        copy = self.detach().clone()
        memo[id(self)] = copy
        if self.requires_grad:
            copy.requires_grad_()
        if self._held is not None and self._held.grad is not None:
            copy._held.grad = self._held.grad.detach().clone()
        if hasattr(self, "_is_param"):
            copy._is_param = True
        return copy

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The tensor in another dtype, which a class of torch's tensors may name; without one the name of its own."""
        if dtype is None:
            return torch.empty(0, dtype=self.dtype, device="cpu").type()
        if isinstance(dtype, torch.dtype):
            return self.to(dtype)
        try:
            return self.to(torch.empty(0, device="cpu").type(dtype).dtype)
        except (TypeError, ValueError, RuntimeError) as error:
            raise DtypeError(f"type: {error}") from None

    def share_memory_(self) -> Any:
        """Moves every array to shared memory."""
        for array in self._pattern.tensors():
            array.share_memory_()
        if self._held is not None:
            self._held.share_memory_()
        return self

    def pin_memory(self, device: Any = None) -> Any:
        """A copy with every array in pinned memory, from which devices read faster; the tensor itself where it is."""
        if self.is_pinned():
            return self
        own, operand = self._pattern, self._operand()
        pos, crd = ([a if a is None else a.pin_memory() for a in arrays] for arrays in (own.pos, own.crd))
        values = None if operand.data is None else operand.data.pin_memory()
        return _classes[0](Pattern(own.format, own.shape, pos, crd, own.block), values, self._fill)


def restore_tensor(
    pattern: Pattern, values: Tensor | None, requires_grad: bool, fill: int | float = 0, is_parameter: bool = False
) -> Any:
    """Unpickles a SparseTensor."""
    tensor = _classes[0](pattern, values, fill)
    if values is not None and requires_grad:
        tensor.requires_grad_()
    if is_parameter:
        tensor._is_param = True
    return tensor


# Files name it: a place that stays. pickle writes its `__qualname__`, and torch 2.4 loads what has that `__name__`.
restore_tensor.__module__ = "libsparse"
restore_tensor.__name__ = restore_tensor.__qualname__ = "_restore_tensor"
torch.serialization.add_safe_globals([restore_tensor])


def _reduce_to_share(pattern: Pattern) -> tuple[Any, ...]:
    """Pickles a pattern for another process, with its arrays in shared memory.

    torch moves tensors there as it pickles them, in a thread of the queue's, while kernels may be reading the arrays of
    the pattern, which any number of tensors have. So these stay, and a copy is moved, which the pattern keeps.
    """
    restore, (format, shape, pos, crd, block) = pattern.__reduce__()
    pos, crd = pattern._keep(("shared arrays",), lambda: (_shared(pos), _shared(crd)))
    return restore, (format, shape, pos, crd, block)


def _shared(arrays: Sequence[Tensor | None]) -> list[Tensor | None]:
    return [a if a is None or a.is_shared() else a.clone().share_memory_() for a in arrays]


ForkingPickler.register(Pattern, _reduce_to_share)
