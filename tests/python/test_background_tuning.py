"""`ls.options(tune="background")`: calls that repeat are tuned by a helper, and nothing of the program's changes."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from libsparse._compiler import request, settings
from libsparse._runtime import tally
from libsparse._tools.background import manager, sites, swaps
from tuning_helper import StandIn, is_tuned, log, until

import libsparse as ls

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
def test_calls_that_repeat_are_tuned_by_a_helper_process_and_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager, "_BUDGET", 4)
    monkeypatch.setattr(swaps, "drop", lambda *_: None)
    A, x = ls.random((400, 300), 0.1), torch.rand(300, 8)
    kept, expected = (A.values().clone(), x.clone()), A.to_dense() @ x
    versions = A.values()._version, x._version
    A @ x  # prepared before
    ls.options(tune="background", tune_share=1)
    until(lambda: log(), lambda: torch.testing.assert_close(A @ x, expected))
    assert (A.values()._version, x._version) == versions
    assert torch.equal(A.values(), kept[0])
    assert torch.equal(x, kept[1])
    assert ls.cache.info().tuned == 1, log()
    (record,) = request.tuned().values()
    ((entry),) = record["patterns"].values()
    assert record["expression"] == "ij,jk->ik"
    assert 1 < len(entry["trials"]) <= 5
    ls.options(tune="off")
    torch.testing.assert_close(A @ x, expected)
    B = ls.random((400, 300), 0.1)  # of the same class
    torch.testing.assert_close(B @ x, B.to_dense() @ x)
    assert is_tuned(B) == (record["class"] is not None)


def test_forward_and_backward_are_swapped_while_calls_go_on(quick_helper: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    A, x = ls.random((60, 50), 0.2).requires_grad_(), torch.rand(50, 8, requires_grad=True)
    monkeypatch.setattr(StandIn, "schedules", ("reorder(i, j, k)", "reorder(j, i, k)", "reorder(j, k, i)"))

    def step() -> tuple[torch.Tensor, ...]:
        y = A @ x
        gradients = torch.autograd.grad(y.square().sum(), [A.values(), x]) if A.values().requires_grad else ()
        return y.detach(), *gradients

    expected = step()
    ls.options(tune="background")

    def check() -> None:
        for found, wanted in zip(step(), expected, strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)

    until(lambda: len(log()) >= 2 and is_tuned(A), check)  # what takes the most time comes first: this or a gradient
    check()
    assert {job.problem.text for job in quick_helper.jobs} >= {"ij,jk->ik"}
    assert len(quick_helper.jobs) >= 2


def test_every_way_to_a_call_is_counted() -> None:
    A, x = ls.random((60, 50), 0.2), torch.rand(50, 8)
    layer = ls.compile(lambda A, x: (A @ x).relu())
    ls.options(tune="background")
    for way in (lambda: A @ x, lambda: ls.einsum("ij,jk->ik", A, x), lambda: A @ A.T, lambda: layer(A, x)):
        way()
        before = sum(p.variant.tally.calls for p, _ in A.pattern.calls.values())
        for _ in range(40):
            way()
        calls = sum(p.variant.tally.calls for p, _ in A.pattern.calls.values())
        assert calls >= before + 40
    ls.options(tune="off")
    calls = sum(p.variant.tally.calls for p, _ in A.pattern.calls.values())
    A @ x
    assert calls == sum(p.variant.tally.calls for p, _ in A.pattern.calls.values())


def test_patterns_are_let_go(quick_helper: Any) -> None:
    A, x = ls.random((60, 50), 0.2), torch.rand(50, 8)
    ls.options(tune="background")
    until(lambda: log(), lambda: A @ x)
    found = weakref.ref(A.pattern)
    A = None
    gc.collect()
    until(lambda: found() is None)
    assert manager.manager().is_alive()


def test_what_many_patterns_share_is_tuned_for_all(quick_helper: Any) -> None:
    x = torch.rand(50, 8)
    held: list[ls.SparseTensor] = []

    def batch() -> None:
        A = ls.random((60, 50), 0.2)
        torch.testing.assert_close(A @ x, A.to_dense() @ x)
        held[:] = [A]

    batch()
    tally.recent.clear()
    ls.options(tune="background")
    all = next(iter(held[0].pattern.calls.values()))[0].variant.tally.all
    all.calls = all.timed = 100  # of patterns that are gone
    all.nanoseconds = 10**9
    manager.manager()._prices[:] = [0.5]
    until(lambda: log(), batch)
    assert [job.exact for job in quick_helper.jobs] == [False]
    assert "new patterns" in log()[0]
    (record,) = request.tuned().values()
    assert record["class"] == quick_helper.schedules[0]


def test_with_another_number_of_threads_calls_go_back(quick_helper: Any) -> None:
    A, x = ls.random((60, 50), 0.2), torch.rand(50, 8)
    ls.options(tune="background")
    until(lambda: is_tuned(A) and log(), lambda: A @ x)
    before = len(log())
    ls.options(num_threads=2)
    until(lambda: len(log()) > before, lambda: A @ x)
    assert [job.threads for job in quick_helper.jobs[:2]] == [1, 2]


@pytest.mark.parametrize("error", [OSError("no process"), EOFError(), TimeoutError()], ids=lambda e: type(e).__name__)
def test_helpers_that_fail_change_nothing(monkeypatch: pytest.MonkeyPatch, quick_helper: Any, error: Exception) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(StandIn, "outcome", fail)
    A, x = ls.random((60, 50), 0.2), torch.rand(50, 8)
    ls.options(tune="background")
    until(lambda: log(), lambda: A @ x)
    assert "not measured" in log()[0]
    assert not is_tuned(A)


def test_an_error_of_the_thread_is_a_warning(monkeypatch: pytest.MonkeyPatch, quick_helper: Any) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(manager.Manager, "_decide", fail)
    A, x = ls.random((60, 50), 0.2), torch.rand(50, 8)
    ls.options(tune="background")
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError"):
        until(lambda: not manager.manager().is_alive(), lambda: A @ x)
    torch.testing.assert_close(A @ x, A.to_dense() @ x)


def test_a_cache_that_cant_be_written_is_no_error(quick_helper: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise PermissionError("read only")

    monkeypatch.setattr(manager.tuned, "keep", fail)
    A, x = ls.random((60, 50), 0.2), torch.rand(50, 8)
    ls.options(tune="background")
    until(lambda: is_tuned(A) and log(), lambda: A @ x)
    assert manager.manager().is_alive()


def test_a_forked_process_has_no_manager(quick_helper: Any) -> None:
    A, x = ls.random((60, 50), 0.2), torch.rand(50, 8)
    ls.options(tune="background")
    until(lambda: log(), lambda: A @ x)
    expected = A @ x
    child = os.fork()
    if child == 0:
        right = manager.manager() is None and not tally.watching and settings.tuning.tune == "off"
        right = right and torch.equal(A @ x, expected)
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert manager.manager().is_alive()


def test_nothing_is_next_where_nothing_is_left() -> None:
    found = sites.Sites()
    assert found.next(price=0.0) is None
    assert found.next(price=1.0) is None


class _Batches(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, number: int) -> torch.Tensor:
        A = ls.eye(5)
        return A @ torch.ones(5, 2) * number


def test_workers_of_data_loaders_compute_while_the_parent_tunes(quick_helper: Any) -> None:
    A, x = ls.random((60, 50), 0.2), torch.rand(50, 8)
    ls.options(tune="background")
    for number, batch in enumerate(torch.utils.data.DataLoader(_Batches(), num_workers=2, batch_size=None)):
        A @ x
        assert torch.equal(batch, torch.full((5, 2), float(number)))
    until(lambda: log(), lambda: A @ x)


def test_the_option_is_off_after_its_block_and_leaves_nothing() -> None:
    with ls.options(tune="background", tune_share=0.5):
        thread = manager.manager()
        assert thread is not None
        assert thread.is_alive()
        with ls.options(tune_share=0.1):
            assert manager.manager() is thread
    assert not thread.is_alive()
    assert manager.manager() is None
    assert settings.tuning == settings.Tuning()


_PROGRAM = """
import os, sys, threading, time, torch
import libsparse as ls
from libsparse._tools.background import manager
manager._PRICE = 1e-5
ls.options(cache_dir=sys.argv[1], num_threads=1, tune="background")
A, x = ls.random((60, 50), 0.2), torch.rand(50, 8)
end = time.monotonic() + 60
while manager.manager()._helper is None and time.monotonic() < end:
    A @ x
time.sleep(float(sys.argv[2]))
print(manager.manager()._helper._process.pid, flush=True)
if len(sys.argv) > 3:
    raise KeyError("an exception of the program")
"""


@pytest.mark.parametrize("arguments", [["0"], ["0.3", "raise"]], ids=["exit", "exception"])
def test_programs_end_and_the_helper_with_them(tmp_path: Path, arguments: list[str]) -> None:
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path), *arguments]
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert time.monotonic() - begun < 60
    assert done.returncode == len(arguments) - 1, done.stderr
    assert ("KeyError" in done.stderr) == (len(arguments) > 1)
    assert not Path(f"/proc/{int(done.stdout)}").exists()
