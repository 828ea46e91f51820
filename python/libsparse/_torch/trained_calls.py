"""Calls that autograd follows where there is no C compiler: torch gets those of whose gradients a kernel is missing.

A refusal is too late in a backward pass, so gradients are computed once before the first result of their kind is
handed out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from libsparse._compiler import target
from libsparse._lang.errors import ToolchainError

_KEPT = 1 << 12
_has_compiler = False
_tried: set[Any] = set()
"""Calls whose gradients have been computed: functions and what is known of their operands."""
_refused: set[Any] = set()
"""Calls that have a kernel, but not for their gradients."""


def is_refused(original: Any, operands: Iterable[Any]) -> bool:
    """Whether a gradient of a call of this kind had no kernel."""
    return bool(_refused) and _kind(original, operands) in _refused


def check(original: Any, operands: tuple[Any, ...], result: Any) -> None:
    """The gradients of a result have kernels, or can have them.

    Raises:
        ToolchainError: They don't, for want of a C compiler.
    """
    global _has_compiler
    if _has_compiler or not isinstance(result, Tensor) or not result.requires_grad:
        return
    _has_compiler = target.has_compiler()
    kind = _kind(original, operands)
    if _has_compiler or kind in _tried:
        return
    inputs = [operand for operand in operands if isinstance(operand, Tensor) and operand.requires_grad]
    try:
        torch.autograd.grad(result, inputs, result.detach(), retain_graph=True, allow_unused=True)
    except ToolchainError:
        _add(_refused, kind)
        raise
    _add(_tried, kind)


def _kind(original: Any, operands: Iterable[Any]) -> tuple[Any, ...]:
    """What the kernels of a call's gradients depend on."""
    return original, *((o.layout, o.shape, o.dtype, o.requires_grad) for o in operands if isinstance(o, Tensor))


def _add(kinds: set[Any], kind: Any) -> None:
    if len(kinds) >= _KEPT:
        kinds.clear()
    kinds.add(kind)
