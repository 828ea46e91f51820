"""Where the extrema over dimensions are."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

from libsparse._autograd import tape
from libsparse._lang.errors import ShapeError, UnsupportedError
from libsparse._lang.records import NamedTuple
from libsparse._storage import packing, sorting
from libsparse._storage.fakes import is_fake

from . import reductions
from .operands import to_operand
from .reductions import Groups


class Extremum(NamedTuple):
    """The greatest or least elements over a dimension, and their places.

    Attributes:
        values: The elements.
        indices: The coordinate of the first one that is equal, int64.
    """

    values: Tensor
    indices: Tensor


def argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The coordinate over `dim` (None: the number in the whole tensor) of the first of the greatest elements, int64."""
    return _places(Groups(input, dim), reductions.amax(_constant(input), () if dim is None else dim), dim, keepdim)


def argmin(input: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The coordinate over `dim` (None: the number in the whole tensor) of the first of the least elements, int64."""
    return _places(Groups(input, dim), reductions.amin(_constant(input), () if dim is None else dim), dim, keepdim)


def greatest(input: Any, dim: int, keepdim: bool = False) -> Extremum:
    """The greatest elements over a dimension, and where they are; the gradient of each goes to that place alone."""
    return _extremum(reductions.amax, input, dim, keepdim)


def least(input: Any, dim: int, keepdim: bool = False) -> Extremum:
    """The least elements over a dimension, and where they are; the gradient of each goes to that place alone."""
    return _extremum(reductions.amin, input, dim, keepdim)


def _extremum(over: Callable[[Any, int], Tensor], input: Any, dim: int, keepdim: bool) -> Extremum:
    groups = Groups(input, dim)
    found = over(groups.source.with_data(groups.source.values.detach()), dim)
    places = _places(groups, found, dim, False)
    if tape.needed([groups.source]):
        chosen = groups.at_entries(places) == groups.source.sparsity.coordinates()[next(iter(groups.dims))]
        stored = groups.reduce(torch.where(chosen, groups.entries, 0))
        found = torch.where(groups.reduce(chosen.to(torch.int64)) > 0, stored, found)
    return Extremum(groups.shaped(found, keepdim), groups.shaped(places, keepdim))


def _constant(input: Any) -> Any:
    source = to_operand(input)
    if source.dtype == torch.bool:
        raise UnsupportedError("argmax and argmin of torch.bool; use A.to(torch.uint8)")
    return source.with_data(source.values.detach())


def _places(groups: Groups, found: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The first place in each group of the element that was found."""
    source, pattern = groups.source, groups.source.sparsity
    if len(groups.dims) != 1 and dim is not None:
        raise ShapeError(f"argmax and argmin take one dimension, got {dim}")
    coords = pattern.linear() if dim is None else pattern.coordinates()[next(iter(groups.dims))]
    entries, wanted = groups.entries.detach(), groups.at_entries(found)
    unknown = is_fake(found) or is_functorch_wrapped_tensor(found)
    equal = reductions.same(entries, wanted) if unknown or bool((found != found).any()) else entries == wanted
    none = torch.iinfo(torch.int64).max
    first = groups.reduce(torch.where(equal, coords, none), "min")
    fill = torch.tensor(source.fill, dtype=source.dtype, device=found.device)
    outside = (groups.absent() > 0) & reductions.same(found, fill)
    if is_fake(outside) or is_functorch_wrapped_tensor(outside) or bool(outside.any()):
        lacking = groups.of_pattern("first absent elements", functools.partial(_first_absent, groups, coords))
        first = torch.where(outside, torch.minimum(first, lacking), first)
    return groups.shaped(first, keepdim)


def _first_absent(groups: Groups, coords: Tensor) -> Tensor:
    """The least coordinate in each group that is not stored."""
    extents = [groups.source.shape[d] for d in groups.kept]
    numbers = torch.arange(math.prod(extents), device="cpu").reshape(extents)
    group = groups.at_entries(numbers)
    order = sorting.sort_order([group, coords], [max(numbers.numel(), 1), max(groups.extent, 1)])
    if order is not None:
        group, coords = group.index_select(0, order), coords.index_select(0, order)
    starts = packing.starts(group, numbers.numel(), torch.int64)
    rank = torch.arange(coords.numel(), device="cpu") - starts.index_select(0, group)
    # As coordinates ascend and differ, they equal their ranks as long as none is absent.
    found = torch.zeros(numbers.numel(), dtype=torch.int64, device="cpu")
    return found.index_add(0, group, (coords == rank).to(torch.int64)).reshape(extents)
