"""Tensors in shared memory."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("make", [lambda: ls.from_mask(torch.eye(3) > 0), lambda: ls.tensor(torch.eye(3))])
def test_shared_memory_is_shared(make) -> None:
    """Expanded values were made of a pattern, in memory that is not shared."""
    tensor = make()
    assert not tensor.is_shared()
    assert tensor.share_memory_() is tensor
    assert tensor.is_shared()
