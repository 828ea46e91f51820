"""Few candidates that are told apart by few calls, as the learned model proposes them: so that tuning soon pays."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from libsparse._lang.errors import InternalError
from libsparse._runtime import dispatch
from libsparse._runtime.call import Call

from . import trials

_LONG = 5e-3  # seconds of a call, from which on two calls say enough
_LOST = 1.5  # times as long as the compiler's schedule in these, which find caches cold: it is not called again
_FAR = 3  # times as long in the first: nor a second time, and a short call is not measured
_NEAR = 1.05  # times as long in the first turns, up to which there are more
_PROMISING = 0.98  # ratios that are worth the last comparison
_HEAT = 3  # rounds of it, after which only the best goes on


class Brief(trials.Subject):
    """A problem whose candidates are measured in about a millisecond each, or a few calls."""

    blocks, rounds, calibration, length = 1, 2, 0.004, 1e-4

    def variant(self, schedule: str) -> tuple[Call, float]:
        """As of its base, but a long call that is slow is not repeated, and what was built is kept.

        Results are looked at where a variant may win, in `ratio`: that takes longer than some calls.
        """
        known = self.built.get(schedule)
        if known is not None:
            return known
        found = dispatch.build(self.problem._replace(schedule=schedule), self.operands)
        assert isinstance(found, Call)  # what has a schedule is one kernel
        found.carry(self.operands)
        begun = self.now()
        found(self.operands)
        first = self.now() - begun
        if self.seconds < _LONG or first < _FAR * self.seconds:
            begun = self.now()
            found(self.operands)
            first = min(first, self.now() - begun)
        self.built[schedule] = found, first
        return found, first

    def ratio(self, variant: Call, first: float) -> float:
        """As of its base, of two turns; of four where the variant isn't slower in these."""
        if first > (_LOST if self.seconds > _LONG else _FAR) * self.seconds:
            return first / self.seconds
        own, default = self._turns(variant, self.rounds)
        if own < _NEAR * default:
            again, once_more = self._turns(variant, self.rounds)
            own, default = min(own, again), min(default, once_more)
        if self.worth_comparing(own / default) and not self.agrees(variant(self.operands)):
            raise InternalError("the result differs from that of the compiler's schedule")
        return own / default

    def worth_comparing(self, ratio: float) -> bool:
        """Only what was faster is."""
        return ratio < _PROMISING

    def compare(self, variants: Sequence[Call]) -> list[list[float]]:
        """As of its base; the best of the first rounds goes on alone beside the compiler's, until it wins or loses."""
        if not variants:
            return [[self.seconds]]
        every = [*variants, self.default]
        times: list[list[float]] = [[] for _ in every]
        left, own = list(range(len(every))), len(variants)
        for number in range(trials.FINAL):
            for place in range(len(left)):
                at = left[(place + number) % len(left)]
                times[at].append(self.clock(every[at]))
            if number + 1 == _HEAT:
                left = [min(left[:-1], key=lambda n: statistics.median(times[n])), own]
            if trials.is_decided(times[left[0]], times[own]):
                break
        return times
