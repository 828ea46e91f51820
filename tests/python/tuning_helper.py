"""A stand-in for the helper of tuning in the background, and what its tests share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from libsparse._compiler import kernel
from libsparse._tools.background import audition, manager, messages
from libsparse._tools.trials import Trial

import libsparse as ls


@pytest.fixture
def own_cache(tmp_path: Path) -> Iterator[None]:
    """What is kept about schedules would be found by other tests; no test leaves a thread or a helper."""
    with ls.options(cache_dir=tmp_path, num_threads=1):
        kernel.forget()
        yield
        ls.options(tune="off")
    kernel.forget()
    assert not [thread for thread in threading.enumerate() if thread.name == "libsparse tuning"]


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are tuned at once, the best of the other schedules wins, and times are what it takes to be quick."""
    monkeypatch.setattr(manager, "_PRICE", 1e-5)
    monkeypatch.setattr(manager, "_TICK", 0.01)
    monkeypatch.setattr(audition, "WINS", 0)
    monkeypatch.setattr(audition, "ROUNDS", 3)
    monkeypatch.setattr(audition, "GAIN", 0.0)
    monkeypatch.setattr(audition, "_HOPELESS", 1e9)
    monkeypatch.setattr(audition, "_TURN", 1e-6)


class StandIn:
    """A helper in this process, which proposes schedules without measuring."""

    schedules = ("reorder(i, j, k); prefetch(j, 8)",)
    jobs: ClassVar[list[messages.Job]] = []

    def __init__(self) -> None:
        self.closed = threading.Event()

    def begin(self, job: messages.Job) -> None:
        StandIn.jobs.append(job._replace(operands=()))

    def outcome(self, seconds: float) -> messages.Outcome | None:
        tried = tuple(Trial({"order": str(n)}, s, 0.5) for n, s in enumerate(self.schedules))
        return messages.Outcome("name", "digest", "about", tried, self.schedules, default=1e-6)

    def wake(self) -> None:
        self.closed.set()

    def close(self) -> None:
        self.closed.set()

    def forget(self) -> None:
        pass


@pytest.fixture
def quick_helper(monkeypatch: pytest.MonkeyPatch, eager: None) -> type[StandIn]:
    monkeypatch.setattr(manager, "Helper", StandIn)
    monkeypatch.setattr(StandIn, "jobs", [])
    return StandIn


def until(condition: Callable[[], Any], call: Callable[[], Any] = lambda: None, seconds: float = 60) -> None:
    """Calls until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, manager.manager() and manager.manager().log
        call()
        time.sleep(1e-3)


def log() -> list[str]:
    found = manager.manager()
    return [] if found is None else found.log


def is_tuned(A: ls.SparseTensor, text: str = "ij,jk->ik") -> bool:
    found = [p.variant for name, (p, _) in A.pattern.calls.items() if name[0].text == text]
    return bool(found) and "the schedule is the caller's" in found[0].kernel.notes
