"""The manager: a thread that looks at how calls repeat, and has schedules that are measured to be faster take over.

It computes nothing while calls wait. It keeps patterns by weak references, and changes nothing of theirs but which
variant of a prepared problem is run.
"""

from __future__ import annotations

import atexit
import os
import statistics
import threading
import warnings
from contextlib import suppress
from typing import Any

from libsparse._compiler import settings
from libsparse._compiler.settings import Tuning
from libsparse._runtime import tally, tuned
from libsparse._storage import threads

from . import swaps
from .audition import audition
from .link import Helper
from .messages import Job, Outcome
from .sites import Site, Sites

_TICK = 0.1  # seconds between looks at the tallies
_PRICE = 2.0  # seconds that tuning costs before one is known: a few candidates 0.5 to 1, the helper's start 1.5
_BUDGET = 10
_IDLE = 60.0  # seconds after which a helper without work is ended
_FAILURES = 3  # of helpers, after which there will be no other
_GONE = "libsparse: tuning in the background has ended: its helper process can't be run, or ends by itself"


class Manager(threading.Thread):
    """Tunes in the background until it is stopped.

    Attributes:
        log: What was done, a line for each tuning.
    """

    def __init__(self) -> None:
        super().__init__(name="libsparse tuning", daemon=True)
        self.log: list[str] = []
        self._ended = threading.Event()
        self._sites, self._prices = Sites(), list[float]()
        self._helper: Helper | None = None
        self._failures, self._idle = 0, 0.0
        self._threads = threads.count()

    @property
    def helper_group(self) -> int | None:
        """The group of the helper and its compilers, by which they can be stopped; None where there is none."""
        helper = self._helper
        return None if helper is None else helper.group

    def end(self) -> None:
        """Has the thread and the helper end soon."""
        self._ended.set()
        helper = self._helper
        if helper is not None:
            helper.wake()

    def wait(self) -> None:
        """Waits until they have ended; a thread that was not started ends when it is."""
        if threading.current_thread() is not self and self.is_alive():
            self.join()

    def forget(self) -> None:
        """Leaves the helper to the process that a fork was made of."""
        if self._helper is not None:
            self._helper.forget()

    def run(self) -> None:
        """Looks, and tunes what is worth it."""
        try:
            while not self._ended.wait(_TICK) and self._failures < _FAILURES:
                self._look()
            if self._failures >= _FAILURES:
                warnings.warn(_GONE, RuntimeWarning, stacklevel=1)
        except Exception as error:  # of a thread that nobody waits for
            warnings.warn(f"libsparse: tuning in the background has ended: {error!r}", RuntimeWarning, stacklevel=1)
        finally:
            self._dismiss()

    def _look(self) -> None:
        if threads.count() != self._threads:
            self._threads = threads.count()
            self._sites.begin_anew()
            for site in self._sites.every.values():
                if site.swapped:
                    swaps.go_back(site)
        self._sites.look()
        found = self._sites.next(statistics.median(self._prices[-5:] or [_PRICE]))
        if found is None:
            self._idle += _TICK
            if self._idle > _IDLE:
                self._dismiss()
            return
        self._idle = 0.0
        if self._tune(*found):
            self._sites.finish(*found)

    # One site ------------------------------------------------------------------------------------------------------

    def _tune(self, site: Site, exact: bool) -> bool:
        """Measures, compares, keeps what was found, and computes with it; False where the helper's end prevented it."""
        spare = settings.tuning.tune_bytes - sum(s.copied for s in self._sites.every.values())
        job = site.job(exact, _BUDGET, spare)
        if job is None:
            return True
        text, outcome = job.problem.text, self._measured(site, job)
        job = job._replace(operands=())
        if outcome is None or outcome.error or self._ended.is_set():
            self.log.append(f"{text}: {outcome.error if outcome else 'not measured'}")
            return outcome is not None
        if outcome.known:
            candidate = swaps.prepare(site, None)
            if candidate is not None:
                swaps.take_over(site, candidate)
            self.log.append(f"{text}: measured before")
            return True
        self._prices.append(outcome.compiling + outcome.measuring)
        if job.threads == threads.count() and job.bitwise == settings.tuning.tune_bitwise:
            self._decide(site, job, outcome)
        return True

    def _measured(self, site: Site, job: Job) -> Outcome | None:
        """What the helper finds out; None where it fails, or has to end."""
        exact = job.exact
        try:
            if self._helper is None:
                self._helper = Helper()
            self._helper.begin(job)
            del job  # and with it the references to patterns
            while not self._ended.is_set():
                outcome = self._helper.outcome(_TICK)
                if outcome is not None:
                    return outcome
                self._sites.look()
        except (OSError, EOFError, TimeoutError):
            if not self._ended.is_set():
                self._failures += 1
                if self._helper is not None:
                    self._sites.fail(site, exact)
            self._dismiss()
        return None

    def _decide(self, site: Site, job: Job, outcome: Outcome) -> None:
        """Compares the best schedules in calls, unless they are for new patterns; keeps the one that wins."""
        text, winner, said, converts = job.problem.text, None, "the compiler's schedule stays", False
        gain = outcome.gain
        if not job.exact and outcome.best:
            winner, said = outcome.best[0], "another schedule for new patterns like these"
        for schedule in outcome.best if job.exact else ():
            candidate = swaps.prepare(site, schedule)
            if candidate is None:
                continue
            verdict = audition(site.prepared, candidate.variant, self._ended.wait, outcome.default / job.threads)
            if verdict.won:
                winner, converts, gain = schedule, candidate.converts, verdict.gain
                said = f"{gain:.2f} times faster with {schedule}"
                swaps.take_over(site, candidate)
                break
            swaps.drop(site, candidate)
            if verdict.ended:
                self.log.append(f"{text}: {verdict.ended}")
                return
        found: dict[str, Any] = {"schedule": winner, "formats": outcome.about, "bitwise": job.bitwise or winner is None}
        found["gain"], found["when"] = gain if winner else 1.0, tuned.now()
        found["trials"] = [list(trial) for trial in outcome.trials]
        with suppress(OSError):  # a cache that can't be written
            tuned.keep(outcome.name, outcome.digest, text, found, all=not converts, count=job.threads)
        self.log.append(f"{text}: {said}")

    def _dismiss(self) -> None:
        helper, self._helper = self._helper, None
        if helper is not None:
            helper.close()


# The one manager ---------------------------------------------------------------------------------------------------

_manager: Manager | None = None
_applying = False
_lock = threading.RLock()  # signal handlers change options, too


def apply() -> None:
    """Begins or ends, as the options say."""
    global _applying
    wanted = None
    while wanted is not settings.tuning:  # a signal handler may have changed it meanwhile
        with _lock:
            if _applying:
                return  # this is one, and what it has interrupted goes on with what it wants
            _applying = True
            try:
                wanted = settings.tuning
                ending = _begin_or_end(wanted)
            finally:
                _applying = False
        if ending is not None:
            ending.wait()  # without the lock: what the thread runs last, as the user's warnings, may change options


def _begin_or_end(wanted: Tuning) -> Manager | None:
    """Returns the manager that has to end."""
    global _manager
    if wanted.tune != "background":
        ending, _manager = _manager, None
        if ending is not None:
            tally.watch(False)
            ending.end()
        return ending
    if _manager is None or not _manager.is_alive():
        tally.watch(True)
        _manager = Manager()
        _manager.start()
    return None


def manager() -> Manager | None:
    """The manager, None where calls are not tuned in the background."""
    return _manager


def _after_fork() -> None:
    """A forked process has neither the thread nor the helper, nor the thread that may hold the lock."""
    global _applying, _lock, _manager
    _applying, _lock = False, threading.RLock()
    if _manager is not None:
        _manager.forget()
        _manager = None
    tally.watch(False)
    settings.tuning = settings.tuning._replace(tune="off")


def _at_exit() -> None:
    settings.tuning = settings.tuning._replace(tune="off")
    apply()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
