"""Attention over a sparse mask kept the dtype of its operands in autocast, and promoted where they have several."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "given", [(torch.float32,) * 3, (torch.float64,) * 3, (torch.bfloat16,) + (torch.float32,) * 2]
)
def test_dtypes_are_those_of_a_dense_mask(dtype, given):
    mask = ls.nn.patterns.window(80, 40)  # rows that are long enough for one pass
    q, k, v = inputs = [torch.randn(2, 80, 8, dtype=each, requires_grad=True) for each in given]
    with torch.autocast("cpu", dtype=dtype):
        found = ls.attention(q, k, v, mask), F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        wanted = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to_dense().bool())
    for out in found:
        assert out.dtype == wanted.dtype
        torch.testing.assert_close(out, wanted, rtol=0.05, atol=0.05)
        assert tuple(grad.dtype for grad in torch.autograd.grad(out.sum(), inputs)) == given
