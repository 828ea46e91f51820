"""Operands: sparse ones as plain arrays, which each peer makes its own objects of, and aligned dense ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

_LINE = 64  # bytes of a cache line
_MOVED = 128  # entries of a matrix of which some are moved for a new pattern


@dataclass(frozen=True)
class Matrix:
    """A matrix in CSR with int32 indices, sorted and without repeats.

    Attributes:
        name: The file, or how it was generated.
        family: The folder that the file is in.
        crow: Where each row begins.
        col: The column of each entry.
        values: The value of each entry.
        shape: Rows and columns.
    """

    name: str
    family: str
    crow: Tensor
    col: Tensor
    values: Tensor
    shape: tuple[int, int]

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return self.values.numel()

    @property
    def rows(self) -> Tensor:
        """The row of each entry, int64."""
        return torch.repeat_interleave(torch.arange(self.shape[0]), self.crow.diff().long())

    @property
    def arrays(self) -> tuple[Tensor, ...]:
        """Its arrays."""
        return self.crow, self.col, self.values

    def with_arrays(self, change: Callable[[Tensor], Tensor]) -> Matrix:
        """The same with each array changed."""
        return replace(self, crow=change(self.crow), col=change(self.col), values=change(self.values))

    def with_values(self, values: Tensor) -> Matrix:
        """The same pattern with other values."""
        return replace(self, values=values)

    def fresh(self) -> Matrix:
        """A copy with some of its first entries one column on: a new pattern, and as much to compute."""
        made = self.with_arrays(torch.clone)
        first = made.col[:_MOVED]
        rows = torch.searchsorted(self.crow, torch.arange(len(first), dtype=self.crow.dtype), right=True)
        last = torch.arange(len(first)) + 1 == self.crow[rows]  # of its row
        following = torch.cat([self.col[1 : len(first) + 1], self.col[:1]])[: len(first)]
        beyond = torch.where(last, self.shape[1], following)
        first += ((first + 1 < beyond) & (torch.rand(len(first)) < 0.5)).to(first.dtype)
        return made


@dataclass(frozen=True)
class SparseTensor:
    """A tensor of order 3 as sorted coordinates (3, entries), int64, without repeats; else as `Matrix`."""

    name: str
    family: str
    coords: Tensor
    values: Tensor
    shape: tuple[int, int, int]

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return self.values.numel()

    @property
    def arrays(self) -> tuple[Tensor, ...]:
        """Its arrays."""
        return self.coords, self.values

    def with_arrays(self, change: Callable[[Tensor], Tensor]) -> SparseTensor:
        """The same with each array changed."""
        return replace(self, coords=change(self.coords), values=change(self.values))

    def with_values(self, values: Tensor) -> SparseTensor:
        """The same pattern with other values."""
        return replace(self, values=values)

    def fresh(self) -> SparseTensor:
        """A copy."""
        return self.with_arrays(torch.clone)

    def fibers(self) -> tuple[Tensor, Tensor, Tensor]:
        """The fibers (i, j) that have entries: their i, their j, and where each begins among the entries."""
        i, j, _ = self.coords
        first = torch.ones(self.nnz, dtype=torch.bool)
        first[1:] = (i[1:] != i[:-1]) | (j[1:] != j[:-1])
        starts = first.nonzero().reshape(-1)
        return i[starts], j[starts], torch.cat([starts, torch.tensor([self.nnz])])


@dataclass(frozen=True)
class Triplets:
    """Coordinates of a matrix in any order, without repeats.

    Attributes:
        i: The row of each entry, int32.
        j: Its column.
        values: Its value.
        shape: Rows and columns.
    """

    i: Tensor
    j: Tensor
    values: Tensor
    shape: tuple[int, int]

    @property
    def arrays(self) -> tuple[Tensor, ...]:
        """Its arrays."""
        return self.i, self.j, self.values

    def with_arrays(self, change: Callable[[Tensor], Tensor]) -> Triplets:
        """The same with each array changed."""
        return replace(self, i=change(self.i), j=change(self.j), values=change(self.values))

    def fresh(self) -> Triplets:
        """The same entries in another order."""
        order = torch.randperm(len(self.values))
        return self.with_arrays(lambda array: array[order])


_SPARSE = (Matrix, SparseTensor, Triplets)


@dataclass
class Problem:
    """The operands of one kernel, by the names that the kernel's description gives them.

    `p.A` is the operand called A: a `Matrix`, a `SparseTensor`, `Triplets`, a dense tensor, or a number.
    """

    kernel: str
    operands: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["operands"][name]
        except KeyError:
            raise AttributeError(f"no operand {name}") from None

    def map(self, change: Callable[[Tensor], Tensor]) -> Problem:
        """The same with every array changed."""

        def changed(operand: Any) -> Any:
            if isinstance(operand, _SPARSE):
                return operand.with_arrays(change)
            return change(operand) if isinstance(operand, Tensor) else operand

        return Problem(self.kernel, {name: changed(operand) for name, operand in self.operands.items()})

    def fresh(self) -> Problem:
        """The same with sparse operands that nobody has seen before."""
        operands = self.operands.items()
        return Problem(self.kernel, {name: o.fresh() if isinstance(o, _SPARSE) else o for name, o in operands})

    def nbytes(self) -> int:
        """Bytes of all operands."""
        total = 0
        for operand in self.operands.values():
            arrays = operand.arrays if isinstance(operand, _SPARSE) else (operand,)
            total += sum(a.numel() * a.element_size() for a in arrays if isinstance(a, Tensor))
        return total


def aligned(tensor: Tensor, offset: int = 0) -> Tensor:
    """A copy, with the same strides, whose memory begins `offset` bytes after a multiple of 64."""
    size = tensor.element_size()
    room = torch.empty(tensor.numel() * size + 2 * _LINE, dtype=torch.uint8)
    start = (-room.data_ptr()) % _LINE + offset
    flat = room[start : start + tensor.numel() * size].view(tensor.dtype)
    placed = flat.as_strided(tensor.shape, tensor.stride()) if _fills(tensor) else flat.view(tensor.shape)
    return placed.copy_(tensor)


def _fills(tensor: Tensor) -> bool:
    """Whether its elements lie densely in memory, in some order of the axes."""
    order = sorted(range(tensor.dim()), key=tensor.stride, reverse=True)
    return tensor.permute(order).is_contiguous()


def cast(problem: Problem, dtype: torch.dtype | None, offset: int) -> Problem:
    """The problem with values of a type, None for their own, and arrays `offset` bytes after a multiple of 64."""
    return problem.map(lambda t: aligned(t.to(dtype) if dtype and t.is_floating_point() else t, offset))
