"""The traces that a compiled function keeps of its calls, by what the arguments are."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad

from libsparse._ops.operands import PLAIN
from libsparse._storage import ordinary
from libsparse._tensor.sparse_tensor import SparseTensor

from .replay import CONSTANTS, Trace
from .trial import Trial

_dispatch_modes, _autocast = torch._C._len_torch_dispatch_stack, torch._C._is_any_autocast_enabled
_profiled = torch._C._autograd._profiler_enabled
_KEPT = 8  # traces of a function
_MISSES = 8  # calls in a row that leave their trace, after which calls like them are not compared any more


class Traces:
    """The traces of a compiled function, by what its arguments are."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[Any, Trace | None] = {}

    def find(self, key: Any) -> Trace | None:
        """The trace of calls like one, if it is nobody's at present."""
        trace = self._known.get(key)
        return trace if trace is not None and trace.owner is None and trace.misses < _MISSES else None

    def begin(self, key: Any) -> Trace | None:
        """An empty trace for calls like one, if there has been one before, and they have not left traces too often."""
        if key not in self._known:
            while len(self._known) >= _KEPT:
                self._known.pop(next(iter(self._known)), None)
            self._known[key] = None
            return None
        trace = self._known[key]
        return Trace() if trace is None else None

    def trial(self, key: Any) -> Trial | None:
        """Whether calls like one are faster as they are; None where they may take far more memory and time so."""
        trace = self._known.get(key)
        return trace.trial if trace is not None and trace.owner is None and trace.is_light else None

    def keep(self, key: Any, trace: Trace | None, is_light: bool) -> None:
        """Keeps a trace; None says that calls like this one, which is light or not, can't be traced."""
        if trace is None:
            trace = Trace()
            trace.misses, trace.is_light = _MISSES, is_light
        if trace.misses >= _MISSES:
            trace.trial = Trial(notes=True)
        trace.renew()
        self._known[key] = trace


def watched() -> bool:
    """Whether something of torch wants to see each operation."""
    modes = _dispatch_modes() or _profiled() or _autocast() or forward_ad._current_level >= 0
    return bool(modes) or ordinary.in_transform() is not None


def key_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the arguments of a call are, as far as a trace depends on it; None where that can't be said."""
    if watched():
        return None
    try:
        found = (
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            *map(_kind, args),
            *[(name, _kind(value)) for name, value in kwargs.items()],
        )
        hash(found)
    except TypeError:
        return None
    return found


def _kind(value: Any) -> Any:
    kind = type(value)
    if kind is SparseTensor:
        return id(value._pattern), value.requires_grad
    if kind in PLAIN:
        return value.shape, value.dtype, value.requires_grad
    return (kind, value) if kind in (int, float) or isinstance(value, CONSTANTS) else id(value)
