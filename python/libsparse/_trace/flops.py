"""Floating-point operations, for `torch.utils.flop_counter`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from . import encoding
from .library import read


def register() -> None:
    """Lets the counters that are active know what a computation costs."""
    for mode in _get_current_dispatch_mode_stack():
        registry = getattr(getattr(mode, "counter", None), "flop_registry", None)
        if registry is not None:
            registry.setdefault(torch.ops.libsparse.compute, count)


def count(problem: str, formats: Any, shape: Any, arrays: Any, values: Any, *, out_val: Any = None) -> int:
    """An operation for each factor of each term; of several sparse operands, as if their entries were independent."""
    question, operands = encoding.from_text(problem), read(formats, shape, arrays, values)
    terms = math.prod(question.extents(operands).values())
    for operand in operands:
        if operand.pattern is not None:
            terms = terms * operand.pattern.size // max(1, math.prod(operand.shape))
    return terms * len(operands)
