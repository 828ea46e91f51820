"""Fake tensors: while torch traces, and on the device "meta", arrays have lengths and no elements."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor

_FAKE = (FakeTensor, FunctionalTensor)


def is_fake(value: Any) -> bool:
    """Whether a value is a tensor without elements: torch traces what is done to it, or it is on the device "meta"."""
    return value.is_meta if type(value) is Tensor else isinstance(value, _FAKE)


def is_unknown(extent: Any) -> bool:
    """Whether an extent is a symbol that depends on elements, such as the number of those that a mask has."""
    return not isinstance(extent, int) and not extent.node.has_hint()


def is_one(extent: Any) -> bool:
    """Whether an extent is 1, so that the dimension broadcasts; one that is unknown does not."""
    return not is_unknown(extent) and bool(extent == 1)
