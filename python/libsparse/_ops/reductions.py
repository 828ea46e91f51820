"""Reductions over dimensions: dense results, in which elements that are not stored count as in a dense tensor.

Sums, products and extrema of the stored elements are compiled; those that are not stored come in by their number and
the fill value.
"""

from __future__ import annotations

import functools
import math
import operator
import string
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError, IndexBoundsError, MissingKernelError, ShapeError, UnsupportedError
from libsparse._runtime import notes
from libsparse._runtime.problem import Computed, Einsum, Operand
from libsparse._runtime.repeats import by_kind
from libsparse._runtime.steps import sum_in
from libsparse._storage import ordinary

from . import alignment, contraction
from .assemble import to_format
from .operands import to_operand

_EXTREMA = {"max": torch.amax, "min": torch.amin}
"""The functions that reduce all entries, in vectors."""


class Groups:
    """The elements of a sparse tensor in groups, one for each place in the dimensions that a reduction keeps.

    Attributes:
        source: The tensor.
        dims: The dimensions that are reduced.
        extent: The number of elements in each group, stored or not.
    """

    def __init__(self, source: Any, dim: Any) -> None:
        """Divide a tensor along `dim`, an int, several, or None for all."""
        self.source = to_operand(source)
        self.dims = dimensions(self.source, dim)
        self.kept = tuple(d for d in range(self.source.ndim) if d not in self.dims)
        self.extent = math.prod(self.source.shape[d] for d in self.dims)

    @property
    def entries(self) -> Tensor:
        """The values of the entries."""
        return self.source.sparsity.entries(self.source.values)

    @property
    def fill(self) -> Tensor:
        """The value of the elements that are not stored."""
        return number(self.source.fill, self.source.dtype)

    def reduce(self, entries: Tensor, how: str = "sum", dtype: torch.dtype | None = None) -> Tensor:
        """The reduction of numbers, one an entry, in each group; the identity in groups without entries."""
        pattern = self.source.sparsity
        if not self.kept and how == "sum" and entries.dtype != torch.bool:
            return notes.apply(sum_in(dtype or entries.dtype), entries)
        if not self.kept and how in _EXTREMA and not pattern.traced and entries.numel() and not entries.requires_grad:
            return notes.apply(_EXTREMA[how], entries)
        stored = Operand(pattern, pattern.spread(entries))
        # Blocks and diagonals that reach beyond the tensor have padding, which would count; other levels mark theirs.
        if pattern.format.pads and pattern.format.padded and how != "sum":
            stored = to_format(stored, pattern.format.compressed)
        return contraction.contract(_over(self.kept, pattern.ndim, how, dtype), [stored])[0]

    def total(self, dtype: torch.dtype) -> Tensor:
        """The sum of the entries of each group."""
        source = self.source
        if not source.ndim or (source.data is not None and source.sparsity._is_whole):
            return self.reduce(self.entries, dtype=dtype)
        # Of a pattern each counts as one; kernels leave padding out without a copy of the entries.
        return contraction.contract(_over(self.kept, source.ndim, "sum", dtype), [source])[0]

    def count(self) -> Tensor:
        """How many elements of each group are stored."""
        pattern, device = self.source.sparsity, self.source.values.device
        if not self.kept and not pattern.traced:
            return torch.tensor(pattern.nnz, dtype=torch.int64, device=device)
        lengths = self._lengths()
        if lengths is not None:
            return lengths.to(device, torch.int64)
        counts = contraction.contract(_over(self.kept, pattern.ndim, "sum", torch.int64), [Operand(pattern, None)])[0]
        return counts.to(device)

    def _lengths(self) -> Tensor | None:
        """How many elements of each group are stored, where positions say that, in the integers that these have."""
        pattern = self.source.sparsity
        listed = False not in [level.lists for level in pattern.format.kinds[1:]]
        if pattern.traced or not listed or self.kept != pattern.format.order[:1]:
            return None
        lengths = pattern.statistics.lengths
        # Rows that are listed are others.
        return lengths if lengths is not None and lengths.numel() == pattern.shape[self.kept[0]] else None

    def absent(self, dtype: torch.dtype | None = None) -> Tensor:
        """How many elements of each group are not stored; floats where there are more than int64 counts.

        Args:
            dtype: That of the result, where their number enters it.

        Raises:
            UnsupportedError: There are more than int64 counts, and the result has integers.
        """
        if self.extent >= 1 << 63 and dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise UnsupportedError(
                f"{self.extent} elements of a tensor ({self.source}) can't be counted in {dtype}; their sum and their "
                "product can have a floating dtype, see A.sum(dtype=torch.float64)"
            )
        return self.of_pattern("absent elements", self._absent)

    def lacks(self) -> Tensor:
        """Whether an element of each group is not stored."""
        if tape.is_traced([self.source]) or tape.is_transformed([self.source]) or tape.is_watched():
            return self.absent() > 0
        lacking = Computed(_lacking, (tuple(self.dims),))
        return notes.run(lacking, [Operand(self.source.pattern, None)])[0]

    def beside(self, each: Tensor | complex, dtype: torch.dtype | None = None) -> Tensor:
        """The sum of a number for each element that is not stored: 0 where all are, also of infinity and NaN."""
        absent = self.absent(dtype)
        if not isinstance(each, Tensor) or not each.is_complex():
            return torch.where(absent > 0, absent * each, 0)
        # Products of complex numbers multiply an infinite part by 0, the other's imaginary part.
        return torch.where(absent > 0, torch.complex(absent * each.real, absent * each.imag), 0)

    def of_pattern(self, name: str, compute: Callable[[], Tensor]) -> Tensor:
        """What depends on the pattern alone, which keeps it unless somebody follows what is done to the tensor."""
        operands = [self.source]
        if tape.is_traced(operands) or tape.is_transformed(operands) or tape.is_watched():
            return compute()
        return self.source.sparsity.derive((name, self.kept), compute)

    def _absent(self) -> Tensor:
        if self.extent < 1 << 63:
            return self.extent - self.count()
        return float(self.extent) - self.count().to(torch.promote_types(self.source.dtype.to_real(), torch.float32))

    def at_entries(self, reduced: Tensor) -> Tensor:
        """The numbers of the groups, at each entry."""
        return alignment.at_entries(reduced, self.kept, self.source.sparsity)

    def shaped(self, reduced: Tensor, keepdim: bool) -> Tensor:
        """The result with the reduced dimensions, of extent 1, where they are kept."""
        if not isinstance(keepdim, bool):
            raise DtypeError(f"keepdim is {keepdim!r}; expected a bool")
        if not keepdim:
            return reduced
        return reduced.reshape([1 if d in self.dims else n for d, n in enumerate(self.source.shape)])


def _lacking(operands: Sequence[Operand], dims: tuple[int, ...]) -> Tensor:
    """Whether an element of each group along dimensions of a pattern is not stored."""
    groups = Groups(operands[0], dims)
    lengths = groups._lengths()
    return groups.absent() > 0 if lengths is None else lengths < groups.extent


@by_kind
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Tensor:
    """The sum over `dim` (an int, several, or None for all): a dense tensor; differentiable."""
    groups = Groups(input, dim)
    target = dtype or _summed(groups.source.dtype)
    if groups.source.fill == 0:
        return groups.shaped(groups.total(target), keepdim)
    wide = dtypes.accumulator(target)  # half precision does not count the elements
    fill = groups.fill.to(target).to(wide)
    total = plus(groups.reduce(groups.entries, dtype=wide), groups.beside(fill, target).to(wide))
    return groups.shaped(total.to(target), keepdim)


def plus(a: Tensor, b: Tensor) -> Tensor:
    """The sum of two tensors; torch's of complex ones multiplies the second by 1, which makes infinite parts NaN."""
    return torch.complex(a.real + b.real, a.imag + b.imag) if b.is_complex() else a + b


@by_kind
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Tensor:
    """The mean over `dim`, entries that are not stored included: a dense tensor; differentiable.

    Raises:
        DtypeError: The values are not floating.
    """
    groups = Groups(input, dim)
    target = dtype or groups.source.dtype
    if not (target.is_floating_point or target.is_complex):
        raise MissingKernelError(
            f"mean of {groups.source.dtype} ({groups.source}); expected a floating dtype: use A.float() or dtype="
        )
    total = sum(input, dim, keepdim, dtype=dtypes.accumulator(target))
    if not groups.extent:
        return (total * float("nan")).to(target)
    if tape.is_seen([groups.source]):
        return (total / float(groups.extent)).to(target)
    count, _ = notes.run(Computed(_extent, (tuple(groups.dims), total.dtype)), [groups.source.with_data(None)])
    return notes.apply(torch.div, total, count).to(target)


def _extent(operands: Sequence[Operand], dims: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """How many elements a pattern has along dimensions, as a divisor."""
    shape = operands[0].shape
    return number(float(math.prod([shape[d] for d in dims])), dtype)


def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Tensor:
    """The product over `dim`, an int, or None for all: a dense tensor; differentiable."""
    groups = Groups(input, dim)
    target = dtype or _summed(groups.source.dtype)
    entries, absent = groups.entries.to(target), groups.absent()
    fill = groups.fill.to(target)
    stored = found = groups.reduce(entries, "prod")
    if groups.source.fill == 0:  # the product of what is stored may overflow, and infinity times 0 is NaN
        found = groups.reduce(entries.detach() * 0, "prod")  # with the sign of the product
    # Where all elements are stored, the gradient would be 0 times an infinite fill value; 0 and 1 are their own powers.
    filled = torch.where(absent > 0, fill if groups.source.fill in (0, 1) else fill ** groups.absent(target), 1)
    return groups.shaped(torch.where(absent > 0, found * filled, stored).to(target), keepdim)


def any(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether an element over `dim` (an int, several, or None for all) is not zero."""
    groups = Groups(input, dim)
    found = groups.reduce(groups.entries != 0, "any")
    return groups.shaped(_truth(found | (groups.absent() > 0) if groups.source.fill != 0 else found, groups), keepdim)


def all(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether no element over `dim` (an int, several, or None for all) is zero."""
    groups = Groups(input, dim)
    found = groups.reduce(groups.entries != 0, "all")
    return groups.shaped(_truth(found & (groups.absent() == 0) if groups.source.fill == 0 else found, groups), keepdim)


def count_nonzero(input: Any, dim: Any = None) -> Tensor:
    """How many elements over `dim` (an int, several, or None for all) are not zero, int64."""
    groups = Groups(input, dim)
    found = groups.reduce((groups.entries != 0).to(torch.int64))
    return found + groups.absent(found.dtype) if groups.source.fill != 0 else found


def number(value: complex, dtype: torch.dtype) -> Tensor:
    """A number as a tensor, to which nobody writes."""
    if torch._C._len_torch_dispatch_stack():  # torch traces with fakes alone
        return torch.tensor(value, dtype=dtype, device="cpu")
    return _number(value, dtype)


@ordinary.kept(256)
def _number(value: complex, dtype: torch.dtype) -> Tensor:
    return torch.tensor(value, dtype=dtype, device="cpu")


def same(a: Tensor, b: Tensor) -> Tensor:
    """Whether numbers are equal; NaN equals NaN."""
    return (a == b) | ((a != a) & (b != b))


def dimensions(a: Operand, dim: Any) -> frozenset[int]:
    """The dimensions that `dim` names.

    Raises:
        IndexBoundsError: One is out of range.
        ShapeError: One is named twice.
        DtypeError: It is no int.
    """
    if dim is None:
        return frozenset(range(a.ndim))
    if type(dim) is int and -a.ndim <= dim < a.ndim:
        return frozenset((dim % a.ndim,))
    try:
        given = [operator.index(dim)] if not isinstance(dim, (tuple, list)) else [operator.index(d) for d in dim]
    except TypeError:
        raise DtypeError(f"dim={dim!r} of a tensor ({a}); expected an int, or a tuple of ints") from None
    if not given:
        return frozenset(range(a.ndim))
    wrapped = [d + a.ndim if d < 0 else d for d in given]
    if not set(wrapped) <= set(range(max(a.ndim, 1))) or len(set(wrapped)) < len(wrapped):
        found = f"dim is {dim}; the tensor ({a})"
        if len(set(wrapped)) < len(wrapped):
            raise ShapeError(f"{found} has each dimension once")
        raise IndexBoundsError(f"{found} has {a.ndim} dimensions, so it is between {-a.ndim} and {a.ndim - 1}")
    return frozenset(wrapped)


@functools.lru_cache(maxsize=1024)
def _over(kept: tuple[int, ...], ndim: int, how: str, dtype: torch.dtype | None) -> Einsum:
    """The reduction over all dimensions but the kept ones."""
    letters = tuple(string.ascii_letters[:ndim])
    output = tuple(letters[d] for d in kept)
    return Einsum((letters,), output, contraction.dense_format(len(kept)), how, dtype=dtype)


def _summed(dtype: torch.dtype) -> torch.dtype:
    """The dtype of sums and products: integers are widened, as in torch."""
    return dtype if dtype.is_floating_point or dtype.is_complex else torch.int64


def _truth(found: Tensor, groups: Groups) -> Tensor:
    """Truth values in torch's type of them, which is uint8 for uint8."""
    return found.to(torch.uint8) if groups.source.dtype == torch.uint8 else found
