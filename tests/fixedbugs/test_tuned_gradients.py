"""`ls.tune` of a function saw gradients as other problems than training computes, and what won was never used."""

from __future__ import annotations

import torch
from libsparse._tools import tune

import libsparse as ls


def test_gradients_that_are_tuned_are_those_that_are_computed():
    A, x = ls.random((40, 30), 0.2).requires_grad_(), torch.rand(30, 8, requires_grad=True)

    def work():
        return torch.autograd.grad((A @ x).square().sum(), [A.values(), x])

    expected = work()
    computed = {prepared.problem for prepared, _ in A.pattern.calls.values()}
    assert len(computed) == 3
    assert {prepared.problem for prepared, _ in tune.watched(work)} == computed
    with torch.profiler.profile():
        torch.testing.assert_close(work(), expected)
