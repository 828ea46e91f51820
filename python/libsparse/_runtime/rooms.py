"""Rooms: memory in which kernels write entries before they know how many there are.

Entries are moved to arrays of the exact length before a call ends. So the memory of a room serves the next call, whose
pages the system would else have to clear anew.
"""

from __future__ import annotations

import os
from array import array
from typing import Final

import torch
from torch import Tensor

from libsparse._compiler.kernel import Kernel
from libsparse._storage import memory

from .status import BoundError, check

_LEAST: Final = 1 << 16  # bytes of a room
_MOST: Final = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 128  # bytes of one that is kept
_PATIENCE: Final = 32  # uses by far smaller results after which a room is given back
_WASTE: Final = 4  # a room is used for results of at least one part in so many of its size
_SHARE: Final = 4  # a room takes at most one part in so many of the memory that is available

_kept: dict[str, tuple[Tensor, int]] = {}  # by kind, with the number of uses by far smaller results


class Rooms:
    """Room for the entries of one result, and where the blocks of its rows are, until they are moved."""

    __slots__ = ("_held", "_offsets")

    def __init__(self, kernel: Kernel, block: array[int], index: torch.dtype, values: torch.dtype) -> None:
        """Finds how many entries there may be, and room for their coordinates of dtype `index` and values.

        Raises:
            BoundError: They are too many.
        """
        assert kernel.bound is not None
        slots = kernel.slots.handed
        self._held: dict[str, tuple[Tensor, int]] = {}
        self._offsets = [array("q", bytes(8 * slots[kind].length({}))) for kind in ("starts", "filled")]
        for kind, offsets in zip(("starts", "filled"), self._offsets, strict=True):
            block[slots[kind].place] = offsets.buffer_info()[0]
        check(kernel.bound(block.buffer_info()[0]))
        entries = block[slots["bound"].place]
        for kind, dtype in (("room_crd", index), ("room_vals", values)):
            self._held[kind] = held = _take(kind, max(_LEAST, entries * dtype.itemsize))
            block[slots[kind].place] = held[0].data_ptr()

    def leave(self) -> None:
        """Keeps the memory for later calls."""
        _kept.update({kind: held for kind, held in self._held.items() if held[0].numel() <= _MOST})


def _take(kind: str, need: int) -> tuple[Tensor, int]:
    """A room of at least so many bytes, kept or new."""
    room, smaller = _kept.pop(kind, (None, 0))
    if room is None or room.numel() < need or smaller > _PATIENCE:
        if not memory.is_small(need, 1) and need > memory.available() // _SHARE:
            raise BoundError
        room, smaller = torch.empty(need, dtype=torch.uint8, device="cpu"), 0
    return room, smaller + 1 if room.numel() > _WASTE * need else 0
