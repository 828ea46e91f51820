"""Fingerprints of values: whether somebody has written to them since the last look; in C (`fingerprint.c`)."""

from __future__ import annotations

from types import ModuleType

from torch import Tensor

from . import memory, threads

native: ModuleType | None
try:
    from . import _fingerprint

    native = _fingerprint
except ImportError:  # the package was built without a C compiler
    native = None

function: int = 0 if native is None else native.function
"""The address of the C function, 0 without one."""


def of(values: Tensor) -> int | None:
    """A number that other values hardly ever have; None without the C function that finds it."""
    if native is None:
        return None
    size = values.numel() * values.element_size()
    found: int = native.of_memory(memory.address(values), size, threads.count(), threads.team())
    return found
