"""Peers and models in processes of their own: those that need another environment, and other builds of libsparse.

`Worker` is the side that asks; the module, run as a program, is the process that measures.
"""

from __future__ import annotations

import importlib
import itertools
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from . import machine
from .candidate import Prepared, prepare
from .operands import Problem, cast
from .timing import Call

# Threads of OpenMP wait in a loop before they sleep, for some 8 ms, and hold the cores that long. Those of the other
# processes wait less, which makes no difference within a turn, where calls follow each other.
_OWN_PAUSE, _THEIR_PAUSE = 20e-3, 3e-3
_WAITS = {"GOMP_SPINCOUNT": "30000", "KMP_BLOCKTIME": "1"}
_BENCHMARKS = Path(__file__).resolve().parents[1]


class Worker:
    """A process that has one peer.

    Args:
        title: Of the peer or contender there.
        environment: Added to that of the process.
    """

    _idle_since = 0.0

    def __init__(self, title: str, environment: Mapping[str, str]) -> None:
        self.title = title
        ours, theirs = socket.socketpair()
        path = os.pathsep.join(filter(None, [environment.get("PYTHONPATH"), str(_BENCHMARKS)]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "method.worker", str(theirs.fileno())],
            env={**os.environ, **_WAITS, **environment, "PYTHONPATH": path},
            pass_fds=[theirs.fileno()],
            preexec_fn=_all_cores,
        )
        theirs.close()
        self._connection = Connection(ours.detach())

    def peer(self, file: str) -> Worker:
        """Loads the peer of the title; from a path, or the name of a file in `peers`."""
        self._ask("peer", self.title, file)
        return self

    def model(self, file: str, number: int, title: str, options: Any) -> Worker:
        """Makes a contender of a model: that of this title in workload `number` of a file in `models`."""
        self._ask("model", file, number, title, options)
        return self

    def values(self, what: str, times: int) -> torch.Tensor:
        """Calls the model's `infer` or `step`; the results, one after the other. Its turns are of that call then."""
        values: torch.Tensor = self._ask("values", what, times)
        return values

    def peak(self) -> int:
        """As `machine.peak_of` that call."""
        found: int = self._ask("peak")
        return found

    def threads(self, count: int) -> None:
        """Sets the threads of the process."""
        self._ask("threads", count)

    def processor(self) -> float:
        """The seconds that the process has had a processor, with all its threads."""
        seconds: float = self._ask("processor")
        return seconds

    def settings(self, **chosen: Any) -> None:
        """Sets options of libsparse."""
        self._ask("settings", chosen)

    def tuning(self, *, stands_still: bool) -> list[str]:
        """Has the helper that tunes in the background stand still, or go on; what it has done so far."""
        log: list[str] = self._ask("tuning", stands_still)
        return log

    def prepares(self, kernel: str) -> bool:
        """Whether the peer has the kernel."""
        answer: bool = self._ask("prepares", kernel)
        return answer

    def prepared(self, kernel: str, problem: Problem, *, new: bool, offset: int) -> Prepared:
        """As `candidate.prepare`, there; it raises what the peer raises."""
        result, seconds, first = self._ask("prepare", kernel, problem, new, offset)
        return Prepared(self, result, seconds, first)

    def turn(self, count: int) -> float:
        """See `timing.Timed`."""
        if time.perf_counter() - Worker._idle_since > _THEIR_PAUSE / 2:  # this process has measured meanwhile
            time.sleep(_OWN_PAUSE)
        seconds: float = self._ask("turn", count)
        time.sleep(_THEIR_PAUSE)
        Worker._idle_since = time.perf_counter()
        return seconds

    def close(self) -> None:
        """Ends the process."""
        self._connection.close()
        self._process.wait(10)

    def _ask(self, *message: Any) -> Any:
        try:
            self._connection.send_bytes(pickle.dumps(message))
            answer = pickle.loads(self._connection.recv_bytes())
        except (EOFError, OSError):
            raise RuntimeError(f"the process of {self.title} has died") from None
        if isinstance(answer, Exception):
            raise answer
        return answer


def quieten() -> None:
    """Drops warnings of libraries that say nothing about what is measured."""
    warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|CSC tensor|invariant checks)")
    warnings.filterwarnings("ignore", message="`torch.jit.script")


def _all_cores() -> None:
    # where OpenMP has bound this process's thread to a core, a child would inherit that
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))


class _Server:
    """The measuring side: one method for each message."""

    _peer: Any = None

    def peer(self, title: str, file: str) -> None:
        from peers import peer

        self._peer = next(one for one in peer.load(file).PEERS if one.title == title)

    def model(self, file: str, number: int, title: str, options: Any) -> None:
        workloads = importlib.import_module(f"models.{file}").workloads(options)
        self._model = next(itertools.islice(workloads, number, None)).contenders[title]()

    def values(self, what: str, times: int) -> torch.Tensor | None:
        if not hasattr(self._model, what):
            return None
        self._call = Call(getattr(self._model, what))
        return torch.stack([self._call.run() for _ in range(times)])

    def peak(self) -> int:
        return machine.peak_of(self._call.run)

    def threads(self, count: int) -> None:
        torch.set_num_threads(count)
        if self._peer:
            self._peer.threads(count)

    def processor(self) -> float:
        return time.process_time()

    def settings(self, chosen: dict[str, Any]) -> None:
        import libsparse

        libsparse.options(**chosen)

    def tuning(self, stands_still: bool) -> list[str]:
        from libsparse._tools.background import manager

        found = manager.manager()
        if found is None:
            return []
        if found.helper_group is not None:
            os.killpg(found.helper_group, signal.SIGSTOP if stands_still else signal.SIGCONT)
        return found.log

    def prepares(self, kernel: str) -> bool:
        return self._peer.prepares(kernel)

    def prepare(self, kernel: str, problem: Problem, new: bool, offset: int) -> tuple[Any, float, float]:
        # arrays that came through the connection lie anywhere
        prepared = prepare(self._peer, kernel, cast(problem, None, offset), new=new)
        self._call = prepared.call
        return prepared.result, prepared.prepare, prepared.first

    def turn(self, count: int) -> float:
        return self._call.turn(count)


def _serve(connection: Connection) -> None:
    server = _Server()
    while True:
        try:
            name, *arguments = pickle.loads(connection.recv_bytes())
        except EOFError:
            return
        try:
            answer = getattr(server, name)(*arguments)
        except Exception as error:  # the asking side decides what it means
            answer = error
        try:
            packed = pickle.dumps(answer)
        except Exception:  # an exception that can't be pickled
            packed = pickle.dumps(RuntimeError(f"{type(answer).__name__}: {answer}"))
        connection.send_bytes(packed)


if __name__ == "__main__":
    quieten()
    _serve(Connection(int(sys.argv[1])))
