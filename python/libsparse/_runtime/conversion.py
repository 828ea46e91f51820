"""Conversions: a pattern brought to another format by a compiled copy of its entries' numbers."""

from __future__ import annotations

import functools
import math
import string

import torch

from libsparse._lang.dtypes import INT32_MAX
from libsparse._lang.errors import ToolchainError
from libsparse._lang.waiting import Waiting
from libsparse._storage import ordinary
from libsparse._storage.conversion import Conversion
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import dispatch, likes, notes
from .problem import Operand, Problem
from .steps import Result

_LONG = 1 << 20  # entries whose conversion may take a second
_FEW = 1 << 20  # entries whose numbers are kept, in 12 MiB at most
_LEAST = 16  # bits of those that are kept
_NUMBERS = {4: torch.int32, 8: torch.int64}
"""The integers that are copied in place of values of a size."""


def convert(pattern: Pattern, format: Format) -> Conversion:
    """The entries of `pattern` in another format, and where each of them came from.

    The kernel that is compiled copies a tensor whose values number its entries, so that its result is the permutation;
    padding, which a format with dense levels below sparse ones has, is left at 0, and entries are counted from 1 then.

    Raises:
        FormatError: A mode is too large for a level of the format.
    """
    format.check_extents(pattern.shape)
    if pattern.size < _LONG:
        return _converted(pattern, format)
    with Waiting(f"converting {pattern.nnz:,} entries from {pattern.format} to {format}"):
        return _converted(pattern, format)


def carry(pattern: Pattern, values: torch.Tensor, format: Format, fill: float) -> tuple[torch.Tensor, Pattern] | None:
    """Values brought to another format with the pattern, by the kernels that copy entries' numbers.

    Args:
        pattern: The pattern.
        values: (nnz,), of 4 or 8 bytes; of others, None is returned.
        format: The format.
        fill: The value of padding.

    Returns:
        None where entries stay in their order, where padding is not zeros, and without a compiler.
    """
    old, number = pattern.format, _NUMBERS.get(values.itemsize)
    pads = format.pads or format.padded
    other = old.pads or old.padded or old.is_dense or format.is_dense or _block_levels(pattern, format)
    if other or (fill if pads else old.order == format.order):
        return None
    if number is None or values.numel() != pattern.size or notes.notes.runs is not None:
        return None
    format.check_extents(pattern.shape)
    try:
        found, converted = _moved(pattern, values.view(number), format)
    except ToolchainError:  # values of this size have no kernel, and numbers may have one
        return None
    return found.view(values.dtype), converted


def _converted(pattern: Pattern, format: Format) -> Conversion:
    blocks = _block_levels(pattern, format)
    if blocks:
        return _in_blocks(pattern, format, blocks)
    first = 1 if format.pads or format.is_dense or format.padded else 0
    numbers, converted = _moved(pattern, _numbers(pattern.size, first), format)
    return _between(pattern, converted, numbers, first)


def _block_levels(pattern: Pattern, format: Format) -> int:
    """How many dense levels at the end both formats have, for the same modes: what is above moves with blocks of them.

    0 also where the levels above have padding or are all dense: a conversion of them would store more than entries.
    """
    old, count = pattern.format, 0
    if old.padded or format.padded or pattern.size > INT32_MAX:
        return 0
    same = zip(reversed(old.levels), reversed(format.levels), reversed(old.order), reversed(format.order), strict=True)
    for kind, wanted, mode, wanted_mode in same:
        if not kind == wanted == "d" or mode != wanted_mode:
            break
        count += 1
    return 0 if old.is_dense or format.is_dense or _above(format, count).pads else count


def _above(format: Format, count: int) -> Format:
    """The format without the last levels, of a tensor that hasn't their modes."""
    kept = format.order[: len(format.order) - count]
    order = [sorted(kept).index(mode) for mode in kept]
    return Format(f"{''.join(format.levels[: len(kept)])}:{','.join(map(str, order))}")


def _in_blocks(pattern: Pattern, format: Format, count: int) -> Conversion:
    """The conversion of entries that are blocks of the last levels: they follow a tensor with one number for each."""
    old, nothing = pattern.format, [None] * count
    modes = sorted(old.order[:-count])
    arrays = pattern.pos[:-count], pattern.crd[:-count]
    above = Pattern(_above(old, count), [pattern.shape[mode] for mode in modes], *arrays)
    moved = _converted(above, _above(format, count))
    assert moved.target is None, "formats without padding have none"
    new = Pattern(format, pattern.shape, [*moved.pattern.pos, *nothing], [*moved.pattern.crd, *nothing])
    if moved.source is None:
        return Conversion(new, None, None)
    size = math.prod(pattern.shape[mode] for mode in old.order[-count:])
    places = torch.arange(size, dtype=new.index_dtype, device="cpu")
    return Conversion(new, (moved.source.to(new.index_dtype)[:, None] * size + places).reshape(-1), None)


def _moved(pattern: Pattern, values: torch.Tensor, format: Format) -> tuple[torch.Tensor, Pattern]:
    """A tensor in another format; conversion-only levels are converted one after the other, from the outermost on."""
    if format.writable == format:
        return copied(pattern, values, format)
    listed = pattern.converted(format.writable)
    values, converted, reached = listed.values(values), listed.pattern, list(format.writable.levels)
    for level, kind in enumerate(format.levels):
        if kind != reached[level]:
            reached[level] = kind
            step = Format(f"{''.join(reached)}:{','.join(map(str, format.order))}")
            values, converted = copied(converted, values, step)
    return values, converted


def copied(pattern: Pattern, values: torch.Tensor, format: Format) -> tuple[torch.Tensor, Pattern]:
    """A tensor in another format, by the kernel that copies it."""
    numbers, copy = _computed(_copying(format), [Operand(pattern, values)])
    if copy is None:  # every level is dense
        nothing = [None] * pattern.ndim
        numbers, copy = numbers.permute(format.order).reshape(-1), Pattern(format, pattern.shape, nothing, nothing)
    return numbers, copy


def _computed(problem: Problem, operands: list[Operand]) -> Result:
    """Computes a problem once: nothing is prepared for more."""
    try:
        if (found := likes.bound(problem, operands)) is not None:
            about, made = found
            return about.result(made, operands)  # type: ignore[no-any-return]
    except RuntimeError:
        pass  # said below in the words of its cause
    like = likes.once(problem, operands)
    return dispatch.compute(problem, operands, None if like is None else like.anew())


@functools.lru_cache(maxsize=256)
def _copying(format: Format) -> Problem:
    """The problem whose result is its operand in another format."""
    letters = tuple(string.ascii_lowercase[: len(format.order)])
    text = "".join(letters)
    return Problem(f"{text}->{text}", False, ("A0",), (letters,), letters, format)


def _numbers(count: int, first: int = 1) -> torch.Tensor:
    """The numbers of so many values, from the first on."""
    if count <= _FEW:
        return _counted(max((count + first).bit_length(), _LEAST))[first : first + count]
    dtype = torch.int32 if count < INT32_MAX else torch.int64
    return torch.arange(first, first + count, dtype=dtype, device="cpu")


@ordinary.kept(2)
def _counted(bits: int) -> torch.Tensor:
    """The numbers of so many bits, to which nobody writes."""
    return torch.arange(1 << bits, dtype=torch.int32, device="cpu")


def _between(old: Pattern, new: Pattern, numbers: torch.Tensor, first: int = 1) -> Conversion:
    """The conversion that takes each value of `new` from where `numbers` says, from `first` on; below is padding."""
    if new.format.pads or new.format.is_dense or new.format.padded:
        filled = numbers.nonzero().squeeze(1)
        target = None if filled.numel() == new.size else filled
        source = (numbers if target is None else numbers[filled]) - 1
    else:  # only entries are stored
        target, source = None, numbers - first if first else numbers
    # Kernels read an operand through the permutation wherever the order of its modes changes.
    unmoved = old.format.order == new.format.order and source.numel() == old.size
    in_order = all([level.ordered and not level.padded for level in (*old.format.kinds, *new.format.kinds)])
    same = unmoved and (in_order or bool((source[1:] > source[:-1]).all()))
    return Conversion(new, None if same else source.to(new.index_dtype), target)
