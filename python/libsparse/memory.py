"""How much memory there is: what can't fit is refused before it is asked for."""

from __future__ import annotations

import functools
import os

from .errors import FormatError


@functools.cache
def total() -> int:
    """The bytes of memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def check(count: int, size: int, what: str, advice: str) -> None:
    """An array of `count` elements of `size` bytes could fit into memory.

    Raises:
        FormatError: It could not.
    """
    if count * size > total():
        raise FormatError(
            f"{what} would take {count * size / 2**30:.4g} GiB, this machine has {total() / 2**30:.4g}; {advice}"
        )
