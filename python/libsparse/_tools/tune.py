"""`tune`: the fastest schedules for computations on given operands, found by measuring, and kept."""

from __future__ import annotations

import numbers
import operator
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch.autograd import profiler_legacy

from libsparse._lang.errors import DtypeError, FormatError, UnsupportedError
from libsparse._lang.records import NamedTuple
from libsparse._lang.waiting import is_watched
from libsparse._ops import evaluate
from libsparse._runtime import dispatch, tuned
from libsparse._runtime.dispatch import Prepared
from libsparse._runtime.problem import Operand
from libsparse._runtime.status import BoundError, IndexOverflowError
from libsparse._runtime.steps import Chain
from libsparse._storage import threads
from libsparse._storage.format import Format
from libsparse._tensor import functions

from . import calls, trials
from . import limits as machine_limits
from .brief import Brief
from .trials import Trial
from .tuning_report import Report, Tuned

_one_at_a_time = threading.RLock()  # a function may tune others
_LEAST = 6  # measurements of a computation that are worth it
_USUAL, _PROMISING = 60, 11  # measurements by default: of all, and of what the learned model proposes for each
_METHODS = ("bayesian", "learned")
_SHARE = 0.03  # of the time, below which a computation of a function is left alone


def _after_fork() -> None:
    global _one_at_a_time
    _one_at_a_time = threading.RLock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_after_fork)


def tune(
    fn_or_spec: str | Callable[..., Any],
    *args: Any,
    budget: int | None = None,
    seconds: float | None = None,
    method: str = "bayesian",
    format: str | Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
    progress: bool | None = None,
    seed: int = 0,
    **named: Any,
) -> Report:
    """Measures schedules of a computation on these operands, and computes with the fastest from now on.

    It is computed once, with gradients where something requires them, and every computation with sparse operands in it
    gets a share of the budget by its time. Tried are orders of loops, strips, formats of operands, workspaces, threads,
    lanes, unrolled loops and distances of prefetching; what was measured chooses what is measured next. The result of
    each is compared with that of the compiler's schedule, which stays unless another one is faster beyond doubt: in 16
    of 21 rounds of both in turn, and by 2 % in the middle. Calls of this process use the winner at once, and later
    processes find it in the cache: for the same patterns, and where nothing is converted for all of the same class of
    sizes. What was measured is kept, too: a search that was stopped (by Ctrl-C, or by `seconds`) goes on from there. It
    measures with copies; a function is called once, with copies of arguments, and of a module's parameters and buffers.

    Args:
        fn_or_spec: An einsum specification, an assignment with operands by name, a function or a module.
        args: The operands, or the arguments of the function.
        budget: The number of measurements, with those that were kept: 60 by default, and 11 of each computation with
            method="learned".
        seconds: The time after which to stop; the last comparison is part of it, what is being compiled then is not.
        method: "bayesian" is as above, and begins with what a learned model finds promising. "learned" measures only
            up to ten schedules that the model finds promising, with short turns, and none where it expects nothing.
        format: As in `einsum`.
        reduce: As in `einsum`.
        combine: As in `einsum`.
        progress: Whether to show how far it is; None does so in a terminal or a notebook.
        seed: Of the random numbers: an integer from 0 to 2**63 - 1.
        named: The operands of an assignment, or arguments by name.

    Returns:
        What was tried, and what won and why; prints as text, shows as HTML in a notebook.

    Example:
        >>> A = ls.random((100, 100), 0.1)
        >>> report = ls.tune("ij,j->i", A, torch.ones(100), budget=3)
        >>> len(report[0].trials)
        3
    """
    budget, until, start = _measurements(budget), _end(method, seconds), _seed(seed)
    if callable(fn_or_spec):
        work = _call_of(fn_or_spec, args, named)
    elif isinstance(fn_or_spec, str):
        settings = {"format": format, "reduce": reduce, "combine": combine}
        work = _computation(fn_or_spec, args, named, settings)
    else:
        raise DtypeError(
            f"tune: the first argument is a {type(fn_or_spec).__name__}; expected an einsum such as 'ij,jk->ik', or a "
            "function"
        )
    return _tune(watched(work), _Limits(method, budget, until, start), _Bar(progress))


class _Limits(NamedTuple):
    """How to search, with how many measurements (None for as many as are usual), until when.

    `stops` says that the search ends where the model expects nothing of what is left.
    """

    method: str
    budget: int | None
    until: float
    seed: int
    stops: bool = False


def _measurements(budget: Any) -> int | None:
    """The budget as an int, or None.

    Raises:
        FormatError: It is neither.
    """
    number = None if budget is None else _integer(budget)
    if budget is not None and (number is None or number < 1):
        raise FormatError(f"tune(budget={_shown(budget)}): expected a positive number of measurements")
    return number


def _end(method: str, seconds: Any) -> float:
    """When to stop, by the clock that only goes forward.

    Raises:
        FormatError: A setting is out of range.
    """
    if method not in _METHODS:
        raise FormatError(f"tune(method={method!r}): expected 'bayesian' or 'learned'")
    with suppress(OverflowError):  # of integers that no float is as large as
        if seconds is None:
            return float("inf")
        if isinstance(seconds, numbers.Real) and float(seconds) > 0:  # NumPy's are, too
            return time.monotonic() + float(seconds)
    raise FormatError(f"tune(seconds={_shown(seconds)}): expected a positive number, or None")


def _seed(seed: Any) -> int:
    """The seed as an int.

    Raises:
        FormatError: It is none, or out of range.
    """
    number = _integer(seed)
    if number is None or not 0 <= number < 1 << 63:
        raise FormatError(f"tune(seed={_shown(seed)}): expected an integer from 0 to 2**63 - 1")
    return number


def _integer(value: Any) -> int | None:
    """An integer of Python's or NumPy's, or a tensor of one, as an int; None of anything else."""
    kind = str(getattr(value, "dtype", type(value).__name__))
    if "bool" not in kind and not getattr(value, "ndim", 0):
        with suppress(TypeError, RuntimeError):
            return operator.index(value)
    return None


def _shown(value: Any) -> str:
    """A value in a message; Python writes no integers of thousands of digits."""
    return repr(value) if not isinstance(value, int) or value.bit_length() < 1 << 10 else "a huge integer"


def _computation(text: str, args: Sequence[Any], named: dict[str, Any], settings: dict[str, Any]) -> Callable[[], Any]:
    """A function that computes an einsum or an assignment, and gradients where some are required."""
    if named or "=" in text:
        return lambda: calls.differentiate(evaluate.evaluate(text, **settings, **named))
    return lambda: calls.differentiate(functions.einsum(text, *args, **settings))


def _call_of(function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> Callable[[], Any]:
    """Calls a function on copies, and computes gradients where some are required."""

    def work() -> None:
        with torch.random.fork_rng(devices=[]):
            calls.differentiate(calls.on_copies(function, args, named))

    return work


def watched(work: Callable[[], Any]) -> list[tuple[Prepared, list[Operand]]]:
    """The problems that something computes, each once, with how often: those of one kernel that patterns keep."""
    found: dict[int, tuple[Prepared, list[Operand]]] = {}

    def watch(prepared: Prepared, operands: Sequence[Operand]) -> None:
        if any(o.pattern is not None for o in operands) and not prepared.problem.schedule:
            plain = [o._replace(data=None if o.data is None else o.data.detach()) for o in operands]
            found.setdefault(id(prepared), (prepared, plain))

    with _watching(watch):
        work()
    return [(p, operands) for p, operands in found.values() if not isinstance(p.variant, Chain)]


@contextmanager
def _watching(watch: Callable[[Prepared, Sequence[Operand]], None]) -> Iterator[None]:
    """Has each problem reported that this thread computes meanwhile; one thread at a time."""
    owner = threading.get_ident()

    def report(prepared: Prepared, operands: Sequence[Operand]) -> None:
        if threading.get_ident() == owner:
            watch(prepared, operands)

    with _one_at_a_time:
        before, dispatch.watcher = dispatch.watcher, report
        try:
            if torch._C._autograd._profiler_enabled():
                yield
            else:
                with profiler_legacy.profile():  # the present one writes to the terminal
                    yield
        finally:
            dispatch.watcher = before


class _Bar:
    """A line that says how far it is."""

    def __init__(self, wanted: bool | None) -> None:
        self._shown = is_watched() if wanted is None else wanted
        self._begun = time.monotonic()
        self._drawn = False
        self.done = self.total = 0
        self.best = 1.0

    def show(self, text: str) -> None:
        """Draws the line anew."""
        if not self._shown:
            return
        part = self.done / max(self.total, 1)
        bar = "#" * round(20 * part)
        spent = time.monotonic() - self._begun
        line = f"tune {self.done}/{self.total} [{bar:20}] {1 / self.best:.2f} times the speed, {spent:.0f} s  {text}"
        print(f"\r{line[:118]:118}", end="", file=sys.stderr, flush=True)
        self._drawn = True

    def close(self) -> None:
        """Ends the line, if there is one."""
        if self._drawn:
            print(file=sys.stderr)


def _tune(problems: Sequence[tuple[Prepared, list[Operand]]], limits: _Limits, bar: _Bar) -> Report:
    """Tunes problems, those that take longest first."""
    if not problems:
        raise UnsupportedError("tune: nothing with a sparse operand was computed; give it SparseTensors")
    ranked, kind = [], Brief if limits.method == "learned" else trials.Subject
    for prepared, operands in problems:
        with suppress(BoundError, IndexOverflowError):  # where results are larger than usual, which takes other kernels
            ranked.append((kind(prepared.problem, operands), prepared, operands))
    ranked.sort(key=lambda entry: -entry[0].seconds)
    each = limits.budget is None and limits.method == "learned"
    budget = _PROMISING * len(ranked) if each else limits.budget or _USUAL
    total, left = sum(subject.seconds for subject, *_ in ranked), budget
    found: list[Tuned] = []
    bar.total = budget
    try:
        for number, (subject, prepared, operands) in enumerate(ranked):
            share = subject.seconds / total
            own = left if number == len(ranked) - 1 else min(left, max(_LEAST, round(budget * share)))
            if each:
                own = _PROMISING
            reason = ""
            if number and share < _SHARE:
                reason = f"it takes {share:.1%} of the time"
            elif own < min(_LEAST, budget) or time.monotonic() > limits.until:
                reason = f"no measurements were left for it, which takes {share:.0%} of the time"
            if reason:
                found.append(Tuned.left(subject, reason))
                continue
            found.append(_tune_one(subject, prepared, operands, limits._replace(budget=own, stops=each), bar))
            left -= own
            if found[-1].stopped:
                break
    finally:
        bar.close()
    return Report(found)


def _tune_one(
    subject: trials.Subject,
    prepared: Prepared,
    operands: Sequence[Operand],
    limits: _Limits,
    bar: _Bar,
) -> Tuned:
    """Tunes a problem, keeps what was measured and computes with the winner."""
    name, exact = tuned.name(prepared.problem, operands), tuned.digest(operands)
    about, text = described(operands), prepared.problem.text
    record = tuned.read(name) or {"class": None, "patterns": {}}
    tried = [Trial(*trial) for trial in record["patterns"].get(exact, {}).get("trials", ())]
    last = record["patterns"].get(exact, {}).get("schedule")
    before = {record["class"], last}
    bar.best = min((t.ratio for t in tried if t.ratio is not None), default=1.0)
    bar.done += len(tried)

    def progress() -> None:
        bar.done += 1
        bar.best = min(bar.best, tried[-1].ratio or bar.best)
        bar.show(text)

    space, stopped, begun = "", False, time.monotonic()
    try:
        assert limits.budget is not None
        settings = limits.budget, limits.until, limits.seed, progress, limits.method
        space = trials.search(subject, tried, *settings, stops=limits.stops)
    except KeyboardInterrupt:
        stopped = True
    except UnsupportedError as error:
        return Tuned.left(subject, str(error))
    winner, variant, own, default = trials.decide(subject, tried, last)
    seconds = time.monotonic() - begun
    times = statistics.median(default), statistics.median(own)
    found = {"schedule": winner.schedule if winner else None, "formats": about, "gain": times[0] / times[1]}
    kept = {**found, "when": tuned.now(), "trials": [list(trial) for trial in tried]}
    converted = variant is not None and any(subject.operands[n].pattern is not None for n in variant.kernel.convert)
    tuned.keep(name, exact, text, kept, all=not converted, count=threads.count())
    if winner is not None or before != {None}:
        prepared.replace(dispatch.build(prepared.problem, operands))
    result, pattern = (variant or subject.default)(subject.operands)
    bound = machine_limits.of(
        prepared.problem, subject.operands, result.dtype, machine_limits.size(Operand(pattern, result))
    )
    spent = (0, 0.0) if variant is None else subject.conversions(variant)
    return Tuned(text, about, tried, winner, *times, bound, *spent, space, "", stopped, seconds)


def described(operands: Sequence[Operand]) -> str:
    """Shapes and formats."""
    formats = ["dense" if o.pattern is None else str(o.pattern.format) for o in operands]
    shapes = [" x ".join(map(str, o.shape)) or "a number" for o in operands]
    return ", ".join(f"{shape} {format}" for shape, format in zip(shapes, formats, strict=True))
