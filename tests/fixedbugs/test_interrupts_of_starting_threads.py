"""What a signal handler raised while a thread began was a KeyError of Python's, or left a thread that spoke on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from libsparse._compiler import native
from libsparse._lang import waiting


class AlarmError(Exception):
    """What the handler raises."""


@contextmanager
def raising(kind: type[BaseException]) -> Iterator[None]:
    """Raises as soon as a thread has begun, within the function that starts it."""

    def handle(frame: FrameType, event: str, function: Any) -> None:
        if event == "c_return" and function.__name__ in ("start_new_thread", "start_joinable_thread"):
            frame.f_locals["self"]._started.wait()
            raise kind

    before = sys.getprofile()
    sys.setprofile(handle)
    try:
        with pytest.raises(kind):
            yield
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("kind", [AlarmError, KeyboardInterrupt])
def test_compilations(kind: type[BaseException]) -> None:
    with raising(kind):
        native._interruptible(lambda: "answer")
    assert native._interruptible(lambda: "answer") == "answer"


@pytest.mark.parametrize("kind", [AlarmError, KeyboardInterrupt])
def test_lines_that_say_what_takes_so_long(kind: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "is_watched", lambda: True)
    with raising(kind), waiting.Waiting("reading"):
        pass
    for thread in threading.enumerate():
        if thread.name == "libsparse waiting":
            thread.join(10)
            assert not thread.is_alive()


def test_other_errors_of_threads() -> None:
    class Faulty(threading.Thread):
        def start(self) -> None:
            raise KeyError(3)

    with pytest.raises(KeyError, match="3"):
        waiting.begin(Faulty())
