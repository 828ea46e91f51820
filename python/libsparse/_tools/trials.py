"""Trials: schedules of one problem, measured on copies of its operands beside the compiler's own."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from libsparse._compiler import request, searches
from libsparse._lang.errors import InternalError, LibsparseError
from libsparse._lang.records import NamedTuple
from libsparse._runtime import dispatch
from libsparse._runtime.call import Call
from libsparse._runtime.copied_formats import multiplies
from libsparse._runtime.problem import Operand, Problem
from libsparse._runtime.requests import to_request
from libsparse._runtime.steps import Result
from libsparse._storage import threads
from libsparse._storage.pattern import Pattern

from . import learned, tried_formats

_HARD = 0.036  # seconds of a measurement, from which on one is enough: long calls, or hopeless ones
_LONG = 0.1  # seconds of a call, from which on what looks hopeless isn't called again
_PROMISING = 0.97  # below which a ratio is measured three times as often
FINAL = 21  # rounds of the last comparison
_WINS = 16  # of these that the winner has to be faster in: of equal ones, as many happen once in 75 times
_GAIN = 1.02  # and by how much, in the middle
_SHORT, _CLEAR = 8, 1.05  # rounds that are enough where all were won, by that in the middle
_EXPECTED = 0.012  # of what the model expects to gain, as a logarithm to base 2, below which nothing more is measured
_FINALISTS = 3
_HOPELESS = 3  # times as slow as the compiler's: measured once


class Trial(NamedTuple):
    """A schedule that was tried.

    Attributes:
        point: The parameters' values.
        schedule: The commands.
        ratio: Its time, in times that of the compiler's schedule; None where it could not be measured.
        error: Why not.
    """

    point: dict[str, str]
    schedule: str
    ratio: float | None
    error: str = ""


class Subject:
    """A problem on copies of its operands, and the kernel that the compiler chooses for it.

    Attributes:
        problem: The problem.
        operands: The copies: patterns of their own, which keep what they are converted to as long as this lives.
        default: The compiler's variant.
        seconds: Its time, when it was first measured.
        blocks: How many measurements make a time, of which the shortest counts: others may use the processor meanwhile.
        rounds: How often a trial and the compiler's schedule take turns.
        length: Seconds of a measurement: shorter calls are repeated.
        now: The clock: of one thread the time that it has had the processor, so that others who use it count little.
        built: The kernels of schedules and the seconds of a first call, where they are kept.
        calibration: Seconds at most to find out how long the compiler's schedule takes.
    """

    blocks, rounds, calibration, length = 4, 5, 0.1, 3e-4

    def __init__(self, problem: Problem, operands: Sequence[Operand]) -> None:
        """Copy the operands, build the compiler's kernel and measure it."""
        self.problem, self.operands = problem, _copies(operands)
        self.now = time.thread_time if threads.count() == 1 else time.perf_counter
        self.built: dict[str, tuple[Call, float]] = {}
        default = dispatch.build(problem, self.operands, measured=False)
        assert isinstance(default, Call)
        self.default = default
        self._expected = default(self.operands)
        default(self.operands)  # results whose pattern was found are computed in another way from now on
        self._count, self.seconds = 1, math.inf
        begun, rounds = time.perf_counter(), 0
        while rounds < 3 or (
            time.perf_counter() - begun < self.calibration and rounds < 20
        ):  # threads may be late at first
            rounds += 1
            self.seconds = min(self.seconds, self.clock(default))
            self._count = max(1, math.ceil(self.length / self.seconds))

    def variant(self, schedule: str) -> tuple[Call, float]:
        """The kernel of a schedule, which computes the same as the compiler's, and the seconds of a first call.

        Raises:
            LibsparseError: It can't be compiled, or does not.
        """
        found = dispatch.build(self.problem._replace(schedule=schedule), self.operands)
        assert isinstance(found, Call)  # what has a schedule is one kernel
        found.carry(self.operands)
        found(self.operands)
        begun = self.now()
        result = found(self.operands)
        first = self.now() - begun
        if not self.agrees(result):
            raise InternalError("the result differs from that of the compiler's schedule")
        return found, first

    def agrees(self, result: Result) -> bool:
        """Whether a result is that of the compiler's schedule, but for rounding."""
        return _same(result, self._expected)

    def worth_comparing(self, ratio: float) -> bool:
        """Whether a trial with this ratio may come into the last comparison."""
        return ratio > 0

    def ratio(self, variant: Call, first: float) -> float:
        """The time of a variant, in times that of the compiler's, which takes turns with it: the least of each."""
        if first > max(_LONG, 2 * _HOPELESS * self.seconds):
            return first / self.seconds
        own, default = self._turns(variant, 2)
        if own < _HOPELESS * default:
            own, default = self._turns(variant, self.rounds)
        if own < _PROMISING * default:
            own, default = self._turns(variant, 3 * self.rounds)
        return own / default

    def _turns(self, variant: Call, rounds: int) -> tuple[float, float]:
        """The least times of a variant and of the compiler's in so many rounds."""
        pairs = [(self.clock(variant), self.clock(self.default)) for _ in range(rounds)]
        return min(own for own, _ in pairs), min(default for _, default in pairs)

    def compare(self, variants: Sequence[Call]) -> list[list[float]]:
        """The times of each variant and, the last, of the compiler's, in rounds of all of them in changing order."""
        every = [*variants, self.default]
        times: list[list[float]] = [[] for _ in every]
        for number in range(FINAL):
            for place in range(len(every)):
                at = (place + number) % len(every)
                times[at].append(self.clock(every[at]))
        return times

    def comparison(self) -> float:
        """The seconds that the last comparison takes."""
        block = self.seconds * self._count
        return FINAL * (_FINALISTS + 1) * block * (1 if block > _HARD else self.blocks)

    def clock(self, variant: Call) -> float:
        """The time of a call, of the fastest block of calls."""
        least, operands = math.inf, self.operands
        for _ in range(self.blocks):
            begun = self.now()
            for _ in range(self._count):
                variant(operands)
            least = min(least, self.now() - begun)
            if least > _HARD:
                break
        return max(least, 1e-9) / self._count

    def conversions(self, variant: Call) -> tuple[int, float]:
        """What a variant converts beyond the compiler's schedule: bytes that are kept, and seconds for all once."""
        convert, own = variant.kernel.convert, self.default.kernel.convert
        found = [
            self.operands[number].sparsity.derived[f"format {format}"]
            for number, format in convert.items()
            if self.operands[number].pattern is not None
            and format not in (self.operands[number].sparsity.format, own.get(number))
        ]
        found += [self.operands[n].sparsity.derived[f"values {convert[n]}"] for n in variant.kernel.carried]
        return sum(d.bytes for d in found), sum(d.seconds for d in found)


def _copies(operands: Sequence[Operand]) -> list[Operand]:
    """Operands with copies of the values, and patterns of their own on the same arrays, which nobody writes."""
    patterns: dict[int, Pattern] = {}
    copies = []
    for pattern, data, fill in operands:
        own = None
        if pattern is not None:
            own = patterns.get(id(pattern))
            if own is None:
                own = Pattern(pattern.format, pattern.shape, pattern.pos, pattern.crd, pattern.block)
                patterns[id(pattern)] = own
        copies.append(Operand(own, None if data is None else data.detach().clone(), fill))
    return copies


def _same(found: Result, expected: Result) -> bool:
    """Whether two results are equal but for rounding."""
    (values, pattern), (others, other) = found, expected
    if (pattern is None) is not (other is None) or values.shape != others.shape:
        return False
    if pattern is not None and other is not None:
        arrays = pattern.tensors(), other.tensors()
        if pattern.format != other.format or not all(map(_equal, *arrays)):
            return False
    if not (values.is_floating_point() or values.is_complex()):
        return torch.equal(values, others)
    if not values.numel():
        return True
    finite = others.abs().nan_to_num(0, 0, 0).max()
    margin = torch.finfo(values.dtype).eps ** 0.5 * float(finite)
    return torch.allclose(values, others, rtol=0, atol=max(margin, 1e-30), equal_nan=True)


def _equal(array: Tensor, other: Tensor) -> bool:
    return array.dtype == other.dtype and torch.equal(array, other)


def search(
    subject: Subject,
    trials: list[Trial],
    budget: int,
    until: float,
    seed: int,
    progress: Callable[[], None],
    method: str = "bayesian",
    *,
    stops: bool = False,
) -> str:
    """Measures schedules, after those of an earlier search, until there are as many or the time is up.

    Args:
        subject: The problem.
        trials: Those that were measured before; new ones are added.
        budget: How many there may be.
        until: When to stop, in seconds of the clock that only goes forward; the last comparison is before that, too.
        seed: Of the random numbers.
        progress: Called after each.
        method: "bayesian", which begins with what the learned model finds promising; "learned", what that does alone;
            "random".
        stops: Whether to end where the learned model expects nothing of what it would propose.

    Returns:
        The space in words.
    """
    ways: dict[str, dict[str, Any]] = {
        "bayesian": {"advised": True},
        "learned": {"method": "learned"},
        "random": {"first": budget},
    }
    tuner = opened(subject.problem, subject.operands, tried_formats.of, {"seed": seed, **ways[method]})
    try:
        for trial in trials:
            tuner.tell(told(trial))
        while len(trials) < budget and time.monotonic() < until - subject.comparison():
            asked = tuner.ask()
            if asked is None or (stops and not hopeful(asked)):
                break
            trial = measured(subject, asked)
            trials.append(trial)
            tuner.tell(told(trial))
            progress()
        return tuner.space
    finally:
        tuner.close()


def opened(
    problem: Problem,
    operands: Sequence[Operand],
    allowed: Callable[[Pattern, bool], Iterable[str]],
    options: dict[str, Any],
) -> searches.Tuner:
    """A search for the schedules of a problem, which knows the patterns of operands and what formats are allowed."""
    sparse = [(number, o.pattern) for number, o in enumerate(operands) if o.pattern is not None]
    names = problem.names
    about = {
        "formats": {names[n]: [*allowed(pattern, multiplies(problem, operands, n))] for n, pattern in sparse},
        "patterns": {names[n]: learned.features(pattern) for n, pattern in sparse},
    }
    wanted = to_request(problem, operands)
    infos = [  # rows may come to be summed in lanes
        info if o.pattern is None else info._replace(adjacent=o.pattern.statistics.adjacent)
        for info, o in zip(wanted.operands, operands, strict=True)
    ]
    wanted = wanted._replace(operands=tuple(infos))
    return searches.Tuner(request.complete(wanted, ""), {**about, **options})


def told(trial: Trial) -> dict[str, Any]:
    """A trial as tuners are told it."""
    return {"point": trial.point, **({"failed": True} if trial.ratio is None else {"seconds": trial.ratio})}


def hopeful(asked: dict[str, Any]) -> bool:
    """Whether a proposal of the learned model is worth measuring: it, and all that follow, may gain nothing."""
    return bool(asked.get("default")) or asked["expected"] >= _EXPECTED


def measured(subject: Subject, asked: dict[str, Any]) -> Trial:
    """The trial of a proposal."""
    point, schedule = asked["point"], asked["schedule"]
    if asked.get("default"):
        return Trial(point, schedule, 1.0)
    try:
        return Trial(point, schedule, subject.ratio(*subject.variant(schedule)))
    except (LibsparseError, MemoryError) as error:
        return Trial(point, schedule, None, str(error).partition("\n")[0])


def decide(
    subject: Subject, trials: Sequence[Trial], kept: str | None = None
) -> tuple[Trial | None, Call | None, list[float], list[float]]:
    """The winner, if one of the best trials is faster than the compiler's schedule beyond doubt.

    Args:
        subject: The problem.
        trials: What was measured.
        kept: The schedule that won before, which stays unless the compiler's is now faster beyond doubt.

    Returns:
        The winner and its kernel, or None; the times of the best trial, and of the compiler's schedule in turn with it.
    """
    measured = sorted((t for t in trials[1:] if t.ratio is not None), key=lambda t: t.ratio or 0.0)
    best_ones = [t for t in measured[:_FINALISTS] if subject.worth_comparing(t.ratio or 0.0)]
    last = [t for t in measured if t.schedule == kept and t not in best_ones]
    finalists = []
    for trial in (*best_ones, *last):
        with suppress(LibsparseError, MemoryError):  # what an earlier search has measured may be refused now
            finalists.append((trial, subject.variant(trial.schedule)[0]))
    *times, own = subject.compare([variant for _, variant in finalists])
    if not finalists:
        return None, None, own, own
    best = min(range(len(finalists)), key=lambda n: (-len(times[n]), statistics.median(times[n])))
    stays = next((n for n, (trial, _) in enumerate(finalists) if trial.schedule == kept), None)
    if not _beats(times[best], own) and stays is not None and not _beats(own, times[stays]):
        best = stays  # the machine is busy, or it makes little difference now
    elif not _beats(times[best], own):
        return None, None, times[best], own
    return (*finalists[best], times[best], own)


def _beats(times: Sequence[float], others: Sequence[float]) -> bool:
    """Whether calls that took turns with others were faster beyond doubt."""
    pairs = list(zip(times, others, strict=False))  # the first rounds are those of all
    wins = sum(a < b for a, b in pairs)
    gain = statistics.median(b for _, b in pairs) / statistics.median(a for a, _ in pairs)
    return (wins >= _WINS and gain >= _GAIN) or (wins == len(pairs) >= _SHORT and gain >= _CLEAR)


def is_decided(times: Sequence[float], others: Sequence[float]) -> bool:
    """Whether more rounds change nothing about whether calls are faster than others beyond doubt."""
    lost = sum(a >= b for a, b in zip(times, others, strict=True))
    return lost > FINAL - _WINS or _beats(times, others)
