"""Moments and norms over dimensions: reductions in several steps."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._runtime.problem import Operand

from . import elementwise, extrema, pointwise, reductions
from .reductions import Groups


def var(input: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Tensor:
    """The variance over `dim` (an int, several, or None for all): a dense tensor; differentiable.

    Args:
        input: Floating or complex.
        dim: The dimensions.
        correction: What is taken off the number of elements that the squares are divided by.
        keepdim: Whether reduced dimensions stay, with extent 1.
    """
    groups = Groups(input, dim)
    return groups.shaped(_variance(groups, dim, correction).to(groups.source.dtype.to_real()), keepdim)


def std(input: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Tensor:
    """The square root of `var`."""
    groups = Groups(input, dim)
    root = _root(_variance(groups, dim, correction), 0.5)
    return groups.shaped(root.to(groups.source.dtype.to_real()), keepdim)


def _variance(groups: Groups, dim: Any, correction: float) -> Tensor:
    """The variance of each group in double precision, as torch computes it: squares are soon infinite, or 0."""
    if not (groups.source.dtype.is_floating_point or groups.source.dtype.is_complex):
        raise DtypeError(f"var and std of {groups.source.dtype}; expected a floating dtype: use A.float()")
    wide = torch.promote_types(groups.source.dtype, torch.float64)
    center = reductions.mean(groups.source, dim, dtype=wide).reshape([groups.source.shape[d] for d in groups.kept])
    squares = groups.reduce(_square(groups.entries.to(wide) - groups.at_entries(center)))
    # Where all elements are stored, the gradient of a square would be 0 times an infinite fill value.
    outside = torch.where(groups.absent() > 0, groups.source.fill - center, 0)
    squares = squares + groups.beside(_square(outside))
    divisor = float(max(groups.extent - correction, 0))  # int64 may not count the elements
    return squares / divisor if divisor else squares / 0.0


def mean_in_one_pass(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The mean, as torch computes it with a variance: NaN where an element is infinite and not the last of its group.

    torch adds to the mean so far the difference to it, which is NaN where both are infinite.
    """
    groups, mean = Groups(input, dim), reductions.mean(input, dim)
    coords, shape = groups.source.sparsity.coordinates(), groups.source.shape
    infinite = groups.entries.detach().isinf()
    last = torch.ones_like(infinite)
    for d in groups.dims:
        last = last & (coords[d] == shape[d] - 1)
    before = groups.reduce((infinite & ~last).to(torch.int64))
    if math.isinf(abs(groups.source.fill)):
        before = before + groups.absent() - (1 - groups.reduce(last.to(torch.int64)))
    return groups.shaped(torch.where(before > 0, math.nan, mean.reshape(before.shape)), keepdim)


def norm(input: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: torch.dtype | None = None) -> Tensor:
    """The p-norm of the elements over `dim` (an int, several, or None for all): a dense tensor; differentiable.

    Args:
        input: Floating or complex.
        p: A number, also infinite, or "fro" for 2.
        dim: The dimensions.
        keepdim: Whether reduced dimensions stay, with extent 1.
        dtype: The dtype to compute in.
    """
    groups = Groups(input, dim)
    if dtype is not None:
        groups.source = _converted(groups.source, dtype)
    if not (groups.source.dtype.is_floating_point or groups.source.dtype.is_complex):
        raise DtypeError(f"norm of {groups.source.dtype}; expected a floating dtype: use A.float()")
    p = p.item() if getattr(p, "ndim", None) == 0 else p
    p = 2.0 if p is None or (isinstance(p, str) and p == "fro") else p
    own = groups.source.dtype
    if dtypes.accumulator(own) != own:  # powers of halves are soon infinite
        return norm(groups.source, p, dim, keepdim, dtypes.accumulator(own)).to(own)
    if isinstance(p, str):
        raise UnsupportedError(f"norm: p={p!r} of a sparse tensor; expected a number or 'fro'")
    if not isinstance(p, (int, float)):
        raise DtypeError(f"norm: p is a {type(p).__name__}; expected a real number or 'fro'")
    if p < 0 and not groups.extent:
        raise ShapeError(f"norm: p={p} of no elements ({groups.source}), which has no value; expected p from 0 on")
    size = abs(groups.source.fill)
    absolute = groups.source.with_data(groups.source.values.abs())._replace(fill=size)
    if math.isinf(p):
        how = "max" if p > 0 else "min"
        return extrema.extremum(how, absolute, () if dim is None else dim, keepdim, nan_alone=True)
    entries = groups.entries
    zeros = torch.zeros((), dtype=absolute.dtype, device="cpu")
    if p < 0:  # a zero makes the sum infinite, and the norm 0, whose gradient is 0
        zeros = groups.reduce((entries.detach() == 0).to(absolute.dtype))
        entries = torch.where(entries == 0, 1, entries)
    powers = groups.reduce(absolute.sparsity.entries(absolute.values) if p == 1 else _power(entries, p))
    if size != 0:
        powers = powers + groups.beside(size**p)
    if p in (0, 1):
        return groups.shaped(powers, keepdim)
    root = _root(powers, 1 / p)
    if p < 0:
        has_zero = (zeros + groups.absent() if size == 0 else zeros) > 0
        root = torch.where(has_zero & ~powers.isnan(), 0, root)
    return groups.shaped(root, keepdim)


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """A tensor divided by its norms over a dimension, at least `eps`."""
    divisor = norm(input, p, dim, keepdim=True).clamp_min(eps)
    found = elementwise.divide(input, divisor)
    return pointwise.apply("normalize", torch.div, (input, divisor), absorbing=(0,)) if found is None else found


def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials over `dim`: a dense tensor; differentiable."""
    groups = Groups(input, dim)
    if not (groups.source.dtype.is_floating_point or groups.source.dtype.is_complex):
        groups.source = groups.source.with_data(groups.source.values.to(torch.get_default_dtype()))
    if groups.extent == 0:
        kept = [groups.source.shape[d] for d in groups.kept]
        return groups.shaped(groups.source.values.new_full(kept, -math.inf), keepdim)
    values, fill = groups.source.values.detach(), groups.source.fill
    real = groups.source._replace(data=values.real, fill=fill.real) if values.is_complex() else groups.source
    top = extrema.amax(real.with_data(real.values.detach()), dim)
    top = torch.where(top.isfinite(), top, 0)
    total = groups.reduce((groups.entries - groups.at_entries(top)).exp())
    each = (torch.tensor(fill, dtype=total.dtype, device="cpu") - top).exp()
    total = reductions.plus(total, groups.beside(each))
    return groups.shaped(total.log() + top, keepdim)


def _converted(source: Operand, dtype: torch.dtype) -> Operand:
    """An operand in the dtype that its norm is computed in: complex numbers would lose a part in a real one."""
    if source.dtype.is_complex != dtype.is_complex and (source.dtype.is_complex or source.dtype.is_floating_point):
        kind = "complex" if source.dtype.is_complex else "real"
        raise DtypeError(f"norm of {source.dtype} ({source}) in {dtype}; expected a {kind} dtype")
    return source._replace(data=source.values.to(dtype))


def _square(values: Tensor) -> Tensor:
    return (values * values.conj()).real if values.is_complex() else values * values


def _root(sums: Tensor, exponent: float) -> Tensor:
    """The powers of sums in a norm or a deviation, whose gradient is 0 at 0, where that of a power is infinite."""
    return torch.where(sums == 0, 0 if exponent > 0 else math.inf, torch.where(sums == 0, 1, sums) ** exponent)


def _power(values: Tensor, p: float) -> Tensor:
    if p == 0:  # its gradient is 0, and not that of nothing
        counted = (values.detach() != 0).to(values.abs().dtype)
        return torch.where(torch.zeros_like(counted, dtype=torch.bool), values.abs(), counted)
    if p < 1:  # the gradient of the power is infinite at 0, where that of a norm is 0
        return torch.where(values == 0, 0, torch.where(values == 0, 1, values).abs() ** p)
    return _square(values) if p == 2 else values.abs() ** p
