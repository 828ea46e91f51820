"""Values that are no entries, of formats that pad: nothing trains them."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim

import libsparse as ls

PADDED = ["bsr(2,2)", "bsr(4,4)", "ell", "sell(2)", "dia", "db", "dh"]


def padding(A: ls.SparseTensor) -> Tensor:
    """Where values are no entries."""
    mask = torch.ones(A.pattern.size, dtype=torch.bool)
    mask[A.pattern.entries(torch.arange(A.pattern.size))] = False
    return mask


@pytest.mark.parametrize("format", PADDED)
@pytest.mark.parametrize("kind", [optim.Adam, optim.Rprop, optim.LBFGS])
def test_padding_is_not_trained(format: str, kind: Any) -> None:
    start = ls.random((7, 9), 0.3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to_format(format)
    weight, entries = nn.Parameter(start.clone()), nn.Parameter(start.pattern.entries(start.values()).clone())
    stored = torch.zeros(7, 9, dtype=torch.bool)
    stored[tuple(start.indices())] = True
    assert padding(start).any()
    for leaf in (weight, entries):
        optimizer = kind([leaf], lr=0.01)

        def closure(leaf: Any = leaf, optimizer: Any = optimizer) -> Tensor:
            optimizer.zero_grad()
            A = leaf if leaf is weight else ls.SparseTensor(start.pattern, start.pattern.spread(leaf))
            own = A.values()[~padding(start)] if leaf is entries else A.values()  # a loss that sees padding
            loss = (A @ torch.ones(9, 2, dtype=torch.float64)).square().sum() + (own + 1).cos().sum()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
    assert not weight.values()[padding(start)].any()
    assert not weight.to_dense()[~stored].any()
    assert (weight.to_dense()[stored] != start.to_dense()[stored]).all()
    torch.testing.assert_close(start.pattern.entries(weight.values()), entries)


@pytest.mark.parametrize("format", ["bsr(2,2)", "ell", "dia"])
def test_gradients_of_padding_are_zero(format: str) -> None:
    weight: Any = nn.Parameter(ls.random((7, 9), 0.3).to_format(format))
    file = io.BytesIO()
    torch.save(weight, file)
    file.seek(0)
    replaced = nn.Parameter(weight.clone())
    replaced.data = ls.random((7, 9), 0.5).to_format(format)
    for leaf in (weight, copy.deepcopy(weight), torch.load(file, weights_only=True), replaced):
        (found,) = torch.autograd.grad((leaf.values() + 1).log().sum(), leaf)
        assert not found.values()[padding(leaf)].any()
        assert found.values()[~padding(leaf)].all()


@pytest.mark.parametrize("start", [nn.init.normal_, nn.init.uniform_, lambda A: nn.init.constant_(A, 2.0)])
def test_padding_is_not_initialized(start: Any) -> None:
    weight: Any = start(nn.Parameter(ls.random((7, 9), 0.3).to_format("bsr(2,2)")))
    assert not weight.values()[padding(weight)].any()
    assert weight.values()[~padding(weight)].all()
