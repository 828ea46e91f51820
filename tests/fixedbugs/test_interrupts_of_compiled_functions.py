"""Signals between two steps of a compiled function: torch's stack of modes was popped once too often, or too rarely."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
import torch
from libsparse._fusion.trial import Trial
from libsparse._tensor.recording import recorders

import libsparse as ls

APPLY = torch.autograd.Function.__dict__["apply"]


@contextmanager
def alarm(calls: int) -> Iterator[list[int]]:
    """Raises after so many calls of functions in C that change torch's stack of modes, or take or leave a lock.

    Nothing helps where Python ends a call by then.
    """
    seen = [0]

    def handle(frame: FrameType, event: str, function: Any) -> None:
        names = ("_push_on_torch_function_stack", "_pop_torch_function_stack", "get_ident", "__exit__", "acquire")
        code = frame.f_code
        inside = "_fusion" in code.co_filename and code.co_name != "_end"
        if event == "c_return" and inside and function.__name__ in names:
            seen[0] += 1
            if seen[0] == calls:
                raise TimeoutError

    before = sys.getprofile()
    sys.setprofile(handle)
    try:
        yield seen
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("prepared", [False, True])
def test_an_alarm_leaves_the_stack_as_it_was(prepared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trial, "is_open", False)
    A, x = ls.random((20, 20), 0.2), torch.rand(20, 3)
    want = torch.relu(A.to_dense() @ x) * 2
    raised = 0
    for calls in range(1, 200):
        function = ls.compile(lambda A, x: torch.relu(A @ x) * 2)
        if prepared:
            function(A, x)
        try:
            with alarm(calls) as seen:
                function(A, x)
        except TimeoutError:
            raised += 1
        assert torch._C._len_torch_function_stack() == len(recorders) == 0
        assert torch.allclose(function(A, x), want, atol=1e-5)
        if seen[0] < calls:
            break
    assert raised >= 4


def test_children_have_no_recorders_of_other_threads() -> None:
    begun, release = threading.Event(), threading.Event()

    def slow(A: ls.SparseTensor) -> ls.SparseTensor:
        begun.set()
        release.wait(10)
        return A * 2

    thread = threading.Thread(target=ls.compile(slow), args=(ls.eye(3),))
    thread.start()
    begun.wait(10)
    child = os.fork()
    if child == 0:
        os._exit(len(recorders))
    release.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert not recorders
    assert torch.autograd.Function.__dict__["apply"] is APPLY
