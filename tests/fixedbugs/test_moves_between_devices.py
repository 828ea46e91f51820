"""Modules and tensors that are moved to the device "meta" and back, or to where they are."""

from __future__ import annotations

import copy

import pytest
import torch

import libsparse as ls

A = ls.random((6, 6), 0.4)
LIKE = [torch.empty_like, torch.zeros_like, torch.ones_like, torch.rand_like]


@pytest.mark.compiler
def test_a_module_without_elements_is_filled() -> None:
    layer, x = ls.nn.SparseLinear(6, 6, density=0.5), torch.rand(2, 6)
    moved = copy.deepcopy(layer).to("meta").to_empty(device="cpu")
    assert moved.weight.device.type == "cpu"
    moved.load_state_dict(layer.state_dict())
    assert torch.equal(moved(x), layer(x))


@pytest.mark.parametrize("make", LIKE)
def test_tensors_like_one_on_meta(make) -> None:
    assert make(A.to("meta"), device="cpu").device.type == "cpu"
    assert make(A, device="meta").device.type == make(A.to("meta")).device.type == "meta"


def test_elements_do_not_come_from_meta() -> None:
    assert A.cpu() is A
    with pytest.raises(NotImplementedError, match="no data"):
        A.to("meta").cpu()


def test_a_pattern_stays_without_values() -> None:
    pattern, module = A.with_values(None), torch.nn.Module()
    module.register_buffer("pattern", pattern)
    for moved in (pattern.to("cpu"), pattern.to(torch.bool), pattern.bool(), module.to("cpu").pattern):
        assert moved is pattern
