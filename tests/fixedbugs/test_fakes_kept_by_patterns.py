"""Exports that compute with ordinary patterns, to which they are the first call."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor

import libsparse as ls


class Weighted(torch.nn.Module):
    def __init__(self, A):
        super().__init__()
        self.values, self.pattern = torch.nn.Parameter(A.values().clone()), A.pattern

    def forward(self, x):
        return torch.softmax(ls.SparseTensor(self.pattern, self.values), 1) @ x


@pytest.mark.parametrize("format", ["csr", "bsr(2,2)", "coo"])
def test_nothing_without_elements_is_kept(format):
    A, x = ls.random((6, 8), density=0.5).to_format(format), torch.rand(8, 3)
    module = Weighted(A)
    exported = torch.export.export(module, (x,), strict=False).module()
    wanted = torch.softmax(A, 1).to_dense() @ x
    torch.testing.assert_close(module(x), wanted)
    torch.testing.assert_close(exported(x), wanted)
    assert not isinstance(module.pattern.coordinates(), FakeTensor)
    torch.testing.assert_close(A.to_dense().sum(0), A.sum(0))


class Largest(torch.nn.Module):
    def __init__(self, A):
        super().__init__()
        self.A = A

    def forward(self, values):
        A = self.A.with_values(values)
        return torch.maximum(A, A.tril(0)).to_dense()


def test_unions_with_patterns_of_the_graph_are_in_the_graph():
    A = ls.random((30, 40), density=0.3)
    exported = torch.export.export(Largest(A), (A.values(),), strict=False).module()
    values = torch.rand(A.nnz) - 0.5
    dense = A.with_values(values).to_dense()
    torch.testing.assert_close(exported(values), torch.maximum(dense, dense.tril(0)))
