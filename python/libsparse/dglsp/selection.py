"""Parts of matrices: rows and columns by number, samples of them, and those that store anything."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import libsparse as ls
from libsparse.sampling import draws

from .entries import compressed_by, parts, values_of, with_vectors
from .matrix import SparseMatrix, compressed, made, matrix, method, of_coordinates

_SparseTensor = ls.SparseTensor


@method
def index_select(mat: _SparseTensor, dim: int, index: Tensor) -> SparseMatrix:
    """The matrix of some rows (`dim=0`) or columns (`dim=1`), which may come twice; entries are sorted by these.

    Raises:
        ShapeError: `dim` is neither 0 nor 1.
        DtypeError: `index` is no tensor.
        IndexBoundsError: There is no such row or column.

    Example:
        >>> A = ls.dglsp.diag(torch.tensor([1.0, 2.0, 3.0]))
        >>> A.index_select(0, torch.tensor([2, 0])).val.tolist()
        [3.0, 1.0]
    """
    _check_dim("index_select", dim)
    if not isinstance(index, Tensor):
        raise ls.DtypeError(f"index_select: index is a {type(index).__name__}; expected a tensor")
    parts = _Compressed(mat, dim)
    nodes = _within(index, parts.count, dim)
    return parts.chosen(*draws.entries(parts.pos, nodes, -1, False, 0), len(nodes))


@method
def range_select(mat: _SparseTensor, dim: int, index: slice) -> SparseMatrix:
    """The matrix of the rows (`dim=0`) or columns (`dim=1`) of a slice; entries are sorted by these.

    Raises:
        ShapeError: `dim` is neither 0 nor 1.
        DtypeError: `index` is no slice.
        IndexBoundsError: There are no such rows or columns.
        UnsupportedError: The slice has a step.

    Example:
        >>> A = ls.dglsp.diag(torch.tensor([1.0, 2.0, 3.0]))
        >>> A.range_select(0, slice(1, 3)).val.tolist()
        [2.0, 3.0]
    """
    _check_dim("range_select", dim)
    if not isinstance(index, slice):
        raise ls.DtypeError(f"range_select: index is a {type(index).__name__}; expected a slice")
    if index.step not in (None, 1):
        raise ls.UnsupportedError(f"range_select: the step is {index.step}; expected 1")
    length = mat.shape[dim]
    start, stop = index.start or 0, length if index.stop is None else index.stop
    if not 0 <= start <= stop <= length:
        raise ls.IndexBoundsError(f"range_select: {start}:{stop} is not within 0:{length}, dimension {dim}")
    return _Compressed(mat, dim).between(start, stop)


@method
def sample(
    mat: _SparseTensor, dim: int, fanout: int, ids: Tensor | None = None, replace: bool = False, bias: bool = False
) -> SparseMatrix:
    """Draws entries of rows (`dim=0`) or columns (`dim=1`), by the state of torch's generator.

    Args:
        mat: With values (nnz,) or (nnz, d).
        dim: The dimension that `ids` are of.
        fanout: How many entries of each; all of those that have fewer, without replacement.
        ids: Rows or columns; all of them by default.
        replace: Whether an entry may be drawn again.
        bias: Whether an entry is as probable as its value is large; without, all are the same.

    Returns:
        A matrix with a row, or column, for each of `ids`. An entry that is drawn twice is two entries.

    Raises:
        ShapeError: `dim` is neither 0 nor 1, or values are vectors and `bias` is wanted.
        IndexBoundsError: There is no such row or column.

    Example:
        >>> A = ls.dglsp.diag(torch.tensor([1.0, 2.0, 3.0]))
        >>> A.sample(0, 5, torch.tensor([2, 0])).val.tolist()
        [3.0, 1.0]
    """
    _check_dim("sample", dim)
    parts = _Compressed(mat, dim)
    nodes = torch.arange(parts.count, device="cpu") if ids is None else _within(ids, parts.count, dim)
    if bias:
        place, found = _weighed(parts, nodes, fanout, replace)
    else:
        seed = int(torch.randint(2**62, (), device="cpu"))
        place, found = draws.entries(parts.pos, nodes, fanout, replace, seed)
    by_place = place * len(parts.across) + found
    if not bool((by_place[1:] > by_place[:-1]).all()):  # draws of a row have any order
        order = by_place.argsort()
        place, found = place.index_select(0, order), found.index_select(0, order)
    return parts.chosen(place, found, len(nodes), not replace)


class _Compressed:
    """The entries of a matrix by its rows (0) or columns (1), which are called rows here.

    Args:
        mat: A matrix.
        dim: Which.
    """

    def __init__(self, mat: _SparseTensor, dim: int) -> None:
        self.dim, self.count, self.width = dim, mat.shape[dim], mat.shape[1 - dim]
        self.numbers: Tensor | None = None
        mat = matrix(mat, "this operation")
        if isinstance(mat, SparseMatrix) and mat.has_duplicate():
            self.pos, self.across, self.numbers = compressed(mat, dim)
            self.val, self.once = mat.val, False
            return
        self.val, self.once = values_of(mat), True
        pattern = mat.pattern
        if compressed_by(mat) == dim:
            self.pos, self.across = pattern.compressed(1)
        else:
            self.pos, self.across, self.numbers = pattern.derive(("entries by", dim), lambda: _by(mat, dim))

    def values(self, found: Tensor) -> Tensor:
        """The values of entries."""
        return self.val.index_select(0, found if self.numbers is None else self.numbers.index_select(0, found))

    def chosen(self, place: Tensor, found: Tensor, rows: int, once: bool = True) -> SparseMatrix:
        """The matrix of entries, whose rows are given by ascending numbers below `rows`, sorted in each row.

        Args:
            place: Rows of the result.
            found: Entries.
            rows: How many rows.
            once: Whether no row has an entry twice.
        """
        across, val = self.across.index_select(0, found), self.values(found)
        if not (self.once and once):
            drawn = of_coordinates(place, across.long(), val, (rows, self.width), check=False)
            return drawn.transpose() if self.dim else drawn
        return self._made(torch.searchsorted(place, torch.arange(rows + 1, device="cpu")), across, val)

    def between(self, start: int, stop: int) -> SparseMatrix:
        """The matrix of rows that follow each other."""
        first, last = int(self.pos[start]), int(self.pos[stop])
        found = torch.arange(first, last, device="cpu")
        pos = self.pos[start : stop + 1] - first
        if not self.once:
            place = torch.arange(stop - start, device="cpu").repeat_interleave(pos.diff())
            return self.chosen(place, found, stop - start)
        return self._made(pos, self.across[first:last], self.values(found))

    def _made(self, pos: Tensor, across: Tensor, val: Tensor) -> SparseMatrix:
        whole = val if val.ndim == 1 else torch.empty(len(val), dtype=torch.bool, device="cpu")
        if self.dim:
            chosen = ls.from_csc(pos, across, whole, (self.width, len(pos) - 1), check=False)
        else:
            chosen = ls.from_csr(pos, across, whole, (len(pos) - 1, self.width), check=False)
        return made(with_vectors(chosen, val) if val.ndim > 1 else chosen)


def _by(mat: _SparseTensor, dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """Positions of rows or columns, the other coordinates, and the places of these entries in storage."""
    plain = mat if compressed_by(mat) is not None else mat.to_format("csr")
    numbered = with_vectors(plain, torch.arange(len(values_of(plain)), device="cpu"))
    other = numbered.to_format(("csr", "csc")[dim])
    return *other.pattern.compressed(1), other.values()


def _within(ids: Any, count: int, dim: int) -> Tensor:
    """Checked numbers of rows or columns."""
    nodes = torch.as_tensor(ids, device="cpu").long().contiguous()
    if nodes.numel() and (int(nodes.min()) < 0 or int(nodes.max()) >= count):
        raise ls.IndexBoundsError(f"a row or column is not within 0 to {count - 1}, the ones of dimension {dim}")
    return nodes


def _weighed(parts: _Compressed, nodes: Tensor, fanout: int, replace: bool) -> tuple[Tensor, Tensor]:
    """Draws by weights: places in `nodes`, ascending, and entries."""
    if parts.val.ndim > 1:
        raise ls.ShapeError(f"sample: values have shape {tuple(parts.val.shape)}; expected (nnz,), as weights")
    everything, at = draws.entries(parts.pos, nodes, -1, False, 0)
    weight = parts.values(at).detach().double()
    if bool((weight < 0).any()):
        raise ls.UnsupportedError("sample: a value is negative; expected weights")
    some = weight > 0
    everything, at, weight = everything[some], at[some], weight[some]
    counts = torch.bincount(everything, minlength=len(nodes))
    first = counts.cumsum(0) - counts
    if replace:
        place = torch.arange(len(nodes), device="cpu").repeat_interleave((counts > 0) * fanout)
        ends = torch.cat([weight.new_zeros(1), weight.cumsum(0)])
        low, high = ends[first[place]], ends[(first + counts)[place]]
        number = torch.searchsorted(
            ends, low + torch.rand(len(place), dtype=torch.float64, device="cpu") * (high - low), right=True
        )
        return place, at[(number - 1).clamp(first[place], (first + counts - 1)[place])]
    # The smallest of exponential times, whose rates are the weights, are a sample without replacement.
    times = torch.empty_like(weight).exponential_() / weight
    order = times.argsort()
    order = order[everything[order].argsort(stable=True)]
    rank = torch.arange(len(order), device="cpu") - first[everything]
    order = order[rank < fanout].sort().values
    return everything[order], at[order]


@method
def compact(mat: _SparseTensor, dim: int, leading_indices: Any = None) -> tuple[SparseMatrix, Tensor]:
    """The matrix without rows (`dim=0`) or columns (`dim=1`) that store nothing, and the numbers of the others.

    Args:
        mat: With values (nnz,) or (nnz, d), whose order is kept.
        dim: The dimension that gets shorter.
        leading_indices: Rows or columns that come first and stay, whether they store anything or not.

    Raises:
        ShapeError: `dim` is neither 0 nor 1.

    Example:
        >>> from libsparse import dglsp
        >>> rest, rows = dglsp.compact(ls.tensor([[0.0, 2.0], [0.0, 0.0], [1.0, 0.0]]), 0)
        >>> rest.to_dense().tolist(), rows.tolist()
        ([[0.0, 2.0], [1.0, 0.0]], [0, 2])
    """
    _check_dim("compact", dim)
    mat = matrix(mat, "compact")
    row, col, val = (mat.row, mat.col, mat.val) if isinstance(mat, SparseMatrix) else parts(mat)
    along = (row, col)[dim].long()
    stored = torch.zeros(mat.shape[dim], dtype=torch.bool, device="cpu").index_fill_(0, along, True)
    if leading_indices is not None:
        leading = torch.as_tensor(leading_indices, device="cpu").long()
        used = torch.cat([leading, stored.index_fill(0, leading, False).nonzero().flatten()])
    else:
        used = stored.nonzero().flatten()
    numbers = torch.empty(mat.shape[dim], dtype=torch.int64, device="cpu")
    numbers[used] = torch.arange(len(used), device="cpu")
    changed = numbers.index_select(0, along)
    shape = [*mat.shape[:2]]
    shape[dim] = len(used)
    row, col = (row, changed) if dim else (changed, col)
    if compressed_by(mat) == 1:  # so that what is multiplied with its transpose, as layers do, is in CSR
        return of_coordinates(col, row, val, tuple(shape[::-1]), check=False).transpose(), used
    return of_coordinates(row, col, val, tuple(shape), check=False), used


def _check_dim(function: str, dim: int) -> None:
    if dim not in (0, 1):
        raise ls.ShapeError(f"{function}: dim is {dim}; expected 0 for rows, 1 for columns")
