"""Reductions of tensors with dense levels below listed ones, each place of which has several elements."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("format", ["dsd", "ssd", "sdd", "dds", "dsd:1,0,2", "csf", "coo"])
@pytest.mark.parametrize("density", [0.5, 1.0])
def test_absent_elements_are_counted(format, density):
    dense = -torch.rand(3, 2, 4) * (torch.rand(3, 2, 4) < density)
    A = ls.tensor(dense, format=format)
    for dims in [(1, 2), (0, 2), (0, 1), (0,), (1,), (2,), (0, 1, 2)]:
        torch.testing.assert_close(A.amax(dims), dense.amax(dims))
        torch.testing.assert_close(A.amin(dims), dense.amin(dims))
        torch.testing.assert_close(A.var(dims), dense.var(dims))
        torch.testing.assert_close(A.mean(dims), dense.mean(dims))
    values = -torch.rand(4, 3) - 0.1
    hybrid = ls.from_coo([[0, 0, 1, 2], [0, 1, 1, 0]], values, (3, 2, 3))
    torch.testing.assert_close(hybrid.amax((1, 2)), hybrid.to_dense().amax((1, 2)))
