"""Compiling under adverse conditions: exchanged files, Ctrl-C, and processes that may start no thread."""

from __future__ import annotations

import _thread
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from libsparse._compiler import kernel, native

import libsparse as ls

pytestmark = pytest.mark.compiler

INTERRUPTED = """
import os, signal, threading, time, torch, libsparse as ls
signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
A, x = ls.eye(50), torch.rand(50, 3)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.perf_counter()
try:
    A @ x
    print("not interrupted")
except KeyboardInterrupt:
    print("waited" if time.perf_counter() - begin > 2 else "at once")
print(torch.equal(A @ x, x))
"""

FORKED = """
import os, pathlib, threading, time, torch, libsparse as ls
A, x = ls.eye(50), torch.rand(50, 3)
thread = threading.Thread(target=lambda: A @ x)
thread.start()
while not list(pathlib.Path(os.environ["LIBSPARSE_CACHE_DIR"]).glob("*/locks/*.lock")):
    time.sleep(0.01)
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(A @ x, x) else 1)
print(os.waitpid(child, 0)[1])
thread.join()
"""

FORKED_OFTEN = """
import os, threading, torch, libsparse as ls
A, x = ls.eye(50), torch.rand(50, 3)
thread = threading.Thread(target=lambda: A @ x)
thread.start()
ends, begins = os.pipe()
children = []
while thread.is_alive() and len(children) < 50:
    children.append(os.fork())
    if children[-1] == 0:
        os.close(begins)
        os.read(ends, 1)  # until the parent closes it
        os._exit(0)
thread.join(60)
print(thread.is_alive())
os.close(begins)
for child in children:
    os.waitpid(child, 0)
"""


def test_an_answer_under_another_name_is_compiled_anew(tmp_path: Path) -> None:
    with ls.options(cache_dir=tmp_path):
        A, x = ls.random((40, 40), 0.2), torch.randn(40, 3)
        kernel.forget()
        product, total = A @ x, A.sum(1)
        requests = sorted(tmp_path.glob("*/requests/*.json"))
        assert len(requests) == 2
        first, second = (path.read_bytes() for path in requests)
        requests[0].write_bytes(second)
        requests[1].write_bytes(first)
        kernel.forget()
        B = ls.SparseTensor(ls.from_coo(A.indices(), None, A.shape).pattern, A.values())
        torch.testing.assert_close(B @ x, product)
        torch.testing.assert_close(B.sum(1), total)


def printed_with_a_slow_compiler(script: str, folder: Path) -> list[str]:
    """What a script prints, line by line, with an empty cache and a compiler that takes three seconds."""
    slow = folder / "cc"
    slow.write_text(f'#!/bin/sh\nsleep 3\nexec {shutil.which("cc") or "gcc"} "$@"\n')
    slow.chmod(0o755)
    environment = {"LIBSPARSE_CC": str(slow), "LIBSPARSE_CACHE_DIR": str(folder / "cache"), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.splitlines()


def test_ctrl_c_ends_the_wait_at_once(tmp_path: Path) -> None:
    assert printed_with_a_slow_compiler(INTERRUPTED, tmp_path)[:2] == ["at once", "True"]


def test_a_child_that_is_forked_while_a_thread_compiles(tmp_path: Path) -> None:
    assert printed_with_a_slow_compiler(FORKED, tmp_path) == ["0"]


def test_a_thread_compiles_while_children_are_forked_that_live_longer(tmp_path: Path) -> None:
    environment = {"LIBSPARSE_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-W", "ignore", "-c", FORKED_OFTEN]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "False\n"


def test_the_compiler_runs_by_itself_where_no_thread_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(native, "_entered_by", 0)
    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    with ls.options(cache_dir=tmp_path):
        kernel.forget()
        x = torch.rand(30, 2)
        assert torch.equal(ls.eye(30) @ x, x)


def test_an_executable_that_can_start_no_thread_says_what_to_raise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    another = "setpriv --reuid=65534 --clear-groups" if os.getuid() == 0 else ""  # limits don't hold for root
    if subprocess.run([*another.split(), native.EXECUTABLE, "version"], capture_output=True, check=False).returncode:
        pytest.skip("the compiler can't be run as a user that limits hold for")
    limited = tmp_path / "limited"
    limited.write_text(f'#!/bin/sh\nexec prlimit --nproc=1 {another} "{native.EXECUTABLE}" "$@"\n')
    limited.chmod(0o755)
    monkeypatch.setattr(native, "EXECUTABLE", limited)
    monkeypatch.setattr(native, "_entered_by", -1)
    with ls.options(cache_dir=tmp_path):
        kernel.forget()
        A, x = ls.eye(31), torch.rand(31, 2)
        with pytest.raises(ls.ToolchainError, match="raise the limit of processes"):
            A @ x
