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
from libsparse._tensor import layouts, sparse_tensor

from . import functions

_PLACES: tuple[tuple[Any, str], ...] = (
    *((torch, name) for name in ("mm", "matmul", "mv", "spmm", "addmm", "addmv", "einsum")),
    *((torch.sparse, name) for name in ("mm", "addmm", "sampled_addmm")),
    *((Tensor, name) for name in ("mm", "matmul", "mv", "addmm", "addmv", "__matmul__", "__rmatmul__")),
    (F, "linear"),
)
_BLOCKED = frozenset({torch.sparse_bsr, torch.sparse_bsc})
_SPARSE = frozenset({torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, *_BLOCKED})
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
            for place, name in _PLACES:
                original = getattr(place, name, None)
                if original is not None:
                    _saved.append((place, name, vars(place).get(name, _MISSING)))
                    setattr(place, name, _routed(original))
        elif before == 1 and _depth == 0:
            while _saved:
                place, name, original = _saved.pop()
                if original is _MISSING:
                    delattr(place, name)
                else:
                    setattr(place, name, original)


def _routed(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def routed(*args: Any, **kwargs: Any) -> Any:
        for arg in args:
            if type(arg) in _PLAIN and arg.layout in _SPARSE:
                return _run(original, args, kwargs)
        return original(*args, **kwargs)

    return routed


_PLAIN = frozenset({Tensor, torch.nn.Parameter})


# What libsparse refuses is torch's: it computes it after all, or says in its own words what is wrong.
_LEFT = (ShapeError, FormatError, IndexBoundsError, UnsupportedError, TypeError)


def _run(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Computes with libsparse; what libsparse doesn't take is left to torch."""
    if "out" in kwargs:
        return _run_into(original, args, kwargs)
    layout = next(arg.layout for arg in args if isinstance(arg, Tensor) and arg.layout in _SPARSE)
    layout = torch.sparse_csr if layout in _BLOCKED else layout  # torch's own products give no blocks
    try:
        result = functions.call(original, tuple(_wrapped(arg) for arg in args), kwargs)
        return layouts.dress(result, layout) if isinstance(result, sparse_tensor.SparseTensor) else result
    except _LEFT:
        return original(*args, **kwargs)


def _run_into(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As `_run`, with `out=`: the result is copied there if torch would write it; else torch says why not."""
    out = kwargs["out"]
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    tensors = [value for value in (*args, *rest.values(), out) if isinstance(value, Tensor)]
    followed = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    if type(out) not in _PLAIN or out.layout is not torch.strided or followed:
        return original(*args, **kwargs)
    result = _run(original, args, rest)
    if result.layout is not torch.strided or result.shape != out.shape or result.dtype != out.dtype:
        return original(*args, **kwargs)
    return out.copy_(result)


def _wrapped(arg: Any) -> Any:
    if type(arg) in _PLAIN and arg.layout in _SPARSE:
        return layouts.wrap(arg)
    return arg
