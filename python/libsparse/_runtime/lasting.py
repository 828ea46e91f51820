"""Values that last: calls that repeat with the same ones go on in the format that they are computed fastest in.

A product with a vector of short rows is faster with rows in lanes (SELL), one with many columns in blocks where these
are nearly full, and one with a transposed matrix where values stand in the order in which they are read. All of them
take a copy of the values, which pays where calls repeat and nobody writes to the values in between. The first calls
compute with the matrix as it is. Once they have taken about as long as a copy takes to make, it is made, runs of calls
take turns with and without it, and the faster way stays: to buy once the rents have come to the price costs at most
twice as much as knowing beforehand. Results have the same bits.

Where entries are added to elements all over the result, as by `A.T @ x`, calls go on by the transpose, whose rows are
summed one by one. That changes the order of sums, so the clock has no say: it is the same call of each run.
"""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from libsparse._compiler import kernel, native, request, settings, target
from libsparse._lang.errors import LibsparseError
from libsparse._storage.carried import carried
from libsparse._storage.conversion import keepers
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import copied_formats, tally
from .call import Call
from .problem import Operand, Problem, of_product
from .requests import to_request

_PRICE = 0.01  # seconds of calls from which on what a copy needs is compiled, once for all programs on the machine
_MOST = 1 << 16  # calls that wait for another trial, at most, where values were written to
_SEEN = 3  # calls in a trial that have to come with the same values before these are copied
_RUN = 10  # calls of one way in a row, in whose first half a processor learns where rows end
_RUNS = 3  # of each way
_GAIN = 1.03  # times as fast as without a copy, in the middle of the turns, from which on it stays
_CLEAR = 1.2  # times as long as the slowest of the other way's turns, from which on no further turn is needed

Build = Callable[..., Any]
"""Prepares a problem on operands: `dispatch.build`."""

Prepared: TypeAlias = Any
"""A problem with the way to compute it: `dispatch.Prepared`, which is defined above and lets trials take place."""

Result = tuple[Tensor, "Pattern | None"]
"""A dense tensor and None, or the values of a sparse result and its pattern."""

_spent: dict[Any, float] = {}  # seconds of calls that a kernel would have made faster, by its request without sizes


def begin(prepared: Prepared, build: Build, calls: int) -> None:
    """Begins a trial of a problem where nobody has chosen another way to compute it yet.

    Args:
        prepared: The problem.
        build: Prepares it on other operands.
        calls: How many calls there were.
    """
    variant = prepared.variant
    if isinstance(variant, Call) and variant.plain is None:
        prepared.replace(Trial(prepared, variant, build, calls))


class Trial:
    """In the place of a call whose values may last: computes as that does, and finds out whether a copy is faster."""

    __slots__ = (
        "_build",
        "_call",
        "_calls",
        "_copy",
        "_left",
        "_made",
        "_number",
        "_prepared",
        "_seen",
        "_taken",
        "_times",
        "_turns",
        "_uses",
    )

    def __init__(self, prepared: Prepared, call: Call, build: Build, calls: int) -> None:
        """Begin with nothing known; arguments as those of `begin`."""
        self._prepared: weakref.ref[Prepared] = weakref.ref(prepared)
        self._call, self._build, self._calls = call, build, calls
        sparse = [number for number, order in enumerate(call.orders) if order is None]
        self._number = next((number for number in sparse if number in call.kernel.convert), sparse[0])
        self._seen: tuple[weakref.ref[Tensor], int] | None = None
        self._uses, self._taken = 0, math.inf
        self._left: list[Format] | None = None
        self._copy: Call | None = None
        self._made: list[tuple[Pattern, tuple[str, Format]]] = []
        self._turns, self._times = 0, _no_times()

    @property
    def kernel(self) -> kernel.Kernel:
        """The kernel of the call."""
        return self._call.kernel

    @property
    def direct(self) -> Callable[..., Tensor] | None:
        """The shortest way, which is taken where the call has one: of a matrix and a dense operand."""
        return None if self._call.direct is None else self._product

    def _product(self, *given: Any, **into: Tensor) -> Tensor:
        prepared, short = self._prepared(), self._call.direct
        pattern = None if prepared is None or prepared.pattern is None else prepared.pattern()
        if pattern is not None and not into:
            return self(of_product(pattern, *given))[0]
        assert short is not None
        return short(*given, **into)

    def __call__(self, operands: Sequence[Operand]) -> Result:
        """Computes one way or the other."""
        prepared: Any = self._prepared()
        current: object = None if prepared is None else prepared.variant
        if current is not self:
            return self._call(operands)
        if not self._last(operands[self._number]):
            prepared.replace(self._call)
            prepared.expect(min(16 * self._calls, _MOST))
            return self._call(operands)
        self._uses += 1
        if self._uses <= _SEEN:
            return self._timed(operands)
        if self._copy is None:
            return self._copied(prepared, operands)
        return self._turn(prepared, operands, self._copy)

    def _last(self, operand: Operand) -> bool:
        """Whether values are as in the first call of the trial: the same, and nobody has written to them; or none."""
        values = operand.data
        if values is None:
            return True
        if values.is_inference():
            return False
        if self._seen is None:
            self._seen = weakref.ref(values), values._version
        return self._seen[0]() is values and self._seen[1] == values._version

    def _timed(self, operands: Sequence[Operand]) -> Result:
        """Computes without a copy; the least time counts, since the program may have to wait for a processor."""
        begun = time.perf_counter()
        result: Result = self._call(operands)
        self._taken = min(self._taken, time.perf_counter() - begun)
        return result

    def _copied(self, prepared: Prepared, operands: Sequence[Operand]) -> Result:
        """Makes the next copy, where there is a format for one, and compares results."""
        result = self._timed(operands)
        number, problem = self._number, prepared.problem
        if self._left is None:
            turned = copied_formats.turned(self._call, problem, operands, number)
            if turned is not None and not settings.tuning.tune_bitwise:
                self._go_on_turned(prepared, operands, turned)
                return result
            self._left = copied_formats.of(self._call, problem, operands, number)
            if self._calls < tally.REPEATED and self._left[:1] != [self._call.reads.get(number)]:
                prepared.replace(self._call)  # other formats than that of the call take longer to make
                prepared.expect(tally.REPEATED)
                return result
        try:
            format = self._left.pop(0)
        except IndexError:  # none is left; other threads take some, too
            prepared.replace(self._call)
            return result
        if _is_paid(problem, operands, number, format, self._taken * self._calls):
            begun = time.perf_counter()
            self._copy = self._agreeing(problem, operands, format, result[0])
            if time.perf_counter() - begun > _PRICE:  # it was compiled
                _spent[_kind(problem, operands, number, format)] = 0.0
        else:
            prepared.replace(self._call)
            prepared.expect(2 * self._calls)
        return result

    def _go_on_turned(self, prepared: Prepared, operands: Sequence[Operand], format: Format) -> None:
        """Goes on by the transpose, and looks for formats of it.

        Its sums have another order, so that the clock has no say: the same program has the same results in each run.
        """
        self._made = _unmade(operands[self._number].sparsity, format)
        try:
            copy = _with_copy(self._call, prepared.problem, operands, self._number, format, self._build)
        except (LibsparseError, RuntimeError, OSError, MemoryError):
            copy = None
        if copy is None:
            self._give_back(operands, format)
            prepared.replace(self._call)
            return
        if self._call.direct is not None:
            copy.make_direct(operands)
        prepared.replace(Trial(prepared, copy, self._build, self._calls))

    def _agreeing(self, problem: Problem, operands: Sequence[Operand], format: Format, wanted: Tensor) -> Call | None:
        """What computes with a copy, where it gives the same bits."""
        self._made = _unmade(operands[self._number].sparsity, format)
        try:
            copy = _with_copy(self._call, problem, operands, self._number, format, self._build)
            if copy is not None and _same_bits(wanted, copy(operands)[0]):
                return copy
        except (LibsparseError, RuntimeError, OSError, MemoryError):  # no compiler, memory or room on the disk
            pass
        self._give_back(operands, format)
        return None

    def _turn(self, prepared: Prepared, operands: Sequence[Operand], copy: Call) -> Result:
        """Takes a turn, and chooses after the last one."""
        run, place = divmod(self._turns, _RUN)
        times = self._times  # other threads may choose meanwhile
        self._turns += 1
        variant = copy if run % 2 else self._call
        begun = time.perf_counter()
        result: Result = variant(operands)
        if place >= _RUN // 2:
            times[run % 2].append(time.perf_counter() - begun)
        ended = self._turns >= 2 * _RUNS * _RUN or (self._turns % (2 * _RUN) == 0 and _differ(times))
        if ended and all(times):
            without, by_copy = map(_middle, times)
            self._choose(prepared, operands, copy, without / by_copy)
        return result

    def _choose(self, prepared: Prepared, operands: Sequence[Operand], copy: Call, gain: float) -> None:
        """Goes on by copy, or without."""
        if gain < _GAIN:
            self._copy, self._turns, self._times = None, 0, _no_times()  # the next call tries another format
            self._give_back(operands, copy.reads[self._number])
            return
        if self._call.direct is not None:
            copy.make_direct(operands)
        prepared.replace(copy)

    def _give_back(self, operands: Sequence[Operand], format: Format) -> None:
        """Keeps a copy no longer, nor the pattern in its format where that was made for it."""
        operands[self._number].sparsity._kept.entries.pop(("values", format), None)
        for pattern, name in self._made:
            pattern._kept.entries.pop(name, None)


def _unmade(pattern: Pattern, format: Format) -> list[tuple[Pattern, tuple[str, Format]]]:
    """Where a conversion will be kept once it is made, and its name there."""
    return [(keeper, name) for keeper, name in keepers(pattern, format) if keeper._kept.get(name) is None]


def _no_times() -> tuple[list[float], list[float]]:
    return [], []


def _middle(times: list[float]) -> float:
    """The median of an odd number of times; Python's module for it takes 5 ms to import."""
    return sorted(times)[len(times) // 2]


def _differ(times: tuple[list[float], list[float]]) -> bool:
    """Whether each turn of one way was clearly faster than each of the other."""
    without, by_copy = times
    return all(times) and (min(without) > _CLEAR * max(by_copy) or min(by_copy) > _CLEAR * max(without))


def _same_bits(one: Tensor, other: Tensor) -> bool:
    return torch.equal(one.reshape(-1).view(torch.uint8), other.reshape(-1).view(torch.uint8))


def _is_paid(problem: Problem, operands: Sequence[Operand], number: int, format: Format, seconds: float) -> bool:
    """Whether the kernel for a copy has been compiled, or calls have taken as long by now as that may cost.

    Kernels that read a copy seldom differ by sizes. So what has been spent counts for all matrices, until something is
    compiled; where a kernel is there already, 3 ms tell, and the next matrix doesn't wait.
    """
    kind = _kind(problem, operands, number, format)
    spent = _spent[kind] = _spent.get(kind, 0.0) + seconds
    if spent >= _PRICE or not target.has_compiler():
        return True
    folder, reads = kernel.store() / "requests", (False, True) if format.kinds[-1].grouped else (False,)
    keys = [request.key(_reading(problem, operands, number, format, adjacent), native.BUILD) for adjacent in reads]
    return any([(folder / f"{key}.json").exists() for key in keys])


def _reading(
    problem: Problem, operands: Sequence[Operand], number: int, format: Format, adjacent: bool
) -> request.Request:
    """The request for a kernel that reads a copy in a format, whose rows have neighbouring columns or not."""
    found = to_request(problem, operands)
    infos = [*found.operands]
    infos[number] = infos[number]._replace(
        format=format.text, uneven=False, scattered=False, far=False, adjacent=adjacent
    )
    return found._replace(operands=tuple(infos))


def _kind(problem: Problem, operands: Sequence[Operand], number: int, format: Format) -> request.Request:
    """That request without sizes, and whatever columns neighbouring rows have."""
    wanted = _reading(problem, operands, number, format, adjacent=False)
    return wanted._replace(operands=tuple([info._replace(shape=(), nnz=0) for info in wanted.operands]))


def _with_copy(
    call: Call, problem: Problem, operands: Sequence[Operand], number: int, format: Format, build: Build
) -> Call | None:
    """What computes with a copy of an operand in another format; None where that takes more than a kernel."""
    pattern, values = operands[number].sparsity, operands[number].data
    there, conversion = [*operands], pattern.converted(format)
    converted = conversion.pattern
    if not copied_formats.is_small(pattern, converted, copied_formats.value_size(operands[number])):
        return None
    data = None if values is None else values.new_empty(1).expand(converted.size)
    there[number] = operands[number]._replace(pattern=converted, data=data)
    found = build(problem, there, measured=False)
    if not isinstance(found, Call) or found.is_relaid != call.is_relaid or number in found.kernel.convert:
        return None
    copy = found.reading(number, format)
    if values is not None and (conversion.source is not None or conversion.target is not None):
        copy.in_place_of(call.plain or call, {number: carried(pattern, format)}).carry(operands)
    return copy
