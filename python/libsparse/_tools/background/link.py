"""The helper process, as the one that computes sees it: started for a job, ended where it is silent too long."""

from __future__ import annotations

import fcntl
import os
import select
import socket
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

from . import messages
from .messages import Job, Outcome

_SILENCE = 300.0  # seconds without a sign of life: the C compiler gives up after half of that
_STREAMS = 3  # standard ones, which have the first descriptors
_FLAGS = {"E": "ignore_environment", "s": "no_user_site", "S": "no_site"}  # Python's options that choose what is run
_PROGRAM = """\
import sys
sys.path[:] = {path!a}
from libsparse._tools.background import helper
helper.main({descriptor})
"""


class Helper:
    """A helper process, at one job at a time."""

    def __init__(self) -> None:
        """Start it.

        Raises:
            OSError: It can't be started.
        """
        if not sys.executable:
            raise OSError("Python doesn't know its own executable")
        self._link, descriptor = _pair()
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        folder = _folder()
        command = _command(descriptor, anywhere=folder is not None)
        quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        try:
            self._process = subprocess.Popen(command, pass_fds=[descriptor], env=environment, cwd=folder, **quiet)
        except BaseException:
            self._link.close()
            raise
        finally:
            os.close(descriptor)
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
        waiting = select.poll()  # `select` takes no descriptors from 1024 on
        waiting.register(self._link, select.POLLIN)
        if waiting.poll(1e3 * seconds):
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


def _pair() -> tuple[socket.socket, int]:
    """This process's end of a connection, and the descriptor of the helper's."""
    link, other = socket.socketpair()
    with other:  # of a process without standard streams it has one of their numbers, which the helper's own will have
        try:
            return link, fcntl.fcntl(other, fcntl.F_DUPFD_CLOEXEC, _STREAMS)
        except OSError:
            link.close()
            raise


def _folder() -> str | None:
    """Where a helper is started: here (None), or in "/" where this folder is gone, in which torch can't be imported."""
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:
        return "/"
    return None


def _command(descriptor: int, anywhere: bool) -> list[str]:
    """The command of a helper, which imports from where this process does and from nowhere else.

    Python itself would look in the current folder first, and in what PYTHONPATH means in that. Imports pass over what
    is no str in `sys.path`. Started anywhere else, a helper takes no relative paths.
    """
    path = [str(entry) for entry in sys.path if isinstance(entry, str) and (entry.startswith("/") or not anywhere)]
    flags = [f"-{letter}" for letter, name in _FLAGS.items() if getattr(sys.flags, name)]
    return [sys.executable, *flags, "-c", _PROGRAM.format(path=path, descriptor=descriptor)]
