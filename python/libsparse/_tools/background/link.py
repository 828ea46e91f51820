"""The helper process, as the one that computes sees it: started for a job, ended where it is silent too long."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import time
from contextlib import suppress

from . import messages
from .messages import Job, Outcome

_SILENCE = 300.0  # seconds without a sign of life: the C compiler gives up after half of that
_MODULE = "libsparse._tools.background.helper"


class Helper:
    """A helper process, at one job at a time."""

    def __init__(self) -> None:
        """Start it.

        Raises:
            OSError: It can't be started.
        """
        self._link, other = socket.socketpair()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-m", _MODULE, str(other.fileno())]
        quiet = subprocess.DEVNULL
        try:
            self._process = subprocess.Popen(
                command, pass_fds=[other.fileno()], env=environment, stdin=quiet, stdout=quiet, stderr=quiet
            )
        except BaseException:
            self._link.close()
            raise
        finally:
            other.close()
        self._heard = time.monotonic()

    @property
    def group(self) -> int | None:
        """Its group of processes; None before it has one of its own."""
        own = self._process.pid
        with suppress(OSError):
            return own if os.getpgid(own) == own else None
        return None

    def begin(self, job: Job) -> None:
        """Hands it a job.

        Raises:
            OSError: It is gone.
        """
        self._heard = time.monotonic()
        messages.send_job(self._link, job)

    def outcome(self, seconds: float) -> Outcome | None:
        """What came of the job; None where it goes on after so many seconds.

        Raises:
            EOFError: The helper is gone.
            TimeoutError: It gives no sign of life.
        """
        readable, *_ = select.select([self._link], [], [], seconds)
        if readable:
            self._heard = time.monotonic()
            outcome: Outcome | None = messages.receive(self._link)
            return outcome
        if time.monotonic() - self._heard > _SILENCE:
            raise TimeoutError("the helper is silent")
        return None

    def wake(self) -> None:
        """Ends whatever waits for it, from any thread."""
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Ends it."""
        self.wake()
        self._process.kill()
        self._process.wait()
        self._link.close()

    def forget(self) -> None:
        """Closes what a forked process has of it: the helper belongs to the other one, and ends when that does."""
        with suppress(OSError):
            os.close(self._link.detach())
        self._process.returncode = 0  # a child of the other process
