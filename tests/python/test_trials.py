"""Compiled functions are called without their trace where they are faster so."""

import torch
from fusion_operands import K, N, dense, matrix
from libsparse._fusion import trial

import libsparse as ls

A = matrix(1)


def test_a_trial_finds_the_faster_way(monkeypatch):
    now = iter(range(0, 10**9, 1000))
    monkeypatch.setattr(trial, "perf_counter_ns", lambda: next(now))
    several = trial.Trial()
    ways = []
    while several.is_open:
        ways.append(several.prefers_plain)
        several.time((lambda: None) if several.prefers_plain else (lambda: [next(now) for _ in range(3)]))
    assert ways == [False, True] * 5
    assert several.prefers_plain
    long = trial.Trial()
    long.time(lambda: [next(now) for _ in range(2000)])
    assert not long.is_open
    assert not long.prefers_plain


def test_calls_in_a_trial_have_the_same_results(monkeypatch):
    monkeypatch.setattr(trial, "_LONG", 1 << 60)  # a busy machine makes calls long, for which there is no trial
    calls = []

    def layer(a, x):
        calls.append(type(a @ x))
        return torch.relu(a @ x + 1)

    compiled = ls.compile(layer)
    for seed in range(30):
        x = dense(seed, N, K)
        torch.testing.assert_close(compiled(A, x), torch.relu(A @ x + 1))
    assert sum(kind is torch.Tensor for kind in calls) >= 5  # without a trace
    grads = []
    for function in (compiled, layer):
        x = dense(3, N, K).requires_grad_()
        for _ in range(12):
            function(A, x).sum().backward()
        grads.append(x.grad)
    torch.testing.assert_close(*grads)


def test_calls_that_cannot_be_traced_have_a_trial_too(monkeypatch):
    """`cumprod` reads the product before the function returns, so that each call would note its operations down."""
    monkeypatch.setattr(trial, "_LONG", 1 << 60)
    kinds = []

    def layer(a, x):
        product = a @ x
        kinds.append(type(product))
        return product.cumprod(1)

    compiled = ls.compile(layer)
    for seed in range(30):
        x = dense(seed, N, K)
        torch.testing.assert_close(compiled(A, x), (A @ x).cumprod(1))
    assert sum(kind is torch.Tensor for kind in kinds) >= 5
    kinds.clear()
    for seed in range(30):  # with gradients, which plain calls may take far more memory for, there is none
        compiled(A, dense(seed, N, K).requires_grad_()).sum().backward()
    assert torch.Tensor not in kinds
