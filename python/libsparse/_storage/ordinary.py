"""Tensors that are kept, or that kernels write to, have memory of their own: torch's transforms must not wrap them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch._C import _functorch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.utils._python_dispatch import _disable_current_modes

_Made = TypeVar("_Made")

_is_exporting: Callable[[], bool] = getattr(torch.compiler, "is_exporting", bool)  # torch 2.6 and older have none

PLAIN = frozenset({Tensor, torch.nn.Parameter})
"""Classes of tensors that have a memory of their own."""

in_transform = _functorch.peek_interpreter_stack
"""The innermost transform of torch.func that is under way, None outside of all."""

is_wrapped = _functorch.is_functorch_wrapped_tensor
"""Whether a transform of torch.func has put something around a tensor."""

outside_transforms = temporarily_clear_interpreter_stack
"""A context in which torch.func's transforms don't see, and so don't wrap, what is computed."""


def not_seen(tensor: Tensor) -> contextlib.AbstractContextManager[object]:
    """A context in which torch.func's transforms don't see what is computed of a tensor, if none has wrapped that."""
    return contextlib.nullcontext() if in_transform() is None or is_wrapped(tensor) else outside_transforms()


def unseen() -> contextlib.AbstractContextManager[object]:
    """A context in which no dispatch mode sees what is computed, such as a tracer, for which answers aren't known."""
    return _disable_current_modes() if torch._C._len_torch_dispatch_stack() else contextlib.nullcontext()


def are_made() -> bool:
    """Whether ordinary tensors are made of ordinary ones here, as inside of `tensors()`."""
    return not torch.is_inference_mode_enabled() and in_transform() is None and not _fakes_are_made()


@contextlib.contextmanager
def tensors(*, of_fakes: bool = False) -> Iterator[None]:
    """Makes ordinary tensors of ordinary ones, inside of `torch.inference_mode()` and of torch.func's transforms.

    Also where `torch.export` has all functions make tensors without elements, which would be of no use later, unless
    they are made `of_fakes`, which only torch's mode can compute with.
    """
    with contextlib.ExitStack() as contexts:
        contexts.enter_context(torch.inference_mode(False))
        if not of_fakes and _fakes_are_made():
            contexts.enter_context(_disable_current_modes())
            contexts.enter_context(torch._C.DisableTorchFunction())
        if in_transform() is not None:
            contexts.enter_context(outside_transforms())
        yield


def outside_inference(make: Callable[..., _Made]) -> Callable[..., _Made]:
    """A function that makes ordinary tensors inside of `torch.inference_mode()`, too, which takes time to leave."""

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> _Made:
        if not torch.is_inference_mode_enabled():
            return make(*args, **kwargs)
        with torch.inference_mode(False):
            return make(*args, **kwargs)

    return made


def _fakes_are_made() -> bool:
    """Whether torch makes fake tensors of ordinary ones."""
    return _fake_mode() is not None


def _fake_mode() -> Any:
    """The mode in which torch makes fake tensors of ordinary ones, None outside of one."""
    if not torch._C._len_torch_dispatch_stack():
        return None
    return torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE)


def are_exported() -> bool:
    """Whether `torch.export` looks at ordinary tensors: inputs, and those of modules."""
    if _is_exporting():
        return True
    mode = _fake_mode() if torch._C._len_torch_dispatch_stack() else None  # asked for each part of a tensor in a graph
    return mode is not None and getattr(mode.fake_tensor_converter, "export", False)


def kept(most: int) -> Callable[[Callable[..., _Made]], Callable[..., _Made]]:
    """Keeps the last results of a function that makes tensors of sizes and types alone: every later call shares them.

    Args:
        most: How many.
    """

    def decorate(make: Callable[..., _Made]) -> Callable[..., _Made]:
        @functools.lru_cache(maxsize=most)
        @functools.wraps(make)
        def made(*args: object) -> _Made:
            with _disable_current_modes(), tensors():  # fakes would be of no use later
                return make(*args)

        return made

    return decorate


def arrays(given: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
    """Arrays of indices without what transforms of torch.func have put around them: they differentiate none."""
    return [None if a is None else unwrapped(a) for a in given]


def unwrapped(array: Tensor) -> Tensor:
    """One such array; a batch, which `torch.vmap` has made of one, stays as it is."""
    while is_wrapped(array) and not _functorch.is_batchedtensor(array):
        if torch._is_functional_tensor(array):
            torch._sync(array)  # type: ignore[attr-defined]
        array = _functorch.get_unwrapped(array)
    return array
