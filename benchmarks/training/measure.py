"""The times of schedules beside that of the compiler's, which takes turns with each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from libsparse._compiler import searches
from libsparse._lang.errors import LibsparseError, UnsupportedError
from libsparse._runtime import dispatch
from libsparse._runtime.call import Call
from libsparse._tools import trials, tried_formats, tune

from .library import Library

_LONGEST = 8e-3  # seconds of a call that is measured
_FOUND = 2  # times as long where the result's pattern is found, of which there are few schedules
_TURNS = 8  # of what models are judged by
_DISTURBED = 1.25  # times as long as at first: others had the processor, when the compiler's schedule was measured
_SHORT = 1e-3  # from which on a call is a measurement by itself


class Subject(trials.Subject):
    """A problem that is measured quickly: a few milliseconds for each schedule."""

    blocks, rounds, calibration = 2, 3, 0.02

    def variant(self, schedule: str) -> tuple[Call, float]:
        """As of its base; that kernels are right is for tests."""
        found = dispatch.build(self.problem._replace(schedule=schedule), self.operands)
        assert isinstance(found, Call)
        found.carry(self.operands)
        found(self.operands)
        begun = self.now()
        found(self.operands)
        return found, self.now() - begun

    def ratio(self, variant: Call, first: float) -> float:
        """As of its base, but without more rounds of what looks fast."""
        if first > 8 * self.seconds:
            return first / self.seconds
        if self.seconds > _SHORT:
            self.blocks = 1
        own, default = self._turns(variant, self.rounds)
        return own / min(default, _DISTURBED * self.seconds)


def measured(work: Callable[[], Any], library: Library, seed: str, *, many: bool) -> dict[str, Any] | None:
    """The request of a computation, and the ratios of a library's schedules; None where nothing can be measured."""
    try:
        ((prepared, operands),) = tune.watched(work)
        subject = Subject(prepared.problem, operands)
    except (LibsparseError, ValueError):
        return None
    _, pattern = subject.default(subject.operands)
    found = pattern is not None and all(o.pattern is not pattern for o in subject.operands)
    if subject.seconds > _LONGEST * (_FOUND if found else 1):
        return None
    if many:
        subject.rounds = _TURNS
    try:
        search = trials.opened(subject.problem, subject.operands, tried_formats.of, {})
    except UnsupportedError:
        return None
    try:
        moves = search.moves()
        library.learn(moves)
        tried = [_ratio(subject, search, changes) for changes in library.some(moves, seed, many=many)]
    finally:
        search.close()
    ratios = [one for one in tried if one is not None]
    about = {name: search.options[name] for name in ("formats", "patterns")}
    return {"request": search.request, **about, "seconds": subject.seconds, "ratios": ratios}


def _ratio(subject: Subject, search: searches.Tuner, changes: dict[str, str]) -> tuple[dict[str, str], float] | None:
    """The changes and the ratio; None where it can't be measured."""
    proposal = search.propose(changes)
    if proposal is None:
        return None
    try:
        return changes, round(subject.ratio(*subject.variant(proposal["schedule"])), 4)
    except (LibsparseError, MemoryError):
        return None
