"""Parts of matrices of blocks that begin or end within a block: of these blocks alone, not of all entries."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

ROWS = torch.tensor([7, 0, 7, 13, -1])
KEYS = [
    (slice(5, 9), slice(None)),
    (slice(1, 2), slice(3, 4)),
    (slice(2, 17, 3), slice(1, None, 2)),
    (slice(None), slice(4, 4)),
    (3, slice(2, 7)),
    (slice(2, 7), -3),
    (ROWS, slice(1, 8)),
    (slice(1, 8), ROWS % 12),
    (ROWS, ROWS % 12),
    (ROWS, 5),
    (torch.arange(18) % 5 == 2, slice(6, 9)),
    (slice(0, 2), torch.arange(12) > 9),
]


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_parts(key: Any) -> None:
    torch.manual_seed(0)
    blocks = (torch.rand(9, 4) < 0.5).repeat_interleave(2, 0).repeat_interleave(3, 1)
    dense = torch.randn(18, 12, dtype=torch.float64) * blocks
    A = ls.tensor(dense.to_sparse_bsr((2, 3))).requires_grad_()
    dense.requires_grad_()
    part, wanted = A[key], dense[key]
    found = part.to_dense() if isinstance(part, ls.SparseTensor) else part
    assert torch.equal(found, wanted)
    weights = torch.rand_like(wanted)
    (found * weights).sum().backward()
    (wanted * weights).sum().backward()
    assert A.grad is not None
    assert dense.grad is not None
    assert torch.allclose(A.grad.to_dense(), dense.grad * blocks)


def test_few_blocks_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    A = ls.tensor(torch.eye(4096).to_sparse_bsr((16, 16)))
    sizes = []
    entries_of = ls._ops.indexing.getitem.entries_of
    monkeypatch.setattr(
        ls._ops.indexing.getitem, "entries_of", lambda pattern: sizes.append(pattern.size) or entries_of(pattern)
    )
    assert torch.equal(A[40:50, 40:50].to_dense(), torch.eye(10))
    assert sizes
    assert max(sizes) <= 4 * 256
