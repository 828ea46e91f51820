"""Operations at which the graph of a user's function breaks run as they do outside of it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import libsparse as ls


def test_attention_at_a_mask_that_the_function_holds() -> None:
    """torch.compile took frames of the package for graphs, in which notes of what is computed were lost."""
    mask = ls.nn.patterns.window(512, 16)
    operands = [torch.randn(4, 512, 32, generator=torch.Generator().manual_seed(n)).requires_grad_() for n in range(3)]

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Any:
        return ls.attention(q, k, v, mask)

    torch._dynamo.reset()
    compiled = torch.compile(attend)
    found = [compiled(*operands) for _ in range(4)]
    expected = attend(*operands)
    slopes = torch.autograd.grad(expected.sum(), operands)
    for result in found:
        torch.testing.assert_close(result, expected)
        torch.testing.assert_close(torch.autograd.grad(result.sum(), operands), slopes)
