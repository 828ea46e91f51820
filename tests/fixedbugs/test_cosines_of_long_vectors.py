"""Cosine similarities of vectors whose products are infinite in their dtype were NaN."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("size", [1e2, 5e3])
def test_long_vectors(size: float) -> None:
    a = (torch.tensor([[3.0, 4, 0], [1, 0, 2]]) * size).half()
    b = (torch.tensor([[4.0, 3, 1], [-1, 5, 0]]) * size).half()
    for x, y in ((ls.tensor(a), b), (a, ls.tensor(b)), (ls.tensor(a), ls.tensor(b))):
        torch.testing.assert_close(F.cosine_similarity(x, y), F.cosine_similarity(a, b))


def test_gradients() -> None:
    values = torch.tensor([[300.0, 400], [100, -200]]).half()
    a, dense, b = ls.tensor(values).requires_grad_(), values.clone().requires_grad_(), values.flip(0)
    F.cosine_similarity(a, b).sum().backward()
    F.cosine_similarity(dense, b).sum().backward()
    assert a.grad is not None
    assert dense.grad is not None
    torch.testing.assert_close(a.grad.to_dense(), dense.grad)
