"""torch's reductions and softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from libsparse._lang.errors import DtypeError, MissingKernelError, ShapeError
from libsparse._ops import elementwise, extrema, moments, pointwise, quantiles, ranking, reductions
from libsparse._ops import softmax as masked
from libsparse._ops.assemble import to_dense
from libsparse._ops.operands import broadcasts, is_tensor, to_operand
from libsparse._ops.reductions import dimensions
from libsparse._runtime.repeats import by_kind

from .arrays import within_arrays
from .registry import implements, named
from .reshaping import numbers

implements(torch.sum, Tensor.sum, layouts="raises")(within_arrays(torch.sum)(reductions.sum))
implements(torch.mean, Tensor.mean, layouts="raises")(within_arrays(torch.mean)(reductions.mean))
implements(torch.prod, Tensor.prod, layouts="raises")(within_arrays(torch.prod)(reductions.prod))
implements(torch.amax, Tensor.amax, layouts="raises")(within_arrays(torch.amax)(extrema.amax))
implements(torch.amin, Tensor.amin, layouts="raises")(within_arrays(torch.amin)(extrema.amin))
implements(torch.count_nonzero, Tensor.count_nonzero, layouts="raises")(
    within_arrays(torch.count_nonzero)(reductions.count_nonzero)
)
implements(torch.argmax, Tensor.argmax, layouts="raises")(within_arrays(torch.argmax)(extrema.argmax))
implements(torch.argmin, Tensor.argmin, layouts="raises")(within_arrays(torch.argmin)(extrema.argmin))
implements(torch.topk, Tensor.topk, layouts="raises")(ranking.topk)
implements(torch.kthvalue, Tensor.kthvalue, layouts="raises")(ranking.kthvalue)
implements(torch.median, Tensor.median, layouts="raises")(quantiles.median)
implements(torch.nanmedian, Tensor.nanmedian, layouts="raises")(quantiles.nanmedian)
implements(torch.quantile, Tensor.quantile, layouts="raises")(quantiles.quantile)
implements(torch.nanquantile, Tensor.nanquantile, layouts="raises")(quantiles.nanquantile)
implements(torch.norm, Tensor.norm, layouts="raises")(within_arrays(torch.norm)(moments.norm))
implements(torch.logsumexp, Tensor.logsumexp, torch.special.logsumexp, layouts="raises")(
    within_arrays(torch.logsumexp)(moments.logsumexp)
)


def _sum_in_dtype(input: Tensor, dim: Any, dtype: torch.dtype | None) -> Tensor:
    return input.sum(dim, dtype=dtype or input.dtype)


@implements(torch.sparse.sum, *named("_sparse_sum", torch), layouts="raises")
@within_arrays(_sum_in_dtype)
def sparse_sum(input: Any, dim: Any = None, dtype: torch.dtype | None = None) -> Any:
    """The sum over `dim`, none where it is empty; unlike `sum`, of the input's dtype where a dimension is left."""
    if dim is None:
        return reductions.sum(input, dtype=dtype)
    dims = dim if isinstance(dim, (list, tuple)) else (dim,)
    if not dims:
        return input.to(dtype or input.dtype)
    kept = None if len(dims) == input.ndim else input.dtype
    return reductions.sum(input, dim, dtype=dtype or kept)


@implements(*named("any", torch, Tensor), layouts="raises")
@within_arrays(torch.any)
def any(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether an element is not 0; of each element where `dim` is empty, unlike with other reductions."""
    return _nonzero(input) if isinstance(dim, (tuple, list)) and not dim else reductions.any(input, dim, keepdim)


@implements(*named("all", torch, Tensor), layouts="raises")
@within_arrays(torch.all)
def all(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether no element is 0; of each element where `dim` is empty, unlike with other reductions."""
    return _nonzero(input) if isinstance(dim, (tuple, list)) and not dim else reductions.all(input, dim, keepdim)


def _nonzero(input: Any) -> Any:
    return pointwise.apply("any", lambda x: x.any(()), (input,), keeps_zero=True)


def _place_and_value(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Torch's `max` or `min` over a dimension with the arguments of the handlers."""

    def call(input: Tensor, dim: int, keepdim: bool, other: None) -> extrema.Extremum:
        return extrema.Extremum(*compute(input, dim, keepdim))

    return call


@implements(*named("max", torch, Tensor), layouts="raises")
@within_arrays(_place_and_value(torch.max))
def max(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The greatest element, those over a dimension with their places, or the greater of two tensors' elements."""
    return _extremum("max", input, dim if other is None else other, keepdim)


@implements(*named("min", torch, Tensor), layouts="raises")
@within_arrays(_place_and_value(torch.min))
def min(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The least element, those over a dimension with their places, or the less of two tensors' elements."""
    return _extremum("min", input, dim if other is None else other, keepdim)


def _extremum(name: str, input: Any, dim: Any, keepdim: bool) -> Any:
    if is_tensor(dim):
        return pointwise.apply(name, torch.maximum if name == "max" else torch.minimum, (input, dim))
    if dim is None:
        return extrema.extremum(name, input, nan_alone=True)
    return (extrema.greatest if name == "max" else extrema.least)(input, dim, keepdim)


@implements(*named("aminmax", torch, Tensor), layouts="raises")
def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The least and the greatest elements."""
    over = () if dim is None else dim
    return extrema.amin(input, over, keepdim), extrema.amax(input, over, keepdim)


def _moment(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A function of dimensions, a correction and `keepdim` with the arguments of torch's var and std, several each."""

    def call(
        input: Any,
        dim: Any = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: float | None = None,
        dtype: None = None,
    ) -> Any:
        if dtype is not None:  # NumPy has that argument, and passes None
            raise DtypeError(f"{call.__name__} takes no dtype, and got {dtype}; use A.to(dtype) before")
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return compute(input, dim, int(unbiased) if correction is None else correction, keepdim)

    call.__name__, call.__doc__ = compute.__name__.lstrip("_"), compute.__doc__
    return call


def _corrected(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Torch's own function with the arguments that `_moment` gives it."""

    def call(input: Tensor, dim: Any, unbiased: bool, keepdim: bool, correction: float | None, dtype: None) -> Any:
        return compute(input, dim, correction=int(unbiased) if correction is None else correction, keepdim=keepdim)

    return call


def _var_mean(input: Any, dim: Any, correction: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The variance and the mean over dimensions, both as torch computes them in one pass."""
    return moments.var(input, dim, correction, keepdim), moments.mean_in_one_pass(input, dim, keepdim)


def _std_mean(input: Any, dim: Any, correction: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over dimensions, both as torch computes them in one pass."""
    return moments.std(input, dim, correction, keepdim), moments.mean_in_one_pass(input, dim, keepdim)


implements(*named("var", torch, Tensor), layouts="raises")(within_arrays(_corrected(torch.var))(_moment(moments.var)))
implements(*named("std", torch, Tensor), layouts="raises")(within_arrays(_corrected(torch.std))(_moment(moments.std)))
implements(torch.var_mean, layouts="raises")(_moment(_var_mean))
implements(torch.std_mean, layouts="raises")(_moment(_std_mean))


@implements(Tensor.sum_to_size, layouts="raises")
def sum_to_size(input: Any, *sizes: Any, size: Any = None) -> Any:
    """The sums that leave a tensor of this size, from which the tensor's own is broadcast."""
    source, wanted = to_operand(input), numbers(sizes, size)
    added = source.ndim - len(wanted)
    if added < 0 or not broadcasts(wanted, source.shape):
        raise ShapeError(f"sum_to_size: size {tuple(wanted)} does not broadcast to that of the tensor ({source})")
    over = [d for d, n in enumerate(source.shape) if d < added or n != wanted[d - added]]
    return reductions.sum(input, over, True).reshape(tuple(wanted)) if over else input


@implements(torch.linalg.vector_norm, layouts="raises")
@within_arrays(torch.linalg.vector_norm)
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of the elements over dimensions."""
    return moments.norm(x, ord, dim, keepdim, dtype)


@implements(torch.linalg.norm, layouts="raises")
def linalg_norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of a vector or a matrix, or those over one or two dimensions; of all elements where no more is said."""
    source = to_operand(A)
    over = source.ndim if dim is None else len(dimensions(source, dim))
    if over not in (1, 2) and (ord is not None or dim is not None):
        raise ShapeError(f"norm of a tensor ({source}) with {ord=} and {dim=}; expected one or two dimensions in dim")
    if ord is None or (over == 1 and not isinstance(ord, str)):
        return moments.norm(A, 2 if ord is None else ord, dim, keepdim, dtype)
    return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)


@implements(torch.linalg.matrix_norm, layouts="raises")
def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The Frobenius norms of matrices, and those that are sums of absolute values."""
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        raise ShapeError(f"matrix_norm: dim is {dim} ({to_operand(A)}); expected the two dimensions of a matrix")
    if ord == "fro":
        return moments.norm(A, 2, dim, keepdim, dtype)
    rows, columns = dim
    source = to_operand(A)
    dimensions(source, dim)
    if ord in (1, -1, float("inf"), -float("inf")):
        inner, outer = (rows, columns) if abs(ord) == 1 else (columns, rows)
        if ord < 0 and not source.shape[outer]:
            raise ShapeError(f"matrix_norm: {ord=} of no rows or columns ({source}), which has no value")
        sums = moments.norm(A, 1, inner, True, dtype)
        if ord > 0 and not sums.numel():  # torch's norm of no rows or columns is 0
            sums = sums.sum(outer, keepdim=True)
        found = sums.amax(outer, keepdim=True) if ord > 0 else sums.amin(outer, keepdim=True)
        return found if keepdim else found.squeeze((rows, columns))
    raise DtypeError(f"norm: ord={ord!r} needs singular values; use torch.linalg.norm(A.to_dense(), {ord!r})")


@implements(*named("norm_except_dim", torch))
def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms over all dimensions but one, which are kept; of all elements, where it is -1, as torch has it."""
    if dim == -1:
        return moments.norm(v, pow)
    kept = dimensions(to_operand(v), dim)
    return moments.norm(v, pow, [other for other in range(v.ndim) if other not in kept], True)


@implements(*named("_weight_norm", torch))
def weight_norm(v: Any, g: Any, dim: int = 0) -> Any:
    """The tensor with other norms: weights under `weight_norm` of `torch.nn.utils`."""
    return v * (g / norm_except_dim(v, 2, dim))


@implements(F.normalize, layouts="raises")
@within_arrays(F.normalize)
def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """The tensor divided by its norms over a dimension."""
    return moments.normalize(input, p, dim, eps)


@implements(*named("nansum", torch, Tensor), layouts="raises")
@within_arrays(torch.nansum)
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Tensor:
    """The sum of the elements that are not NaN."""
    source = to_operand(input)
    if source.dtype.is_complex:
        raise MissingKernelError(f"nansum of {source.dtype} ({source}); expected real values: see A.real and A.imag")
    return reductions.sum(pointwise.apply("nansum", _without_nan, (input,)), dim, keepdim, dtype=dtype)


@implements(*named("nanmean", torch, Tensor), layouts="raises")
@within_arrays(torch.nanmean)
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Tensor:
    """The mean of the elements that are not NaN."""
    source = to_operand(input)
    if not (source.dtype.is_floating_point or source.dtype.is_complex):
        raise MissingKernelError(f"nanmean of {source.dtype} ({source}); expected a floating dtype: use A.float()")
    number = reductions.sum(pointwise.apply("nanmean", lambda x: ~x.isnan(), (input,)), dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / number


def _without_nan(values: Tensor) -> Tensor:
    return torch.where(values.isnan(), 0, values) if values.is_floating_point() or values.is_complex() else values


def _softmax(input: Tensor, dim: int, dtype: torch.dtype | None, **_: Any) -> Tensor:
    return input.softmax(dim, dtype)


def _log_softmax(input: Tensor, dim: int, dtype: torch.dtype | None, **_: Any) -> Tensor:
    return input.log_softmax(dim, dtype)


@implements(*named("softmax", torch, Tensor, torch.special), torch.sparse.softmax, layouts="raises")
@within_arrays(_softmax, zero_fill=True)
@by_kind
def softmax(input: Any, dim: Any = None, dtype: torch.dtype | None = None) -> Any:
    """The softmax of the stored elements over a dimension."""
    return masked.softmax(input, _last(input, dim), dtype)


@implements(F.softmax, layouts="raises")
@within_arrays(_softmax, zero_fill=True)
@by_kind
def functional_softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Any:
    """The same with the arguments of torch.nn.functional."""
    return masked.softmax(input, _last(input, dim), dtype)


@implements(*named("log_softmax", torch, Tensor, torch.special), torch.sparse.log_softmax, layouts="raises")
@within_arrays(_log_softmax, zero_fill=True)
@by_kind
def log_softmax(input: Any, dim: Any = None, dtype: torch.dtype | None = None) -> Any:
    """The logarithm of the softmax of the stored elements over a dimension."""
    return masked.log_softmax(input, _last(input, dim), dtype)


@implements(F.log_softmax, layouts="raises")
@within_arrays(_log_softmax, zero_fill=True)
@by_kind
def functional_log_softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Any:
    """The same with the arguments of torch.nn.functional."""
    return masked.log_softmax(input, _last(input, dim), dtype)


@implements(F.softmin, layouts="raises")
def softmin(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Any:
    """The softmax of the negative stored elements over a dimension."""
    return masked.softmax(elementwise.multiply(input, -1), _last(input, dim), dtype)


def _last(input: Any, dim: int | None) -> int:
    """The dimension of a softmax; by default as in torch."""
    if dim is not None:
        return dim
    return 0 if to_operand(input).ndim in (0, 1, 3) else 1


@implements(torch.cumsum, Tensor.cumsum, layouts="raises")
@within_arrays(torch.cumsum)
def cumsum(input: Any, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    """The sums of the elements up to each, over a dimension: dense, as most of them are not 0."""
    source = to_operand(input)
    dimensions(source, dim)
    return to_dense(source).cumsum(dim, dtype=dtype)


@implements(torch.equal, Tensor.equal)
def equal(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape and the same elements, stored or not."""
    first, second = to_operand(input, 0), to_operand(other, 1)
    return first.shape == second.shape and bool(_all("equal", torch.eq, first, second))


@implements(torch.allclose, Tensor.allclose)
def allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements of two tensors are close."""

    def close(a: Tensor, b: Tensor) -> Tensor:
        return torch.isclose(a, b, rtol, atol, equal_nan)

    return bool(_all("allclose", close, input, other))


def _all(name: str, compare: Any, input: Any, other: Any) -> Tensor:
    found = to_operand(pointwise.apply(name, compare, (input, other)))
    return found.values.all() if found.pattern is None else reductions.all(found)
