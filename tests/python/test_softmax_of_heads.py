"""Softmax with several dense dimensions at each entry, and attention whose leading dimensions are one head."""

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls


def scores(block, dtype=torch.float64):
    where = ls.random((30, 40), density=0.2)
    values = torch.randn(where.nnz, *block, dtype=dtype)
    return ls.from_coo(where.indices(), values, (30, 40, *block)), where.to_dense() != 0


def reference(A, there, log):
    dense = torch.where(there.reshape(*there.shape, *(1,) * (A.ndim - 2)), A.to_dense(), -torch.inf)
    found = (torch.log_softmax if log else torch.softmax)(dense, 1)
    return torch.where(dense > -torch.inf, found, 0.0)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("block", [(2, 8), (1, 1), (4, 4), (3, 1, 5), (2, 2)])
def test_values_and_gradients_are_those_of_dense_rows(block, log):
    A, there = scores(block)
    A.requires_grad_()
    function = torch.sparse.log_softmax if log else torch.sparse.softmax
    weights = torch.randn(30, 40, *block, dtype=torch.float64)
    found, wanted = function(A, 1), reference(A, there, log)
    torch.testing.assert_close(found.to_dense(), wanted)
    (mine,) = torch.autograd.grad((found.to_dense() * weights).sum(), A, create_graph=True)
    (other,) = torch.autograd.grad((wanted * weights).sum(), A, create_graph=True)
    torch.testing.assert_close(mine.to_dense(), other.to_dense())
    (mine,) = torch.autograd.grad((mine.to_dense() ** 2).sum(), A)
    (other,) = torch.autograd.grad((other.to_dense() ** 2).sum(), A)
    torch.testing.assert_close(mine.to_dense(), other.to_dense())


def test_many_entries():
    where = ls.random((300, 300), density=0.3)
    for block in ((2, 8), (2, 2)):
        A = ls.from_coo(where.indices(), torch.randn(where.nnz, *block), (300, 300, *block))
        wanted = reference(A, where.to_dense() != 0, log=False)
        torch.testing.assert_close(torch.sparse.softmax(A, 1).to_dense(), wanted)


@pytest.mark.parametrize("leading", [(), (1,), (1, 1), (2, 1), (2, 3)])
@pytest.mark.parametrize("density", [0.1, 0.9])
@pytest.mark.parametrize("scale", [None, 0.3, "one a head"])
def test_attention_has_the_leading_dimensions_of_its_operands(leading, density, scale):
    q, k, v = (torch.randn(*leading, n, 8, dtype=torch.float64, requires_grad=True) for n in (60, 70, 70))
    mask = (torch.rand(60, 70) < density) | (torch.arange(70) == 0)
    factor = torch.rand(*leading, 1, 1, dtype=torch.float64) if scale == "one a head" else scale
    found = ls.attention(q, k, v, ls.from_mask(mask), scale=factor)
    if scale == "one a head":
        wanted = F.scaled_dot_product_attention(q * factor, k, v, attn_mask=mask, scale=1.0)
    else:
        wanted = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=factor)
    torch.testing.assert_close(found, wanted)
    weights = torch.randn_like(wanted)
    for mine, other in zip(
        torch.autograd.grad((found * weights).sum(), (q, k, v)),
        torch.autograd.grad((wanted * weights).sum(), (q, k, v)),
        strict=True,
    ):
        torch.testing.assert_close(mine, other)
