"""`torch.jit.trace` of what is trained was refused by torch, with advice that does not help."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

A = ls.random((5, 5), 0.5).requires_grad_()
LAYER = ls.nn.SparseLinear(5, 4, density=0.5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fn", [LAYER, lambda x: A @ x, lambda x: torch.exp(A) @ x, lambda x: A.to_dense() + x])
def test_the_error_says_what_to_use(fn) -> None:
    with pytest.raises(ls.UnsupportedError, match=r"torch.jit.trace can't follow .* torch.export.export"):
        torch.jit.trace(fn, torch.randn(5, 5))
