"""What torch.compile traces first in a process: nothing that it looks at may be computed meanwhile."""

from __future__ import annotations

import processes
import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("layer", ["GCNConv(4, 3)", "SAGEConv(4, 3)"])
def test_a_layer_that_nothing_was_computed_with(layer):
    code = f"""
        import torch
        import libsparse as ls

        A, x = ls.random((8, 8), 0.3).abs(), torch.randn(8, 4)
        layer = ls.nn.{layer}
        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
        found = compiled(x, A)
        torch.testing.assert_close(found, layer(x, A))
        """
    processes.run(code)


@pytest.mark.parametrize("kind", ["true", "some", "pattern"])
def test_attention_with_a_mask_that_is_no_numbers(kind):
    mask = ls.nn.patterns.window(8, 1)
    if kind != "pattern":
        mask = mask.with_values(torch.ones(mask.nnz, dtype=torch.bool))
    if kind == "some":
        mask.values()[0] = False
    attend = ls.nn.SparseAttention(4, 2, mask, batch_first=True)
    x = torch.randn(2, 8, 4)
    compiled = torch.compile(attend, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, x, x)[0], attend(x, x, x)[0])
