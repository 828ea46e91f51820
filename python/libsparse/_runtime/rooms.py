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
from libsparse._lang.records import NamedTuple
from libsparse._storage import memory

from . import blocks
from .status import BoundError, check

_LEAST: Final = 1 << 16  # bytes of a room
_MOST: Final = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 128  # bytes of one that is kept
_PATIENCE: Final = 32  # uses by far smaller results in a row after which a room is given back
_WASTE: Final = 4  # a room is used for results of at least one part in so many of its size
_SHARE: Final = 4  # a room takes at most one part in so many of the memory that is available

_ALIGNED: Final = 64  # bytes


class Room(NamedTuple):
    """Memory, and the number of its uses by far smaller results."""

    memory: Tensor
    address: int
    bytes: int
    smaller: int


_kept: list[Room] = []


class Rooms:
    """Room for the entries of one result, and where the blocks of its rows are, until they are moved."""

    __slots__ = ("_offsets", "_room")

    def __init__(self, kernel: Kernel, block: array[int], index: torch.dtype, values: torch.dtype) -> None:
        """Finds how many entries there may be, and room for their coordinates of dtype `index` and values.

        Raises:
            BoundError: They are too many.
        """
        slots = kernel.slots.handed
        assert kernel.bound is not None
        assert slots is not None
        self._offsets = array("q", bytes(16 * slots.length))
        block[slots.starts] = address = self._offsets.buffer_info()[0]
        block[slots.filled] = address + 8 * slots.length
        check(kernel.bound(block.buffer_info()[0]))
        sizes = {"room_crd": index.itemsize, "room_vals": values.itemsize}
        entries = -(-block[slots.bound] // _ALIGNED) * _ALIGNED
        self._room = take(entries * sum([sizes[kind] for kind, _ in slots.rooms]))
        address = self._room.address
        for kind, place in slots.rooms:
            block[place] = address
            address += entries * sizes[kind]

    def leave(self) -> None:
        """Keeps the memory for later calls."""
        leave(self._room)


def leave(room: Room) -> None:
    """Keeps a room for later calls."""
    if room.bytes <= _MOST:
        _kept[:] = [room]


def take(need: int) -> Room:
    """A room of at least so many bytes, kept or new.

    Raises:
        BoundError: They are too many.
    """
    need = max(_LEAST, need)
    try:
        kept = _kept.pop()
    except IndexError:
        pass
    else:
        smaller = kept.smaller + 1 if kept.bytes > _WASTE * need else 0
        if kept.bytes >= need and smaller <= _PATIENCE:
            return kept._replace(smaller=smaller) if smaller else kept
    if not memory.is_small(need, 1) and need > memory.available() // _SHARE:
        raise BoundError
    room = blocks.empty((need,), (1,), torch.uint8)
    return Room(room, room.data_ptr(), need, 0)
