"""Ctrl-C while a kernel tells that it has been called a few times: it was printed, and the program went on.

So was what the handler of another signal raised, such as that of an alarm.
"""

import pytest
import torch
from libsparse._runtime import first_uses, lasting, tally

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


@pytest.mark.parametrize("kind", [TimeoutError, KeyboardInterrupt])
@pytest.mark.parametrize("call", [lambda A, x: A @ x, lambda A, x: A.sum(1)])
def test_an_alarm_is_raised_after_many_calls(kind, call, monkeypatch):
    begin, calls = lasting.begin, []

    def alarmed(*given):
        calls.append(given)
        if len(calls) == 1:
            raise kind("late")
        begin(*given)

    monkeypatch.setattr(lasting, "begin", alarmed)
    A, x = ls.random((50, 50), density=0.1), torch.rand(50, 3)

    def steps():
        for _ in range(2 * tally.REPEATED):
            call(A, x)

    with pytest.raises(kind, match="late"):
        steps()
    assert torch.allclose(call(A, x), call(A.to_dense(), x), atol=1e-5)
    assert len(calls) == 2


def test_the_tally_without_c_tells_again():
    counts, told = tally._Tally(), []

    def alarmed():
        told.append(1)
        if len(told) == 1:
            raise TimeoutError

    counts.waits, counts.told = 2, alarmed
    assert tally.run(counts, lambda address: address, 5) == 5
    with pytest.raises(TimeoutError):
        tally.run(counts, lambda address: address, 5)
    assert [tally.run(counts, lambda address: address, 5) for _ in range(3)] == [5, 5, 5]
    assert len(told) == 2
