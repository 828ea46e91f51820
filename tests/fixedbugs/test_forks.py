"""Forked children waited for good for what other threads of their parent were doing."""

from __future__ import annotations

from pathlib import Path

import processes
import pytest

BEGIN = """
import os, signal, threading, time, torch, libsparse as ls
from libsparse._fusion import following
from libsparse._lang.records import cached_property
from libsparse._torch import overrides
torch.set_num_threads(1)
A, x = ls.eye(60), torch.rand(60, 3)
begun, release = threading.Event(), threading.Event()
def in_a_child(work):
    begun.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        work()
        os._exit(0)
    print(os.waitpid(child, 0)[1])
"""


def printed(script: str, cache: Path | None = None) -> str:
    return processes.run(BEGIN + script, cache)


def test_another_thread_is_computing_the_same_property_of_another_object() -> None:
    script = """
class Slow:
    @cached_property
    def number(self):
        begun.set()
        release.wait()
        return 5
thread = threading.Thread(target=lambda: Slow().number)
thread.start()
in_a_child(lambda: (release.set(), Slow().number))
release.set()
thread.join()
kept = Slow()
print(kept.number, vars(kept), Slow.number is vars(Slow)["number"])
"""
    assert printed(script).splitlines() == ["0", "5 {'number': 5} True"]


def test_no_property_has_a_lock_that_children_find_taken() -> None:
    sources = {path: path.read_text() for path in (processes.PACKAGE / "libsparse").rglob("*.py")}
    assert [path for path, text in sources.items() if "functools.cached_property" in text] == []


@pytest.mark.compiler
def test_another_thread_is_computing_what_it_tunes(tmp_path: Path) -> None:
    script = """
def slow(A, x):
    begun.set()
    release.wait()
    return A @ x
thread = threading.Thread(target=lambda: ls.tune(slow, A, x, budget=1))
thread.start()
in_a_child(lambda: ls.tune("ij,jk->ik", A, x, budget=1))
release.set()
thread.join()
"""
    assert printed(script, tmp_path) == "0"


@pytest.mark.parametrize("module", ["overrides", "following"])
def test_another_thread_is_changing_functions_of_torch(module: str) -> None:
    script = f"""
def hold():
    with {module}._lock:
        begun.set()
        time.sleep(0.3)
threading.Thread(target=hold).start()
def work():
    with ls.override():
        ls.compile(lambda A, x: (A @ x).relu())(A, x)
in_a_child(work)
work()
"""
    assert printed(script) == "0"


@pytest.mark.parametrize("module", ["overrides", "following"])
def test_a_signal_handler_forks_amid_a_change(module: str) -> None:
    script = f"""
begun.set()
def work():
    with ls.override():
        ls.compile(lambda A, x: (A @ x).relu())(A, x)
signal.signal(signal.SIGUSR1, lambda *_: in_a_child(work))
with {module}._lock:
    signal.raise_signal(signal.SIGUSR1)
work()
"""
    assert printed(script) == "0"
