"""Draws of entries, and numbers of nodes; in C where the package was built with a C compiler, with the same results."""

from __future__ import annotations

import functools
from types import ModuleType

import torch
from torch import Tensor

_MIX = (0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64)  # of splitmix64, as int64
_NUMBER_BITS = 20  # of the number of a draw
MOST = 2**_NUMBER_BITS - 1  # draws of a row


@functools.cache
def in_c() -> ModuleType | None:
    """The module in C, None where the package was built without a C compiler."""
    try:
        from . import _sample
    except ImportError:
        return None
    return _sample


def entries(pos: Tensor, nodes: Tensor, fanout: int, replace: bool, seed: int) -> tuple[Tensor, Tensor]:
    """Draws entries of rows.

    Args:
        pos: Where rows start, (n + 1,), int32 or int64.
        nodes: The rows, (m,), int64, within range.
        fanout: How many of each; all of those that have fewer, without replacement, and of all rows if it is negative.
        replace: Whether an entry may be drawn again.
        seed: Below 2**62.

    Returns:
        For each drawn entry, the place of its row in `nodes`, ascending, and its own position.
    """
    first = pos.index_select(0, nodes).to(torch.int64)
    length = pos.index_select(0, nodes + 1).to(torch.int64) - first
    kept = length if fanout < 0 else (length > 0) * fanout if replace else length.clamp(max=fanout)
    count = int(kept.sum())
    compiled = in_c()
    if compiled is not None:
        rows, found = (torch.empty(count, dtype=torch.int64, device="cpu") for _ in range(2))
        given = (pos.data_ptr(), pos.dtype == torch.int64, nodes.data_ptr(), nodes.numel(), fanout, replace, seed)
        compiled.draw_entries(*given, rows.data_ptr(), found.data_ptr())
        return rows, found
    rows = torch.arange(nodes.numel(), device="cpu").repeat_interleave(kept)
    number = torch.arange(count, device="cpu") - (kept.cumsum(0) - kept)[rows]
    if fanout < 0:
        return rows, first[rows] + number
    drawn = _drawn(length, fanout, replace, seed)
    whole = (length <= fanout)[rows] & (not replace)
    return rows, first[rows] + torch.where(whole, number, drawn[rows, number.clamp(max=fanout - 1)])


def _drawn(length: Tensor, fanout: int, replace: bool, seed: int) -> Tensor:
    """For each row so many numbers below its length."""
    drawn = torch.full((length.numel(), fanout), -1, dtype=torch.int64, device="cpu")
    row = torch.arange(length.numel(), device="cpu")
    for number in range(fanout):
        if replace:
            drawn[:, number] = _below(seed, row, number, length)
            continue
        last = length - fanout + number  # Floyd's method, as in C
        candidate = _below(seed, row, number, last + 1)
        drawn[:, number] = torch.where((drawn == candidate[:, None]).any(1), last, candidate)
    return drawn


def _below(seed: int, row: Tensor, number: int, end: Tensor) -> Tensor:
    """Numbers below `end` that follow from a seed, rows and the number of the draw."""
    x = seed + (row << _NUMBER_BITS) + number
    x = (x ^ _shifted(x, 30)) * _MIX[0]
    x = (x ^ _shifted(x, 27)) * _MIX[1]
    x = x ^ _shifted(x, 31)
    return (_shifted(x, 33) * end) >> 31


def _shifted(x: Tensor, bits: int) -> Tensor:
    """The logical shift to the right."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def numbered(known: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers nodes in the order in which they come first.

    Args:
        known: Nodes that have the numbers from 0 on, each once.
        given: Nodes, some of which may be among them, or come again.

    Returns:
        All nodes, and the number of each given one.
    """
    compiled = in_c()
    if compiled is not None:
        nodes = torch.empty(known.numel() + given.numel(), dtype=torch.int64, device="cpu")
        numbers = torch.empty(given.numel(), dtype=torch.int64, device="cpu")
        arrays = (known.data_ptr(), known.numel(), given.data_ptr(), given.numel())
        count = compiled.number_nodes(*arrays, nodes.data_ptr(), numbers.data_ptr())
        return nodes[:count].clone(), numbers
    both = torch.cat([known, given])
    found, place = both.unique(return_inverse=True)
    came = torch.full_like(found, both.numel()).scatter_reduce(
        0, place, torch.arange(both.numel(), device="cpu"), "amin"
    )
    order = came.argsort()
    rank = torch.empty_like(order).scatter_(0, order, torch.arange(order.numel(), device="cpu"))
    return found[order], rank[place[known.numel() :]]
