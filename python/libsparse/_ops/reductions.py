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
from libsparse._runtime.problem import Einsum, Operand
from libsparse._runtime.repeats import by_kind

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
        return torch.tensor(self.source.fill, dtype=self.source.dtype, device="cpu")

    def reduce(self, entries: Tensor, how: str = "sum", dtype: torch.dtype | None = None) -> Tensor:
        """The reduction of numbers, one an entry, in each group; the identity in groups without entries."""
        pattern = self.source.sparsity
        if not self.kept and how == "sum" and entries.dtype != torch.bool:
            return notes.apply(functools.partial(torch.sum, dtype=dtype or entries.dtype), entries)
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
        listed = False not in [level.lists for level in pattern.format.kinds[1:]]
        if listed and not pattern.traced and self.kept == pattern.format.order[:1]:
            lengths = pattern.statistics.lengths
            if lengths is not None and len(lengths) == pattern.shape[self.kept[0]]:  # or else of listed rows alone
                return lengths.to(device, torch.int64)
        return self.reduce(torch.ones(pattern.nnz, dtype=torch.int64, device=device))

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
    return notes.apply(torch.div, total, float(groups.extent)).to(target)


def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Tensor:
    """The product over `dim`, an int, or None for all: a dense tensor; differentiable."""
    groups = Groups(input, dim)
    target = dtype or _summed(groups.source.dtype)
    entries, absent = groups.entries.to(target), groups.absent()
    fill = groups.fill.to(target)
    stored = found = groups.reduce(entries, "prod")
    if groups.source.fill == 0:  # the product of what is stored may overflow, and infinity times 0 is NaN
        found = groups.reduce(entries.detach() * 0, "prod")
    # Where all elements are stored, the gradient would be 0 times an infinite fill value; 0 and 1 are their own powers.
    filled = torch.where(absent > 0, fill if groups.source.fill in (0, 1) else fill ** groups.absent(target), 1)
    return groups.shaped(torch.where(absent > 0, found * filled, stored).to(target), keepdim)


def amax(input: Any, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The greatest elements over `dim` (an int, several, or () for all); equal ones share the gradient."""
    return extremum("max", input, dim, keepdim)


def amin(input: Any, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The least elements over `dim` (an int, several, or () for all); equal ones share the gradient."""
    return extremum("min", input, dim, keepdim)


def extremum(how: str, input: Any, dim: Any = (), keepdim: bool = False, *, nan_alone: bool = False) -> Tensor:
    """The greatest (`how` is max) or least (min) elements over `dim`; equal ones share the gradient.

    Args:
        how: max or min.
        input: A sparse tensor.
        dim: An int, several, or () for all.
        keepdim: Whether reduced dimensions stay.
        nan_alone: Where the extremum is NaN, whether the gradient goes to elements that are NaN, as torch has it for
            `max()` and norms, or is NaN for all of the group, as for `amax`.
    """
    groups = Groups(input, dim)
    source = groups.source
    if source.dtype.is_complex:
        raise DtypeError(f"a{how} of {source.dtype}, which has no order; use A.abs()")
    if groups.extent == 0:
        raise IndexBoundsError(f"a{how}: the tensor ({source}) has no elements in dimensions {sorted(groups.dims)}")
    operands = [Operand(source.pattern, source.data)]
    if not tape.needed(operands):
        found = _extremum(groups, how)
    elif tape.is_seen(operands) or tape.is_transformed(operands):
        found = _with_gradient(_extremum(groups, how), groups, nan_alone)
    else:
        found, _ = tape.follow(_Extremum, (how, groups.dims, source.fill, nan_alone), operands)
    return groups.shaped(found, keepdim)


def _extremum(groups: Groups, how: str) -> Tensor:
    """The greatest or least element of each group."""
    larger = torch.maximum if how == "max" else torch.minimum
    beside = functools.partial(_beside, groups.absent() > 0, larger, groups.fill)
    return notes.apply(beside, groups.reduce(groups.entries.detach(), how))


class _Extremum(tape.Node):
    """The greatest or least elements, whose gradients are shared by those that are equal to them."""

    __slots__ = ()
    problem: Any

    def _groups(self, datas: Sequence[Any]) -> Groups:
        return Groups(Operand(self.patterns[0], datas[0], self.problem[2]), tuple(self.problem[1]))

    def forward(self, datas: Sequence[Any]) -> tuple[Tensor, Tensor]:
        found = _extremum(self._groups(datas), self.problem[0])
        return found, found

    def kept(self, datas: Sequence[Any]) -> Tensor:
        return _extremum(self._groups(datas), self.problem[0])

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        groups, found = self._groups(datas), self.kept(datas) if kept is None else kept.detach()
        has_nan = bool((found != found).any())
        equal, ties = _shared(groups, found, has_nan and self.problem[3], has_nan)
        return [groups.source.sparsity.spread(torch.where(equal, groups.at_entries(grad / ties), 0))]


def _beside(lacks: Tensor, larger: Callable[[Tensor, Tensor], Tensor], fill: Tensor, found: Tensor) -> Tensor:
    """Extrema of what is stored, and of the fill value where a group lacks an element."""
    return torch.where(lacks, larger(found, fill), found)


def _shared(groups: Groups, found: Tensor, nan_alone: bool, has_nan: bool = True) -> tuple[Tensor, Tensor]:
    """Which entries share the gradient of an extremum, and how many elements do."""
    compare = same if has_nan else torch.eq
    equal = compare(groups.entries.detach(), groups.at_entries(found))
    ties = groups.reduce(equal.to(found.dtype)) + groups.absent() * compare(found, groups.fill)
    if has_nan and not nan_alone:  # what is divided by NaN has NaN for a gradient
        equal, ties = equal | groups.at_entries(found != found), torch.where(found != found, found, ties)
    return equal, ties


def _with_gradient(found: Tensor, groups: Groups, nan_alone: bool) -> Tensor:
    """Extrema that autograd follows to the entries that are equal to them."""
    equal, ties = _shared(groups, found, nan_alone)
    shares = groups.reduce(torch.where(equal, groups.entries, 0) / groups.at_entries(ties))
    # The difference adds the gradient and 0; shares of an infinite extremum, or of one that is NaN, add up to it.
    return torch.where(shares.detach().isfinite(), found + (shares - shares.detach()), shares)


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
