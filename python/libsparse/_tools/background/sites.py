"""Sites: prepared problems that patterns keep, by weak references, and how much time was spent in each."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import torch

from libsparse._compiler import settings
from libsparse._compiler import target as machine
from libsparse._runtime import tally
from libsparse._runtime.call import Call
from libsparse._runtime.dispatch import Prepared
from libsparse._runtime.problem import Operand
from libsparse._storage import threads
from libsparse._storage.pattern import Pattern

from .messages import Job


class Site:
    """A prepared problem, as the pattern keeps it: the site keeps neither.

    Attributes:
        done: Whether it has been tuned.
        failed: Whether a helper has ended while it was to be tuned.
        swapped: Whether it has another variant than it was prepared with since.
        copied: The bytes of patterns in other formats that its variant reads.
    """

    def __init__(self, pattern: weakref.ref[Pattern], name: tuple[Any, ...]) -> None:
        self._pattern, self._name = pattern, name
        self.done = self.failed = self.swapped = False
        self.copied = 0

    def prepared(self) -> Prepared | None:
        """The problem as it is prepared; None where the pattern is gone or keeps it no longer."""
        pattern = self._pattern()
        entry = None if pattern is None else pattern.calls.get(self._name)
        return None if entry is None else entry[0]

    def call(self) -> Call | None:
        """The kernel with all that surrounds it; None where there is none, or nothing to choose."""
        prepared = self.prepared()
        variant = None if prepared is None else prepared.variant
        return variant if isinstance(variant, Call) and not self._name[0].schedule else None

    def operands(self) -> list[Operand] | None:
        """Operands like those of its calls, whose values nobody has written; None where patterns are gone."""
        first = self._pattern()
        entry = None if first is None else first.calls.get(self._name)
        if first is None or entry is None:
            return None
        others = iter(entry[1])
        found, seen = [], 0
        for part in self._name[1:]:
            if len(part) == 3:
                dtype, shape, stride = part
                found.append(Operand(None, torch.empty_strided(shape, stride, dtype=dtype, device="cpu")))
                continue
            pattern = first if not seen else next(others)()
            seen += 1
            if pattern is None or pattern.block:
                return None
            data = None if part[1] is None else torch.empty(pattern.size, dtype=part[1], device="cpu")
            found.append(Operand(pattern, data))
        return found

    def job(self, exact: bool, budget: int, spare: int) -> Job | None:
        """The job to measure other schedules of it; None where it can't be measured in so much memory."""
        operands = self.operands()
        if operands is None:
            return None
        patterns = {id(o.pattern): o.pattern for o in operands if o.pattern is not None}
        size = sum(a.nbytes for p in patterns.values() for a in p.tensors())
        if size + sum(o.values.nbytes for o in operands if o.data is not None) > spare:
            return None
        chosen = settings.tuning
        limits = threads.count(), machine.cache_dir(), chosen.tune_share, spare, chosen.tune_bitwise
        return Job(self._name[0], operands, exact, *limits, budget)


class Sites:
    """All sites that are known, and what to tune next.

    Attributes:
        every: The sites, by pattern and name.
    """

    def __init__(self) -> None:
        self.every: dict[tuple[int, Any], Site] = {}
        self._classes: set[Any] = set()  # tallies of kernels, for which nothing is left to do
        self._failed: set[Any] = set()  # and those for which a helper has ended

    def look(self) -> None:
        """Takes what was prepared since the last time, and drops what is gone."""
        while tally.recent:
            reference, name = tally.recent.popleft()
            self.every.setdefault((id(reference), name), Site(reference, name))
        for key, site in list(self.every.items()):
            if site.prepared() is None:
                del self.every[key]

    def begin_anew(self) -> None:
        """Counts from 0, with nothing done: calls use another number of threads."""
        self._classes.clear()
        for site in self.every.values():
            site.done = False
            call = site.call()
            for counted in () if call is None else (call.tally, call.tally.all):
                counted.calls = counted.timed = counted.nanoseconds = 0

    def next(self, price: float) -> tuple[Site, bool] | None:
        """The site in which most time was spent, where that is what tuning costs, and whether its pattern stays.

        That is the rule of who rents skis: to buy once the rents have come to the price costs at most twice as much as
        knowing beforehand. Time on patterns that don't stay is that of their kernel; the site is the newest with it.
        """
        best: tuple[float, Site] | None = None
        rest: dict[Any, float] = {}
        newest: dict[Any, Site] = {}
        for site in self.every.values():
            call = site.call()
            if call is None:
                continue
            spent, all = tally.seconds(call.tally), call.tally.all
            rest.setdefault(all, tally.seconds(all))
            newest[all] = site
            if site.done or spent >= price:
                rest[all] -= spent
            if not site.done and spent >= max(price, best[0] if best else 0.0):
                best = spent, site
        if best is not None:
            return best[1], True
        seconds, all = max(
            ((s, all) for all, s in rest.items() if all not in self._classes), default=(0.0, None), key=_first
        )
        return (newest[all], False) if all is not None and seconds >= price else None

    def finish(self, site: Site, exact: bool) -> None:
        """Notes that a site, or all with its kernel, have been tuned."""
        call = site.call()
        if exact:
            site.done = True
        elif call is not None:
            self._classes.add(call.tally.all)

    def fail(self, site: Site, exact: bool) -> None:
        """Notes that the helper has ended with a site, which has another try before it is given up."""
        call = site.call()
        kernel = None if exact or call is None else call.tally.all
        if site.failed or kernel in self._failed:
            self.finish(site, exact)
        if kernel is None:
            site.failed = True
        else:
            self._failed.add(kernel)


def _first(pair: Sequence[Any]) -> Any:
    return pair[0]
