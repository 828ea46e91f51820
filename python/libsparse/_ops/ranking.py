"""The elements at given places of the order of a dimension: the greatest, the least, and the one of a given rank."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, IndexBoundsError, MissingKernelError, UnsupportedError
from libsparse._storage import memory, packing, sorting, threads
from libsparse._storage.fakes import is_fake, refuse_jit_trace

from .reductions import Groups, same

_FLOATS = (torch.float16, torch.bfloat16, torch.float32)
_ORDERED = {"f": torch.float32, "d": torch.float64, "l": torch.int64}  # what C puts in order


def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k greatest (or least) elements over a dimension, in their order, and their coordinates; differentiable.

    Elements that are not stored count with the fill value. Of equal elements stored ones come first, then those of
    lower coordinates. The gradient goes to the stored elements that are chosen.

    Args:
        input: A sparse tensor.
        k: How many, from 0 to the extent of the dimension.
        dim: The dimension.
        largest: Whether the greatest are wanted, not the least. NaN is greater than all others.
        sorted: As in torch; the elements are in order in either case.

    Returns:
        Dense `values` and `indices` (int64), of the shape of the tensor with k in place of the dimension's extent.

    Raises:
        IndexBoundsError: There is no such dimension, or `k` is not from 0 to its extent.
        DtypeError: `k` is no int, or the values have no order.
    """
    groups = along(input, dim, "topk")
    count = _number(groups, k, "topk", least=0)
    return torch.return_types.topk(ranked(groups, torch.arange(count, device="cpu")[None], count, bool(largest)))


def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th least elements over a dimension, counted from 1, and their coordinates; differentiable as `topk`.

    Args:
        input: A sparse tensor.
        k: The rank, from 1 to the extent of the dimension.
        dim: The dimension.
        keepdim: Whether the dimension stays, of extent 1.

    Returns:
        Dense `values` and `indices` (int64).

    Raises:
        IndexBoundsError: There is no such dimension, or `k` is not from 1 to its extent.
        DtypeError: `k` is no int, or the values have no order.
    """
    groups = along(input, dim, "kthvalue")
    rank = _number(groups, k, "kthvalue", least=1) - 1
    values, indices = ranked(groups, torch.tensor([[rank]], device="cpu"), rank + 1)
    (place,) = groups.dims
    shaped = [groups.shaped(found.squeeze(place), keepdim) for found in (values, indices)]
    return torch.return_types.kthvalue((shaped[0], shaped[1]))


def along(input: Any, dim: Any, name: str) -> Groups:
    """The elements of a tensor in groups along one dimension; values of these have an order."""
    try:
        dim = operator.index(dim)
    except TypeError:
        raise DtypeError(f"{name}: dim is {dim!r}; expected an int, one dimension of the tensor") from None
    groups = Groups(input, dim)
    if groups.source.dtype.is_complex:
        raise MissingKernelError(f"{name} of {groups.source.dtype} ({groups.source}), which has no order; use A.abs()")
    if groups.source.dtype == torch.bool:
        raise MissingKernelError(f"{name} of torch.bool ({groups.source}); use A.to(torch.uint8)")
    return groups


def _number(groups: Groups, k: Any, name: str, least: int) -> int:
    """The argument `k`, from `least` to the extent of the groups."""
    try:
        count = operator.index(k)
    except TypeError:
        raise DtypeError(f"{name}: k is {k!r}; expected an int") from None
    (along,) = groups.dims
    if groups.extent < least:
        raise IndexBoundsError(f"{name}: dimension {along} of the tensor ({groups.source}) has no elements")
    if not least <= count <= groups.extent:
        raise IndexBoundsError(
            f"{name}: k is {count}; expected {least} to {groups.extent}, the extent of dimension {along} of the tensor "
            f"({groups.source})"
        )
    return count


def ranked(groups: Groups, ranks: Tensor, stop: int, descending: bool = False) -> tuple[Tensor, Tensor]:
    """The elements of each group at some ranks, and their coordinates.

    Elements that are not stored are equal, so that they stand side by side in the order of a group: only stored ones
    are sorted, and their block is put behind those that are equal to the fill value or before it.

    Args:
        groups: The elements, along one dimension.
        ranks: From 0, int64, (1, n) for all groups or (groups, n).
        stop: One more than the greatest rank.
        descending: Whether they are counted from the greatest; NaN is greater than all others.

    Returns:
        Two dense tensors of the shape of the tensor, with n in place of the dimension's extent.
    """
    refuse_jit_trace()
    source, entries = groups.source, groups.entries
    (dim,) = groups.dims
    extents = [source.shape[d] for d in groups.kept]
    rows = _fitting(groups, ranks.shape[1], stop)
    group, coords, places = _by_groups(groups, rows)
    starts = packing.starts(group, rows, torch.int64)
    stored = starts.diff()[:, None]
    fill = torch.tensor(source.fill, dtype=source.dtype, device=entries.device)

    keys = entries.detach()
    keys = keys if places is None else keys.index_select(0, places)
    few = not is_fake(keys) and (ranks.shape[1] == stop or rows * stop <= 2 * keys.numel())
    led = _leading(keys, starts, stop, descending, fill) if few else None
    order, begins, first = _sorted(keys, group, starts, descending, fill) if led is None else led
    begins, first = begins[:, None], first[:, None]
    absent = groups.extent - stored
    inside = (ranks >= first) & (ranks < first + absent)

    nowhere = torch.full((1,), keys.numel(), device="cpu")  # the place of the fill value, behind those of entries
    ranked = torch.where(inside, order.numel(), begins + torch.where(ranks < first, ranks, ranks - absent))
    chosen = torch.cat([order, nowhere])[ranked]
    found = torch.cat([entries, fill[None]])[chosen if places is None else torch.cat([places, nowhere])[chosen]]
    own = torch.cat([coords, nowhere])[chosen]
    if led is None or bool(inside.any()):
        lacking = _absent(group, coords, starts[:-1, None], torch.where(inside, ranks - first, 0), stop)
        own = torch.where(inside, lacking, own)
    return _placed(found, extents, dim), _placed(own, extents, dim)


def _leading(
    values: Tensor, starts: Tensor, wanted: int, descending: bool, fill: Tensor
) -> tuple[Tensor, Tensor, Tensor] | None:
    """The first values of each row in an order: their places, where each row begins, how many precede a fill value.

    Those equal to it precede it, and all are counted, wanted or not. NaN is the greatest, and of equal values the
    first comes first. None where C can't read the values.

    Args:
        values: Those of all rows, one row behind the other.
        starts: Where each row starts, and where the last ends; int64.
        wanted: How many of each row; behind the last of a shorter row are zeros.
        descending: Whether the greatest come first.
        fill: One value, of the dtype of the others.
    """
    kind = "f" if values.dtype in _FLOATS else "d" if values.dtype == torch.float64 else "l"
    wide = _ORDERED[kind]
    values, fill = values.to(wide).contiguous(), fill.to(wide)
    radix, rows = sorting.in_c(), starts.numel() - 1
    if radix is None or wanted < 1 or not sorting.is_plain(starts) or not sorting.is_plain(values, (wide,)):
        return None
    order = torch.empty(rows * wanted, dtype=torch.int64, device="cpu")
    first = torch.empty(rows, dtype=torch.int64, device="cpu")
    team = threads.shared(rows + values.numel())
    given = memory.address(values), kind, memory.address(starts), rows, wanted, memory.address(fill), descending
    radix.lead_rows(*given, *team, order.data_ptr(), first.data_ptr())
    return order, torch.arange(0, rows * wanted, wanted, device="cpu"), first


def _sorted(
    keys: Tensor, group: Tensor, starts: Tensor, descending: bool, fill: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """What `_leading` finds, by sorting all values."""
    order = torch.sort(keys, descending=descending, stable=True).indices
    order = order.index_select(0, torch.argsort(group.index_select(0, order), stable=True))
    first = _not_behind(keys, fill, descending).to(torch.int64)
    first = torch.zeros(starts.numel() - 1, dtype=torch.int64, device="cpu").index_add(0, group, first)
    return order, starts[:-1], first


def _fitting(groups: Groups, count: int, stop: int) -> int:
    """The number of groups, of which so many elements fit into memory, and those before a rank are counted by int64.

    Raises:
        FormatError: They don't fit.
        UnsupportedError: They can't.
    """
    rows = math.prod(groups.source.shape[d] for d in groups.kept)
    subject = f"{rows * count} elements of a tensor ({groups.source}) with their coordinates"
    memory.check(rows * count, 32, subject, "ask for fewer, or for parts of the tensor")
    if rows * (stop + 1) >= 1 << 63:
        raise UnsupportedError(
            f"the first {stop} elements in each of {rows} groups of a tensor ({groups.source}) can't be "
            "numbered in int64; ask for fewer, or for parts of the tensor"
        )
    return rows


def _by_groups(groups: Groups, rows: int) -> tuple[Tensor, Tensor, Tensor | None]:
    """The number of the group of each entry, its coordinate in it, and its place, in the order of both.

    None in place of the places where the entries are in this order.
    """
    pattern = groups.source.sparsity
    (along,) = groups.dims
    every = pattern.coordinates()
    coords = every[along].to(torch.int64)
    group = every[groups.kept[0]] if groups.kept else torch.zeros_like(coords)
    for d in groups.kept[1:]:
        group = group * groups.source.shape[d] + every[d]
    order = sorting.sort_order([group, coords], [max(rows, 1), max(groups.extent, 1)])
    if order is None:
        return group, coords, None
    return group.index_select(0, order), coords.index_select(0, order), order


def _not_behind(keys: Tensor, fill: Tensor, descending: bool) -> Tensor:
    """Which numbers are equal to the fill value or before it in an order in which NaN is the greatest."""
    before = keys > fill if descending else keys < fill
    nan = keys if descending else fill
    return before | same(keys, fill) | (nan != nan)


def _absent(group: Tensor, coords: Tensor, begins: Tensor, numbers: Tensor, limit: int) -> Tensor:
    """The coordinates of elements that are not stored, by their numbers in each group, from 0 to before a limit.

    Number m is at m + #(t: c_t - t <= m), where c_t are the coordinates that a group stores, in ascending order.
    """
    rank = torch.arange(coords.numel(), device="cpu") - begins.squeeze(1).index_select(0, group)
    keys = group * (limit + 1) + (coords - rank).clamp(max=limit)
    rows = torch.arange(begins.numel(), device="cpu")[:, None]
    return numbers + torch.searchsorted(keys, rows * (limit + 1) + numbers, right=True) - begins


def _placed(found: Tensor, extents: list[int], along: int) -> Tensor:
    """Elements of groups, in the shape of the tensor."""
    return found.reshape([*extents, found.shape[1]]).movedim(-1, along).contiguous()
