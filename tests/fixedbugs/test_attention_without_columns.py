"""Attention whose queries and keys have no columns: all scores are 0."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import libsparse as ls

MASKS = [
    torch.eye(3),
    torch.tensor([[1.0, 0, 2], [0, 3, 0], [0, 0.5, 1]]),
    torch.tensor([[True, False, True], [True, True, True], [False, True, False]]),
]


def _dense(mask: Tensor) -> Tensor:
    return mask if mask.dtype == torch.bool else torch.where(mask == 0, -torch.inf, mask)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
@pytest.mark.parametrize("columns", [0, 4])
def test_means_of_values(mask: Tensor, leading: tuple[int, ...], columns: int):
    q, k, v = (torch.rand(*leading, 3, n, requires_grad=True) for n in (0, 0, columns))
    wanted = F.scaled_dot_product_attention(q, k, v, _dense(mask))
    gradient = torch.autograd.grad(wanted.square().sum(), v)[0]
    for scale, dropout in ((None, 0.0), (0.5, 0.0), (None, 1e-12)):
        found = ls.attention(q, k, v, ls.tensor(mask), scale, dropout)
        torch.testing.assert_close(found, wanted)
        grads = torch.autograd.grad(found.square().sum(), (q, k, v))
        assert [grad.shape for grad in grads] == [q.shape, k.shape, v.shape]
        torch.testing.assert_close(grads[2], gradient)


def test_of_torch():
    q, v = torch.rand(2, 3, 0), torch.rand(2, 3, 4)
    wanted = F.scaled_dot_product_attention(q, q, v, _dense(MASKS[1]))
    torch.testing.assert_close(F.scaled_dot_product_attention(q, q, v, ls.tensor(MASKS[1])), wanted)


def test_gradient_of_the_mask():
    q, v = torch.rand(3, 0), torch.rand(3, 4)
    A = ls.tensor(MASKS[1])
    values, same = (A.values().clone().requires_grad_() for _ in range(2))
    mask = torch.full((3, 3), -torch.inf).index_put(tuple(A.indices()), same)
    ls.attention(q, q, v, A.with_values(values)).square().sum().backward()
    F.scaled_dot_product_attention(q, q, v, mask).square().sum().backward()
    torch.testing.assert_close(values.grad, same.grad)


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 3, 4), (2, 3, 0), (2, 3, 4)])
@pytest.mark.parametrize("rows", [0, 3])
@pytest.mark.parametrize("columns", [0, 4])
def test_batches_without_elements(shape: tuple[int, ...], rows: int, columns: int):
    k, v = torch.rand(shape), torch.rand(*shape[:-1], columns)
    q = torch.rand(*shape[:-2], rows, shape[-1])
    mask = ls.from_mask(torch.ones(rows, 3, dtype=torch.bool))
    torch.testing.assert_close(ls.attention(q, k, v, mask), F.scaled_dot_product_attention(q, k, v))


@pytest.mark.parametrize(("embed_dim", "num_heads"), [(0, 1), (4, 0), (4, 3)])
def test_layers_without_columns(embed_dim: int, num_heads: int):
    with pytest.raises(ls.ShapeError, match=f"num_heads={num_heads} does not divide embed_dim={embed_dim}"):
        ls.nn.SparseAttention(embed_dim, num_heads, ls.eye(3))
