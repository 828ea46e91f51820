"""What else the host process does: limits, signals, other threads, forks, queues."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import processes
import pytest
import torch

import libsparse as ls

BEGIN = """
import os, resource, signal, sys, threading, time, torch, libsparse as ls
torch.set_num_threads(1)
A = ls.eye(60)
def works(width):
    return torch.equal(A @ torch.ones(60, width), torch.ones(60, width))
"""


def printed(script: str, cache: Path) -> list[str]:
    return processes.run(BEGIN + script, cache).splitlines()


CHILDREN = """
def in_a_child(number, work):
    child = os.fork()
    if child == 0:  # which has compiled nothing, as its parent, and finds nothing compiled
        ls.options(cache_dir=os.path.join(os.environ["LIBSPARSE_CACHE_DIR"], str(number)))
        try:
            found = work(number)
        except BaseException as error:
            found = repr(error)
        print(number, found, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.compiler
def test_few_descriptors_are_left_at_the_first_compilation(tmp_path: Path) -> None:
    script = """
def work(free):
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    taken = []
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    for one in taken[len(taken) - free:]:
        os.close(one)
    try:
        first = works(3)
    except ls.ToolchainError:
        first = True
    for one in taken[: len(taken) - free]:
        os.close(one)
    return first and works(3)
for free in (0, 1, 2, 3, 12):
    in_a_child(free, work)
"""
    assert printed(CHILDREN + script, tmp_path) == ["0 True", "1 True", "2 True", "3 True", "12 True"]


@pytest.mark.compiler
def test_few_addresses_are_left_at_the_first_compilation(tmp_path: Path) -> None:
    script = """
def work(more):
    there = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (more << 20)
    resource.setrlimit(resource.RLIMIT_AS, (there, there))
    return works(3)
for more in (10, 150, 500):
    in_a_child(more, work)
"""
    assert printed(CHILDREN + script, tmp_path) == ["10 True", "150 True", "500 True"]


@pytest.mark.compiler
def test_tuning_says_where_few_addresses_are_left(tmp_path: Path) -> None:
    script = """
there = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (150 << 20)
resource.setrlimit(resource.RLIMIT_AS, (there, there))
print("ulimit" in str(ls.tune("ij,jk->ik", A, torch.ones(60, 3), budget=1)))
"""
    assert printed(script, tmp_path) == ["True"]


@pytest.mark.compiler
def test_the_ends_of_children_are_ignored(tmp_path: Path) -> None:
    script = """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print(works(3), flush=True)
if os.fork() == 0:
    print(works(5), flush=True)
    os._exit(0)
try:
    os.wait()
except ChildProcessError:
    pass
"""
    assert printed(script, tmp_path) == ["True", "True"]


@pytest.mark.compiler
def test_another_thread_waits_for_all_children(tmp_path: Path) -> None:
    script = """
def wait():
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            time.sleep(0.001)
threading.Thread(target=wait, daemon=True).start()
print(all([works(width) for width in range(2, 8)]))
"""
    assert printed(script, tmp_path) == ["True"]


@pytest.mark.compiler
def test_a_lock_ends_with_its_process_though_a_child_lives(tmp_path: Path) -> None:
    slow = tmp_path / "cc"
    slow.write_text('#!/bin/sh\nsleep 2\nexec gcc "$@"\n')
    slow.chmod(0o755)
    script = """
import pathlib
threading.Thread(target=works, args=(3,), daemon=True).start()
while not list(pathlib.Path(os.environ["LIBSPARSE_CACHE_DIR"]).glob("*/locks/*.lock")):
    time.sleep(0.01)
time.sleep(0.2)
if os.fork() == 0:
    time.sleep(100)
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = {**os.environ, "LIBSPARSE_CACHE_DIR": str(tmp_path / "cache"), "LIBSPARSE_CC": str(slow)}
    host = subprocess.Popen([sys.executable, "-c", BEGIN + script], env=environment, start_new_session=True)
    try:
        host.wait()
        begun = time.perf_counter()
        processes.run(f"{BEGIN}assert works(3)", tmp_path / "cache", timeout=60, LIBSPARSE_CC=str(slow))
        assert time.perf_counter() - begun < 50
    finally:
        os.killpg(host.pid, signal.SIGKILL)


@pytest.mark.compiler
def test_a_child_leaves_settings_of_its_parents(tmp_path: Path) -> None:
    script = """
ls.options(tune="background")
with ls.options(num_threads=1):
    child = os.fork()
if child == 0:
    from libsparse._tools.background import manager
    print(manager.manager(), threading.active_count(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    assert printed(script, tmp_path) == ["None 1"]


def test_what_is_sent_to_another_process_leaves_the_pattern_where_it_is() -> None:
    A = ls.random((30, 20), 0.3)
    places = [array.data_ptr() for array in A.pattern.tensors()]
    for _ in range(2):
        ForkingPickler.dumps(A * 2)
    assert [array.data_ptr() for array in A.pattern.tensors()] == places
    assert not any(array.is_shared() for array in A.pattern.tensors())
    assert list(A.pattern.derived) == ["shared arrays"]


class Detaches:
    """Garbage whose finaliser detaches a tensor."""

    def __init__(self, A: ls.SparseTensor) -> None:
        self.A, self.me = A, self

    def __del__(self) -> None:
        self.A.detach()


def test_a_finaliser_detaches_what_its_thread_is_detaching() -> None:
    A, kept, threshold = ls.eye(3), [], gc.get_threshold()
    thread = threading.Thread(target=lambda: [(Detaches(A), kept.append(A.detach())) for _ in range(3000)], daemon=True)
    gc.set_threshold(11)
    try:
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
    finally:
        gc.set_threshold(*threshold)
    A.mul_(2)
    assert all(torch.equal(copy.to_dense(), 2 * torch.eye(3)) for copy in kept[-20:])
