"""Calls: a kernel prepared for concrete patterns and shapes, and the steps around running it."""

from __future__ import annotations

import math
import threading
from array import array
from collections.abc import Sequence

import torch
from torch import Tensor

from libsparse._compiler import kernel, threads
from libsparse._lang import dtypes
from libsparse._lang.errors import DivisionByZeroError, InternalError
from libsparse._storage import levels, memory
from libsparse._storage.format import Format
from libsparse._storage.pattern import Conversion, Pattern

from . import problem
from .problem import Operand, Problem

_CPU = torch.device("cpu")


class IndexOverflowError(Exception):
    """The result has more entries than its index dtype can number."""


class WrongExtentsError(InternalError):
    """A kernel was called with extents that it was not compiled for."""


class Call:
    """A kernel, a block of slots a thread, and how to fill it; made for one problem on given patterns and shapes."""

    __slots__ = (
        "_arrays",
        "_convert",
        "_dtype",
        "_fixed",
        "_known",
        "_local",
        "_orders",
        "_perms",
        "_result",
        "_shape",
        "_strides",
        "_threads",
        "_values",
        "kernel",
    )

    def __init__(self, made: kernel.Kernel, asked: Problem, operands: Sequence[Operand]) -> None:
        """Work out what goes where."""
        self.kernel = made
        extents = asked.extents(operands)
        self._shape = asked.result_shape(extents)
        self._strides = _strides(self.kernel.format, self._shape)
        self._dtype = dtypes.DTYPES[self.kernel.dtype]
        if self.kernel.format is not None and self.kernel.format.is_dense:
            what = f"{asked.text}: a dense result of shape {self._shape}"
            memory.check(math.prod(self._shape), self._dtype.itemsize, what, "ask for a sparse one with format=")
        self._known: tuple[Pattern, list[Tensor | None]] | None = None
        self._convert = {n: f for n, f in made.convert.items() if operands[n].pattern is not None}
        self._orders = [_read_order(self.kernel, number, operand) for number, operand in enumerate(operands)]
        self._fixed = array("q", bytes(8 * len(self.kernel.slots)))  # ctypes would make a class for each length
        self._local = threading.local()
        self._arrays: list[tuple[int, int, str, int]] = []
        self._values: list[tuple[int, int]] = []
        self._perms: list[tuple[int, int]] = []
        self._threads: list[int] = []
        self._result: list[tuple[int, kernel.Slot]] = []
        for place, slot in enumerate(self.kernel.slots):
            if slot.kind == "threads":
                self._threads.append(place)
            elif slot.kind == "extent":
                self._fixed[place] = extents[slot.index]
            elif slot.kind == "mode":
                self._fixed[place] = (self._shape if slot.operand < 0 else operands[slot.operand].shape)[slot.level]
            elif slot.operand < 0 or slot.kind == "count":
                self._result.append((place, slot))
            elif slot.kind == "vals":
                self._values.append((place, slot.operand))
            elif slot.kind == "perm":
                self._perms.append((place, slot.operand))
            else:
                self._arrays.append((place, slot.operand, slot.kind, slot.level))

    def __call__(self, operands: Sequence[Operand]) -> tuple[Tensor, Pattern | None]:
        """Run on operands that have the patterns, shapes, strides and dtypes the call was made for.

        Returns:
            A dense tensor and None, or the values of a sparse result and its pattern.

        Raises:
            IndexOverflowError: The call has to be made with wide indices.
        """
        patterns = [o.pattern for o in operands]
        conversions: dict[int, Conversion] = {}  # asked for once: what the kernel reads is alive until it is done
        for number, wanted in self._convert.items():
            source = patterns[number]
            if source is not None:
                conversions[number] = source.converted(wanted)
                patterns[number] = conversions[number].pattern
        block = self._block()
        for place, number, kind, level in self._arrays:
            pattern = patterns[number]
            assert pattern is not None
            stored = (pattern.pos if kind == "pos" else pattern.crd)[level]
            assert stored is not None
            block[place] = stored.data_ptr()
        for place, number in self._perms:
            block[place] = conversions[number].source_pointer()
        held = [
            self._input(number, operands[number], conversions.get(number)) for _, number in self._values
        ]  # as above
        for (place, _), data in zip(self._values, held, strict=True):
            block[place] = data.data_ptr()
        for place in self._threads:
            block[place] = threads.count()
        of = self.kernel.pattern_of
        if of >= 0:
            shared = patterns[of]
            assert shared is not None
            return self._compute(block, torch.empty(shared.size, dtype=self._dtype, device=_CPU)), shared
        if self.kernel.format is None or self.kernel.format.is_dense:
            out = torch.empty_strided(self._shape, self._strides, dtype=self._dtype, device=_CPU)
            return self._compute(block, out), None
        return self._sparse(block, patterns[0])

    def simple(self) -> tuple[tuple[int, int, int, int], tuple[int, ...]] | None:
        """The places of the sparse values, the dense operand, the result and the thread count, if that is all there is.

        Only of a call with one sparse operand that is read as it is, one dense one, and a contiguous dense result; the
        order in which the dense operand is read comes second.
        """
        places = dict((number, place) for place, number in self._values)
        format = self.kernel.format
        plain = format is not None and format.is_dense and format.order == tuple(range(len(format.order)))
        one_block = len(self._threads) == 1 and len(self._result) == 1 and set(places) == {0, 1}
        carried = {number for _, number in self._perms}  # converted, with the values read where they are
        order = self._orders[1]
        if not plain or not one_block or order is None or set(self._convert) - {1} != carried:
            return None
        return (places[0], places[1], self._result[0][0], self._threads[0]), order

    def block_for(self, pattern: Pattern) -> tuple[array[int], list[tuple[int, Tensor]]]:
        """A block of this call filled as far as it doesn't change, and the arrays of `pattern` that go into it."""
        arrays: list[tuple[int, Tensor]] = []
        if self._perms:
            conversion = pattern.converted(self._convert[0])
            assert conversion.source is not None
            pattern = conversion.pattern
            arrays.append((self._perms[0][0], conversion.source))
        for place, _, kind, level in self._arrays:
            stored = (pattern.pos if kind == "pos" else pattern.crd)[level]
            assert stored is not None
            arrays.append((place, stored))
        return self._copy(), arrays

    # Filling the block -----------------------------------------------------------------------------------------

    def _copy(self) -> array[int]:
        return self._fixed[:]

    def _block(self) -> array[int]:
        block: array[int] | None = getattr(self._local, "block", None)
        if block is None:
            block = self._local.block = self._copy()
        return block

    def _input(self, number: int, operand: Operand, conversion: Conversion | None) -> Tensor:
        pattern, data = operand
        assert data is not None
        if pattern is not None:
            data = problem.stored(pattern, data)
            if conversion is None or any(number == permuted for _, permuted in self._perms):
                return data  # the kernel reads values where they are
            return conversion.values(data.detach())
        order = self._orders[number]
        assert order is not None
        return data if data.is_contiguous() and order == tuple(range(len(order))) else data.permute(order).contiguous()

    def _compute(self, block: array[int], out: Tensor) -> Tensor:
        for place, slot in self._result:
            if slot.kind == "vals":
                block[place] = out.data_ptr()
        check(self.kernel.compute(block.buffer_info()[0]))
        return out

    # Sparse results --------------------------------------------------------------------------------------------

    def _sparse(self, block: array[int], source: Pattern | None) -> tuple[Tensor, Pattern | None]:
        known = self._known
        if known is not None:
            # The pattern is known: only values are new. Coordinates are written again, to a scratch copy, since
            # others may be reading those of the pattern; only what the first half has written stays as it is.
            symbolic, raw = known
            scratch = [
                a if slot.before == "assemble" else torch.empty_like(a) if a is not None else None
                for a, (_, slot) in zip(raw, self._result, strict=True)
            ]
            for room, (place, _) in zip(scratch, self._result, strict=True):
                if room is not None:
                    block[place] = room.data_ptr()
            values = torch.empty(symbolic.size, dtype=self._dtype, device=_CPU)
            return self._compute(block, values), symbolic
        return self._discover(block, source)

    @torch.inference_mode(False)  # the pattern is kept, and autograd may need its arrays later
    def _discover(self, block: array[int], source: Pattern | None) -> tuple[Tensor, Pattern]:
        format = self.kernel.format
        assert format is not None
        builder = _Builder(format, self._shape, dtypes.DTYPES[self.kernel.index])
        first = min((slot.level for _, slot in self._result if slot.kind in ("pos", "crd")), default=0)
        if source is not None and format.levels[first][0] in levels.FIXED:  # laid out below the levels of the operand
            builder.share(source, first)
        if self.kernel.assemble is not None:
            for place, slot in self._result:
                if slot.before == "assemble":
                    block[place] = builder.array(slot).data_ptr()
            check(self.kernel.assemble(block.buffer_info()[0]))
            builder.counts.update({slot.level: block[p] for p, slot in self._result if slot.kind == "count"})
        for place, slot in self._result:
            if slot.kind in ("pos", "crd"):
                block[place] = builder.array(slot).data_ptr()
        values = builder.room(builder.count(len(format.levels) - 1), self._dtype, "the values")
        self._compute(block, values)
        made = Pattern(format, self._shape, *builder.levels())
        raw = [builder.made.get((slot.kind, slot.level)) for _, slot in self._result]
        self._known = made, raw  # at once: other threads run the same call
        return values, made


class _Builder:
    """The arrays of a sparse result, made as their lengths become known."""

    def __init__(self, format: Format, shape: Sequence[int], dtype: torch.dtype) -> None:
        self.format = format
        self.extents = [shape[mode] for mode in format.order]
        self.dtype = dtype
        self.counts: dict[int, int] = {}
        self.made: dict[tuple[str, int], Tensor] = {}
        self.given: set[int] = set()

    def share(self, source: Pattern, first: int) -> None:
        """Takes the levels above `first` from another pattern, whose positions are the same."""
        for level in range(first):
            pos, crd = source.pos[level], source.crd[level]
            self.counts[level] = levels.size(
                self.format.levels[level], pos, crd, self.extents[level], self.count(level - 1)
            )
            self.given.add(level)
            if pos is not None:
                self.made["pos", level] = pos.to(self.dtype)
            if crd is not None:
                self.made["crd", level] = crd if crd.dtype == torch.uint8 else crd.to(self.dtype)

    def count(self, level: int) -> int:
        """How many positions a level has."""
        if level < 0:
            return 1
        if level in self.given:
            return self.counts[level]
        if self.format.levels[level][0] in levels.LOCATED:
            return self.count(level - 1) * self.extents[level]
        if self.format.levels[level][0] in levels.FIXED:
            return levels.places(self.format.levels[level], self.counts[level], self.count(level - 1))
        if self.format.levels[level] in "cq" and level not in self.counts:
            return self.count(level - 1)
        return self.counts[level]

    def array(self, slot: kernel.Slot) -> Tensor:
        """The array for a slot."""
        name = slot.kind, slot.level
        if slot.kind == "starts" and name not in self.made:
            self.made[name] = torch.empty(slot.length, dtype=torch.int64, device=_CPU)
        if name not in self.made:
            length = self._length(slot)
            dtype = torch.uint8 if self.format.levels[slot.level] == "b" else self.dtype
            self.made[name] = self.room(length, dtype, f"{slot.kind} of level {slot.level}")
        return self.made[name]

    def _length(self, slot: kernel.Slot) -> int:
        level = self.format.levels[slot.level]
        if slot.kind == "pos":
            rows = self.extents[slot.level - 1] if slot.level else 1
            return levels.positions(level, self.count(slot.level - 1), rows, self.extents[slot.level])
        laid = level[0] in levels.FIXED and level[0] not in levels.LOCATED
        return self.counts[slot.level] if laid else self.count(slot.level)

    def room(self, length: int, dtype: torch.dtype, what: str) -> Tensor:
        """A new array."""
        advice = f"ask for format {str(self.format.compressed)!r} or 'coo'"
        memory.check(length, dtype.itemsize, f"{what} of a result of format {self.format}", advice)
        return torch.empty(length, dtype=dtype, device=_CPU)

    def levels(self) -> tuple[list[Tensor | None], list[Tensor | None]]:
        """Positions and coordinates of every level."""
        count = range(len(self.format.levels))
        return [self.made.get(("pos", n)) for n in count], [self.made.get(("crd", n)) for n in count]


def check(status: int) -> None:
    """Turns the status of a kernel into an exception."""
    if status == 0:
        return
    if status == 2:
        raise IndexOverflowError
    if status == 1:
        raise MemoryError("a kernel could not allocate its workspace")
    if status == 3:
        raise WrongExtentsError("a kernel was called with extents that it was not compiled for")
    if status == 4:
        raise DivisionByZeroError
    raise InternalError(f"a kernel returned status {status}")


def _strides(format: Format | None, shape: Sequence[int]) -> list[int]:
    """The strides of a dense result."""
    strides = [0] * len(shape)
    step = 1
    for mode in reversed(format.order if format is not None and format.is_dense else ()):
        strides[mode] = step
        step *= max(1, shape[mode])
    return strides


def _read_order(made: kernel.Kernel, number: int, operand: Operand) -> tuple[int, ...] | None:
    """The order a dense operand is read in; None for a sparse one."""
    if operand.pattern is not None:
        return None
    assert operand.data is not None
    wanted = made.convert.get(number)
    return problem.dense_order(operand.data) if wanted is None else wanted.order
