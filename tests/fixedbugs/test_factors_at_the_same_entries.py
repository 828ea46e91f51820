"""Factors of one pattern in a product, and gradients that reach several operands at once."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls

DTYPES = [torch.float64, torch.float32, torch.float16, torch.int64]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "equation", ["ij,ij,jk->ik", "ij,ij,ik->jk", "ij,ij->i", "ij,ij->", "ij,ij->ij", "ij,ij,i,j->ij"]
)
@pytest.mark.parametrize("held", ["both", "first", "second", "none"])
def test_products_of_factors_of_one_pattern(dtype: torch.dtype, equation: str, held: str) -> None:
    seed = torch.Generator().manual_seed(0)
    A = ls.random((7, 7), 0.4, generator=seed).map(torch.ones_like).to(dtype)
    first, second = (torch.randint(1, 5, (A.nnz,), generator=seed).to(dtype) for _ in range(2))
    mask = ls.SparseTensor(A.pattern)
    left = A.with_values(first) if held in ("both", "first") else mask
    right = A.with_values(second) if held in ("both", "second") else mask
    shapes = [(7,) * len(term) for term in equation.split("->")[0].split(",")[2:]]
    others = [torch.randint(1, 5, shape, generator=seed).to(dtype) for shape in shapes]
    wide = torch.int64 if dtype == torch.int64 else torch.float64
    dense = [T.to_dense().to(wide) for T in (left, right, *others)]
    expected = torch.einsum(equation, *dense)
    if held == "none" and not others:  # truth values, whose sum is a disjunction
        expected = expected.bool().to(wide)
    result = ls.einsum(equation, left, right, *others)
    result = result.to_dense() if isinstance(result, ls.SparseTensor) else result
    torch.testing.assert_close(result.to(wide), expected, rtol=1e-2 if dtype == torch.float16 else 0, atol=0)


def test_the_result_has_the_pattern_that_it_had() -> None:
    A = ls.random((6, 5), 0.5)
    mask = ls.SparseTensor(A.pattern)
    result = ls.sddmm(A, torch.ones(6, 2), torch.ones(2, 5))
    again = ls.einsum("ij,ij,ik,kj->ij", mask, result, torch.ones(6, 2), torch.ones(2, 5))
    torch.testing.assert_close(again.to_dense(), 4 * A.to_dense())


def test_gradients_stand_in_memory_as_their_operands_do() -> None:
    mask = ls.SparseTensor(ls.random((6, 5), 0.5).pattern)
    q, k = (torch.randn(n, 3, dtype=torch.float64, requires_grad=True) for n in (6, 5))
    turned = k.t()
    found = torch.autograd.grad(ls.sddmm(mask, q, turned).values().square().sum(), turned)[0]
    assert found.stride() == turned.stride()
    assert torch.autograd.gradgradcheck(lambda q, k: ls.sddmm(mask, q, k.t()).values(), (q, k))
    dense = ((q @ k.t()) * mask.to_dense()).square().sum()
    torch.testing.assert_close(torch.autograd.grad(dense, k)[0], found.t())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("reach", [1, 40])
def test_gradients_of_attention_are_rounded_once(dtype: torch.dtype, reach: int) -> None:
    mask = ls.nn.patterns.window(128, reach)
    seed = torch.Generator().manual_seed(0)
    operands = [torch.randn(2, 128, 16, generator=seed).to(dtype).requires_grad_() for _ in range(3)]
    wide = [operand.detach().double().requires_grad_() for operand in operands]
    result = ls.attention(*operands, mask)
    assert result.dtype == dtype
    expected = F.scaled_dot_product_attention(*wide, attn_mask=mask.to_dense().bool())
    grad = torch.randn(result.shape, generator=seed).to(dtype)
    found = torch.autograd.grad(result, operands, grad)
    right = torch.autograd.grad(expected, wide, grad.double())
    for ours, exact in zip(found, right, strict=True):
        assert ours.dtype == dtype
        assert (ours.double() - exact).abs().max() <= 1.01 * (exact.to(dtype).double() - exact).abs().max() + 1e-5


def test_relus_of_fused_products_have_torchs_gradients() -> None:
    A = ls.random((6, 6), 0.5, dtype=torch.float64)
    x = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    fused = ls.compile(lambda x: torch.relu(A @ x))
    for _ in range(4):
        found = torch.autograd.grad(fused(x).square().sum(), x)[0]
        torch.testing.assert_close(found, torch.autograd.grad(torch.relu(A.to_dense() @ x).square().sum(), x)[0])


@pytest.mark.parametrize("reduce", ["max", "min"])
def test_ties_are_counted_once_for_all_operands(reduce: str) -> None:
    A = ls.tensor([[1.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
    values = A.values().clone().requires_grad_()
    B = torch.tensor([[2.0, 3.0], [2.0, 5.0], [2.0, 2.0]], requires_grad=True)
    product = (values.reshape(-1, 1) * B[torch.tensor([0, 1, 0, 2])]).reshape(2, 2, 2)
    expected = product.amax(1) if reduce == "max" else product.amin(1)
    for _ in range(4):
        result = ls.matmul(A.with_values(values), B, reduce=reduce)
        torch.testing.assert_close(result, expected)
        found = torch.autograd.grad(result, (values, B), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        right = torch.autograd.grad(expected, (values, B), torch.tensor([[1.0, 2.0], [3.0, 4.0]]), retain_graph=True)
        torch.testing.assert_close(found, right)


def test_values_are_promoted_before_they_are_multiplied() -> None:
    P = ls.random((64, 64), 0.1)
    large, X = P.with_values(torch.full((P.nnz,), 100_000, dtype=torch.int32)), torch.ones(64, 4, dtype=torch.int64)
    other = large.to_format("csc")
    assert torch.equal(ls.einsum("ij,ij,jk->ik", large, large, X), ls.einsum("ij,ij,jk->ik", large, other, X))
    means = [ls.einsum("ij,ij->i", large, b, reduce="mean") for b in (large, other)]
    torch.testing.assert_close(means[0], means[1])
    huge, tiny = P.with_values(torch.full((P.nnz,), 1e30)), torch.full((64, 4), 1e-60, dtype=torch.float64)
    products = [ls.einsum("ij,ij,jk->ik", huge, b, tiny) for b in (huge, huge.to_format("csc"))]
    torch.testing.assert_close(products[0], products[1])
