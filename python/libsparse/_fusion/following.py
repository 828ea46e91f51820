"""Following a trace: a repeated call of a compiled function, whose operations are compared and not noted down.

Where an operation is not that of the trace, the operations before it are noted down, and the call goes on as a first
call does.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from threading import get_ident
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from libsparse._ops.operands import PLAIN
from libsparse._tensor.recording import recorders

from . import vocabulary
from .effects import DROPOUTS, changed, concerns, passed
from .graph import computed, version_of
from .recorder import Done, Recorder, draw, masked, said
from .replay import Trace
from .traces import Traces, key_of

_push, _pop = torch._C._push_on_torch_function_stack, torch._C._pop_torch_function_stack
_depth = torch._C._len_torch_function_stack
_dispatch_modes, _autocast = torch._C._len_torch_dispatch_stack, torch._C._is_any_autocast_enabled


class Follower(Recorder):
    """Follows a trace as long as the operations of a call are its steps; then it records them."""

    def __init__(self, trace: Trace) -> None:
        """Begin at the first step."""
        super().__init__()
        self._trace: Trace | None = trace
        self._given: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []
        # The tensors that were read, their elements (a pattern where there are none), and the versions of those.
        self._read: list[tuple[Any, Any, int]] = []
        trace.owner = self

    @property
    def has_left(self) -> bool:
        """Whether the call was not one of the trace."""
        return self._trace is None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Takes a function of torch."""
        if self.busy:
            return func(*args, **(kwargs or {}))
        if self._trace is not None and (handle := self._next(func, args, kwargs or {})) is not None:
            return handle
        return self._take(func, args, kwargs or {})

    def take(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Takes an operation of a SparseTensor."""
        paused = self._pause()
        try:
            if self._trace is not None and (handle := self._next(function, args, kwargs)) is not None:
                return handle
            return self._take(function, args, kwargs)
        finally:
            if paused:
                _push(self)

    def _take(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Makes a call that has nothing to do with the steps at once; leaves the trace at any other."""
        if self._trace is None:
            return super()._take(function, args, kwargs)
        if function in DROPOUTS and (idle := passed(*args, **kwargs)) is not None:
            return idle
        self.busy, drawn = True, None
        try:
            if function in DROPOUTS and not self._is_other_mode() and (drawn := draw(*args, **kwargs)) is not None:
                if (handle := self._next(masked, drawn, {})) is not None:
                    return handle
            elif self._is_apart(function, args, kwargs):
                return function(*args, **kwargs)
            self.leave()
            if drawn is not None:
                return self._mask(*drawn)
        finally:
            self.busy = False
        return super()._take(function, args, kwargs)

    def _next(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The tensor for the result of a call that is the next step of the trace; None of any other."""
        trace, given, read = self._trace, self._given, self._read
        assert trace is not None
        at, before = len(given), len(read)
        if at == len(trace.steps) or self._is_other_mode():
            return None
        if kwargs:
            kwargs = said(kwargs)
        if not trace.matches(at, function, args, kwargs, read):
            del read[before:]
            return None
        given.append((function, args, kwargs))
        return trace.handles[at]

    def _is_other_mode(self) -> bool:
        """Whether something of torch is on that was not when the trace began, such as a function of autograd."""
        changed = (
            self.inside or torch.is_grad_enabled() != self._grad or torch.is_inference_mode_enabled() != self._inference
        )
        return bool(changed or _dispatch_modes() or _autocast() or forward_ad._current_level >= 0)

    def _is_apart(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call that is no step has nothing to do with those: it is made at once."""
        assert self._trace is not None
        if function in vocabulary.table and not self.inside:
            at = len(self._given)
            expected = at < len(self._trace.steps) and self._trace.steps[at].function is function
            if expected or any(type(value) not in PLAIN for value in args if isinstance(value, Tensor)):
                return False
        return not concerns(function, args, kwargs)

    def _is_written(self) -> bool:
        """Whether something has written to an operand since it was read."""
        return any(version_of(elements) != version for _, elements, version in self._read)

    def leave(self) -> None:
        """Notes the steps down that the call has had in common with its trace, which it does not follow from now on."""
        trace, self._trace = self._trace, None
        assert trace is not None
        trace.misses += 1
        handles, was, self.busy = trace.handles, self.busy, True
        self.learned = Trace()
        self.learned.misses = trace.misses
        trace.renew()
        trace.owner = None
        paused = self._pause()
        try:
            if self._is_written():
                raise changed(self._read[0][0].shape)
            for (function, args, kwargs), handle in zip(self._given, handles, strict=False):
                self._add(function, args, kwargs, handle)
        finally:
            self.busy = was
            self._given.clear()
            if paused:
                _push(self)

    def abandon(self) -> None:
        """Leaves the trace of a call that raises, whose results may be held by somebody who catches that."""
        if self._trace is not None:
            with contextlib.suppress(RuntimeError):  # the operands have changed since; the first exception says why
                self.leave()

    def finish(self, result: list[Any]) -> Any:
        """What a function has returned (the only item of a list), computed; so is all else that is still in use."""
        self.busy, trace = True, self._trace
        if trace is not None:
            if len(self._given) == len(trace.steps) and self._computed(trace, result):
                try:
                    return computed(result)[0]
                finally:
                    trace.forget()
            self.leave()
        return super().finish(result)

    def _computed(self, trace: Trace, result: list[Any]) -> bool:
        """Whether the trace's kernel calls have computed the results."""
        if self._is_written():
            return False
        try:
            found = trace.results([value for value, _, _ in self._read], result)
        except RuntimeError:  # said again, and in full, by the operations
            trace.forget()
            trace.owner = self
            return False
        if found:
            trace.misses = 0
        return found


_lock = threading.RLock()  # signal handlers fork, too


def _begin_child() -> None:
    """Forgets the recorders of threads that a child has not: new threads take their numbers."""
    own = recorders.get(get_ident())
    recorders.clear()
    if own is not None:
        recorders[get_ident()] = own
    _lock.release()


# A forked child would find it taken for good, and `apply` half changed, had another thread held it.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_begin_child)
_apply = torch.autograd.Function.__dict__["apply"]


def _apply_computed(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """`Function.apply`, which torch's protocols don't show, on tensors that are computed."""
    apply, recorder = _apply.__get__(None, cls), recorders.get(get_ident())
    if recorder is None:
        return apply(*args, **kwargs)
    given, named = computed(args), computed(kwargs)
    recorder.inside += 1
    try:
        return apply(*given, **named)
    finally:
        recorder.inside -= 1


_COMPUTED = classmethod(_apply_computed)


def _begin(recorder: Recorder) -> None:
    """Lets a recorder see the operations of this thread."""
    with _lock:
        recorders[get_ident()] = recorder
        torch.autograd.Function.apply = _COMPUTED


def _end() -> None:
    """Ends what `_begin` began, as far as that has come."""
    with _lock:
        recorders.pop(get_ident(), None)
        if not recorders:
            torch.autograd.Function.apply = _apply


def call(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    done: list[Done] | None = None,
    traces: Traces | None = None,
) -> Any:
    """Calls a function, and puts its operations together.

    Args:
        fn: The function.
        args: Its arguments.
        kwargs: Its arguments by name.
        done: Gets an item for each computation; None where nobody wants to know.
        traces: The traces of earlier calls.
    """
    key = None if traces is None else key_of(args, kwargs)
    if traces is None or key is None:
        return _run(Recorder(done), fn, args, kwargs)
    trace, trial = traces.find(key), traces.trial(key)
    if trial is not None:
        if trial.prefers_plain:
            return trial.time(lambda: fn(*args, **kwargs)) if trial.is_open else fn(*args, **kwargs)
        if trial.is_open:
            return trial.time(lambda: _traced(fn, args, kwargs, traces, key, trace))
    return _traced(fn, args, kwargs, traces, key, trace)


def _traced(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], traces: Traces, key: Any, trace: Trace | None
) -> Any:
    """Calls a function along a trace of a call like this one; without one, the call may leave one."""
    recorder = Recorder(None, traces.begin(key)) if trace is None else Follower(trace)
    begun = recorder.learned is not None
    try:
        found = _run(recorder, fn, args, kwargs)
    finally:
        if trace is not None and trace.owner is recorder:
            trace.owner = None
    if begun or (isinstance(recorder, Follower) and recorder.has_left):
        traces.keep(key, recorder.learned, recorder.is_light)
    return found


def _run(recorder: Recorder, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a function that a recorder sees the operations of."""
    depth = _depth()
    try:
        _begin(recorder)
        try:
            _push(recorder)
            result = [fn(*args, **kwargs)]
        finally:
            while _depth() > depth:  # an interrupt may have left the recorder out, or more than once in
                _pop()
        return recorder.finish(result)
    except BaseException:
        if isinstance(recorder, Follower):
            recorder.abandon()
        raise
    finally:
        _end()
