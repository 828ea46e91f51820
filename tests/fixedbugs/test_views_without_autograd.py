"""Results that share the values of their operand, where autograd is off: they don't lead back to it, as views don't."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

VIEWS = {
    "T": lambda A: A.T,
    "permute": lambda A: torch.permute(A, (1, 0)),
    "reshape": lambda A: A.reshape(5, 6),
    "unsqueeze": lambda A: A.unsqueeze(0),
    "squeeze": lambda A: A.squeeze(),
    "to_format": lambda A: A.to_format("csr"),
}


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("name", VIEWS)
def test_nothing_leads_back(name, mode):
    A = ls.random((6, 5), 0.5).requires_grad_()
    for _ in range(3):
        with mode():
            view = VIEWS[name](A)
        assert not view.requires_grad
        assert view.is_leaf
    assert torch.equal(view.to_dense(), VIEWS[name](A).detach().to_dense())
    assert VIEWS[name](A).requires_grad


def test_memory_is_shared_still():
    A = ls.random((6, 5), 0.5).requires_grad_()
    before = A.to_dense()
    with torch.no_grad():
        view = A.T
        view.mul_(2)
    x = torch.rand(6, 2, requires_grad=True)
    (view @ x).sum().backward()
    assert torch.equal(A.to_dense(), 2 * before)
    assert A.grad is None
    torch.testing.assert_close(x.grad, A.detach().to_dense() @ torch.ones(5, 2))
