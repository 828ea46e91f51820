"""Searches for the fastest schedule, and what is known of patterns for them, by the Go compiler."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from libsparse._lang.errors import UnsupportedError

from . import native


class Tuner:
    """A search for the fastest schedule of a request.

    Attributes:
        request, options: What was asked for.
        space: What is searched, in words.
    """

    def __init__(self, request: dict[str, Any], options: dict[str, Any]) -> None:
        """Begin a search.

        Raises:
            UnsupportedError: The request takes several kernels, or has nothing to choose; or this is a forked process.
        """
        if native.must_not_enter():
            raise UnsupportedError("tune: the compiler can't be asked for schedules in a forked process; tune before")
        self.request, self.options = request, options
        self._library, self._handle = native.load(), ctypes.c_size_t()
        texts = json.dumps(request).encode(), json.dumps(options).encode()
        open_ = self._library.libsparse_tune_open
        native.check(self._library, lambda error: open_(*texts, ctypes.byref(self._handle), error))
        self.space = self._said(self._library.libsparse_tune_space)

    def ask(self) -> dict[str, Any] | None:
        """A point and its schedule, None where there is none left."""
        return json.loads(self._said(self._library.libsparse_tune_ask))  # type: ignore[no-any-return]

    def tell(self, result: dict[str, Any]) -> None:
        """What was measured at a point: `seconds`, or that it `failed`."""
        text = json.dumps(result).encode()
        native.check(self._library, lambda error: self._library.libsparse_tune_tell(self._handle, text, error))

    def moves(self) -> list[dict[str, str]]:
        """The steps away from the compiler's schedule that make sense by themselves, as values of parameters."""
        return list(json.loads(self._said(self._library.libsparse_tune_moves)))

    def describe(self, changes: Sequence[dict[str, str]]) -> dict[str, Any]:
        """The `names` and, for each element, the `features` of the compiler's schedule with other values."""
        return dict(json.loads(self._about(self._library.libsparse_tune_describe, changes)))

    def propose(self, changes: dict[str, str]) -> dict[str, Any] | None:
        """The compiler's schedule with other values of some parameters; None if it is none, or that of one before."""
        return json.loads(self._about(self._library.libsparse_tune_propose, changes))  # type: ignore[no-any-return]

    def _said(self, function: Any) -> str:
        return native.string(self._library, lambda out, error: function(self._handle, out, error))

    def _about(self, function: Any, value: Any) -> str:
        text = json.dumps(value).encode()
        return native.string(self._library, lambda out, error: function(self._handle, text, out, error))

    def close(self) -> None:
        """Ends the search."""
        native.check(self._library, lambda error: self._library.libsparse_release(self._handle, error))


def pattern_features(
    format: str, extents: Sequence[int], index: str, pos: Sequence[Tensor | None], crd: Sequence[Tensor | None]
) -> list[float | None]:
    """Numbers that say how the entries of a pattern are spread, None for what is not known.

    Args:
        format: Its format, without the order of modes.
        extents: The extents of the levels.
        index: The code of the arrays' dtype.
        pos: Positions of each level; None where it has none, or its arrays are not the coordinates of each parent.
        crd: Coordinates likewise.

    Raises:
        UnsupportedError: This is a forked process, or one in which Go can't begin.
    """
    if native.must_not_enter():
        raise UnsupportedError(
            "tune: the compiler can't look at patterns in a forked process, or where limits (ulimit -n, -u, -v) leave "
            "too few descriptors, threads or addresses; tune before, or raise the limits"
        )
    library, arrays = native.load(), [a for pair in zip(pos, crd, strict=True) for a in pair]
    lengths = [[0 if a is None else len(a) for a in side] for side in (pos, crd)]
    text = json.dumps({"format": format, "extents": extents, "index": index, "pos": lengths[0], "crd": lengths[1]})
    addresses = (ctypes.c_void_p * len(arrays))(*[None if a is None else a.data_ptr() for a in arrays])
    features = library.libsparse_pattern_features
    return list(json.loads(native.string(library, lambda out, error: features(text.encode(), addresses, out, error))))
