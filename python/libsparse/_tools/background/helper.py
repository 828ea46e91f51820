"""The helper: a process of low priority that measures schedules for the one that has started it, and ends with it."""

from __future__ import annotations

import os
import queue
import signal
import socket
import statistics
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from libsparse._compiler import kernel, settings
from libsparse._lang.errors import LibsparseError
from libsparse._runtime import tuned
from libsparse._storage import derived, threads
from libsparse._tools import trials, tune
from libsparse._tools.trials import Trial

from . import candidates, messages
from .messages import Job, Outcome

_LOWEST = 19  # priority, which leaves the processor to everybody else
_PROMISING = 0.98  # ratios that are worth the comparison in calls
_FINALISTS = 3


def main(descriptor: int) -> None:
    """Does jobs until the other process is gone."""
    with suppress(OSError):
        os.setpgid(0, 0)  # Ctrl-C is not for this process; a session of its own would have a processor's fair share
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_LOWEST)
    link = socket.socket(fileno=descriptor)
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(link, jobs), daemon=True).start()
    while True:
        job = jobs.get()
        try:
            found = carry_out(job, lambda: messages.send(link, None))
        except (LibsparseError, MemoryError) as error:
            found = Outcome(error=str(error).partition("\n")[0])
        messages.send(link, found)
        del job


def _read(link: socket.socket, jobs: queue.SimpleQueue[Job]) -> None:
    """Takes jobs; where there is nobody left who gives any, this process ends, whatever it does."""
    try:
        while True:
            jobs.put(messages.receive_job(link))
    except (EOFError, OSError):
        pass
    finally:
        os._exit(0)


def carry_out(job: Job, progress: Callable[[], None]) -> Outcome:
    """Measures schedules of a problem, unless its record has them."""
    begun = _processor_time()
    settings.options(cache_dir=job.cache_dir)
    threads.choose(job.threads)
    kernel.forget()
    derived.limit = None
    name, digest = tuned.name(job.problem, job.operands), tuned.digest(job.operands)
    record = tuned.read(name)
    if record is not None and (digest in record["patterns"] or (not job.exact and record["patterns"])):
        return Outcome(name, digest, known=True)
    threads.choose(1)
    subject = candidates.Paced(job)
    tried = candidates.measure(job, subject, _known(record, job), progress)
    gain = 1.0
    if job.exact:
        faster = sorted((t for t in tried[1:] if (t.ratio or 1) < _PROMISING), key=lambda t: t.ratio or 0.0)
        best = [t.schedule for t in faster[:_FINALISTS]]
    else:
        winner, _, *times = trials.decide(subject, tried)
        best = [] if winner is None else [winner.schedule]
        gain = statistics.median(times[1]) / statistics.median(times[0])
    others = max(_processor_time() - begun - subject.spent, 0.0)
    about = tune.described(job.operands)
    return Outcome(name, digest, about, tuple(tried), tuple(best), gain, subject.seconds, others, subject.spent)


def _processor_time() -> float:
    """The seconds that this process and its compilers have had a processor."""
    return sum(os.times()[:4])


def _known(record: tuned.Record | None, job: Job) -> list[Trial]:
    """What was faster for other patterns with the same request and extents."""
    extents = job.problem.extents(job.operands)
    found: list[Any] = []
    for pattern in (record or {"patterns": {}})["patterns"].values():
        found += [Trial(*trial) for trial in pattern["trials"][1:]]
    faster = {t.schedule: t for t in found if t.ratio is not None and t.ratio < _PROMISING}
    return sorted((t for t in faster.values() if tuned.fits(t.schedule, extents)), key=lambda t: t.ratio or 0.0)
