"""Calls with torch's own sparse tensors under `ls.enable()`: computed by libsparse or by torch, in torch's layouts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from libsparse._lang.errors import FormatError, IndexBoundsError, ShapeError, ToolchainError, UnsupportedError
from libsparse._ops import layout_patterns, layouts
from libsparse._ops.assemble import assemble
from libsparse._ops.layouts import LAYOUTS
from libsparse._ops.operands import PLAIN
from libsparse._runtime.problem import Operand
from libsparse._storage.pattern import Pattern
from libsparse._tensor import constructors, dispatch_table
from libsparse._tensor.short_product import multiply_into
from libsparse._tensor.sparse_tensor import SparseTensor
from libsparse._trace.tracers import leave_alone

from . import trained_calls
from .registry import getter, named
from .wrapped import wrap, wrapped

PROPERTIES = ("T", "mT", "H", "mH")
"""The properties of a tensor that are replaced."""

_SPARSE_MM = torch.sparse.mm
_SUMS = {torch.sum, Tensor.sum, torch.sparse.sum}  # sparse where torch computes them
_TRANSPOSING = {*named("t transpose swapaxes swapdims permute adjoint", torch, Tensor), *map(getter, PROPERTIES)}
_ADDING = {torch.addmm, Tensor.addmm, torch.sparse.addmm, torch.sparse.sampled_addmm}  # to their first argument
_LINEAR = {
    *named("neg negative __neg__ mul multiply __mul__ __rmul__ div divide __truediv__", torch, Tensor),
    Tensor.to_dense,
}
_UNCHANGING = {  # their operand itself, where there is nothing to do
    *named("positive __pos__ conj conj_physical real resolve_conj resolve_neg dropout", torch, Tensor, F),
    *named(
        "to type_as contiguous to_sparse to_sparse_coo to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc", Tensor
    ),
    *named("contiguous bool byte char short int long half bfloat16 float double cfloat cdouble", Tensor),
}
# A call that libsparse refuses goes to torch, which computes it or raises its own error.
_REFUSALS = (RuntimeError, TypeError, IndexError, ValueError)  # what torch raises where it has no kernel for a layout
_LEFT = (ShapeError, FormatError, IndexBoundsError, ToolchainError, UnsupportedError, TypeError)


def run(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
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
        columns = deciding and all([getattr(arg, "layout", None) is torch.sparse_csc for arg in deciding])
        layout = torch.sparse_csc if columns else torch.sparse_csr
    operands = (*args, *kwargs.values())
    if trained_calls.is_refused(original, operands):
        return original(*args, **kwargs)
    try:
        result = _computed(original, args, kwargs, layout)
        trained_calls.check(original, operands, result)
    except _LEFT as error:
        _say(error)
        return original(*args, **kwargs)
    return _batches(original, args, kwargs, layout, result)


def _say(error: Exception) -> None:
    """Warns, once a process, where torch computes what libsparse could compute if it had a C compiler."""
    global _has_said
    if isinstance(error, ToolchainError) and not _has_said:
        _has_said = True
        warnings.warn(f"torch computes calls whose kernels libsparse can't compile: {error}", stacklevel=4)


_has_said = False


def _batches(original: Any, args: tuple[Any, ...], kwargs: dict[str, Any], layout: torch.layout, result: Any) -> Any:
    """A result; torch's where that is a batch of compressed matrices, which libsparse has computed as COO."""
    if layout is torch.sparse_coo or getattr(result, "layout", layout) is not torch.sparse_coo or result.ndim < 3:
        return result
    try:
        return original(*args, **kwargs)
    except _REFUSALS:
        return result


def _differ_in_dtype(operands: tuple[Any, ...]) -> bool:
    """Whether a product's operands have several dtypes, which torch promotes only under autocast."""
    first = None
    for operand in operands:
        if isinstance(operand, Tensor):
            first = operand.dtype if first is None else first
            if operand.dtype is not first:
                return not torch._C._is_any_autocast_enabled()
    return False


def run_product(ranks: tuple[int, ...], original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Computes a product with libsparse, by the short way of its operator for a matrix that was seen before."""
    if len(args) == 2 and type(args[1]) is Tensor and args[1].layout is torch.strided and kwargs.keys() <= {"out"}:
        matrix = wrapped(args[0]) if args[1].ndim in ranks else None
        if kwargs and matrix is not None and (filled := multiply_into(matrix, args[1], kwargs["out"])) is not None:
            return filled
        if not kwargs and matrix is not None and args[1].dtype is matrix.dtype:
            if trained_calls.is_refused(original, args):
                return original(*args)
            try:
                result = matrix @ args[1]
                trained_calls.check(original, args, result)
                return result
            except _LEFT as error:
                _say(error)
                return original(*args)
    return run(original, args, kwargs)


def run_shared(original: Any, args: tuple[Any, ...], kwargs: dict[str, Any], compressed_only: bool) -> Any:
    """Computes a call that autograd follows with libsparse, any other with torch; and what one refuses, with the other.

    torch's own backward passes of sparse layouts raise for nearly all functions.
    """
    if _is_followed(args) or (kwargs and _is_followed(kwargs.values())):
        return _run_followed(original, args, kwargs, compressed_only)
    try:
        return original(*args, **kwargs)
    except _REFUSALS as refused:
        layout = _taken_layout(args, kwargs, compressed_only)
        if layout is None:
            raise
        try:
            return _computed_as_torch_has(original, args, kwargs, layout)
        except (RuntimeError, TypeError) as error:
            _say(error)
            raise refused from None


def _run_followed(original: Any, args: tuple[Any, ...], kwargs: dict[str, Any], compressed_only: bool) -> Any:
    layout = _taken_layout(args, kwargs, compressed_only)
    if layout is None or (layout is torch.sparse_coo and _is_linear(original, args, kwargs)):
        return original(*args, **kwargs)
    if original in _UNCHANGING and _is_unchanged(original, args, kwargs):
        return args[0]
    try:
        result = _computed_as_torch_has(original, args, kwargs, layout)
    except (RuntimeError, TypeError) as error:
        _say(error)
        return original(*args, **kwargs)
    return _batches(original, args, kwargs, layout, result)


def _taken_layout(args: tuple[Any, ...], kwargs: dict[str, Any], compressed_only: bool) -> torch.layout | None:
    """The layout of the first sparse tensor of a call that libsparse may compute."""
    # torch's own sparse tensors in a graph are torch's affair.
    layout = None if torch.compiler.is_dynamo_compiling() else _layout(args, kwargs)
    return None if kwargs.get("out") is not None or (compressed_only and layout is torch.sparse_coo) else layout


def _is_linear(original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function of a tensor and numbers is linear, so that torch's gradient of it needs nothing else."""
    return original in _LINEAR and not kwargs and not any([isinstance(arg, Tensor) for arg in args[1:]])


def _is_unchanged(original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether torch returns the operand itself, which stays a leaf then."""
    try:
        with torch.no_grad():
            return bool(args) and original(*args, **kwargs) is args[0]
    except _REFUSALS:
        return False


def _is_followed(operands: Iterable[Any]) -> bool:
    """Whether autograd follows one of some operands, or of those in lists of them."""
    if not torch.is_grad_enabled():
        return False
    for operand in operands:
        if isinstance(operand, Tensor):
            if operand.requires_grad:
                return True
        elif isinstance(operand, (list, tuple)) and _is_followed(operand):
            return True
    return False


def _computed_as_torch_has(original: Any, args: tuple[Any, ...], kwargs: dict[str, Any], layout: torch.layout) -> Any:
    """What libsparse computes, in the layout in which torch returns it where it can."""
    result = _computed(original, args, kwargs, None if original in _TRANSPOSING else layout)
    if original not in _SUMS or result.layout is not torch.strided or not result.ndim:
        return result
    if layout is torch.sparse_coo:
        return _sum_of_coo(result, *args, **kwargs)
    return (
        _written(constructors.tensor(result, "csr"), layout, torch.int64)
        if layout is torch.sparse_csr and result.ndim == 2
        else result
    )


def _sum_of_coo(result: Tensor, input: Tensor, dim: Any = None, *_: Any, axis: Any = None, **__: Any) -> Tensor:
    """A dense sum as torch has that of a COO tensor: with an entry where one of `input` was added."""
    dim = axis if dim is None else dim
    dims = range(input.ndim) if dim is None else dim if isinstance(dim, (list, tuple)) else [dim]
    if len(dims) == input.ndim:
        return result
    if input.dense_dim() or result.ndim + len(dims) != input.ndim:
        return _written(constructors.tensor(result, "coo"), torch.sparse_coo, torch.int64)  # type: ignore[no-any-return]
    source = _as_sparse(input)._pattern
    reduced = {d % input.ndim for d in dims}
    kept = tuple(d for d in range(input.ndim) if d not in reduced)

    def build() -> Pattern:
        return assemble([source.coordinates()[d] for d in kept], None, result.shape, "coo").sparsity

    pattern = source.derive(("modes", kept), build)
    values = result.reshape(-1).index_select(0, pattern.linear())
    return layouts.followed(Operand(pattern, values), torch.sparse_coo, torch.int64)


def _computed(original: Any, args: tuple[Any, ...], kwargs: dict[str, Any], layout: torch.layout | None) -> Any:
    """What libsparse computes, in a layout of torch's, or in the one of the result's format."""
    given = {name: _read(value) for name, value in kwargs.items()}
    first = _first_sparse(args, kwargs)
    indices = torch.int64 if first is None else layout_patterns.index_arrays(first)[0].dtype  # as torch's results have
    result = dispatch_table.call(original, tuple(map(_read, args)), given)
    if isinstance(result, (tuple, list)):
        return (
            type(result)(*(_written(r, layout, indices) for r in result))
            if hasattr(result, "_fields")
            else type(result)([_written(r, layout, indices) for r in result])
        )
    return _written(result, layout, indices)


def _written(result: Any, layout: torch.layout | None, indices: torch.dtype) -> Any:
    """A SparseTensor as a tensor of a layout of torch's, COO where it has another rank; anything else as it is."""
    if not isinstance(result, SparseTensor):
        return result
    operand = result._operand()
    return layouts.followed(operand, layout or layouts.own_layout(operand), indices)


def _layout(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.layout | None:
    """The layout of the first sparse tensor among arguments."""
    first = _first_sparse(args, kwargs)
    return None if first is None else first.layout


def _first_sparse(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """The first tensor of one of torch's sparse layouts among arguments."""
    for arg in (*args, *kwargs.values()):
        for item in arg if isinstance(arg, (list, tuple)) else (arg,):
            if type(item) in PLAIN and item.layout in LAYOUTS:
                found: Tensor = item
                return found
    return None


def _run_into(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As `run`, with `out=`: the result is copied there if torch would write it; else torch says why not."""
    out = kwargs["out"]
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    tensors = [value for value in (*args, *rest.values(), out) if isinstance(value, Tensor)]
    followed = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    if type(out) not in PLAIN or out.layout is not torch.strided or followed:
        return original(*args, **kwargs)
    result = run(original, args, rest)
    if result.layout is not torch.strided or result.shape != out.shape or result.dtype != out.dtype:
        return original(*args, **kwargs)
    return out.copy_(result)


leave_alone(run, run_product, run_shared, _run_into)


def _read(arg: Any) -> Any:
    """A tensor of one of torch's layouts as a SparseTensor; also in a list."""
    if type(arg) in (list, tuple):
        return type(arg)(map(_read, arg))
    return _as_sparse(arg) if type(arg) in PLAIN and arg.layout in LAYOUTS else arg


def _as_sparse(source: Tensor) -> SparseTensor:
    known = wrapped(source)
    return wrap(source) if known is None else known
