"""How much memory there is: what can't fit is refused before it is asked for."""

from __future__ import annotations

import os
from typing import Final

from .errors import FormatError

TOTAL: Final = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
"""The bytes of memory of this machine."""


def check(count: int, size: int, what: str, advice: str) -> None:
    """An array of `count` elements of `size` bytes could fit into memory.

    Raises:
        FormatError: It could not.
    """
    if count * size > TOTAL:
        raise FormatError(
            f"{what} would take {count * size / 2**30:.4g} GiB, this machine has {TOTAL / 2**30:.4g}; {advice}"
        )
