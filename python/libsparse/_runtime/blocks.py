"""Memory of large results: what nobody sees any more is used again.

The system clears fresh pages when they are first written, which takes longer than most kernels that fill them. The C
library keeps small arrays that were freed, but gives large ones back at once. So the storages of large results are
remembered here, and a later result takes one whose earlier tensors are all gone. Those that stay unused are given back.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor

LARGE: Final = 1 << 24
"""The size in bytes from which on memory is used again: the C library keeps smaller arrays itself."""

_KEPT: Final = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 64  # bytes of storages that are remembered
_PATIENCE: Final = 32  # large results after which an unused storage is given back
_WASTE: Final = 4  # a storage serves results of at least one part in so many of its size
_CPU = torch.device("cpu")

_uses: Any = getattr(torch._C, "_storage_Use_Count", None)  # without it, nothing is used again
_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class _Block:
    """A storage, and the number of the result that took it last."""

    __slots__ = ("storage", "taken")

    def __init__(self, storage: torch.UntypedStorage, taken: int) -> None:
        self.storage, self.taken = storage, taken

    def is_free(self) -> bool:
        """Whether no tensor and no object of Python's refers to the storage."""
        return bool(_uses(self.storage._cdata) == 1) and sys.getrefcount(self.storage) == 2

    def is_own(self, size: int) -> bool:
        """Whether the storage is still what it was made as: some callers resize or share it."""
        return self.storage.nbytes() == size and not self.storage.is_shared()


class _Blocks:
    """The storages that are remembered, by their sizes in bytes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: list[tuple[int, _Block]] = []
        self._results = 0

    def empty(self, shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> Tensor:
        """A large tensor of new memory, or of memory that nobody sees."""
        size = math.prod(shape) * dtype.itemsize
        with self._lock:
            self._results += 1
            self._forget()
            storage = self._find(size)
            if storage is None:
                storage = torch.empty(size, dtype=torch.uint8, device=_CPU).untyped_storage()
                _ask_for_huge_pages(storage)
                self._remember(size, storage)
            return torch.empty(0, dtype=dtype, device=_CPU).set_(storage, 0, tuple(shape), tuple(strides))

    def _find(self, size: int) -> torch.UntypedStorage | None:
        """The smallest free storage that is large enough, but not far too large."""
        fitting = [(held, block) for held, block in self._blocks if size <= held <= _WASTE * size and block.is_free()]
        if not fitting:
            return None
        block = min(fitting, key=lambda pair: pair[0])[1]
        block.taken = self._results
        return block.storage

    def _remember(self, size: int, storage: torch.UntypedStorage) -> None:
        if size + sum(held for held, _ in self._blocks) <= _KEPT:
            self._blocks.append((size, _Block(storage, self._results)))

    def _forget(self) -> None:
        """Drops storages that others have changed, and those that have been free for long."""
        self._blocks = [
            (size, block)
            for size, block in self._blocks
            if block.is_own(size) and not (self._results - block.taken > _PATIENCE and block.is_free())
        ]


def _ask_for_huge_pages(storage: torch.UntypedStorage) -> None:
    """Lets the system back the whole pages of a storage by huge ones, where it has them."""
    page = mmap.PAGESIZE
    first = -(-storage.data_ptr() // page) * page
    _madvise(first, (storage.data_ptr() + storage.nbytes() - first) // page * page, mmap.MADV_HUGEPAGE)


_all = _Blocks()


def empty(shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> Tensor:
    """An uninitialised tensor on the CPU for a kernel to fill."""
    if math.prod(shape) * dtype.itemsize < LARGE or _uses is None:
        return torch.empty_strided(shape, strides, dtype=dtype, device=_CPU)
    return _all.empty(shape, strides, dtype)
