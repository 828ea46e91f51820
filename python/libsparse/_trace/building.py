"""Constructors in a graph: coordinates assembled, and arrays of users checked, when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._ops.assemble import to_format
from libsparse._runtime.problem import Operand
from libsparse._storage import checks, packing, validate
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from .library import define
from .patterns import Arrays, copied, count, fake_arrays, index_dtype, put_together


def assemble(
    coords: Sequence[Tensor], values: Tensor | None, shape: Sequence[Any], format: Format, reduce: str
) -> Operand:
    """The tensor of coordinates without elements; differentiable by the values."""
    from libsparse._ops.arranging import reduced  # with the first coordinates

    places, *levels = torch.ops.libsparse.assemble(torch.stack(list(coords)), list(shape), format.text)
    pattern = put_together(Arrays(format.text, list(shape), levels))
    if values is None:
        return Operand(pattern, None)
    data = reduced(values, places, pattern.size, reduce)
    return Operand(pattern.with_blocks(values.shape[1:]), data.reshape(-1))


def _assemble(coords: Tensor, shape: Sequence[int], format: str) -> list[Tensor]:
    """The place of the value of each coordinate, and the arrays of the pattern."""
    from libsparse._ops import arranging  # with the first coordinates

    rows, wanted = list(coords.to(torch.int64)), Format(format)
    for mode, row in enumerate(rows):
        validate.bounds(f"indices[{mode}]", row, shape[mode], meaning=f"dimension {mode} of shape {tuple(shape)}")
    pattern, found = arranging.arrange(rows, shape, wanted.writable, 1)
    places = found.places()
    if wanted != wanted.writable:
        pattern = to_format(Operand(pattern, None), wanted).sparsity
        numbers, _ = packing.locate(rows, list(pattern.coordinates()), shape)
        stored = pattern._places()
        places = numbers if stored is None else stored.index_select(0, numbers)
    return [places.clone(), *copied(pattern, index_dtype(shape))]


def _fake_assemble(coords: Tensor, shape: Sequence[Any], format: str) -> list[Tensor]:
    levels = fake_arrays(Format(format), shape, index_dtype(shape), None, coords)
    return [coords.new_empty((coords.shape[1],), dtype=torch.int64), *levels]


define("assemble(Tensor coords, SymInt[] shape, str format) -> Tensor[]", _assemble, _fake_assemble)


def checked(
    format: Format,
    shape: Sequence[Any],
    pos: Sequence[Tensor | None],
    crd: Sequence[Tensor | None],
    contents: bool,
    called: checks.Names,
) -> Pattern:
    """The pattern of arrays without elements, which are checked when the graph runs."""
    given = [None if a is None else a for pair in zip(pos, crd, strict=True) for a in pair]
    if len(pos) != len(format.kinds) or sum(a is not None for a in given) != count(format):
        checks.check(format, shape, pos, crd, False, called)  # an array too many, or too few
    arrays = [a for a in given if a is not None]
    found = torch.ops.libsparse.checked(format.text, list(shape), arrays, contents, list(called))
    return put_together(Arrays(format.text, list(shape), found))


def _checked(
    format: str, shape: Sequence[int], arrays: Sequence[Tensor], contents: bool, called: Sequence[str]
) -> list[Tensor]:
    """The arrays of a pattern, copied."""
    wanted, left = Format(format), iter(arrays)
    pos: list[Tensor | None] = []
    crd: list[Tensor | None] = []
    for level in wanted.kinds:
        pos.append(next(left) if level.has_pos else None)
        crd.append(next(left) if level.has_crd else None)
    checks.check(wanted, shape, pos, crd, contents, checks.Names(*called))
    return copied(Pattern(wanted, shape, pos, crd), index_dtype(shape))


def _fake_checked(
    format: str, shape: Sequence[Any], arrays: Sequence[Tensor], contents: bool, called: Sequence[str]
) -> list[Tensor]:
    listed = [level.own for level in Format(format).kinds for has in (level.has_pos, level.has_crd) if has]
    dtype = index_dtype(shape)
    return [
        array.new_empty(array.shape, dtype=dtype if own is None or array.dtype != own else own)
        for array, own in zip(arrays, listed, strict=True)
    ]


define(
    "checked(str format, SymInt[] shape, Tensor[] arrays, bool contents, str[] called) -> Tensor[]",
    _checked,
    _fake_checked,
)
