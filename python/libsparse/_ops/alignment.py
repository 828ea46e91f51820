"""Alignment: sparse operands of an elementwise function brought to one shape and one pattern."""

from __future__ import annotations

import functools
import string
from collections.abc import Sequence

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang.errors import ShapeError, ToolchainError
from libsparse._runtime import likes, notes
from libsparse._runtime.problem import Einsum, Operand, Problem, product
from libsparse._storage.conversion import alike, taken
from libsparse._storage.format import Format, default_format
from libsparse._storage.pattern import Pattern

from . import agreement, contraction
from .operands import check_devices

MANY = 1 << 15  # entries from which on a kernel that reads numbers by rows pays, which torch's gathers don't know of


def broadcast_shape(operands: Sequence[Operand], name: str) -> torch.Size:
    """The shape that operands of an elementwise function broadcast to, as in torch.

    Raises:
        ShapeError: They don't.
        UnsupportedError: They are on several devices.
    """
    check_devices(operands)
    shape = agreement.broadcast(*(operand.shape for operand in operands))
    if shape is None:
        told = " and ".join(f"operand {n} ({operand})" for n, operand in enumerate(operands))
        raise ShapeError(f"{name}: {told} do not broadcast; extents must agree or be 1")
    return torch.Size(shape)


def expand(source: Operand, shape: Sequence[int]) -> Operand:
    """A sparse operand repeated along dimensions of extent 1 and along new ones before the first.

    The entries are repeated, by the compiled product with a vector of ones for each such dimension.

    Args:
        source: The operand.
        shape: The shape of the result, which `source` broadcasts to.
    """
    shape = torch.Size(shape)
    if source.shape == shape:
        return source
    letters = string.ascii_letters[: len(shape)]
    added = len(shape) - source.ndim
    own = list(letters[added:])
    repeated = list(range(added))
    for mode, extent in enumerate(source.shape):
        if extent != shape[added + mode]:
            own[mode] = f"u{mode}"  # an index of its own, with one value
            repeated.append(added + mode)
    kept = source.sparsity.format
    wanted = default_format(len(shape)) if added or kept.pads or kept.writable != kept else kept
    values = source.values
    ones = [Operand(None, torch.ones(shape[mode], dtype=values.dtype, device="cpu")) for mode in repeated]
    inputs = (tuple(own), *((letters[mode],) for mode in repeated))
    question = Einsum(inputs, tuple(letters), wanted)
    data, pattern = contraction.contract(question, [Operand(source.pattern, values), *ones])
    return Operand(pattern, None if source.data is None else data, source.fill)


def union(patterns: Sequence[Pattern]) -> Pattern:
    """The pattern of the elements that any of some patterns of one shape stores, in the format of the first one.

    The first pattern keeps the union with each other one.
    """
    united = patterns[0]
    for pattern in patterns[1:]:
        if pattern is not united:
            united = united.united(pattern, _unite)
    return united


def _unite(a: Pattern, b: Pattern) -> Pattern:
    """The union of two patterns, compiled: the sum of truth values; the first one where both have the same entries."""
    if alike(a, b):
        return a
    letters = tuple(string.ascii_lowercase[: len(a.shape)])
    indices = ",".join(letters)
    text = f"C({indices}) = A({indices}) + B({indices})"
    wanted = a.format.writable
    problem = Problem(text, True, ("A", "B"), (letters, letters), letters, wanted, dtype=torch.bool)
    _, found = tape.compute(problem, [Operand(a, None), Operand(b, None)])
    assert found is not None
    return found if a.format == wanted else found.converted(a.format).pattern


def entries(source: Operand, pattern: Pattern) -> Tensor:
    """The values of a sparse operand at the entries of a pattern that holds its own, its fill value elsewhere."""
    own = source.sparsity
    if alike(own, pattern):
        return pattern.entries(source.values)
    if _merges(source, pattern):
        data, found_pattern = tape.compute(_of_both(pattern.format), [Operand(pattern, None), source])
        assert found_pattern is not None
        return pattern.resample(data, found_pattern)
    numbers, _, whole = pattern._found_in(own)
    values = own.entries(source.values)
    return taken(values if whole else torch.cat([values, values.new_full((1,), source.fill)]), numbers)


def _merges(source: Operand, pattern: Pattern) -> bool:
    """Whether a kernel that merges two patterns is to find the values of one at the entries of the other."""
    return _is_plain(source, pattern) and pattern.size >= MANY


def _is_plain(source: Operand, pattern: Pattern) -> bool:
    """Whether a kernel that merges two patterns finds the values of one at the entries of the other."""
    own = source.sparsity
    if own.traced or pattern.traced or own.format.padded or pattern.format.padded:  # traced ones may have any size
        return False
    plain = source.data is not None and source.fill == 0 and not source.dtype.is_complex
    return plain and not tape.is_transformed([source])


def gathered(values: Tensor, source: Pattern, pattern: Pattern) -> Tensor:
    """The values of a tensor at the entries of another pattern, 0 where it has none; differentiable.

    The first time a kernel merges two patterns: to find out where entries are takes five times as long, and is kept
    from the second time on.
    """
    operand, question = Operand(source, values), _of_both(pattern.format)
    few, alone = pattern.size + source.size < MANY, source.format == pattern.format and _is_plain(operand, pattern)
    if source is pattern or not alone or pattern._has_met(source) or (few and not likes.pays((question, values.dtype))):
        return pattern.resample(values, source)
    try:
        data, found = tape.compute(question, [Operand(pattern, None), operand])
    except ToolchainError:  # there is no compiler
        return pattern.resample(values, source)
    assert found is not None
    return pattern.resample(data, found)


@functools.lru_cache(maxsize=256)
def _of_both(format: Format) -> Problem:
    """A tensor at the entries of a pattern."""
    letters = tuple(string.ascii_letters[: len(format.order)])
    return product(Einsum((letters, letters), letters, format, pattern_of=0), implied=True)


def sampled(dense: Tensor, pattern: Pattern) -> Tensor:
    """The elements of a dense tensor, repeated to the shape of a pattern, at its entries; differentiable."""
    first = pattern.ndim - dense.ndim
    runs = [extent != 1 or pattern.shape[first + mode] == 1 for mode, extent in enumerate(dense.shape)]
    kept = tuple(first + mode for mode, run in enumerate(runs) if run)
    if not all(runs):
        places = tuple(slice(None) if run else 0 for run in runs)
        dense = notes.apply(lambda dense: dense[places], dense)
    return at_entries(dense, kept, pattern)


def at_entries(numbers: Tensor, kept: tuple[int, ...], pattern: Pattern) -> Tensor:
    """The elements of a dense tensor that has the dimensions `kept` of a pattern, at its entries; differentiable."""
    if not kept:
        return notes.apply(lambda numbers: numbers.expand(pattern.nnz), numbers)
    # A kernel might copy all elements of a tensor in another order.
    plain = numbers.dtype in (torch.float32, torch.float64) and not pattern.format.padded and numbers.is_contiguous()
    if plain and not pattern.traced and pattern.size >= MANY and not tape.is_transformed([Operand(None, numbers)]):
        operands = [Operand(pattern, None), Operand(None, numbers)]
        values, found = contraction.contract(_repeated(kept, pattern.format), operands)
        assert found is not None
        return pattern.resample(values, found)
    coords = pattern.coordinates()
    places = tuple(coords[mode] for mode in kept)
    if len(places) == 1:
        return notes.apply(lambda numbers: numbers.index_select(0, places[0]), numbers)
    return notes.apply(lambda numbers: numbers[places], numbers)


@functools.lru_cache(maxsize=256)
def _repeated(kept: tuple[int, ...], format: Format) -> Einsum:
    """Numbers of the kept dimensions, times a pattern of all."""
    letters = tuple(string.ascii_letters[: len(format.order)])
    return Einsum((letters, tuple(letters[mode] for mode in kept)), letters, format, pattern_of=0)
