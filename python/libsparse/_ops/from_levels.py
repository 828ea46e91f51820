"""Patterns of the arrays of levels that users hand over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import FormatError, ShapeError
from libsparse._storage import checks, validate
from libsparse._storage.fakes import is_fake
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import tracing


def pattern_from_levels(
    format: str | Format,
    shape: Sequence[int],
    pos: Sequence[Any],
    crd: Sequence[Any],
    check: bool = True,
    called: checks.Names = checks.Names(),  # noqa: B008  # immutable
) -> Pattern:
    """A pattern from copies of the arrays of its levels; `check` verifies contents, too, and not only lengths.

    A `torch.Size` has been checked.

    `called` has the names of the arrays for messages.

    Raises:
        FormatError: Positions decrease, coordinates are not sorted, or arrays don't fit the format.
        IndexBoundsError: A coordinate is out of range.
        ShapeError: A length is wrong.
    """
    size = shape if type(shape) is torch.Size else validate.shape(shape)
    wanted = Format(format).resolve(len(size))
    if wanted.is_dense:
        raise FormatError(f"format {wanted} has no positions and coordinates: it is a strided torch tensor")
    own_pos, own_crd = _index_arrays("pos", pos, called), _index_arrays("crd", crd, called)
    if any(map(is_fake, (*own_pos, *own_crd))):
        return tracing.operators[0].checked(wanted, size, own_pos, own_crd, check, called)
    checks.check(wanted, size, own_pos, own_crd, check, called)
    return Pattern.of_copies(wanted, size, own_pos, own_crd)


def _index_arrays(kind: str, given: Any, called: checks.Names) -> list[Tensor | None]:
    """The arrays of one kind that a user hands over, which may still be the user's own memory."""
    if not isinstance(given, Sequence):
        raise ShapeError(f"{kind} is a {type(given).__name__}; expected one array, or None, a level")
    return [
        None if a is None else validate.index_array(called.array(kind, n), a, copy=False) for n, a in enumerate(given)
    ]
