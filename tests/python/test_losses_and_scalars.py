"""torch's losses, questions of one element, and random values, on sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls

TARGET = torch.rand(5, 6)
CALLS: dict[str, Callable[[Any], Any]] = {
    "smooth_l1_loss": lambda a: F.smooth_l1_loss(a, TARGET),
    "huber_loss": lambda a: F.huber_loss(a, TARGET, reduction="sum", delta=0.5),
    "binary_cross_entropy": lambda a: F.binary_cross_entropy(a, TARGET),
    "binary_cross_entropy_with_logits": lambda a: F.binary_cross_entropy_with_logits(a, TARGET),
    "mse_loss of each": lambda a: F.mse_loss(a, a * 2, reduction="none"),
    "kl_div": lambda a: F.kl_div(a, TARGET, reduction="batchmean"),
    "dist": lambda a: torch.dist(a, TARGET),
    "nonzero": torch.nonzero,
    "nonzero in a tuple": lambda a: torch.stack(torch.nonzero(a, as_tuple=True)),
    "item": lambda a: torch.tensor(a[1:2, 1:2].item()),
    "float": lambda a: torch.tensor(float(a[:1, :1])),
    "bool": lambda a: torch.tensor(bool(a[:1, :1] == a[:1, :1])),
    "fill_": lambda a: a.clone().fill_(3),
    "zeta": lambda a: torch.special.zeta(a + 2, a + 1),
    "chebyshev_polynomial_t": lambda a: torch.special.chebyshev_polynomial_t(a, 3),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    dense = torch.where(torch.rand(5, 6) < 0.5, torch.rand(5, 6), 0)
    wanted, found = CALLS[name](dense), CALLS[name](ls.tensor(dense))
    torch.testing.assert_close(found.to_dense() if isinstance(found, ls.SparseTensor) else found, wanted)


def test_attention_by_the_name_of_torch() -> None:
    chosen = torch.rand(5, 6) < 0.7
    q, k, v = torch.randn(2, 5, 3), torch.randn(2, 6, 3), torch.randn(2, 6, 4)
    chosen[:, 0] = True
    found = F.scaled_dot_product_attention(q, k, v, attn_mask=ls.from_mask(chosen))
    torch.testing.assert_close(found, F.scaled_dot_product_attention(q, k, v, attn_mask=chosen))
    with pytest.raises(ls.UnsupportedError, match="is_causal"):
        F.scaled_dot_product_attention(q, k, v, attn_mask=ls.from_mask(chosen), is_causal=True)


def test_random_values() -> None:
    A = ls.random((9, 9), 0.3).requires_grad_()
    pattern = A.pattern
    for draw in (torch.nn.init.normal_, torch.nn.init.uniform_, lambda a: torch.nn.init.constant_(a, 2.0)):
        draw(A)
        assert A.pattern is pattern
        assert A.is_leaf
    assert torch.equal(A.values().detach(), torch.full((A.nnz,), 2.0))


def test_products_in_place() -> None:
    dense = torch.where(torch.rand(4, 4) < 0.5, torch.randn(4, 4), 0)
    A = ls.tensor(dense)
    A.addmm_(A, ls.eye(4))
    torch.testing.assert_close(A.to_dense(), dense * 2)
    with pytest.raises(ls.UnsupportedError, match="addmm_: the result is dense"):
        A.addmm_(torch.eye(4), torch.eye(4))


def test_more_than_one_element() -> None:
    A = ls.eye(3)
    for question in (bool, float, lambda a: a.item()):
        with pytest.raises(ls.ShapeError, match="9 elements"):
            question(A)
