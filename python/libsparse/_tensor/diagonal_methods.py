"""Methods of SparseTensor about diagonals, which torch_sparse has and torch has not."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from libsparse._lang.errors import DtypeError

if TYPE_CHECKING:
    from torch import Tensor

    from libsparse._storage.pattern import Pattern

_Self = TypeVar("_Self", bound="DiagonalMethods")


class DiagonalMethods:
    """Matrices with another diagonal; mixed into `SparseTensor`."""

    if TYPE_CHECKING:

        def __init__(self, pattern: Pattern | None, values: Tensor | None, fill: int | float) -> None: ...

    def set_diag(self: _Self, values: Tensor | float | None = None, k: int = 0) -> _Self:
        """A matrix with all elements of a diagonal stored, and these values there; differentiable by both.

        Args:
            values: (length of the diagonal,), or a tensor or a number for all of it; ones by default.
            k: How much the column is larger than the row.

        Raises:
            ShapeError: The tensor is no matrix, or there is another number of values.
            DtypeError: The values are no dense tensor or number.
        """
        from libsparse._ops.indexing import diagonals  # with the rest of indexing, which loads with the first tensor

        return type(self)(*diagonals.set_diag(self, values, k))

    def fill_diag(self: _Self, fill_value: Tensor | float, k: int = 0) -> _Self:
        """A matrix with all elements of a diagonal stored, and one value there; errors as `set_diag`.

        Args:
            fill_value: The value.
            k: How much the column is larger than the row.
        """
        if fill_value is None:
            raise DtypeError("fill_diag: fill_value is None; expected a number")
        return self.set_diag(fill_value, k)
