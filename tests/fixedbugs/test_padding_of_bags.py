"""EmbeddingBag with a padding_idx from the end counted that row as any other."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [-1, -10, 3])
def test_rows_that_do_not_count(mode, padding):
    own = ls.nn.EmbeddingBag(10, 4, mode=mode, padding_idx=padding)
    torchs = torch.nn.EmbeddingBag(10, 4, mode=mode, padding_idx=padding)
    torchs.weight.data.normal_()
    own.load_state_dict(torchs.state_dict())
    numbers = torch.tensor([[9, 9, 9], [1, 9, 2], [0, 3, 0], [3, 3, 3], [0, 0, 0]])
    torch.testing.assert_close(own(numbers), torchs(numbers))
    for layer in (own, torchs):
        layer(numbers).square().sum().backward()
    torch.testing.assert_close(own.weight.grad, torchs.weight.grad)


@pytest.mark.parametrize("padding", [10, -11])
def test_no_row(padding):
    with pytest.raises(ls.IndexBoundsError, match="padding_idx is"):
        ls.nn.EmbeddingBag(10, 4, padding_idx=padding)
