"""A stack of encoder layers refused padding, which torch hands on as numbers that are added to scores."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import libsparse as ls

pytestmark = pytest.mark.compiler
WINDOW = ls.nn.patterns.window(40, 6)
OUTSIDE = ~WINDOW.to_dense().bool()


@pytest.mark.parametrize("training", [False, True])
def test_padding_of_a_stack(training):
    given = {"dim_feedforward": 32, "dropout": 0.0, "batch_first": True}
    layers = ls.nn.TransformerEncoderLayer(16, 2, WINDOW, **given), nn.TransformerEncoderLayer(16, 2, **given)
    found, wanted = (nn.TransformerEncoder(layer, 2, enable_nested_tensor=False) for layer in layers)
    wanted.load_state_dict(found.state_dict())
    x, padding = torch.randn(2, 40, 16), torch.arange(40) >= torch.tensor([[25], [40]])
    outs = [
        stack.train(training)(x, mask=mask, src_key_padding_mask=padding)
        for stack, mask in ((found, None), (wanted, OUTSIDE))
    ]
    # Dense torch gives NaN to queries all of whose keys are padding, and to what attends to them in the next layer.
    torch.testing.assert_close(*(torch.cat([out[0, :25], out[1]]) for out in outs))
    assert outs[0].isfinite().all()


def test_numbers_are_added_to_scores():
    found = ls.nn.SparseAttention(16, 2, WINDOW, batch_first=True)
    wanted = nn.MultiheadAttention(16, 2, batch_first=True)
    wanted.load_state_dict(found.state_dict())
    x, added = torch.randn(2, 40, 16), torch.randn(2, 40)
    added[:, 20], added[:, 30] = -torch.inf, torch.finfo(torch.float32).min
    added.requires_grad_()
    outs = [
        layer(x, x, x, key_padding_mask=added, attn_mask=mask)[0]
        for layer, mask in ((found, None), (wanted, torch.where(OUTSIDE, -torch.inf, 0.0)))
    ]
    torch.testing.assert_close(*outs)
    upstream = torch.randn_like(x)
    torch.testing.assert_close(*(torch.autograd.grad(out, added, upstream) for out in outs))
    with pytest.raises(ls.ShapeError, match=r"dtype torch.int64; expected bool \(2, 40\)"):
        found(x, x, x, key_padding_mask=added.long())
