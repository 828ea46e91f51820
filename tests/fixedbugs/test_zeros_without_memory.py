"""Dense operands and gradients that torch keeps as zeros without memory (`torch._efficientzerotensor`)."""

from collections.abc import Callable

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler
N = 1000


def _matrix() -> tuple[ls.SparseTensor, torch.Tensor]:
    pattern = ls.tensor(torch.eye(N).to_sparse_csr())
    values = torch.randn(N, requires_grad=True)
    return pattern.with_values(values), values


@pytest.mark.parametrize(
    "function",
    [
        lambda A: A.to_dense(),
        lambda A: A @ torch.ones(N, 16),
        lambda A: (A * A).sum(1),
        lambda A: A.values(),
        lambda A: torch.sparse.softmax(A, 1).values(),
    ],
)
def test_gradients(function: Callable[[ls.SparseTensor], torch.Tensor]) -> None:
    A, values = _matrix()
    out = function(A)
    (grad,) = torch.autograd.grad(out, values, torch._efficientzerotensor(out.shape))
    assert torch.equal(grad, torch.zeros(N))


@pytest.mark.parametrize(
    "function",
    [
        lambda A, zeros: A @ zeros(N, 16),
        lambda A, zeros: (A * zeros(N, N)).to_dense(),
        lambda A, zeros: (A * zeros(N, 1)).to_dense(),
        lambda A, zeros: A + zeros(N, N),
        lambda A, zeros: ls.sddmm(A, torch.ones(N, 16), zeros(16, N)).to_dense(),
        lambda A, zeros: ls.einsum("ij,jk->ik", A, zeros(N, 16)),
        lambda A, zeros: ls.evaluate("C(i,k) = A(i,j) * X(j,k)", A=A, X=zeros(N, 16)),
    ],
)
def test_operands(function: Callable[[ls.SparseTensor, Callable[..., torch.Tensor]], torch.Tensor]) -> None:
    A = _matrix()[0].detach()
    found = function(A, lambda *shape: torch._efficientzerotensor(shape))
    assert torch.equal(found, function(A, torch.zeros))
