"""`A.pin_memory()`, which loaders call where there is a device; memory of its own stands for pinned memory here."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data._utils.pin_memory import pin_memory

import libsparse as ls

A = ls.random((4, 6), 0.5)


@pytest.fixture(autouse=True)
def _pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self, device=None: self.clone())


@pytest.mark.parametrize("tensor", [A, A.to_format("coo"), A.to_format("bsr(2,2)"), A.with_values(None), torch.exp(A)])
def test_every_array_is_copied(tensor) -> None:
    pinned = pin_memory({"graph": [tensor]})["graph"][0]
    assert (pinned.format, pinned.fill_value) == (tensor.format, tensor.fill_value)
    assert torch.equal(pinned.to_dense(), tensor.to_dense())
    old, new = ([array.data_ptr() for array in t.pattern.tensors()] for t in (tensor, pinned))
    assert not set(old) & set(new)
