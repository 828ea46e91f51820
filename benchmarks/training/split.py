"""What the model is never trained on, so that it can be judged by it."""

from __future__ import annotations

import hashlib

_HELD_OUT = 5  # one of so many


def held_out(base: str) -> bool:
    """Whether patterns that were made from this one, of a file or a generator, are held out."""
    return hashlib.sha256(base.encode()).digest()[0] % _HELD_OUT == 0
