"""`enable`, `disable`, `override`: torch's own names compute with libsparse where they meet torch's sparse tensors."""

from __future__ import annotations

import copyreg
import functools
import importlib
import operator
import threading
import types
from collections.abc import Callable, Iterable, Iterator
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
from libsparse._tensor.recording import recorders
from libsparse._tensor.short_product import multiply_kept
from libsparse._tensor.sparse_tensor import SparseTensor
from libsparse._trace.frames import leave_alone

from . import (  # noqa: F401  # they register what they implement
    autograd,
    conversions,
    creation,
    elementwise,
    foreach,
    indexing,
    inplace,
    joining,
    linear_algebra,
    losses,
    optimizers,
    products,
    reductions,
    reshaping,
    scalars,
    shape,
)
from .registry import know_replaced, overridable
from .wrapped import kept, wrap, wrapped

native: types.ModuleType | None
try:
    from libsparse._runtime import _stand_in as native
except ImportError:  # the package was built without a C compiler, or Python is 3.10
    native = None

_BLOCKED = frozenset({torch.sparse_bsr, torch.sparse_bsc})
_SPARSE_MM = torch.sparse.mm
_ADDING = {torch.addmm, Tensor.addmm, torch.sparse.addmm, torch.sparse.sampled_addmm}  # to their first argument
_MISSING = object()

_lock = threading.Lock()
_enabled = False
_nested = 0  # how many `override` blocks are open
_saved: list[tuple[Any, str, Any, Any]] = []
"""The places in torch with stand-ins: the place, the name, what was there, and the stand-in."""


def enable() -> None:
    """Makes torch's functions use libsparse when given torch's sparse tensors; layouts stay as torch has them.

    Products are computed by libsparse; elementwise functions, reductions, indexing and so on where torch refuses them.
    Calling it again changes nothing. A tensor's pattern is kept while the version counters of its index arrays stay:
    index arrays must not be written to through `.data`, which counts nothing.

    Example:
        >>> ls.enable()
        >>> (torch.eye(2).to_sparse_csr() @ torch.ones(2, 1)).tolist()
        [[1.0], [1.0]]
        >>> ls.disable()
    """
    _change(enabled=True)


def disable() -> None:
    """Undoes `enable`: torch's functions are its own again, but inside of an `override`.

    Example:
        >>> ls.enable()
        >>> ls.disable()  # torch.mm is torch's own again
    """
    _change(enabled=False)


@contextmanager
def override() -> Iterator[None]:
    """`enable` for the length of a `with` block; blocks nest.

    Example:
        >>> with ls.override():
        ...     (torch.eye(2).to_sparse_csr() @ torch.ones(2, 1)).tolist()
        [[1.0], [1.0]]
    """
    _change(nested=1)
    try:
        yield
    finally:
        _change(nested=-1)


def _change(*, enabled: bool | None = None, nested: int = 0) -> None:
    global _enabled, _nested
    with _lock:
        _enabled, _nested = _enabled if enabled is None else enabled, _nested + nested
        active = _enabled or _nested > 0
        if active and not _saved:
            know_replaced()
            for place, name, original in list(_places()):
                stand_in = _routed(original, torch_first=overridable[id(original)])
                _saved.append((place, name, vars(place).get(name, _MISSING), stand_in))
                setattr(place, name, stand_in)
        elif not active:
            while _saved:
                place, name, original, stand_in = _saved.pop()
                if vars(place).get(name) is not stand_in:
                    continue  # another library has put its own function there since
                if original is _MISSING:
                    delattr(place, name)
                else:
                    setattr(place, name, original)


def _places() -> Iterator[tuple[Any, str, Any]]:
    """The places in torch of the functions that are replaced, with the functions there."""
    for place in (torch, torch.sparse, torch.special, torch.linalg, Tensor, F):
        owners = place.__mro__ if isinstance(place, type) else (place,)
        for name in dict.fromkeys(name for owner in owners for name in vars(owner)):
            found = getattr(place, name, None)
            if id(found) in overridable:
                yield place, name, found


def _routed(original: Callable[..., Any], *, torch_first: bool) -> Callable[..., Any]:
    """What stands in the place of a function of torch's."""
    otherwise = _recovering(original) if torch_first else _computing(original)
    make = _stand_in_in_python if native is None else native.StandIn
    stand_in: Callable[..., Any] = make(original, otherwise, torch_first)
    functools.update_wrapper(stand_in, original)
    # torch.compile traces what torch has: its own sparse tensors in a graph are its own affair.
    vars(stand_in)["_torchdynamo_inline"] = original
    leave_alone(otherwise, *(() if native else (stand_in,)))
    return stand_in


def _pickled(stand_in: Any) -> Any:
    """How a stand-in is pickled: as torch's own function, also where that stands in another module under its name."""
    original = stand_in.__wrapped__
    reduced = original.__qualname__ if isinstance(original, types.FunctionType) else original.__reduce__()
    return (_found, (original.__module__, reduced)) if isinstance(reduced, str) else reduced


def _found(module: str, name: str) -> Any:
    """The function of a name in a module, or in a class of it."""
    return operator.attrgetter(name)(importlib.import_module(module))


def _stand_in_in_python(original: Callable[..., Any], otherwise: Callable[..., Any], torch_first: bool) -> Any:
    """`StandIn` of `_runtime/stand_in.c`, where there is no C: hands calls of dense operands on to torch."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not torch_first and not _all_strided((*args, *kwargs.values())):
            return otherwise(*args, **kwargs)
        try:
            return original(*args, **kwargs)
        except _REFUSALS as error:
            if not torch_first:
                raise
            return otherwise(error, *args, **kwargs)

    return call


def _all_strided(operands: Iterable[Any]) -> bool:
    """Whether none of some operands, nor of those in lists of them, is one of torch's sparse tensors."""
    return all(
        _all_strided(operand)
        if type(operand) in (list, tuple)
        else type(operand) not in PLAIN or operand.layout is torch.strided
        for operand in operands
    )


def _computing(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that computes a call with a sparse operand."""
    ranks = _PRODUCTS.get(original, ())

    def call(*args: Any, **kwargs: Any) -> Any:
        if not ranks:
            return _run(original, args, kwargs)
        if not kwargs and not recorders and (out := multiply_kept(args, kept, ranks)) is not None:
            return out
        return _run_product(ranks, original, args, kwargs)

    return call


def _recovering(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that computes a call that torch has refused with an error."""

    def call(error: Exception, /, *args: Any, **kwargs: Any) -> Any:
        return _run_refused(original, args, kwargs, error)

    return call


# Products by the short way, with the ranks of the dense operand that they take.
_PRODUCTS: dict[Any, tuple[int, ...]] = {
    **dict.fromkeys((torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.spmm), (1, 2)),
    **dict.fromkeys((torch.mm, Tensor.mm, torch.sparse.mm), (2,)),
    **dict.fromkeys((torch.mv, Tensor.mv), (1,)),
}
# A call that libsparse refuses goes to torch, which computes it or raises its own error.
_REFUSALS = (RuntimeError, TypeError, IndexError, ValueError)  # what torch raises where it has no kernel for a layout
_LEFT = (ShapeError, FormatError, IndexBoundsError, UnsupportedError, TypeError)

if native is not None:
    layout_of = vars(torch._C.TensorBase)["layout"]
    native.install(PLAIN, Tensor, layout_of, torch.strided, _REFUSALS, types.MethodType, types.FunctionType)
    copyreg.pickle(native.StandIn, _pickled)


def _run(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Computes with libsparse; calls that libsparse refuses are left to torch."""
    if torch.compiler.is_dynamo_compiling():  # torch's own sparse tensors in a graph are torch's affair
        return original(*args, **kwargs)
    if "out" in kwargs:
        return _run_into(original, args, kwargs)
    layout = _layout(args, kwargs)
    if layout is None or _differ_in_dtype((*args, *kwargs.values())):
        return original(*args, **kwargs)
    if layout is not torch.sparse_coo:  # as torch's own products are
        deciding = args[:2] if original is _SPARSE_MM else args[:1] if original in _ADDING else ()
        columns = deciding and all(getattr(arg, "layout", None) is torch.sparse_csc for arg in deciding)
        layout = torch.sparse_csc if columns else torch.sparse_csr
    try:
        result = _computed(original, args, kwargs, layout)
    except _LEFT:
        return original(*args, **kwargs)
    if layout is torch.sparse_coo or getattr(result, "layout", layout) is not torch.sparse_coo:
        return result
    try:  # batches of several dimensions, which torch's compressed layouts hold
        return original(*args, **kwargs)
    except _REFUSALS:
        return result


def _differ_in_dtype(operands: tuple[Any, ...]) -> bool:
    """Whether a product's operands have several dtypes, which torch promotes only under autocast."""
    dtypes = {operand.dtype for operand in operands if isinstance(operand, Tensor)}
    return len(dtypes) > 1 and not torch._C._is_any_autocast_enabled()


def _run_product(ranks: tuple[int, ...], original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Computes a product with libsparse, by the short way of its operator for a matrix that was seen before."""
    if len(args) == 2 and not kwargs and type(args[1]) is Tensor and args[1].layout is torch.strided:
        matrix = wrapped(args[0])
        if matrix is not None and args[1].ndim in ranks and args[1].dtype is matrix.dtype:
            try:
                return matrix @ args[1]
            except _LEFT:
                return original(*args)
    return _run(original, args, kwargs)


def _run_refused(original: Any, args: tuple[Any, ...], kwargs: dict[str, Any], refused: Exception) -> Any:
    """Computes with libsparse what torch has refused; where that refuses it too, torch's error stays."""
    layout = None if torch.compiler.is_dynamo_compiling() else _layout(args, kwargs)
    if layout is None or kwargs.get("out") is not None:
        raise refused
    try:
        return _computed(original, args, kwargs, layout)
    except (RuntimeError, TypeError):
        raise refused from None


def _computed(original: Any, args: tuple[Any, ...], kwargs: dict[str, Any], layout: torch.layout) -> Any:
    """What libsparse computes, in a layout of torch's."""
    given = {name: _read(value) for name, value in kwargs.items()}
    result = dispatch_table.call(original, tuple(map(_read, args)), given)
    if isinstance(result, (tuple, list)):
        return (
            type(result)(*(_written(r, layout) for r in result))
            if hasattr(result, "_fields")
            else type(result)([_written(r, layout) for r in result])
        )
    return _written(result, layout)


def _written(result: Any, layout: torch.layout) -> Any:
    """A SparseTensor as a tensor of a layout of torch's, COO where it has another rank; anything else as it is."""
    if not isinstance(result, SparseTensor):
        return result
    operand = result._operand()
    if operand.ndim != 2 and not layouts.is_batch(operand, layout):
        layout = torch.sparse_coo
    elif layout in _BLOCKED:
        if layouts.block_shape(operand) is not None and not result.requires_grad:
            return layouts.write(operand, layout)
        layout = torch.sparse_csr
    return layouts.followed(operand, layout)


def _layout(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.layout | None:
    """The layout of the first sparse tensor among arguments."""
    for arg in (*args, *kwargs.values()):
        for item in arg if isinstance(arg, (list, tuple)) else (arg,):
            if type(item) in PLAIN and item.layout in LAYOUTS:
                found: torch.layout = item.layout
                return found
    return None


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


leave_alone(_run, _run_product, _run_refused, _run_into)


def _read(arg: Any) -> Any:
    """A tensor of one of torch's layouts as a SparseTensor; also in a list."""
    if type(arg) in (list, tuple):
        return type(arg)(map(_read, arg))
    return _as_sparse(arg) if type(arg) in PLAIN and arg.layout in LAYOUTS else arg


def _as_sparse(source: Tensor) -> SparseTensor:
    known = wrapped(source)
    return wrap(source) if known is None else known
