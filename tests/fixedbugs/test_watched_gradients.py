"""Hooks on several gradients, and edges of autograd's graph, are for sparse leaves, too."""

from __future__ import annotations

import pytest
import torch
from torch.autograd.graph import get_gradient_edge, register_multi_grad_hook

import libsparse as ls


@pytest.mark.parametrize("format", ["csr", "bsr(2,2)"])
def test_sparse_leaves(format: str) -> None:
    A, x = ls.random((4, 4), 0.5, format=format).requires_grad_(), torch.rand(4, requires_grad=True)
    wanted = torch.autograd.grad((A @ x).sum(), A.values())[0]
    assert torch.equal(torch.autograd.grad((A @ x).sum(), get_gradient_edge(A))[0], wanted)
    seen: list[list[torch.Tensor]] = []
    handle = register_multi_grad_hook([A, x], seen.append)
    (A @ x).sum().backward()
    handle.remove()
    assert [torch.equal(found, grad) for found, grad in zip(seen[0], (wanted, x.grad), strict=True)] == [True, True]
