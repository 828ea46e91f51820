"""Bindings: kernels for new patterns, found and filled with operands in C (`binding.c`).

A pattern often comes once, as that of a mini-batch, or of a step of a simulation. To find out what its kernel follows
from takes Python longer than kernels of few entries run. So what was found for one call serves all whose operands are
of the same classes, and whose entries are spread in the same way, which doesn't matter where they are few.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from libsparse._compiler import size_classes, target
from libsparse._lang.dtypes import INT32_MAX
from libsparse._lang.records import NamedTuple
from libsparse._storage import threads
from libsparse._storage.conversion import rows_by_length
from libsparse._storage.pattern import Pattern

from . import blocks, discovery
from .direct import code, is_native, native
from .outlines import Outline, outline_of
from .problem import Operand, Problem
from .requests import reads_of

if TYPE_CHECKING:
    from .call import Call

_MOST = 8  # bindings of a problem, and attempts to make one
_NUMBER, _EXTENT, _POSITIONS, _COORDINATES, _ORDER, _VALUES, _RESULT, _THREADS = range(8)  # as in binding.c
_ARRAYS = {"pos": _POSITIONS, "crd": _COORDINATES, "order": _ORDER}
_DENSE, _FOUND = -1, -2
_MOST_OPERANDS, _MOST_INDICES = 8, 16


class Bindings:
    """The bindings of a problem and formats; the last one is asked first."""

    __slots__ = ("_all", "_attempts", "_finds")

    def __init__(self, finds: bool) -> None:
        """Begin with none.

        Args:
            finds: Whether the kernels find the pattern of the result.
        """
        self._finds, self._attempts = finds, 0
        self._all: list[Any] = []

    def take(self, operands: Sequence[Operand]) -> tuple[About, Any] | None:
        """What `bind` returns for operands."""
        if self._finds and torch.is_inference_mode_enabled():  # autograd may need the pattern's arrays later
            return None
        assert native is not None
        found: tuple[About, Any] | None = native.bind(self._all, list(operands), threads.count())
        return found

    def add(self, call: Call, problem: Problem, operands: Sequence[Operand]) -> None:
        """Adds the binding of a call, if it can have one; operands are those of the call."""
        self._attempts += 1
        self._finds = self._finds or call.finds
        outline = outline_of(problem, operands)
        if self._attempts <= _MOST and _may_bind(outline, call, problem, operands):
            binding = _bound(outline, call, problem, operands)
            if binding is not None:
                self._all.insert(0, binding)


class About(NamedTuple):
    """What is to be known of a binding besides its kernel.

    Attributes:
        numbers: The operands whose values it takes.
        pattern_of: The operand that has the result's pattern, None of a dense result.
        finder: What makes the pattern that the kernel finds; None where it finds none.
    """

    numbers: tuple[int, ...]
    pattern_of: int | None
    finder: discovery.Finder | None

    def result(self, made: Any, operands: Sequence[Operand]) -> tuple[Tensor, Pattern | None]:
        """The result, by what `bind` returns."""
        if self.finder is not None:
            shape, arrays = made
            values, pattern, _ = self.finder.written(torch.Size(shape), arrays)
            return values, pattern
        data = made(*[operands[n].data for n in self.numbers], threads.count())
        return data, None if self.pattern_of is None else operands[self.pattern_of].pattern


def _may_bind(outline: Outline, call: Call, problem: Problem, operands: Sequence[Operand]) -> bool:
    """Whether nothing but classes of the operands decides how a call's kernel is filled and run."""
    found, slots = call.kernel, call.kernel.slots
    special = problem.temporary or problem.windows or problem.shape or outline.across is not None
    changed = call.is_relaid or call.reads or call.plain is not None or slots.permutations
    if special or changed or native is None or not is_native(found.compute):
        return False
    modes = max([o.ndim for o in operands] + [len(problem.output)])
    if modes > native.MOST_MODES or len(slots) > native.MOST_SLOTS or len(operands) > _MOST_OPERANDS:
        return False
    if len(slots.threads) != 1 or target.outgrown(blocks.LARGE):
        return False
    if call.finds:
        return True
    of = found.pattern_of
    own = operands[of].sparsity.format == found.format and not operands[of].sparsity.block if of >= 0 else call.is_dense
    return own and len(slots.result) == 1


def _bound(outline: Outline, call: Call, problem: Problem, operands: Sequence[Operand]) -> Any:
    """The binding of a call; None where a slot is filled with something else than `binding.c` knows."""
    found, letters = call.kernel, {index: n for n, index in enumerate(dict.fromkeys(chain(*problem.inputs)))}
    finder = discovery.finder_of(found) if call.finds else None
    taken, fillings = tuple(_taken(letters, outline, call, problem, operands)), _fillings(letters, call, problem)
    unknown = fillings is None or None in taken or len(letters) > _MOST_INDICES or (call.finds and finder is None)
    if unknown or native is None:
        return None
    compute = found.compute if call.finds else found.revalue or found.compute
    address: Any = ctypes.cast(compute, ctypes.c_void_p).value  # type: ignore[arg-type]  # a function of ctypes
    order = tuple(range(len(problem.output))) if call.finds or found.format is None else found.format.order
    result = tuple([letters[i] for i in problem.output]), order, code(call.dtype), call.dtype.itemsize
    of = found.pattern_of if found.pattern_of >= 0 else None
    about = About(tuple(sorted({number for _, number in found.slots.values})), of, finder)
    pattern_of, run = (_FOUND, finder.run) if finder is not None else (_DENSE if of is None else of, None)
    return native.Binding(address, taken, fillings, result, pattern_of, run, call.tally.all, about)


def _fillings(letters: dict[str, int], call: Call, problem: Problem) -> tuple[tuple[int, int, int, int], ...] | None:
    """What each slot is filled with; None where that is something else than `binding.c` knows."""
    slots = call.kernel.slots
    found = [(_NUMBER, 0, 0, 0)] * len(slots)
    for place, index in slots.extents:
        found[place] = _EXTENT, letters[index], 0, 0
    for place, number, mode in slots.modes:
        indices = problem.output if number < 0 else problem.inputs[number]
        found[place] = _EXTENT, letters[indices[mode]], 0, 0
    for place, number, kind, level in slots.arrays:
        if kind not in _ARRAYS:
            return None
        found[place] = _ARRAYS[kind], number, level, 0
    for place, number in slots.values:
        found[place] = _VALUES, number, 0, 0
    for slot in () if call.finds else slots.result:
        found[slot.place] = _RESULT, 0, 0, 0
    found[slots.threads[0]] = _THREADS, 0, 0, 0
    return tuple(found)


def _taken(
    letters: dict[str, int], outline: Outline, call: Call, problem: Problem, operands: Sequence[Operand]
) -> Iterator[tuple[Any, ...] | None]:
    """Which operands the binding takes in each place; None where it can't take those of the call."""
    to_entries = outline.entries_of(reads_of(outline, operands).sums)
    for number, (indices, operand, classes) in enumerate(zip(problem.inputs, operands, outline.classes, strict=True)):
        pattern, data, _ = operand
        own = tuple([letters[index] for index in indices])
        spans = [_span(to_class, extent) for to_class, extent in zip(classes, operand.shape, strict=True)]
        extents = tuple([least for least, _ in spans]), tuple([most for _, most in spans])
        dtype = -1 if data is None else code(data.dtype)
        if pattern is None:
            order = call.orders[number]
            assert data is not None
            single = data.ndim < 2 or data.shape[-1] == 1
            yield None if order is None else (None, dtype, own, order, *extents, number, single, False, 0, 0)
        else:
            same = next(n for n, other in enumerate(operands) if other.pattern is pattern)
            format, mean = pattern.format, _mean(to_entries, pattern)
            yield None if format.padded else (format, dtype, own, format.order, *extents, same, False, *mean)


@functools.lru_cache(maxsize=1 << 12)
def _span(to_class: Callable[[int], int], extent: int) -> tuple[int, int]:
    """The least and the greatest extent of the class that one has."""
    return _edge(to_class, extent, 0), _edge(to_class, extent, INT32_MAX)


def _edge(to_class: Callable[[int], int], inside: int, beyond: int) -> int:
    """The last number on the way from one inside of its class that is in it, too; classes are intervals."""
    wanted = to_class(inside)
    if to_class(beyond) == wanted:
        return beyond
    while abs(beyond - inside) > 1:
        middle = (inside + beyond) // 2
        inside, beyond = (middle, beyond) if to_class(middle) == wanted else (inside, middle)
    return inside


def _mean(to_class: Callable[[int, int], int], pattern: Pattern) -> tuple[bool, int, int]:
    """Whether there are fewer entries than rows, and the span of the greater number for each of the other."""
    rows, entries = max(pattern.shape[pattern.format.order[0]], 1), max(pattern.size, 1)
    sparser = entries < rows

    def of_mean(mean: int) -> int:
        return size_classes.thinning(mean) if sparser else to_class(mean * rows, rows)

    mean = rows // entries if sparser else entries // rows
    return sparser, _edge(of_mean, mean, 1), _edge(of_mean, mean, INT32_MAX)


if native is not None:
    native.install_bindings(torch.int32, rows_by_length)
