"""What torch has about its tracers and compilers that differs between its versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_PROXY = torch._C._TorchDispatchModeKey.PROXY
_frames: Any = torch._C._dynamo.eval_frame


def mode() -> Any:
    """The mode of the tracer of make_fx or torch.export that is at work, None where none is."""
    # torch from 2.5 on has get_proxy_mode() for this, of which these are the two parts.
    return torch._ops._get_dispatch_mode_pre_dispatch(_PROXY) or torch._C._get_dispatch_mode(_PROXY)


def forced(slot: Any) -> Any:
    """The proxy of a symbol, of which a tracer keeps how it is made: a function in torch 2.4, a Thunk later."""
    return slot() if callable(slot) else slot.force()


def leave_alone(*functions: Callable[..., Any]) -> None:
    """Runs functions, and what they call, as they are; torch.compile would take each of their frames for a graph.

    Those are frames of the package, where a user's graph has broken at one of its calls.
    """
    for function in functions:
        if hasattr(_frames, "_FrameAction"):
            skip = _frames._FrameAction.SKIP
            _frames.set_code_exec_strategy(function.__code__, _frames._FrameExecStrategy(skip, skip))
        else:  # torch before 2.7 knows frames alone, without those that they call
            _frames.skip_code(function.__code__)
