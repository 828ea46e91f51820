"""The entries that a key names, at their coordinates in the result."""

from __future__ import annotations

import torch
from torch import Tensor

from libsparse._storage import packing

from .entries import Entries, unravel
from .keys import INDEX, NEW, Key
from .rows import ragged


def filtered(entries: Entries, key: Key) -> Entries:
    """The entries within the slices and at the picks of a key."""
    tests = [entries.coords[mode] == place for mode, place in key.picks.items()]
    for mode, (start, step, count) in key.slices.items():
        coord = entries.coords[mode]
        if start > 0:
            tests.append(coord >= start)
        if start + step * count < entries.shape[mode]:
            tests.append(coord < start + step * count)
        if step > 1:
            tests.append((coord - start) % step == 0)
    if not tests:
        return entries
    mask = tests[0]
    for test in tests[1:]:
        mask = mask & test
    return entries.keep(mask)


def joined(entries: Entries, key: Key) -> tuple[Entries, Tensor]:
    """Each entry once for every place of the indices that names it, and these places."""
    modes = list(key.indices)
    extents = [entries.shape[mode] for mode in modes]
    wanted, present = [key.indices[mode] for mode in modes], [entries.coords[mode] for mode in modes]
    here, there = packing.comparable_keys(present, wanted, extents)
    there, order = torch.sort(there)
    if len(modes) == 1 and extents[0] <= 4 * entries.nnz:  # a table of all coordinates is shorter than a search
        if not bool((there[1:] == there[:-1]).any()):
            owner = torch.full((extents[0],), -1, device="cpu").index_copy(0, there, order).index_select(0, here)
            kept = (owner >= 0).nonzero().squeeze(1)
            return entries.take(kept), owner.index_select(0, kept)
        first = packing.starts(there, extents[0], torch.int64)
        low, high = first.index_select(0, here), first[1:].index_select(0, here)
    else:
        low, high = torch.searchsorted(there, here), torch.searchsorted(there, here, right=True)
    _, numbers, places = ragged(low, high)
    return entries.take(numbers), order.index_select(0, places)


def bools(entries: Entries, key: Key) -> tuple[Entries, Tensor]:
    """All entries or none, as a bool in a key says."""
    if not torch.Size(key.index_shape).numel():
        entries = entries.take(torch.empty(0, dtype=torch.int64, device="cpu"))
    return entries, torch.zeros(entries.nnz, dtype=torch.int64, device="cpu")


def placed(entries: Entries, key: Key, owner: Tensor | None) -> Entries:
    """The entries at their coordinates in the result; `owner` is the place of the indices that named each."""
    coords: list[Tensor] = []
    for dim in key.dims:
        if dim == NEW:
            coords.append(torch.zeros(entries.nnz, dtype=torch.int64, device="cpu"))
        elif dim == INDEX:
            assert owner is not None
            coords += unravel(owner, key.index_shape)
        else:
            start, step, _ = key.slices[dim]
            coord = entries.coords[dim] - start if start else entries.coords[dim]
            coords.append(coord if step == 1 else torch.div(coord, step, rounding_mode="floor"))
    return entries.at(coords, key.shape)
