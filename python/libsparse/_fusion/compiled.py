"""`compile`: functions whose operations are put together."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from threading import get_ident
from typing import Any, TypeVar

import torch
from torch import nn

from libsparse._lang.errors import DtypeError
from libsparse._tensor.recording import recorders

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compile(fn: _Function) -> _Function:
    """A function whose sparse operations are put together where one expression computes several.

    What the function does with SparseTensors, and with results of that, is noted down while it runs. It is computed
    when the function ends, or as soon as something needs the numbers: `bool(y)`, `y.item()`, `print(y)`, a function of
    torch that is not known here, an operation in place. So any Python runs as before, with the same results (to
    rounding), gradients and random numbers. Tensors that only lead from one operation to the next are not stored. Later
    calls with the same patterns and shapes run the same kernels, as long as the function's operations are the same.
    Where results are small, the first of these calls are timed with and without this, and the faster way stays.

    Put together are elementwise operations after a product (`torch.relu(A @ x + b)`), products at the entries of a mask
    (`mask * (Q @ K.T)`), scaled rows and columns (`D @ A @ D`, `(A * s) @ x`), and chains of arithmetic on stored
    values. `ls.explain(fn, *args)` shows what was, and for everything else why not.

    Args:
        fn: A function, also a method, or an `nn.Module`: then a module that shares its parameters.

    Raises:
        DtypeError: `fn` is not callable.

    Example:
        >>> A, x, b = ls.eye(3), torch.ones(3, 2), torch.tensor([1.0, -5.0])
        >>> layer = ls.compile(lambda A, x, b: torch.relu(A @ x + b))
        >>> layer(A, x, b)
        tensor([[2., 0.],
                [2., 0.],
                [2., 0.]])
    """
    if isinstance(fn, nn.Module):
        return _module(fn)  # type: ignore[return-value]
    if not callable(fn):
        raise DtypeError(f"ls.compile takes a function or a module, got {type(fn).__name__}")

    traces: list[Any] = []

    @functools.wraps(fn)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling() or get_ident() in recorders:
            return fn(*args, **kwargs)  # inside of a call that does so already, as a part of that
        if not traces:
            from . import following  # only those who compile need them
            from . import traces as kept

            traces.extend((following.call, kept.Traces()))
        return traces[0](fn, args, kwargs, None, traces[1])

    return compiled  # type: ignore[return-value]


def _module(module: nn.Module) -> nn.Module:
    """A module with the parameters, buffers and children of another one, whose `forward` is compiled."""
    compiled = copy.copy(module)
    if hasattr(module, "_plain"):  # compiled already
        return compiled
    own = vars(module).get("forward")
    if own is not None:
        vars(compiled)["forward"] = compile(own)
        return compiled
    compiled.__class__ = _compiled_class(type(module))  # type: ignore[arg-type]  # classes have hashes
    return compiled


@functools.cache
def _compiled_class(kind: type[nn.Module]) -> type[nn.Module]:
    """A class of modules whose `forward` is compiled; instances are pickled and copied by the class that they had."""

    def reduce(self: nn.Module, protocol: Any) -> tuple[Any, ...]:
        return _new, (kind,), dict(vars(self))

    names = {"forward": compile(kind.forward), "__module__": kind.__module__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind,), {**names, "__reduce_ex__": reduce, "_plain": kind})


def _new(kind: type[nn.Module]) -> nn.Module:
    """An instance of a compiled class, without its state."""
    cls = _compiled_class(kind)  # type: ignore[arg-type]
    module: nn.Module = cls.__new__(cls)
    return module
