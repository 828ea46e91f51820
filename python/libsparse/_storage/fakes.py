"""Fake tensors: while torch traces, and on the device "meta", arrays have lengths and no elements."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor

from libsparse._lang.errors import UnsupportedError

_FAKE = (FakeTensor, FunctionalTensor)
JIT_TRACE = "torch.jit.trace can't follow kernels of libsparse; use torch.export.export or torch.compile"
_jit_trace = torch._C._get_tracing_state


def is_fake(value: Any) -> bool:
    """Whether a value is a tensor without elements: torch traces what is done to it, or it is on the device "meta"."""
    return value.is_meta if type(value) is Tensor else isinstance(value, _FAKE)


def refuse_jit_trace() -> None:
    """Raises where `torch.jit.trace` is under way, whose graph has the memory of results, but no kernels that write it.

    Raises:
        UnsupportedError: It is.
    """
    if _jit_trace() is not None:
        raise UnsupportedError(JIT_TRACE)


def is_unknown(extent: Any) -> bool:
    """Whether an extent is a symbol that depends on elements, such as the number of those that a mask has."""
    if isinstance(extent, Tensor):  # as torch.jit.trace has it
        refuse_jit_trace()
    return not isinstance(extent, int) and not extent.node.has_hint()


def is_one(extent: Any) -> bool:
    """Whether an extent is 1, so that the dimension broadcasts; one that is unknown does not."""
    return not is_unknown(extent) and bool(extent == 1)
