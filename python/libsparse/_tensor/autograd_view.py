"""AutogradView: autograd's view of a SparseTensor, which is that of its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor
from torch.utils.hooks import unserializable_hook

from libsparse._lang.errors import DtypeError, ShapeError
from libsparse._ops.operands import same_entries

from .traced_view import own, set_own

if TYPE_CHECKING:
    from libsparse._runtime.problem import Operand
    from libsparse._storage.pattern import Pattern

_Self = TypeVar("_Self", bound="AutogradView")


class AutogradView:
    """`requires_grad`, `grad` and so on; mixed into `SparseTensor`."""

    _pattern: Pattern

    if TYPE_CHECKING:
        _held: Tensor | None

        def __init__(self, pattern: Pattern, values: Tensor | None) -> None: ...

        def values(self) -> Tensor: ...
        def is_inference(self) -> bool: ...

    @property
    def requires_grad(self) -> bool:
        """Whether autograd follows the values."""
        if "_held" not in self.__dict__:
            return bool(own(self, "requires_grad"))
        return self._held is not None and self._held.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    @property
    def is_leaf(self) -> bool:
        """Whether the values are a leaf of autograd's graph."""
        if "_held" not in self.__dict__:
            return bool(own(self, "is_leaf"))
        return self._held is None or self._held.is_leaf

    @property
    def grad_fn(self) -> Any:
        """The node of autograd's graph that computed the values."""
        if "_held" not in self.__dict__:
            return own(self, "grad_fn")
        return None if self._held is None else self._held.grad_fn

    @property
    def grad(self: _Self) -> _Self | None:
        """The gradient of the values, as a tensor of the same pattern."""
        if "_held" not in self.__dict__:
            return own(self, "grad")  # type: ignore[no-any-return]
        grad = None if self._held is None else self._held.grad
        return None if grad is None else type(self)(self._pattern, grad)

    @grad.setter
    def grad(self, value: Any) -> None:
        if "_held" not in self.__dict__:
            set_own(self, "grad", value)
            return
        if self._held is None:
            raise DtypeError(f"grad: the tensor ({self._pattern}) is only a pattern, which has no gradient")
        if isinstance(value, AutogradView):
            if not same_entries(value._pattern, self._pattern):
                raise ShapeError(f"grad ({value._pattern}) has other entries than the tensor ({self._pattern})")
            value = value.values()
        self._held.grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    @property
    def grad_dtype(self) -> Any:
        """The dtype of the values' gradient, None for any; torch 2.13 asks whatever it compiles for it."""
        held = self.__dict__.get("_held")
        return own(self, "grad_dtype") if held is None else held.grad_dtype

    @grad_dtype.setter
    def grad_dtype(self, value: Any) -> None:
        held = self.__dict__.get("_held")
        if held is None:
            set_own(self, "grad_dtype", value)
        else:
            held.grad_dtype = value

    def requires_grad_(self: _Self, requires_grad: bool = True) -> _Self:
        """Asks autograd to follow the values.

        Values of a leaf that are no entries, as behind the edge of a matrix in blocks, get no gradient, whatever is
        computed of `values()`, so optimizers leave them alone. All elements inside of a block are entries.

        Raises:
            DtypeError: The tensor is only a pattern.
        """
        if self._held is None:
            if requires_grad:
                raise DtypeError(
                    f"requires_grad_: the tensor ({self._pattern}) is only a pattern, without values to differentiate; "
                    "use A.float()"
                )
            return self
        if "_held" not in self.__dict__:
            set_own(self, "requires_grad", requires_grad)
            return self
        if requires_grad and not (self._held.is_floating_point() or self._held.is_complex()):
            raise DtypeError(
                f"requires_grad_: the tensor ({self._pattern}) has dtype {self._held.dtype}; autograd follows floating "
                "and complex ones: use A.float()"
            )
        self._held.requires_grad_(requires_grad)
        if own(self, "is_leaf") and not self.is_inference():  # guards of compiled functions ask the wrapper
            set_own(self, "requires_grad", requires_grad)
        keep_padding(self.__dict__, self._pattern, self._held)
        return self


def cut(result: Operand) -> Operand:
    """A result of an operation that autograd does not follow: values may be those of an operand, which it does."""
    if result.data is None or not result.data.requires_grad or torch.is_grad_enabled():
        return result
    return result.with_data(result.data.detach())


def keep_padding(attributes: dict[str, Any], pattern: Pattern, values: Tensor) -> None:
    """Makes the gradient of padding 0, once for each leaf."""
    if not values.requires_grad or not pattern.format.padded or not values.is_leaf or pattern.traced:
        return
    if attributes.get("_padding_kept") is not values:
        attributes["_padding_kept"] = values
        values.register_hook(unserializable_hook(lambda grad: pattern.spread(pattern.entries(grad))))
