"""The entries of a matrix in the order in which they were given, which need not be that of its storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import libsparse as ls

if TYPE_CHECKING:
    from libsparse import SparseTensor


class Entries:
    """Coordinates as they were given, and how they lead to what is stored: sorted, and each coordinate once.

    Args:
        row: Rows (count,).
        col: Columns (count,).
        inverse: For each place in storage its entry (stored,), int64; None where coordinates come twice.
        places: For each entry its place in storage (count,), int64; the inverse of `inverse` by default.
        stored: How many are stored.
    """

    def __init__(
        self, row: Tensor, col: Tensor, inverse: Tensor | None, places: Tensor | None = None, stored: int = 0
    ) -> None:
        self.row, self.col = row, col
        self.inverse, self.number = inverse, stored
        self._places = places
        self._transposed: Entries | None = None
        self.compressed: dict[int, tuple[Tensor, Tensor, Tensor]] = {}

    @property
    def places(self) -> Tensor:
        """For each entry its place in storage; computed once."""
        if self._places is None:
            assert self.inverse is not None
            numbers = torch.arange(len(self.inverse), device=self.inverse.device)
            self._places = torch.empty_like(numbers).scatter_(0, self.inverse, numbers)
        return self._places

    def stored(self, val: Tensor) -> Tensor:
        """Values in the order of storage; those of coordinates that come twice are added."""
        if self.inverse is not None:
            return val.index_select(0, self.inverse)
        return val.new_zeros(self.number, *val.shape[1:]).index_add(0, self.places, val)

    def given(self, values: Tensor) -> Tensor:
        """Values in the order that was given, of those in the order of storage."""
        return values.index_select(0, self.places)

    @property
    def transposed(self) -> Entries:
        """Those of the transpose, whose values are stored in the same order; made once."""
        if self._transposed is None:
            self._transposed = Entries(self.col, self.row, self.inverse, self._places, self.number)
            self._transposed._transposed = self
        return self._transposed


def assemble(
    row: Tensor, col: Tensor, shape: tuple[int, ...], check: bool = True
) -> tuple[SparseTensor, Entries | None]:
    """A matrix of these coordinates, with values that don't matter, and the entries unless they are stored as given."""
    count = len(row)
    numbers = torch.arange(count, device=row.device)
    A = ls.from_coo(torch.stack([row, col]), numbers, shape, reduce="min", check=check)
    first = A.values()
    if len(first) == count:
        return A, None if torch.equal(first, numbers) else Entries(row, col, first)
    there, looked_up = (r.long() * shape[1] + c.long() for r, c in ((row[first], col[first]), (row, col)))
    return A, Entries(row, col, None, torch.searchsorted(there, looked_up), len(first))


def entries_of(A: SparseTensor) -> Entries | None:
    """The entries of a matrix that have another order than its storage; None where they have that."""
    if torch.compiler.is_compiling():  # which takes no other ones
        return None
    found: Entries | None = A.__dict__.get("_entries")
    return found


def coordinates(A: SparseTensor) -> tuple[Tensor, Tensor]:
    """Rows and columns in the order of storage, each once where values are vectors."""
    row, col = A._along(0), A._along(1)
    if A.ndim == 2:
        return row, col
    width = max(A.shape[2], 1)
    return row[::width], col[::width]


def values_of(A: SparseTensor) -> Tensor:
    """Values in the order of storage: (stored,), or (stored, d)."""
    values = A.values()
    return values if A.ndim == 2 else values.reshape(-1, A.shape[2])


def in_one_order(A: SparseTensor) -> SparseTensor:
    """The matrix in a format whose values are in the order of its coordinates; those of blocks are not."""
    return A.to_format("csr" if A.ndim == 2 else "dsd") if A.format.padded else A


def parts(A: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, columns and values: of what is stored, or where coordinates come twice of all that was given."""
    entries = entries_of(A)
    if entries is not None and entries.inverse is None:
        return entries.row, entries.col, A.val
    return *coordinates(A), values_of(A)


_BY_ROWS = frozenset(["csr", "ds", "dsd"])
_BY_COLUMNS = frozenset(["csc", "ds:1,0", "dsd:1,0,2"])


def compressed_by(A: SparseTensor) -> int | None:
    """The dimension by which a matrix is compressed, 0 in CSR and 1 in CSC; None in other formats."""
    text = A.format.text
    return 0 if text in _BY_ROWS else 1 if text in _BY_COLUMNS else None


def with_vectors(A: SparseTensor, values: Tensor) -> SparseTensor:
    """A plain tensor with the entries of another one, and values (stored,) or (stored, d) in the order of storage."""
    if values.ndim == A.ndim - 1 and (values.ndim == 1 or values.shape[1] == A.shape[2]):
        return ls.SparseTensor.with_values(A, values)
    if torch.compiler.is_compiling():
        return ls.from_coo(torch.stack(coordinates(A)), values, (*A.shape[:2], *values.shape[1:]))
    by = compressed_by(A)
    if by is None:
        raise ls.FormatError(f"A ({A._facts()}) has no vectors as values; expected csr or csc, see A.to_format")
    pattern = A.pattern if A.ndim == 2 else A.pattern.derive(("entries without vectors",), lambda: _single(A, by))
    return ls.SparseTensor(pattern.with_blocks(values.shape[1:]) if values.ndim > 1 else pattern, values)


def _single(A: SparseTensor, by: int) -> Any:
    """The pattern of the entries with a number each."""
    pos, crd = A.pattern.pos[1], A.pattern.crd[1]
    assert crd is not None  # of a compressed level
    none = torch.empty(len(crd), dtype=torch.bool, device=crd.device)
    return ls.from_levels(("csr", "csc")[by], tuple(A.shape[:2]), [None, pos], [None, crd], none, check=False).pattern
