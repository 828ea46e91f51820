"""Graphs of softmax over many entries compute it of other values, too: a kernel that they don't see was a constant."""

from __future__ import annotations

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import libsparse as ls


@pytest.mark.parametrize("format", ["coo", "csr"])
def test_graphs_of_many_entries(format: str) -> None:
    A = ls.random((100, 120), density=0.5, format=format)
    first, second = A.values(), torch.randn(A.nnz)
    graph = make_fx(lambda values: torch.softmax(A.with_values(values), 1).values())(first)
    torch.testing.assert_close(graph(second), torch.softmax(A.with_values(second), 1).values())
