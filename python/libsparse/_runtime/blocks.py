"""Memory of large results: what nobody sees any more is used again.

The system clears fresh pages when they are first written, which takes longer than most kernels that fill them. The C
library keeps small arrays that were freed, but gives large ones back at once. So the storages of large results are
remembered here, and a later result takes one whose earlier tensors are all gone. Those that stay unused are given back.
"""

from __future__ import annotations

import ctypes
import functools
import math
import mmap
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor

from libsparse._storage import memory

LARGE: Final = 1 << 20
"""The size in bytes from which on memory is used again: the C library keeps smaller arrays itself."""

_SHARE: Final = 32  # of the memory that is available at first, one part in so many is remembered at most
_PATIENCE: Final = 256  # large results after which an unused storage is given back
_HUGE: Final = 1 << 22  # bytes from which on storages have whole huge pages
_CPU = torch.device("cpu")

_uses: Any = getattr(torch._C, "_storage_Use_Count", None)  # without it, nothing is used again
_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


@functools.cache
def most_kept() -> int:
    """How many bytes are remembered at most: the share of a container is that of its own memory."""
    return memory.available() // _SHARE


class _Block:
    """A storage, its size in bytes, and the number of the result that took it last."""

    __slots__ = ("size", "storage", "taken")

    def __init__(self, storage: torch.UntypedStorage, size: int, taken: int) -> None:
        self.storage, self.size, self.taken = storage, size, taken

    def is_free(self) -> bool:
        """Whether no tensor and no object of Python's refers to the storage."""
        return bool(_uses(self.storage._cdata) == 1) and sys.getrefcount(self.storage) == 2

    def is_own(self) -> bool:
        """Whether the storage is still what it was made as: some callers resize, share or fix it, as `numpy()` does."""
        storage = self.storage
        return storage.nbytes() == self.size and not storage.is_shared() and bool(storage.resizable())


class _Blocks:
    """The storages that are remembered, by their sizes: a tensor that is saved takes its whole storage with it."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Remember nothing, as in a child that was forked: a thread of its parent may have held the lock."""
        self._lock = threading.Lock()
        self._blocks: dict[int, list[_Block]] = {}
        self._held = 0
        self._results = 0

    def empty(self, shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> Tensor:
        """A large tensor of new memory, or of memory that nobody sees."""
        size = math.prod(shape) * dtype.itemsize
        if not self._lock.acquire(blocking=False):  # another thread has it, or this one, which a signal has interrupted
            return torch.empty_strided(shape, strides, dtype=dtype, device=_CPU)
        try:
            self._results += 1
            if self._results % _PATIENCE == 0:
                self._forget()
            storage = self._find(size)
            if storage is None:
                storage = torch.empty(size, dtype=torch.uint8, device=_CPU).untyped_storage()
                if size >= _HUGE:
                    _ask_for_huge_pages(storage)
                self._remember(size, storage)
            return torch.empty(0, dtype=dtype, device=_CPU).set_(storage, 0, tuple(shape), tuple(strides))
        finally:
            self._lock.release()

    def _find(self, size: int) -> torch.UntypedStorage | None:
        """The first free storage, so that the later ones are given back if the first suffice."""
        for block in self._blocks.get(size, ()):
            if block.is_free() and block.is_own():
                block.taken = self._results
                return block.storage
        return None

    def _remember(self, size: int, storage: torch.UntypedStorage) -> None:
        if size + self._held <= most_kept():
            self._held += size
            self._blocks.setdefault(size, []).append(_Block(storage, size, self._results))

    def _forget(self) -> None:
        """Drops storages that others have changed, and those that have been free for long."""
        for found, blocks in list(self._blocks.items()):
            kept = [block for block in blocks if block.is_own() and not self._is_idle(block)]
            self._held -= sum(block.size for block in blocks) - sum(block.size for block in kept)
            if kept:
                self._blocks[found] = kept
            else:
                del self._blocks[found]

    def _is_idle(self, block: _Block) -> bool:
        return self._results - block.taken >= _PATIENCE and block.is_free()


def _ask_for_huge_pages(storage: torch.UntypedStorage) -> None:
    """Lets the system back the whole pages of a storage by huge ones, where it has them."""
    page = mmap.PAGESIZE
    first = -(-storage.data_ptr() // page) * page
    _madvise(first, (storage.data_ptr() + storage.nbytes() - first) // page * page, mmap.MADV_HUGEPAGE)


_all = _Blocks()
os.register_at_fork(after_in_child=_all.begin)


def empty(shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> Tensor:
    """An uninitialised tensor on the CPU for a kernel to fill."""
    if math.prod(shape) * dtype.itemsize < LARGE or _uses is None:
        return torch.empty_strided(shape, strides, dtype=dtype, device=_CPU)
    return _all.empty(shape, strides, dtype)


def integers(length: int) -> Tensor:
    """An uninitialised array of int32, for coordinates of a large pattern."""
    return empty((length,), (1,), torch.int32)
