"""Frames that torch.compile leaves alone: those of the package, where a user's graph has broken at one of its calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_frames: Any = torch._C._dynamo.eval_frame


def leave_alone(*functions: Callable[..., Any]) -> None:
    """Runs functions, and what they call, as they are; torch.compile would take each of their frames for a graph."""
    for function in functions:
        if hasattr(_frames, "_FrameAction"):
            skip = _frames._FrameAction.SKIP
            _frames.set_code_exec_strategy(function.__code__, _frames._FrameExecStrategy(skip, skip))
        else:  # torch before 2.7 knows frames alone, without those that they call
            _frames.skip_code(function.__code__)
