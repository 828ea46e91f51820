"""LevelViews: the parts of a SparseTensor under the names that torch, DGL and torch_sparse give them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, FormatError, IndexBoundsError
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern
from libsparse._trace import dynamo

_Self = TypeVar("_Self", bound="LevelViews")


# torch.compile makes a method that a tensor has under the function's own name one node of its graph, which can neither
# take a function nor return a number. It traces the functions of the following two, since their names are others.


def _count(self: LevelViews) -> int:
    """How many entries are stored."""
    return self._pattern.nnz


def _apply_to_values(self: _Self, fn: Callable[[Tensor], Tensor]) -> _Self:
    """Applies `fn` to the stored values, and to nothing else.

    Args:
        self: A sparse tensor.
        fn: Takes and returns a 1-D tensor of `nnz` elements, in the order of `indices()`.

    Raises:
        ShapeError: `fn` returned something else than a number for each value.
    """
    if not callable(fn):
        raise DtypeError(f"map: fn is a {type(fn).__name__}; expected a function such as torch.exp")
    entries = self._of_entries()
    found = fn(entries)
    if found is None:
        raise DtypeError("map: fn returned None; expected a tensor with a number for each value")
    of_entries = isinstance(found, Tensor) and found.shape == entries.shape
    return self._with_entries(found) if of_entries else self.with_values(found)


# The name that Python's own messages about its arguments have.
_apply_to_values.__name__ = _apply_to_values.__qualname__ = "map"
dynamo.inlined["map"] = _apply_to_values


class LevelViews:
    """Read-only access to coordinates and positions; mixed into `SparseTensor`.

    The arrays are the pattern's own, which costs nothing: they must not be written to. Conversions (`to_torch`,
    `to_sparse`, `to_scipy`) copy theirs.
    """

    _pattern: Pattern

    if TYPE_CHECKING:

        def values(self) -> Tensor: ...

        def with_values(self: _Self, values: Tensor | None) -> _Self: ...

        def to_format(self, format: str | Format) -> Any: ...

    def size(self, dim: Any = None) -> Any:
        """The shape, or the extent of one dimension."""
        shape = self._pattern.shape
        if dim is None:
            return shape
        if not isinstance(dim, int):
            dim = _index("dim", dim, "an int, or None for the shape")
        if not -len(shape) <= dim < len(shape):
            raise IndexBoundsError(f"dim is {dim}; a tensor ({self._facts()}) has dimensions 0 to {len(shape) - 1}")
        return shape[dim]

    def numel(self) -> int:
        """How many elements the tensor has, stored or not."""
        return math.prod(self._pattern.shape)

    nelement = numel

    def pos(self, level: int) -> Tensor | None:
        """The positions of a level, None where it has none; not to be written to."""
        return self._pattern.pos[self._level(level)]

    def crd(self, level: int) -> Tensor | None:
        """The coordinates of a level, None where it has none; not to be written to."""
        return self._pattern.crd[self._level(level)]

    def indices(self) -> Tensor:
        """The coordinates of the stored entries: (ndim, nnz), int64, columns in storage order; for every format.

        They are the pattern's own memory and not to be written to: clone them. `values()` has padding between the
        entries where the format has it (bsr at the edges, ell, sell, dia): `A.to_sparse_coo()` has none.
        """
        return self._pattern.coordinates()

    def crow_indices(self) -> Tensor:
        """The row positions of a CSR matrix; not to be written to."""
        return self._array("csr", self._pattern.pos)

    def col_indices(self) -> Tensor:
        """The columns of a CSR matrix; not to be written to."""
        return self._array("csr", self._pattern.crd)

    def ccol_indices(self) -> Tensor:
        """The column positions of a CSC matrix; not to be written to."""
        return self._array("csc", self._pattern.pos)

    def row_indices(self) -> Tensor:
        """The rows of a CSC matrix; not to be written to."""
        return self._array("csc", self._pattern.crd)

    def _of_entries(self) -> Tensor:
        """The values without padding, which would count in means and have gradients that are not finite."""
        return self._pattern.entries(self.values())

    def _with_entries(self: _Self, entries: Tensor) -> _Self:
        """A tensor of the same pattern with other values, which are given without padding."""
        return self.with_values(self._pattern.spread(entries))

    _nnz = _count

    def coalesce(self: _Self) -> _Self:
        """The tensor itself: duplicates are reduced when a tensor is assembled."""
        return self

    def __len__(self) -> int:
        """The extent of the first dimension."""
        return self._pattern.shape[0]

    def is_coalesced(self) -> bool:
        """True: duplicates are reduced when a tensor is assembled."""
        return True

    @property
    def density(self) -> float:
        """The share of the elements that is stored."""
        return self._pattern.nnz / max(self.numel(), 1)

    @property
    def is_sparse(self) -> bool:
        """Whether the tensor has torch's COO layout: no. Ask `isinstance(A, ls.SparseTensor)`."""
        return False

    def _along(self, mode: int) -> Tensor:
        """The coordinates of a mode: the same tensor each time, by which torch.compile knows it again."""
        pattern = self._pattern
        return pattern.derive(("coordinates of each mode",), lambda: pattern.coordinates().unbind(0))[mode]

    @property
    def row(self) -> Tensor:
        """The row of each stored entry, in the order of `indices()`; not to be written to."""
        return self._along(0)

    @property
    def col(self) -> Tensor:
        """The column of each stored entry, in the order of `indices()`; not to be written to."""
        return self._along(1)

    @property
    def val(self) -> Tensor:
        """The values, as `values()`."""
        return self.values()

    map = _apply_to_values

    def coo(self) -> tuple[Tensor, Tensor, Tensor]:
        """Rows, columns and values, sorted by row; indices are not to be written to."""
        csr = self.to_format("csr")
        return csr.row, csr.col, csr.values()

    def csr(self) -> tuple[Tensor, Tensor, Tensor]:
        """Row positions, columns and values of the CSR form; indices are not to be written to."""
        csr = self.to_format("csr")
        return csr.crow_indices(), csr.col_indices(), csr.values()

    def csc(self) -> tuple[Tensor, Tensor, Tensor]:
        """Column positions, rows and values of the CSC form; indices are not to be written to."""
        csc = self.to_format("csc")
        return csc.ccol_indices(), csc.row_indices(), csc.values()

    def _level(self, level: Any) -> int:
        number, count = level if isinstance(level, int) else _index("level", level, "an int"), len(self._pattern.pos)
        if not -count <= number < count:
            raise IndexBoundsError(f"level is {number}; a tensor ({self._facts()}) has levels 0 to {count - 1}")
        return number

    def _facts(self) -> str:
        """Shape and format, for messages."""
        return f"shape {tuple(self._pattern.shape)}, format {self._pattern.format}"

    def _array(self, format: str, arrays: tuple[Tensor | None, ...]) -> Tensor:
        array = arrays[1] if self._pattern.format == format else None
        if not isinstance(array, torch.Tensor):
            raise FormatError(f"a tensor ({self._facts()}) has no such array; use .to_format({format!r}) first")
        return array


def _index(name: str, given: Any, expected: str) -> int:
    """An int that is one of another library's."""
    try:
        return operator.index(given)
    except TypeError:
        raise DtypeError(f"{name} is {given!r}; expected {expected}") from None
