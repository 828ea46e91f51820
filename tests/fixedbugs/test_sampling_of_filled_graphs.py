"""`neighbors` drew from the stored entries of a graph in which all nodes are neighbours."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


@pytest.mark.compiler
def test_graphs_with_a_fill_value_are_refused() -> None:
    graph = torch.exp(ls.tensor([[0.0, 1.0], [2.0, 0.0]]))
    with pytest.raises(ls.UnsupportedError, match=r"has fill_value 1.0, so that all nodes are neighbours"):
        ls.sampling.neighbors(graph, [0], [1])
