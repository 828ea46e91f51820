"""Operators: arithmetic, reductions and transposes of a SparseTensor as methods; the work is done elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from libsparse._lang.errors import ShapeError
from libsparse._ops import division, elementwise, products, reductions

from . import sparse_tensor

if TYPE_CHECKING:
    from libsparse._storage.pattern import Pattern

    from .sparse_tensor import SparseTensor


class Operators(Tensor):
    """Operators that a call or two more don't matter for; mixed into `SparseTensor`."""

    _pattern: Pattern
    _values: Tensor | None  # type: ignore[assignment]  # torch has a method of this name

    def __rmatmul__(self, other: Any) -> Any:
        """`other @ A`."""
        return products.matmul(other, self)

    def __mul__(self, other: Any) -> Any:
        """`A * other`: entries where both are stored."""
        return elementwise.multiply(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        """`A / scalar`."""
        return elementwise.divide(self, other)

    def __floordiv__(self, other: Any) -> Any:
        """`A // other`, rounded down."""
        return division.floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        """`other // A`."""
        return division.floor_divide(other, self)

    def __mod__(self, other: Any) -> Any:
        """`A % other`, with the sign of `other`."""
        return division.remainder(self, other)

    def __rmod__(self, other: Any) -> Any:
        """`other % A`."""
        return division.remainder(other, self)

    def __pow__(self, other: Any) -> Any:
        """`A ** other`."""
        return division.power(self, other)

    def __rpow__(self, other: Any) -> Any:
        """`other ** A`."""
        return division.power(other, self)

    def __add__(self, other: Any) -> Any:
        """`A + other`: entries where either is stored; dense where `other` is."""
        return elementwise.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """`A - other`."""
        return elementwise.subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        """`other - A`."""
        return elementwise.subtract(other, self)

    def __neg__(self) -> SparseTensor:
        """`-A`."""
        return sparse_tensor.SparseTensor(self._pattern, -self._own().values(), -self._own().fill_value)

    def sum(self, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Tensor:
        """The sum over `dim` (all by default), a dense tensor."""
        return reductions.sum(self._own(), dim, keepdim, dtype=dtype)

    def mean(self, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Tensor:
        """The mean over `dim` (all by default), entries that are not stored included; a dense tensor."""
        return reductions.mean(self._own(), dim, keepdim, dtype=dtype)

    # Transposes ------------------------------------------------------------------------------------------------

    def permute(self, *dims: Any) -> SparseTensor:
        """The tensor with its dimensions permuted; no entry is moved."""
        order = tuple(int(d) for d in (dims[0] if len(dims) == 1 and isinstance(dims[0], Sequence) else dims))
        wrapped = tuple(d + len(self._pattern.shape) if d < 0 else d for d in order)
        if sorted(wrapped) != list(range(len(self._pattern.shape))):
            raise ShapeError(f"permute: {order} is not a permutation of the {len(self._pattern.shape)} dimensions")
        return sparse_tensor.SparseTensor(self._pattern.transposed(wrapped), self._values, self._own().fill_value)

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """The tensor with two dimensions swapped; no entry is moved."""
        dims = list(range(len(self._pattern.shape)))
        try:
            dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
        except IndexError:
            raise ShapeError(
                f"transpose: dimension {dim0} or {dim1} is not one of {len(self._pattern.shape)}"
            ) from None
        return self.permute(dims)

    def t(self) -> SparseTensor:
        """The transpose of a matrix."""
        if len(self._pattern.shape) > 2:
            raise ShapeError(
                f"t() takes at most 2 dimensions, the tensor has {len(self._pattern.shape)}; use transpose or permute"
            )
        return self.T

    @property
    def T(self) -> SparseTensor:  # type: ignore[override]
        """The tensor with its dimensions reversed."""
        return self.permute(tuple(range(len(self._pattern.shape)))[::-1])

    @property
    def mT(self) -> SparseTensor:  # type: ignore[override]
        """The tensor with its last two dimensions swapped."""
        return self.transpose(-2, -1)

    def _own(self) -> SparseTensor:
        assert isinstance(self, sparse_tensor.SparseTensor)
        return self
