"""A line that says what takes so long, in terminals and notebooks."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

PATIENCE = 1.0
"""Seconds before something is said."""
_EVERY = 0.5


def is_watched() -> bool:
    """Whether somebody sees the lines: a terminal or a notebook."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


def begin(thread: threading.Thread) -> None:
    """Starts a thread; what a signal handler raises meanwhile is raised, where Python raises a KeyError of its own."""
    try:
        thread.start()
    except KeyError as error:
        raise (error.__context__ or error) from None


class Waiting:
    """Says on standard error what is being done, once that takes over a second, and for how long.

    A terminal's line is wiped in the end.

    Args:
        doing: What is being done, as "reading graph.mtx".
    """

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._done = threading.Event()
        self._speaker: threading.Thread | None = None

    def __enter__(self) -> None:
        if is_watched():
            speaker = threading.Thread(target=self._say, name="libsparse waiting", daemon=True)
            self._begun = time.monotonic()
            try:
                begin(speaker)
                self._speaker = speaker
            except RuntimeError:  # the process may start no threads
                pass
            except BaseException:  # of a signal handler: the thread has begun, and nobody else would end it
                self._done.set()
                raise

    def __exit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._speaker is not None:
            self._done.set()
            self._speaker.join()

    def _say(self) -> None:
        said = ""
        while not self._done.wait(_EVERY if said else PATIENCE):
            said = f"libsparse: {self._doing} ({time.monotonic() - self._begun:.0f} s)"[:118]
            print(f"\r{said}", end="", file=sys.stderr, flush=True)
        if said:
            wiped = f"\r{' ' * len(said)}\r" if sys.stderr.isatty() else "\n"  # a notebook would keep an empty line
            print(wiped, end="", file=sys.stderr, flush=True)
