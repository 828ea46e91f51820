"""Layers took the zeros that diagonals and whole rows store for edges, and gave other numbers."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("format", ["dia", "sd", "sd:1,0", "bsr(2,2)"])
@pytest.mark.parametrize("layer", ["GCNConv", "SAGEConv", "GATConv", "GATv2Conv"])
def test_formats_that_store_zeros_are_refused(layer, format):
    with pytest.raises(ls.FormatError, match=rf"{layer}: A .*zeros in these would be edges"):
        getattr(ls.nn, layer)(4, 3)(torch.rand(8, 4), ls.random((8, 8), 0.3).to_format(format))


@pytest.mark.parametrize("format", ["ell", "sell(4)", "db", "dh", "dcsr"])
def test_formats_of_edges_alone(format):
    A, x = ls.random((8, 8), 0.3), torch.rand(8, 4)
    for layer in (ls.nn.SAGEConv(4, 3), ls.nn.GINConv(torch.nn.Linear(4, 3))):
        torch.testing.assert_close(layer(x, A.to_format(format)), layer(x, A))
