"""The tracer that makes a graph, as torch keeps it; what versions of torch do differently about it is here alone."""

from __future__ import annotations

from typing import Any

import torch

_PROXY = torch._C._TorchDispatchModeKey.PROXY


def mode() -> Any:
    """The mode of the tracer of make_fx or torch.export that is at work, None where none is."""
    # torch from 2.5 on has get_proxy_mode() for this, of which these are the two parts.
    return torch._ops._get_dispatch_mode_pre_dispatch(_PROXY) or torch._C._get_dispatch_mode(_PROXY)


def forced(slot: Any) -> Any:
    """The proxy of a symbol, of which a tracer keeps how it is made: a function in torch 2.4, a Thunk later."""
    return slot() if callable(slot) else slot.force()
