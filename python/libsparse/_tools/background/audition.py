"""Auditions: two variants of a prepared problem take turns in the program's own calls, and the faster one stays."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

from libsparse._lang.records import NamedTuple
from libsparse._runtime import tally
from libsparse._runtime.call import Call
from libsparse._runtime.dispatch import Prepared, Variant

ROUNDS = 21
WINS = 16  # of these that the new variant has to be faster in: of equal ones, as many happen once in 75 times
GAIN = 1.02  # and by how much, in the middle
_TURN = 1e-3  # seconds of calls in a turn
_PATIENCE = 5.0  # seconds without a call, after which it ends
_LOOK = 2e-3  # seconds between looks at the tally
_HOPELESS = 1.3  # times as slow, in each of the first turns
_FIRST = 3


class Verdict(NamedTuple):
    """What an audition has shown.

    Attributes:
        won: Whether the new variant is faster beyond doubt.
        ended: Why it could not be completed, "" where it was.
        gain: How much faster the new variant is, in the middle.
        rounds: The rounds that were played.
    """

    won: bool
    ended: str = ""
    gain: float = 1.0
    rounds: int = 0


class _Ended(Exception):
    """The audition can't go on."""


def audition(
    find: Callable[[], Prepared | None], candidate: Call, wait: Callable[[float], bool], expected: float
) -> Verdict:
    """Lets a variant take turns with the present one, which is there again in the end.

    Args:
        find: The prepared problem; None where its pattern is gone.
        candidate: The other variant.
        wait: Waits for some seconds; whether to end at once.
        expected: The seconds of a call.
    """
    own, patience = _present(find), _PATIENCE
    while own is not None and not isinstance(own, Call):  # a trial of another copy (lasting.py), which ends by itself
        patience -= _LOOK
        if wait(_LOOK) or patience < 0:
            return Verdict(False, "there are no more calls")
        own = _present(find)
    if own is None:
        return Verdict(False, "the pattern is gone")
    waits, own.tally.waits = own.tally.waits, 0  # no trial begins meanwhile
    calls = max(1, math.ceil(_TURN / max(expected, 1e-9)))
    wins, gains = 0, []
    try:
        for number in range(ROUNDS):
            pair = (own, candidate) if number % 2 else (candidate, own)
            times = {id(v): _turn(find, pair[1 - n], v, calls, wait) for n, v in enumerate(pair)}
            wins += times[id(candidate)] < times[id(own)]
            gains.append(times[id(own)] / times[id(candidate)])
            if number + 1 - wins > ROUNDS - WINS or (number + 1 == _FIRST and max(gains) < 1 / _HOPELESS):
                break
        gain = statistics.median(gains)
        return Verdict(wins >= WINS and gain >= GAIN, "", gain, len(gains))
    except _Ended as error:
        return Verdict(False, str(error), 1.0, len(gains))
    finally:
        own.tally.period, own.tally.waits = tally.PERIOD, waits
        candidate.tally.period = tally.PERIOD
        prepared = find()
        if prepared is not None and prepared.variant is candidate:
            prepared.replace(own)


def _present(find: Callable[[], Prepared | None]) -> Variant | None:
    """How the problem is computed now; None where its pattern is gone."""
    prepared = find()
    return None if prepared is None else prepared.variant


def _turn(
    find: Callable[[], Prepared | None], before: Call, variant: Call, calls: int, wait: Callable[[float], bool]
) -> float:
    """The mean time of some calls with a variant, which takes the place of another one."""
    prepared = find()
    if prepared is None:
        raise _Ended("the pattern is gone")
    if prepared.variant is not variant:
        if prepared.variant is not before:
            raise _Ended("somebody else has replaced the variant")
        prepared.replace(variant)
    del prepared
    counted = variant.tally
    counted.period, counted.left = 1, 0
    timed, nanoseconds, patience = counted.timed, counted.nanoseconds, _PATIENCE
    while counted.timed - timed < calls:
        if wait(_LOOK):
            raise _Ended("tuning in the background has been switched off")
        patience -= _LOOK
        found = find()
        if found is None:
            raise _Ended("the pattern is gone")
        if found.variant is not variant:
            raise _Ended("somebody else has replaced the variant")
        if patience < 0 and counted.timed == timed:
            raise _Ended("there are no more calls")
        del found
    mean: float = (counted.nanoseconds - nanoseconds) / (counted.timed - timed)
    return mean
