"""Recorder: notes the operations of one call down as they come, and computes them in their order, in groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode

from libsparse._lang.errors import LibsparseError
from libsparse._lang.records import NamedTuple
from libsparse._ops.operands import PLAIN
from libsparse._runtime.problem import Operand
from libsparse._tensor.dispatch_table import title
from libsparse._tensor.sparse_tensor import SparseTensor, dress

from . import execute, vocabulary
from .effects import DROPOUTS, changed, concerns, passed, refuse_lazy, writes
from .graph import LazyDense, Node, computed, force, version_of
from .groups import Group, match
from .replay import FEW, Trace, is_followed

_LONGEST = 16  # operations in a row
_push, _pop = torch._C._push_on_torch_function_stack, torch._C._pop_torch_function_stack
_depth, _at = torch._C._len_torch_function_stack, torch._C._get_function_stack_at
_dispatch_modes, _autocast = torch._C._len_torch_dispatch_stack, torch._C._is_any_autocast_enabled


class Done(NamedTuple):
    """A computation that has run, for explanations.

    Attributes:
        name: The operation, or the last one of a group.
        group: The group, None for an operation by itself.
        reason: Why it ran by itself.
        operands: What the group read.
    """

    name: str
    group: Group | None
    reason: str = ""
    operands: tuple[Operand, ...] = ()


def said(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments without `inplace=False`, which says nothing."""
    return {name: value for name, value in kwargs.items() if name != "inplace" or value}


class Recorder(TorchFunctionMode):
    """Sees every function of torch that one call runs, and the operations of SparseTensors.

    Attributes:
        busy: Whether it is computing, so that what is called now is no part of the function.
        inside: How many functions of autograd are running; what they call is made at once, as autograd needs it.
        done: What has run, if somebody asked for that.
        learned: The trace of this call, None where it can't be repeated or nobody asked for one.
        is_light: Whether what it has noted down takes little memory and time in any case, as `Trace.is_light`.
    """

    def __init__(self, done: list[Done] | None = None, learned: Trace | None = None) -> None:
        """Begin without operations; `learned` is an empty trace, for calls like this one."""
        self.busy, self.done, self.learned, self.inside = False, done, learned, 0
        self.is_light = True
        self._pending: list[Node] = []
        self._returned = False
        self._grad, self._inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Takes a function of torch."""
        return func(*args, **(kwargs or {})) if self.busy else self._take(func, args, kwargs or {})

    def take(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Takes an operation of a SparseTensor."""
        paused = self._pause()
        try:
            return self._take(function, args, kwargs)
        finally:
            if paused:
                _push(self)

    def _pause(self) -> bool:
        """Stops seeing torch's functions, if it does so now; each would be called through Python."""
        count = _depth()
        paused = count > 0 and _at(count - 1) is self
        if paused:
            _pop()
        return paused

    def _take(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Notes a call down, or makes it at once, after what it reads."""
        self.busy = True
        try:
            noted = self._note(function, args, kwargs)
            return self._call(function, args, kwargs) if noted is None else noted
        finally:
            self.busy = False

    def _note(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The tensor that stands for the result of a call; None where it is not noted down."""
        inference = torch.is_inference_mode_enabled()
        if self.inside or (torch.is_grad_enabled() != self._grad and not inference):
            # torch has turned gradients off and not the user: a function of autograd runs whose apply was not seen.
            refuse_lazy((*args, *kwargs.values()))
            return None
        if _dispatch_modes() or _autocast() or forward_ad._current_level >= 0 or inference != self._inference:
            return None
        if function in DROPOUTS:
            idle = passed(*args, **kwargs)
            return idle if idle is not None else self._drop(*args, **kwargs)
        return self._add(function, args, kwargs)

    def _add(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], handle: Any = None) -> Any:
        """The tensor that stands for the result of a call: `handle`, or a new one; None where it is not noted down."""
        if function is masked:
            return self._mask(args[0], args[1], handle)
        note = vocabulary.table.get(function)
        if note is None:
            return None
        if kwargs:
            kwargs = said(kwargs)
        try:
            node = note(*args, **kwargs)
        except TypeError:  # arguments that no expression has
            return None
        if node is None:
            return None
        if node.depth > _LONGEST:  # expressions of any length would take any time to compile
            for part in node.args:
                if isinstance(part, Node):
                    force(part)
            node.depth = 1
        self._pending.append(node)
        if self.is_light:
            followed = any([is_followed(arg) for arg in args if type(arg) is SparseTensor or type(arg) in PLAIN])
            self.is_light = not followed and node.shape.numel() <= FEW
        self._learn(lambda trace: trace.note(function, args, kwargs, node))
        return node.noted(self, function, args, kwargs, handle)

    def _learn(self, step: Callable[[Trace], None] | None) -> None:
        """Adds to the trace of this call; there is none where that can't be repeated."""
        try:
            if self.learned is not None and step is not None:
                step(self.learned)
                return
        except ValueError:
            pass
        self.learned = None

    def _drop(self, *args: Any, **kwargs: Any) -> Any:
        """A dropout as a product with a mask, which is drawn now: random numbers come in the order of the calls."""
        drawn = draw(*args, **kwargs)
        return None if drawn is None else self._mask(*drawn)

    def _mask(self, input: Any, mask: Tensor, handle: Any = None) -> Any:
        """The tensor that stands for the product with the mask of a dropout: `handle`, or a new one."""
        factor = Node("mask", (), mask.shape, mask.dtype)
        factor.value = mask
        product = Node("mul", (input._lazy, factor), mask.shape, mask.dtype)
        self._pending.append(product)
        self._learn(lambda trace: trace.note(masked, (input, mask), {}, product))
        return product.noted(self, torch.mul, (input, mask), {}, handle)

    def _call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a function now."""
        if self.learned is not None and concerns(function, args, kwargs):
            self._learn(None)
        if self._pending and writes(function, args, kwargs):
            self.flush()
        before = sum(node.value is None for node in self._pending) if self.done is not None else 0
        given, named = computed(args), computed(kwargs)
        if before and self.done is not None and before != sum(node.value is None for node in self._pending):
            told = "it is not among the functions that are put together, so what it reads was computed before it"
            self.done.append(Done(title(function), None, told))
        if function is torch._C._set_grad_enabled and not self.inside:
            self._grad = bool(given[0])
        return function(*given, **named)

    def force(self, node: Node) -> Any:
        """Computes the result of an operation."""
        was, self.busy = self.busy, True
        paused = self._pause()
        if not self._returned:
            self._learn(None)
        try:
            if torch.is_grad_enabled() == node.grad:
                return self._compute(node)
            with torch.set_grad_enabled(node.grad):
                return self._compute(node)
        finally:
            self.busy = was
            if paused:
                _push(self)

    def flush(self) -> None:
        """Computes every operation whose result is still in use, in the order of the calls."""
        pending, self._pending = self._pending, []
        for node in pending:
            if node.value is None and node.is_held:
                self.force(node)

    def finish(self, result: list[Any]) -> Any:
        """What a function has returned (the only item of a list), computed; so is all else that is still in use."""
        self.busy = self._returned = True
        found = computed(result)[0]
        self.flush()
        return found

    def _compute(self, node: Node) -> Any:
        group = match(node)
        if group is not None:
            for part, _ in group.reads:
                force(part)
                _check(part)
            result = self._run(group)
            if result is not None:
                self._learn(lambda trace: trace.add(node, group))
                if self.done is not None:
                    self.done.append(Done(node.op, group, "", tuple(part.operand() for part, _ in group.reads)))
                return node.finish(dress(result))
        for part in node.args:
            if isinstance(part, Node):
                force(part)
                _check(part)
        if self.done is not None:
            self.done.append(Done(node.op, None, node.reason))
        self._learn(lambda trace: trace.add(node, None))
        return node.finish(node.run(force))

    def _run(self, group: Group) -> Operand | None:
        """The result of a group; None where its operations are to run by themselves."""
        try:
            result = execute.compute(group)
        except LibsparseError as error:
            group.node.reason = f"{group.expression}: {error}"
            return None
        if result is None:
            reason = execute.why_not_followed(group) if group.kind == "epilogue" else _REASONS.get(group.kind)
            group.node.reason = reason or "the operands' patterns differ"
        return result


_REASONS = {
    "attention": "of short rows, or where a gradient reads scores, several kernels take less time than one pass"
}


def masked(input: Tensor, mask: Tensor) -> Tensor:
    """A dropout whose mask is drawn, as a step of a trace."""
    return input * mask


def draw(
    input: Any, p: float = 0.5, training: bool = True, inplace: bool = False, *, train: bool = True
) -> tuple[LazyDense, Tensor] | None:
    """What a dropout reads, and its mask; None where there is none to draw."""
    if type(input) is not LazyDense or inplace or not 0 < p < 1 or not (training and train):
        return None
    node = input._lazy
    return input, F.dropout(torch.ones(node.shape, dtype=node.dtype, device="cpu"), p)


def _check(node: Node) -> None:
    """Refuses an operand that something wrote to which torch's functions don't tell of.

    Raises:
        UnsupportedError: It has been written to.
    """
    if node.op == "input":
        values = node.value._held if node.sparse else node.value
        if version_of(values) != node.version:
            raise changed(node.shape)
