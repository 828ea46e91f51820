"""Frames that torch.compile leaves alone: those of the package, where a user's graph has broken at one of its calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_frames: Any = torch._C._dynamo.eval_frame


def leave_alone(*functions: Callable[..., Any]) -> None:
    """Runs functions, and what they call, as they are; torch.compile would take each of their frames for a graph."""
    skip = _frames._FrameAction.SKIP
    for function in functions:
        _frames.set_code_exec_strategy(function.__code__, _frames._FrameExecStrategy(skip, skip))
