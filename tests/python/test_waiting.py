"""The line that says what takes so long: only for people who see it, and only where it does."""

from __future__ import annotations

import io
import sys
import threading
import time

import pytest
from libsparse._lang import waiting

import libsparse as ls


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal in the place of standard error, for the rest of a test."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(waiting, "PATIENCE", 0.05)
    return shown


def test_long_work_is_named_and_the_line_is_wiped(monkeypatch):
    shown = terminal(monkeypatch)
    with waiting.Waiting("sorting 5 entries"):
        time.sleep(0.3)
    said = shown.getvalue()
    assert said.startswith("\rlibsparse: sorting 5 entries (")
    assert said.endswith(" \r")


def test_notebooks_keep_the_line(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(waiting, "PATIENCE", 0.05)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    with waiting.Waiting("sorting 5 entries"):
        time.sleep(0.3)
    assert shown.getvalue() == "\rlibsparse: sorting 5 entries (0 s)\n"


def test_short_work_is_silent_and_leaves_no_thread(monkeypatch):
    shown = terminal(monkeypatch)
    with waiting.Waiting("nothing"):
        pass
    assert shown.getvalue() == ""
    assert "libsparse waiting" not in {thread.name for thread in threading.enumerate()}


def test_files_and_pipes_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    before = threading.active_count()
    with waiting.Waiting("nothing"):
        assert threading.active_count() == before
    monkeypatch.setattr(sys, "stderr", None)  # as in programs with windows
    assert not waiting.is_watched()


def test_reading_says_so(monkeypatch, tmp_path):
    shown = terminal(monkeypatch)
    ls.write(tmp_path / "a.mtx", ls.eye(3))
    monkeypatch.setattr("libsparse._io.matrix_market.read", lambda *_: time.sleep(0.3) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ls.read(tmp_path / "a.mtx")
    assert "reading a.mtx" in shown.getvalue()
