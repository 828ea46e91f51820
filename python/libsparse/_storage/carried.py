"""Values in the order of another format, kept from call to call as long as nobody writes to them."""

from __future__ import annotations

import time
import weakref
from typing import Any, ClassVar

import torch
from torch import Tensor

from libsparse._lang.records import NamedTuple

from . import fingerprints
from .conversion import Conversion, Pattern
from .format import Format

_WORTH = 16  # uses, from which on copying was worth it
_MOST = 1 << 16  # calls that wait for another copy, at most


class _Seen(NamedTuple):
    """Values that calls have used; `known_copy` of `_runtime/held.c` reads the fields by their numbers.

    Attributes:
        values: The tensor, which isn't kept alive.
        version: How often torch had written to it.
        fingerprint: That of its memory; None before the values are copied.
        uses: How many calls have used it, as the only element.
        copy: Its values in the other order; None before they are copied.
    """

    values: weakref.ref[Tensor]
    version: int
    fingerprint: int | None
    uses: list[int]
    copy: Tensor | None


class Carried:
    """The values of a pattern in the order of another format.

    Values are the same as before where they are the same tensor, torch has counted no write to it, and their memory has
    the fingerprint that it had: NumPy's arrays and `.data` are written to without torch's knowledge. They are copied
    when a call uses them again; where they were soon written to, more calls have to use them first, so that values
    which change all the time are hardly ever copied, and cost nothing but a look.

    Attributes:
        seconds: The time that the last copy took.
        function: The address of the C function that finds fingerprints, 0 without one.
    """

    function: ClassVar[int] = fingerprints.function
    __slots__ = ("_conversion", "_patience", "_seen", "seconds")

    def __init__(self, conversion: Conversion) -> None:
        """Begin without any values."""
        self._conversion = conversion
        self._patience, self.seconds = 2, 0.0
        self._seen: _Seen | None = None  # written as a whole: any thread may read it

    def get(self, values: Tensor) -> Tensor | None:
        """The values in the other order; None where calls should read them where they are."""
        seen = self._seen
        version = -1 if values.is_inference() else values._version
        if seen is None or seen.values() is not values or seen.version != version:
            self._begin(seen, values, version)
            return None
        seen.uses[0] += 1
        if seen.copy is None:
            return self.carry(values) if seen.uses[0] >= self._patience else None
        if seen.fingerprint != fingerprints.of(values):
            self._begin(seen, values, version)
            return None
        return seen.copy

    def carry(self, values: Tensor) -> Tensor:
        """The same, copied now where they haven't been."""
        begun = time.perf_counter()
        version = -1 if values.is_inference() else values._version
        fingerprint = fingerprints.of(values)
        with torch.no_grad():
            copy = self._conversion.values(values.detach())
        self.seconds = time.perf_counter() - begun
        if version >= 0 and fingerprint is not None:  # else nobody would know that they have changed
            self._seen = _Seen(weakref.ref(values), version, fingerprint, [0], copy)
        return copy

    def _begin(self, before: _Seen | None, values: Tensor, version: int) -> None:
        """Notes other values, and whether copying the ones before was worth it."""
        if before is not None and before.copy is not None:
            self._patience = 2 if before.uses[0] >= _WORTH else min(4 * self._patience, _MOST)
        if version >= 0:
            self._seen = _Seen(weakref.ref(values), version, None, [1], None)

    def tensors(self) -> list[Any]:
        """The copy, for those who count bytes."""
        seen = self._seen
        return [] if seen is None or seen.copy is None else [seen.copy]


def carried(pattern: Pattern, format: Format) -> Carried:
    """The values that calls use in the order of another format, which the pattern keeps."""
    kept: Carried = pattern._keep(("values", format), lambda: Carried(pattern.converted(format)))
    return kept
