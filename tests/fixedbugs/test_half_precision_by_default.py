"""torch's default dtype is one that has no complex numbers when derivatives of expressions are first needed."""

from __future__ import annotations

import processes
import pytest

LAYER = """
import torch, libsparse as ls
torch.set_default_dtype({dtype})
out = ls.nn.GATConv(4, 5, heads=2)(torch.randn(6, 4), ls.random((6, 6), 0.4))
out.sum().backward()
print(out.dtype)
"""


@pytest.mark.compiler
@pytest.mark.parametrize("dtype", ["torch.bfloat16", "torch.float64"])
def test_layers_have_gradients(dtype: str) -> None:
    assert processes.run(LAYER.format(dtype=dtype)) == dtype
