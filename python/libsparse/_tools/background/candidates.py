"""Candidates: schedules that may be faster than the compiler's, the most promising first, measured little by little."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from ctypes import string_at
from typing import Any, Protocol

import torch
from torch import Tensor

from libsparse._lang.errors import LibsparseError, UnsupportedError
from libsparse._runtime.call import Call
from libsparse._runtime.problem import Operand
from libsparse._storage import memory, threads
from libsparse._tools import trials, tried_formats
from libsparse._tools.brief import Brief
from libsparse._tools.trials import Trial

from .messages import Job, telling

_SETS, _HALVES = 4, 7  # values by which other orders of sums are told; of the latter where results have few bits
_REMEMBERED = 3  # schedules of other patterns with the same request that come first
_SKIPPED = 10  # proposals that are not measured, for each that is
_REST = 0.05  # of what was gained, as a logarithm: a proposal that is expected to add less isn't worth waiting for


class Ranking(Protocol):
    """Proposes schedules of a problem, the most promising first."""

    def ask(self) -> dict[str, Any] | None:
        """The next `point` and its `schedule`; the first has `default`. None where there is none left."""

    def tell(self, result: dict[str, Any]) -> None:
        """What was measured at a `point`: `seconds`, or that it `failed`."""

    def close(self) -> None:
        """Ends the search."""


def ranking(job: Job) -> Ranking:
    """The order in which schedules of a job are measured: that of the learned model, whatever measurements say."""
    allowed = tried_formats.of if job.exact else lambda *_: ()
    return trials.opened(job.problem, job.operands, allowed, {"method": "learned"})


class Paced(Brief):
    """A problem that is measured in a share of the time, by few calls: those of the program decide.

    Attributes:
        refused: Whether the last variant was left out, for another reason than that it failed.
        spent: The seconds that measurements have taken.
    """

    def __init__(self, job: Job) -> None:
        """Copy the operands, build the compiler's kernel and measure it."""
        self._job, self.refused, self.spent = job, False, 0.0
        super().__init__(job.problem, job.operands)
        self._telling = self._told_apart() if job.bitwise else []
        self._wanted = self._bits(self.default) if job.bitwise else []

    def variant(self, schedule: str) -> tuple[Call, float]:
        """The kernel of a schedule.

        Raises:
            LibsparseError: It can't be compiled, computes something else, or may not take the default's place.
        """
        found, first = super().variant(schedule)
        reason = self._reason(found)
        if reason:
            self.refused = True
            raise UnsupportedError(reason)
        self._rest(2 * first)  # the calls that it was told by
        return found, first

    def clock(self, variant: Call) -> float:
        """The time of a call, after which as much time is left to others as the share says."""
        begun = self.now()  # of the processor: beside others' work a call takes longer, and nothing from them
        found = super().clock(variant)
        self._rest(self.now() - begun)
        return found

    def _rest(self, taken: float) -> None:
        self.spent += taken
        time.sleep(taken * (1 / self._job.share - 1))

    def _reason(self, variant: Call) -> str:
        """Why a variant may not take the default's place; "" if it may."""
        dense = [n for n, operand in enumerate(self.operands) if operand.pattern is None]
        convert, own = variant.kernel.convert, self.default.kernel.convert
        if any(convert.get(n) != own.get(n) for n in dense) or variant.kernel.format != self.default.kernel.format:
            return "each call would copy dense operands or the result"
        if convert != own and not self._job.exact:
            return "each new pattern would be converted"
        if convert != own and variant.direct_on(self.operands) is None:
            return "each call would copy values"
        if self.conversions(variant)[0] > self._job.bytes:
            return "patterns in other formats would take too much memory"
        if self._job.bitwise and self._bits(variant) != self._wanted:
            return "sums have another order"
        return ""

    def _told_apart(self) -> list[list[Operand]]:
        """The operands with several values each, more of them where results are rounded to few bits."""
        halves = {torch.float16, torch.bfloat16}
        count = _HALVES if any(o.data is not None and o.data.dtype in halves for o in self.operands) else _SETS
        return [
            [o if o.data is None else o.with_data(telling(o.data, kind, n)) for n, o in enumerate(self.operands)]
            for kind in range(count)
        ]

    def _bits(self, variant: Call) -> list[bytes]:
        """Digests of results of several values, with one thread and with as many as calls use."""
        before, found = threads.chosen(), []
        try:
            for number in (before, self._job.threads):
                threads.choose(number)
                found += [self._digest(variant, operands) for operands in self._telling]
        finally:
            threads.choose(before)
        return found

    def _digest(self, variant: Call, operands: Sequence[Operand]) -> bytes:
        variant.carry(operands)
        return _digest(variant(operands)[0])


def _digest(values: Tensor) -> bytes:
    """A digest of the bits of values, those of any NaN being the same; patterns have been compared."""
    floating = values.is_floating_point() or values.is_complex()
    bits = (values.masked_fill(values.isnan(), math.nan) if floating else values).contiguous()
    return hashlib.blake2b(string_at(memory.address(bits), bits.nbytes)).digest()


def measure(job: Job, subject: Paced, known: Sequence[Trial], progress: Callable[[], None]) -> list[Trial]:
    """Measures the most promising schedules.

    Args:
        job: The job.
        subject: Its problem.
        known: What other patterns with the same request were faster with, the best first.
        progress: Called before each.
    """
    tried: list[Trial] = []
    order = ranking(job)
    try:
        for asked in _proposals(order, known[:_REMEMBERED], job.budget * _SKIPPED, tried):
            progress()
            if not _keeps_threads(asked, tried):
                order.tell({"point": asked["point"], "failed": True})
                continue
            subject.refused = False
            trial = trials.measured(subject, asked)
            with suppress(LibsparseError):  # of another pattern, whose space has other points
                order.tell(trials.told(trial))
            if not subject.refused:
                tried.append(trial)
            if len(tried) > job.budget:
                break
    finally:
        order.close()
    return tried


def _proposals(order: Ranking, known: Sequence[Trial], most: int, tried: Sequence[Trial]) -> Iterator[dict[str, Any]]:
    """The compiler's schedule, those that are known, and what a ranking proposes while it promises something.

    Args:
        order: The ranking.
        known: What was faster for other patterns.
        most: Proposals.
        tried: What has been measured of them.
    """
    for number in range(most):
        asked = order.ask()
        if asked is None or not trials.hopeful(asked):
            break
        gained = -math.log2(min((t.ratio for t in tried if t.ratio is not None), default=1.0))
        if number and asked["expected"] < _REST * gained:
            break
        yield asked
        if number == 0:
            yield from ({"point": trial.point, "schedule": trial.schedule} for trial in known)


def _keeps_threads(asked: dict[str, Any], tried: Sequence[Trial]) -> bool:
    """Whether work is divided among threads where the compiler has it so: it is measured with one."""
    automatic = asked["point"].get("parallel", "auto") == "auto"
    return automatic and (not tried or "parallelize" in asked["schedule"] or "parallelize" not in tried[0].schedule)
