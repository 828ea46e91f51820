"""Medians and quantiles over a dimension, or over all elements, in which those that are not stored count."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, IndexBoundsError
from libsparse._runtime.problem import Operand
from libsparse._storage import ordinary
from libsparse._storage.fakes import is_fake

from .indexing.reshaping import flatten
from .operands import to_operand
from .ranking import along, ranked
from .reductions import Groups

_ROUNDED = {"lower": torch.floor, "higher": torch.ceil, "nearest": torch.round}
_BETWEEN = ("linear", "midpoint")


def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median over a dimension, of two in the middle the lower one; NaN where there is one; differentiable.

    Args:
        input: A sparse tensor with ordered values.
        dim: The dimension; None for all elements.
        keepdim: Whether the dimension stays, of extent 1.

    Returns:
        Dense `values` and `indices` (int64); without `dim` one value.

    Raises:
        IndexBoundsError: There is no such dimension, or it has no elements.
        DtypeError: The values have no order.
    """
    return _median(input, dim, keepdim, "median", ignored=False)


def nanmedian(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """As `median`, of the elements that are not NaN; NaN where all are."""
    return _median(input, dim, keepdim, "nanmedian", ignored=True)


def quantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Quantiles over a dimension; NaN where there is a NaN; differentiable.

    Args:
        input: A sparse tensor of float32 or float64.
        q: A number from 0 to 1, or a tensor of such numbers, of the dtype of the tensor and of at most one dimension.
        dim: The dimension; None for all elements.
        keepdim: Whether the dimension stays, of extent 1.
        interpolation: `linear`, `lower`, `higher`, `midpoint` or `nearest`, for quantiles between two elements.

    Returns:
        A dense tensor; its first dimension is that of `q`, if that has one.

    Raises:
        IndexBoundsError: There is no such dimension, it has no elements, or `q` is out of range.
        DtypeError: The dtypes are others, or the interpolation is.
    """
    return _quantile(input, q, dim, keepdim, interpolation, "quantile", ignored=False)


def nanquantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """As `quantile`, of the elements that are not NaN; NaN where all are."""
    return _quantile(input, q, dim, keepdim, interpolation, "nanquantile", ignored=True)


def _median(input: Any, dim: int | None, keepdim: bool, name: str, ignored: bool) -> Any:
    if dim is None and 0 in input.shape and input.dtype.is_floating_point:
        return torch.tensor(torch.nan, dtype=input.dtype, device="cpu")
    source, groups, missing = _groups(input, dim, name)
    if missing is None:
        ranks = torch.tensor([[(groups.extent - 1) // 2]], device="cpu")
    elif ignored:
        ranks = ((groups.extent - missing - 1) // 2).clamp(min=0)
    else:  # NaN is the greatest
        ranks = torch.where(missing > 0, groups.extent - 1, (groups.extent - 1) // 2)
    (along_dim,) = groups.dims
    values, indices = (found.squeeze(along_dim) for found in ranked(groups, ranks, _stop(groups, ranks)))
    if dim is None:
        return _shared(groups, values)
    whole = Groups(source, dim)
    kind = getattr(torch.return_types, name)
    return kind((whole.shaped(values, keepdim), whole.shaped(indices, keepdim)))


def _shared(groups: Groups, chosen: Tensor) -> Tensor:
    """One of all elements, whose gradient goes to all that are equal to it in equal parts, as torch's does."""
    entries, value = groups.entries, chosen.detach()
    if not entries.requires_grad:
        return chosen
    equal = entries.detach() == value
    count = equal.sum() + groups.absent() * (groups.fill == value)
    total = torch.where(equal, entries, 0).sum() / count.clamp(min=1)
    return torch.where(value.isfinite(), value + (total - total.detach()), chosen)


def _quantile(
    input: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str, name: str, ignored: bool
) -> Tensor:
    source, groups, missing = _groups(input, dim, name)
    if source.dtype not in (torch.float32, torch.float64):
        raise DtypeError(f"{name} of {source.dtype} ({source}); expected float32 or float64: use A.float()")
    if interpolation not in _ROUNDED and interpolation not in _BETWEEN:
        expected = ", ".join((*_BETWEEN, *_ROUNDED))
        raise DtypeError(f"{name}: interpolation is {interpolation!r}; expected one of {expected}")
    wanted = _probabilities(q, source, name)
    last = torch.tensor([[groups.extent - 1]], device="cpu")
    if missing is not None and ignored:
        last = (last - missing).clamp(min=0)
    places = wanted.reshape(1, -1).double() * last  # float32 rounds places that are far between two elements
    if missing is not None and not ignored:  # NaN is the greatest
        places = torch.where(missing > 0, places.new_tensor(groups.extent - 1), places)
    rounded = _ROUNDED.get(interpolation)
    below = (places if rounded is None else rounded(places)).to(torch.int64)
    ranks = below if rounded is not None else torch.cat([below, places.ceil().to(torch.int64)], 1)
    (place,) = groups.dims
    found = ranked(groups, ranks, _stop(groups, ranks))[0].movedim(place, 0)
    if rounded is None:
        weights = (torch.full_like(places, 0.5) if interpolation == "midpoint" else places - below).to(source.dtype)
        shape = found.shape[1:]
        weights = weights.T.reshape(-1, *(shape if weights.shape[0] > 1 else [1] * len(shape)))
        low, high = found.chunk(2) if found.shape[0] else (found, found)
        found = torch.lerp(low, high, weights.expand_as(low))
    if dim is None and keepdim:
        found = found.reshape(found.shape[0], *[1] * source.ndim)
    elif dim is not None and keepdim:
        found = found.unsqueeze(place + 1)
    return found if wanted.ndim else found.squeeze(0)


def _groups(input: Any, dim: int | None, name: str) -> tuple[Operand, Groups, Tensor | None]:
    """The tensor, its elements in groups along a dimension, and how many of each group are NaN, (groups, 1).

    None in place of the numbers where none is.
    """
    source = to_operand(input)
    groups = along(flatten(source) if dim is None else source, 0 if dim is None else dim, name)
    if not groups.extent:
        raise IndexBoundsError(
            f"{name}: dimension {next(iter(groups.dims))} of the tensor ({groups.source}) has no elements"
        )
    entries = groups.entries.detach()
    if not entries.is_floating_point():
        return source, groups, None
    absent = source.fill != source.fill
    if not absent and _known(entries) and not bool(entries.isnan().any()):
        return source, groups, None
    missing = groups.reduce(entries.isnan().to(torch.int64))
    return source, groups, (missing + groups.absent() if absent else missing).reshape(-1, 1)


def _known(tensor: Tensor) -> bool:
    """Whether elements can be asked for: not in torch.vmap, and not while torch traces."""
    return not (is_fake(tensor) or ordinary.is_wrapped(tensor))


def _stop(groups: Groups, ranks: Tensor) -> int:
    """One more than the greatest rank, or than there can be."""
    if not ranks.numel():
        return 1
    return int(ranks.max()) + 1 if _known(ranks) else groups.extent


def _probabilities(q: Any, source: Operand, name: str) -> Tensor:
    wanted = q if isinstance(q, Tensor) else torch.tensor(q, dtype=source.dtype, device="cpu")
    if wanted.dtype != source.dtype or wanted.ndim > 1:
        raise DtypeError(
            f"{name}: q has dtype {wanted.dtype} and {wanted.ndim} dimensions; expected {source.dtype}, as the tensor "
            f"({source}) has, and at most one"
        )
    if _known(wanted) and not bool(((wanted >= 0) & (wanted <= 1)).all()):
        raise IndexBoundsError(f"{name}: q is {wanted.tolist()}; expected numbers from 0 to 1")
    return wanted
