"""`enable`, `disable`, `override`: torch's own names compute with libsparse where they meet torch's sparse tensors."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from libsparse._lang.errors import FormatError, IndexBoundsError, ShapeError, UnsupportedError
from libsparse._ops import layouts
from libsparse._ops.layouts import LAYOUTS
from libsparse._ops.operands import PLAIN
from libsparse._tensor import dispatch_table
from libsparse._tensor.sparse_tensor import SparseTensor, dress

from . import (  # noqa: F401  # they register what they implement
    autograd,
    conversions,
    creation,
    elementwise,
    indexing,
    inplace,
    joining,
    linear_algebra,
    losses,
    products,
    reductions,
    reshaping,
    shape,
)
from .registry import overridable

_BLOCKED = frozenset({torch.sparse_bsr, torch.sparse_bsc})
_MISSING = object()

_lock = threading.Lock()
_depth = 0
_saved: list[tuple[Any, str, Any]] = []


def enable() -> None:
    """Makes torch's products use libsparse when given its sparse tensors; layouts stay as torch has them."""
    _change(1)


def disable() -> None:
    """Undoes `enable`."""
    _change(-1)


@contextmanager
def override() -> Iterator[None]:
    """`enable` for the length of a `with` block."""
    _change(1)
    try:
        yield
    finally:
        _change(-1)


def _change(step: int) -> None:
    global _depth
    with _lock:
        before, _depth = _depth, max(0, _depth + step)
        if before == 0 and _depth == 1:
            for place, name, original in _places():
                _saved.append((place, name, vars(place).get(name, _MISSING)))
                setattr(place, name, _routed(original, torch_first=overridable[id(original)]))
        elif before == 1 and _depth == 0:
            while _saved:
                place, name, original = _saved.pop()
                if original is _MISSING:
                    delattr(place, name)
                else:
                    setattr(place, name, original)


def _places() -> Iterator[tuple[Any, str, Any]]:
    """The places in torch of the functions that are replaced, with the functions there."""
    for place in (torch, torch.sparse, Tensor, F):
        owners = place.__mro__ if isinstance(place, type) else (place,)
        for name in dict.fromkeys(name for owner in owners for name in vars(owner)):
            found = getattr(place, name, None)
            if id(found) in overridable:
                yield place, name, found


def _routed(original: Callable[..., Any], *, torch_first: bool) -> Callable[..., Any]:
    compute = _run_refused if torch_first else _run

    @functools.wraps(original)
    def routed(*args: Any, **kwargs: Any) -> Any:
        for arg in args:
            if type(arg) in PLAIN and arg.layout in LAYOUTS:
                return compute(original, args, kwargs)
        return original(*args, **kwargs)

    return routed


# A call that libsparse refuses goes to torch, which computes it or raises its own error.
_LEFT = (ShapeError, FormatError, IndexBoundsError, UnsupportedError, TypeError)


def _run(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Computes with libsparse; calls that libsparse refuses are left to torch."""
    if "out" in kwargs:
        return _run_into(original, args, kwargs)
    layout = next(arg.layout for arg in args if isinstance(arg, Tensor) and arg.layout in LAYOUTS)
    layout = torch.sparse_csr if layout in _BLOCKED else layout  # torch's own products give no blocks
    try:
        result = dispatch_table.call(original, tuple(_read(arg) for arg in args), kwargs)
        return layouts.followed(result._operand(), layout) if isinstance(result, SparseTensor) else result
    except _LEFT:
        return original(*args, **kwargs)


def _run_refused(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Computes with torch, and calls that it refuses with libsparse; where that refuses too, torch's error stays."""
    try:
        return original(*args, **kwargs)
    except (RuntimeError, TypeError, IndexError) as refused:
        try:
            layout = next(arg.layout for arg in args if isinstance(arg, Tensor) and arg.layout in LAYOUTS)
            result = dispatch_table.call(original, tuple(_read(arg) for arg in args), kwargs)
            return layouts.followed(result._operand(), layout) if isinstance(result, SparseTensor) else result
        except (RuntimeError, TypeError):
            raise refused from None


def _run_into(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As `_run`, with `out=`: the result is copied there if torch would write it; else torch says why not."""
    out = kwargs["out"]
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    tensors = [value for value in (*args, *rest.values(), out) if isinstance(value, Tensor)]
    followed = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    if type(out) not in PLAIN or out.layout is not torch.strided or followed:
        return original(*args, **kwargs)
    result = _run(original, args, rest)
    if result.layout is not torch.strided or result.shape != out.shape or result.dtype != out.dtype:
        return original(*args, **kwargs)
    return out.copy_(result)


def _read(arg: Any) -> Any:
    """A tensor of one of torch's layouts as a SparseTensor."""
    return dress(layouts.read(arg)) if type(arg) in PLAIN and arg.layout in LAYOUTS else arg
