"""Calls: a kernel prepared for concrete patterns and shapes, and the steps around running it."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from libsparse._compiler import target
from libsparse._compiler.kernel import Kernel
from libsparse._lang import dtypes
from libsparse._storage import memory, threads
from libsparse._storage.conversion import Conversion, with_dense
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import blocks, discovery, layout, tally
from .arrays import Moved, carrying, input_array, is_relaid, level_array, pattern_arrays, read_order, strides
from .direct import Direct, Way, held, in_order, last_in_order, way_among
from .problem import Operand, Problem, stored, stored_values
from .status import check

if TYPE_CHECKING:
    from libsparse._storage.carried import Carried


class Call:
    """A kernel, a block of slots for each thread, and how to fill it, for one problem on given patterns and shapes.

    Attributes:
        kernel: The kernel.
        direct: The shortest way to run it, with one or two arrays of values; None until `make_direct` finds one.
        plain: What computes with values that are not kept as the kernel reads them; None where it reads all in place.
        orders: The orders in which dense operands are read.
        shape, dtype: Those of the result.
        finds, is_relaid: Whether it finds the pattern of its result, and copies a dense one into the caller's order.
        tally: How often it was called.
    """

    __slots__ = (
        "_carried",
        "_convert",
        "_fixed",
        "_known",
        "_padded",
        "_short",
        "_slots",
        "_strides",
        "_ways",
        "direct",
        "dtype",
        "finds",
        "is_relaid",
        "kernel",
        "orders",
        "plain",
        "shape",
        "tally",
    )

    def __init__(
        self, kernel: Kernel, problem: Problem, operands: Sequence[Operand], extents: dict[str, int] | None = None
    ) -> None:
        """Fill in the slots that don't change; `extents` are those of the problem's indices, where they are known."""
        self.kernel, self._slots = kernel, kernel.slots
        self.direct: Direct | None = None
        self.plain: Call | None = None
        self.tally = tally.Tally(tally.of_kernel(kernel.compute))
        self._short: tuple[Direct, list[int], list[tuple[int, ...] | None]] | bool | None = None
        self._ways: list[Way] = []  # one at most, for all patterns of the same formats and shapes
        self.is_relaid = is_relaid(kernel.format, problem)
        self.dtype = dtypes.DTYPES[kernel.dtype]
        self._known: tuple[Pattern, list[Tensor | None]] | None = None
        self.finds = not self.is_dense and kernel.pattern_of < 0
        self._convert = {n: f for n, f in kernel.convert.items() if operands[n].pattern is not None}
        self._carried: Mapping[int, Carried] = {}
        self._padded = False  # whether padding is multiplied, which gives NaN where it meets infinity
        self.orders = [read_order(kernel, number, operand) for number, operand in enumerate(operands)]
        self._fit(problem, operands, problem.extents(operands) if extents is None else extents)

    def _fit(self, problem: Problem, operands: Sequence[Operand], extents: dict[str, int]) -> None:
        """Sets the shape of the result, and fills in the slots that follow from shapes."""
        self.shape = torch.Size(problem.result_shape(extents))
        self._strides = strides(self.kernel.format, self.shape)
        if self.is_dense and self.kernel.format is not None:
            subject = f"{problem.text}: a dense result of shape {self.shape}"
            memory.check(math.prod(self.shape), self.dtype.itemsize, subject, "ask for a sparse one with format=")
        self._fixed = array("q", bytes(8 * len(self._slots)))  # ctypes would make a class for each length
        for place, index in self._slots.extents:
            self._fixed[place] = extents[index]
        for place, number, mode in self._slots.modes:
            self._fixed[place] = (self.shape if number < 0 else operands[number].shape)[mode]
        for place in self._slots.streamed:
            self._fixed[place] = not self.is_relaid and target.outgrown(math.prod(self.shape) * self.dtype.itemsize)

    def anew(self) -> Call:
        """The same for other patterns of the same formats and shapes, which have found nothing yet."""
        other = object.__new__(Call)
        other.kernel, other._slots, other._fixed, other.dtype = self.kernel, self._slots, self._fixed, self.dtype
        other.shape, other._strides, other.is_relaid = self.shape, self._strides, self.is_relaid
        other.finds, other._convert, other.orders, other._ways = self.finds, self._convert, self.orders, self._ways
        other._short = other._known = other.direct = other.plain = None
        other._carried, other._padded = {}, False  # other patterns have values of their own
        other.tally = tally.Tally(self.tally.all)
        return other

    def resized(self, problem: Problem, operands: Sequence[Operand], extents: dict[str, int]) -> Call:
        """The same for operands of other shapes, which are of the same classes."""
        other = self.anew()
        other._fit(problem, operands, extents)
        other._ways = [way.resized(other._fixed, (other.shape, other._strides, other.dtype)) for way in self._ways]
        return other

    def in_place_of(self, plain: Call, kept: Mapping[int, Carried]) -> Call:
        """This, with values in the order in which the kernel reads them, and what computes where they are not kept."""
        plain.tally, self.plain, self._carried = self.tally, plain, kept
        self._padded = any([self._convert[number].pads for number in kept])
        return self

    @property
    def reads(self) -> Mapping[int, Format]:
        """The formats of sparse operands that calls read in place of their own."""
        return self._convert

    def reading(self, number: int, format: Format) -> Call:
        """This, of a matrix that is brought to the format before the kernel reads it."""
        self._convert = {**self._convert, number: format}
        return self

    def carry(self, operands: Sequence[Operand]) -> None:
        """Brings values into the order in which the kernel reads them, which calls do once they have come again."""
        for number, kept in self._carried.items():
            kept.carry(stored_values(operands[number]))

    @property
    def is_dense(self) -> bool:
        """Whether the result is dense."""
        return self.kernel.format is None or self.kernel.format.is_dense

    def serves_others(self) -> bool:
        """Whether calls with other patterns may begin with this one; for a large dense result they look for memory."""
        return not self.is_dense or memory.is_small(math.prod(self.shape), self.dtype.itemsize)

    def __call__(self, operands: Sequence[Operand]) -> tuple[Tensor, Pattern | None]:
        """Run on operands that have the patterns, shapes, strides and dtypes of this call.

        Returns:
            A dense tensor and None, or the values of a sparse result and its pattern.

        Raises:
            IndexOverflowError: The result needs wide indices.
        """
        short = self._short
        if short is None and (not self.finds or (self._known is not None and self._coded())):
            alone = len({id(o.pattern) for o in operands if o.pattern is not None}) <= 1  # the one that keeps this call
            short = self._short = alone and (self.direct_on(operands) or False)
        if isinstance(short, tuple):
            try:
                return self.through(short, operands)
            except RuntimeError:
                pass  # said below in the words of its cause
        copies: dict[int, Tensor] = {}
        for number, kept in self._carried.items():
            copy = kept.get(stored_values(operands[number]))
            if copy is None:
                assert self.plain is not None
                return self.plain(operands)
            copies[number] = copy
        patterns = [o.pattern for o in operands]
        conversions: dict[int, Conversion] = {}  # held until the kernel is done, which reads their arrays
        for number, wanted in self._convert.items():
            source = patterns[number]
            if source is not None:
                conversions[number] = source.converted(wanted)
                patterns[number] = conversions[number].pattern
        block = self._fixed[:]  # other threads run the same call
        for place, number, kind, level in self._slots.arrays:
            block[place] = memory.address(level_array(patterns[number], kind, level))
        for place, number in self._slots.permutations:
            block[place] = conversions[number].source_pointer()
        seen: Moved = {}
        held = [
            copies[number]
            if number in copies
            else input_array(number, operands[number], self._slots, self.orders, conversions.get(number), seen)
            for _, number in self._slots.values
        ]
        for (place, _), data in zip(self._slots.values, held, strict=True):
            block[place] = memory.address(data)
        for place in self._slots.threads:
            block[place] = threads.count()
        of = self.kernel.pattern_of
        if of >= 0:
            shared = self._sharing(patterns[of])
            return self._compute(block, blocks.empty((shared.size,), (1,), self.dtype)), shared
        if self.is_dense:
            out = blocks.empty(self.shape, self._strides, self.dtype)
            result = self._compute(block, out)
            if self._padded and self.plain is not None and bool(result.isnan().any()):
                return self.plain(operands)  # padding may have met infinity
            return layout.contiguous(result) if self.is_relaid else result, None
        return self._sparse(block, patterns)

    def through(
        self, short: tuple[Direct, list[int], list[tuple[int, ...] | None]], operands: Sequence[Operand]
    ) -> tuple[Tensor, Pattern | None]:
        """Runs by the shortest way."""
        direct, numbers, orders = short
        values = []
        for number in numbers:
            (pattern, data, _), order = operands[number], orders[number]
            assert data is not None
            if pattern is not None:
                data = stored(pattern, data)
            values.append(data if order is None else layout.contiguous(data, order))
        out = direct(*values, threads.count())
        return out, self.result_pattern if (of := self.kernel.pattern_of) < 0 else self._sharing(operands[of].pattern)

    def _sharing(self, shared: Pattern | None) -> Pattern:
        """The pattern of the result, which has the sparse levels of an operand's."""
        assert self.kernel.format is not None
        format, count = self.kernel.format, self.kernel.format.sparse_levels
        block: tuple[int, ...] = ()
        if shared is not None and shared.block and format.order[count:] == tuple(range(count, len(format.order))):
            block = tuple(self.shape[count:])  # values stay arrays
        found: Pattern = with_dense(shared, format, self.shape, block)
        return found

    def make_direct(self, operands: Sequence[Operand]) -> None:
        """Prepares `direct`, where there is one."""
        self.direct = self.shortest(operands)

    def shortest(self, operands: Sequence[Operand]) -> Direct | None:
        """The shortest way, where operand 0 is the only sparse one and the kernel reads one or two arrays."""
        shares = self.kernel.pattern_of == 0 and self._sharing(operands[0].pattern) is operands[0].pattern
        known = self.is_dense or (shares and not self._convert)
        run, numbers, orders = (self.direct_on(operands) if known else None) or (None, (), ())
        if run is None or not (numbers == [1] or (len(numbers) == 2 and orders[numbers[0]] is None)):
            return None
        order = orders[numbers[-1]]
        return run if order is None else last_in_order(run, order)

    def direct_on(self, operands: Sequence[Operand]) -> tuple[Direct, list[int], list[tuple[int, ...] | None]] | None:
        """The shortest way to run on operands like these; None where the kernel finds a pattern, or copies values.

        Returns:
            The function, the numbers of the operands whose values it takes, and for each operand the order of
            dimensions in which it has to be contiguous, None for one that is as it has to be.
        """
        if (
            not self._coded()
            or len(self._slots.threads) != 1
            or (len(self._slots.result) != 1 and not self._known)
            or (conversions := carrying(self._convert, self._slots, operands, self._carried)) is None
        ):
            return None
        plain = None if self.plain is None or len(self._carried) > 1 else self.plain.direct_on(operands)
        if plain is None and self.plain is not None:
            return None
        outline, keep = (self.shape, self._strides, self.dtype), self._known is None
        way = way_among(self._ways, self.kernel, self._fixed, outline, self.orders, operands, keep=keep)
        known = self.result_pattern if (of := self.kernel.pattern_of) < 0 else self._sharing(operands[of].pattern)
        arrays = pattern_arrays(self._slots, operands, conversions)
        if not keep:
            arrays.extend((place, array) for place, array in self._result_arrays() if array is not None)
        run = way.on(arrays, None if known is None else known.size, self.tally)
        if self.is_relaid:
            run = in_order(run)
        if plain is not None:
            if plain[1:] != (way.numbers, way.orders):  # it reads dense operands in another order
                return None
            ((number, kept),) = self._carried.items()
            dtype, result = stored_values(operands[number]).dtype, self.dtype if self._padded else None
            run = held(run, plain[0], kept, way.numbers.index(number), dtype, result)
        return run, way.numbers, way.orders

    def _compute(self, block: array[int], out: Tensor, compute: Callable[[int], int] | None = None) -> Tensor:
        for slot in self._slots.result:
            if slot.kind == "vals":
                block[slot.place] = out.data_ptr()
        check(tally.run(self.tally, compute or self.kernel.compute, block.buffer_info()[0]))
        return out

    @property
    def result_pattern(self) -> Pattern | None:
        """The pattern of a sparse result that is no operand's, once a call has found it."""
        return None if self._known is None else self._known[0]

    def _result_arrays(self) -> list[tuple[int, Tensor | None]]:
        """The positions and coordinates of a result whose pattern is known, and their places in the block.

        Kernels that can't compute values alone write coordinates again: to a copy, since others may be reading those
        of the pattern; what was counted stays as it is.
        """
        raw = () if self._known is None else self._known[1]
        written = self.kernel.revalue is None
        return [
            (slot.place, torch.empty_like(a) if written and a is not None and slot.before != "assemble" else a)
            for a, slot in zip(raw, self._slots.result if raw else (), strict=True)
        ]

    def _sparse(self, block: array[int], patterns: Sequence[Pattern | None]) -> tuple[Tensor, Pattern | None]:
        if (known := self._known) is None:
            return self._discover(block, patterns)
        arrays = self._result_arrays()  # held until the kernel is done, which may write to copies
        for place, room in arrays:
            if room is not None:
                block[place] = room.data_ptr()
        values = blocks.empty((known[0].size,), (1,), self.dtype)
        if self._slots.coded is None or block[self._slots.coded]:  # and not what other threads do meanwhile
            return self._compute(block, values, self.kernel.revalue), known[0]
        return self._code(block, values, known), known[0]

    def _coded(self) -> bool:
        """Whether the entries have the codes that repeated calls read, if they read any."""
        return self._slots.coded is None or bool(self._fixed[self._slots.coded])

    def _code(self, block: array[int], values: Tensor, known: tuple[Pattern, list[Tensor | None]]) -> Tensor:
        """The first repeated call leaves codes to those after it."""
        place = [slot.kind for slot in self._slots.result].index("code")
        codes = torch.empty(values.numel(), dtype=torch.uint8, device="cpu")
        block[self._slots.result[place].place] = memory.address(codes)
        self._compute(block, values, self.kernel.revalue)
        self._known = known[0], [*known[1][:place], codes, *known[1][place + 1 :]]
        self._fix({self._slots.coded or 0: 1})
        return values

    def _discover(self, block: array[int], patterns: Sequence[Pattern | None]) -> tuple[Tensor, Pattern]:
        if torch.is_inference_mode_enabled():  # the pattern is kept, and autograd may need its arrays later
            with torch.inference_mode(False):
                return self._discover(block, patterns)
        values, pattern, raw = discovery.discover(self.kernel, block, patterns, self.shape, self._compute, self.tally)
        self.know(pattern, raw, {place: block[place] for place, kind, *_ in self._slots.result if kind == "count"})
        return values, pattern

    def _fix(self, contents: Mapping[int, int]) -> None:
        """Fills slots for all calls from now on; others read the ones that they began with."""
        fixed = self._fixed[:]
        for place, content in contents.items():
            fixed[place] = content
        self._fixed = fixed

    def know(self, pattern: Pattern, raw: list[Tensor | None], counts: Mapping[int, int]) -> None:
        """Takes the pattern that was found, its array for each slot of the result, and the contents of other slots."""
        self._fix(counts)  # repeated calls clear as many values as there are
        self._known = self._known or (pattern, raw)  # threads that find it at the same time find the same entries
