"""Products of operands with fill values were NaN where the whole sum is infinite, and lost small stored values."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import libsparse as ls

INF = float("inf")
LOGITS = torch.tensor([[-3.0, 0, 0], [0, 1, -2], [0, 0, 0]])
X = torch.tensor([[-INF, 1, 2], [1, 2, INF], [-3, 4, float("nan")]])


@pytest.mark.parametrize("equation", ["ij,jk->ik", "ij,jk->k", "ij,jk->", "ij,jk->ijk", "ij,kj->ik"])
def test_infinite_terms(equation: str) -> None:
    found = ls.einsum(equation, ls.tensor(LOGITS).exp(), X)
    torch.testing.assert_close(found, torch.einsum(equation, LOGITS.exp(), X), equal_nan=True)


def test_infinite_values_of_the_operand() -> None:
    dense = torch.where(torch.arange(9).reshape(3, 3) == 4, INF, LOGITS)
    y = torch.tensor([[1.0, -2, 0]])
    found = y @ (ls.tensor(dense) + 2.0)
    torch.testing.assert_close(found, y @ (dense + 2.0), equal_nan=True)


def test_gradients_beside_infinity() -> None:
    def gradients(sparse: bool) -> tuple[Tensor, Tensor, Tensor]:
        logits, x = LOGITS.clone().requires_grad_(), X[:, :2].clone().requires_grad_()
        out = (ls.tensor(logits).exp() if sparse else logits.exp()) @ x
        out.sum().backward()
        assert logits.grad is not None
        assert x.grad is not None
        return out.detach(), logits.grad[LOGITS != 0], x.grad

    for found, wanted in zip(gradients(True), gradients(False), strict=True):
        torch.testing.assert_close(found, wanted)


def test_infinite_terms_in_transforms() -> None:
    A, wanted = ls.tensor(LOGITS).exp(), LOGITS.exp() @ X[:, :2]
    torch.testing.assert_close(torch.func.vmap(lambda x: A @ x, -1, -1)(X[:, :2]), wanted)
    value, change = torch.func.jvp(lambda x: A @ x, (X[:, :2],), (torch.ones(3, 2),))
    torch.testing.assert_close((value, change), (wanted, LOGITS.exp() @ torch.ones(3, 2)))


@pytest.mark.parametrize("equation", ["ij,ij->ij", "ij,ij->ji"])
@pytest.mark.parametrize("other", [ls.tensor([[INF, 0, 1.0], [2, 0, 3], [0, 0, 4]]), ls.tensor(LOGITS) + 1.0])
def test_products_that_sum_nothing(equation: str, other: ls.SparseTensor) -> None:
    A = ls.tensor(LOGITS * 20).exp()  # exp(-60) beside 1, of which it is no difference
    found = ls.einsum(equation, A, other)
    wanted = torch.einsum(equation, A.to_dense(), torch.nan_to_num(other.to_dense(), posinf=1e9))
    torch.testing.assert_close(
        torch.nan_to_num(found.to_dense(), posinf=1e9 * float(A.to_dense()[0, 0])), wanted, atol=0, rtol=1e-5
    )
    torch.testing.assert_close(ls.einsum("ij->ji", A).to_dense(), A.to_dense().T, atol=0, rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int64, torch.complex64, torch.float16])
def test_dtypes_of_products_that_sum_nothing(dtype: torch.dtype) -> None:
    dense = torch.tensor([[1, 0, 0], [0, 100, 1]]).to(dtype)
    A = ls.tensor(dense).logical_not() if dtype == torch.bool else ls.tensor(dense) + 3
    found = ls.einsum("ij,ij->ij", A, A)
    wanted = A.to_dense() & A.to_dense() if dtype == torch.bool else A.to_dense() * A.to_dense()
    assert found.dtype == dtype
    torch.testing.assert_close(found.to_dense(), wanted)
