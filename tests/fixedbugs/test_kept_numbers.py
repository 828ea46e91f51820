"""Tensors that are kept for all calls are never those of a mode that only traces."""

from __future__ import annotations

import contextlib

import pytest
import torch
from libsparse._runtime import conversion
from torch._subclasses.fake_tensor import FakeTensorMode

import libsparse as ls


@pytest.mark.parametrize("strict", [True, False])
def test_conversions_after_one_under_fake_tensors(strict: bool) -> None:
    dense = torch.tensor([[0.0, 2, 0], [1, 0, 3]])
    A = ls.tensor(dense)
    conversion._counted.cache_clear()
    with contextlib.suppress(Exception), FakeTensorMode(allow_non_fake_inputs=not strict):
        A.to_format("csc")
    assert torch.equal(ls.tensor(dense).to_format("csc").to_dense(), dense)
