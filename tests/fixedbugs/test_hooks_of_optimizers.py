"""Hooks of an optimizer's steps saw values in the places of its sparse parameters, and no state of these."""

from __future__ import annotations

from typing import Any

import torch

import libsparse as ls


def trained(hooked: bool) -> torch.Tensor:
    """A weight that is rewired once, by a hook or after the step."""
    layer = ls.nn.SparseLinear(12, 10, density=0.3, generator=torch.Generator().manual_seed(0))
    optimizer, steps = torch.optim.Adam(layer.parameters(), 0.1), iter((False, True, False, False))
    x = torch.rand(4, 12, generator=torch.Generator().manual_seed(1))

    def rewire(*_: Any) -> None:
        if next(steps):
            count = layer.prune(0.3, optimizer)
            layer.grow(count, optimizer, generator=torch.Generator().manual_seed(2))

    if hooked:
        optimizer.register_step_post_hook(rewire)
    for _ in range(4):
        optimizer.zero_grad()
        layer(x).square().sum().backward()
        optimizer.step()
        if not hooked:
            rewire()
    found: torch.Tensor = layer.weight.detach().to_dense()
    return found


def test_a_hook_may_rewire_weights() -> None:
    assert torch.equal(trained(True), trained(False))


def test_hooks_see_parameters_and_their_state() -> None:
    weight = torch.nn.Parameter(ls.eye(3))
    optimizer, seen = torch.optim.Adam([weight]), []

    def look(optimizer: Any, *_: Any) -> None:
        seen.append((optimizer.param_groups[0]["params"][0] is weight, weight in optimizer.state))

    optimizer.register_step_pre_hook(look)
    optimizer.register_step_post_hook(look)
    for _ in range(2):
        weight.sum().backward()
        optimizer.step()
    assert seen == [(True, False), (True, True), (True, True), (True, True)]
