"""Ctrl-C while a kernel tells that it has been called a few times: it was printed, and the program went on."""

import pytest
import torch
from libsparse._runtime import first_uses

import libsparse as ls


def test_an_interrupt_is_raised_and_the_kernel_tells_again(monkeypatch):
    end, calls = first_uses._end, []

    def interrupted(*given):
        calls.append(given)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return end(*given)

    monkeypatch.setattr(first_uses, "_end", interrupted)
    A, x = ls.random((2000, 2000), density=0.01), torch.rand(2000, 16, requires_grad=True)

    def steps():
        for _ in range(10):
            (A @ x).sum().backward()

    with pytest.raises(KeyboardInterrupt):
        steps()
    steps()
    assert len(calls) >= 2
