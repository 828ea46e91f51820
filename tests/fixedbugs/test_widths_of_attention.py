"""Attention in one pass was compiled for the class of a width, not for the width: 20 raised an internal error."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls


@pytest.mark.parametrize(("d", "e"), [(20, 20), (33, 7), (80, 96)])
def test_heads_of_any_width(d: int, e: int) -> None:
    where = torch.ones(101, 101).tril(30).triu(-30).bool()
    q, k, v = (torch.randn(2, 101, width, requires_grad=True) for width in (d, d, e))
    found, wanted = ls.attention(q, k, v, ls.from_mask(where)), F.scaled_dot_product_attention(q, k, v, where)
    torch.testing.assert_close(found, wanted)
    upstream = torch.randn_like(found)
    torch.testing.assert_close(*(torch.autograd.grad(out, (q, k, v), upstream) for out in (found, wanted)))
