"""Heads of 43 columns and more of float16 gave NaN to queries all of whose keys are padding."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_queries_whose_keys_are_all_padding_give_nothing(dtype):
    attend = ls.nn.SparseAttention(256, 2, ls.nn.patterns.window(40, 3), batch_first=True, dtype=dtype)
    x = torch.randn(2, 40, 256, dtype=dtype, requires_grad=True)
    padding = torch.zeros(2, 40, dtype=torch.bool)
    padding[0, 20:], padding[1] = True, True
    found = attend(x, x, x, key_padding_mask=padding)[0]
    nothing = attend.out_proj.bias.expand(40, 256)
    torch.testing.assert_close(found[0, 24:], nothing[24:])
    torch.testing.assert_close(found[1], nothing)
    short = attend(x[:1, :20], x[:1, :20], x[:1, :20])[0][0]
    torch.testing.assert_close(found[0, :20], short, rtol=0.02, atol=0.02)
    found.sum().backward()
    assert all(t.grad.isfinite().all() for t in (x, *attend.parameters()))
