"""Parts of tensors in assignments: windows on either side, and old elements that a reduction takes along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from . import assignment, construct, dtypes, einsums, expressions, operations, sparsetensor
from .assignment import Access, Expr, Window
from .errors import ShapeError
from .format import Format
from .problem import Operand
from .registry import Definition


def resolve(
    value: Expr, found: Mapping[str, Access], operands: Sequence[Operand]
) -> tuple[Expr, dict[str, Access], list[Operand]]:
    """An expression with all bounds of its windows written out, and diagonals in place of repeated indices."""
    changed: dict[str, Access] = {}
    plain = list(operands)
    for number, (name, access) in enumerate(found.items()):
        if len(access.indices) != len(operands[number].shape):
            continue  # a problem says so
        if len(set(access.indices)) < len(access.indices):
            if access.windows:
                raise ShapeError(f"{assignment.text(access)}: a window and a repeated index can't be in one access")
            kept, plain[number] = einsums.diagonal(access.indices, operands[number])
            changed[name] = Access(name, kept)
        elif access.windows:
            changed[name] = access._replace(windows=windows_of(access, operands[number].shape))
    if not changed:
        return value, dict(found), plain
    value = assignment.replace(value, lambda access: changed.get(access.name, access))
    return value, {name: changed.get(name, access) for name, access in found.items()}, plain


def windows_of(access: Access, shape: Sequence[int]) -> tuple[Window | None, ...]:
    """The windows of an access to a tensor of a shape, with all their bounds."""
    return tuple(
        w if w is None else w.resolved(n, assignment.text(access)) for w, n in zip(access.windows, shape, strict=True)
    )


def update(sign: str, old: Any, made: Any, indices: tuple[str, ...], format: str | Format | None) -> Any:
    """Old elements reduced with new ones; where only one of them has a value, that."""
    cases = (("a & b", operations.UPDATES[sign]), ("a", "a"), ("b", operations.ALONE.get(sign, "b")))
    merge = Definition("merge_", ("a", "b"), cases)
    value = assignment.Call("merge_", (Access("old", indices), Access("made", indices)))
    asked, plain = expressions.prepare(
        "old and new elements",
        Access("out", indices),
        value,
        {"old": old, "made": made},
        format,
        definitions={"merge_": merge},
    )
    return einsums.finish(*expressions.compute(asked, plain))


def place(text: str, old: Any, target: Access, made: Any, sign: str) -> Any:
    """The tensor `old` with a part replaced, or reduced with what was made for it."""
    if not isinstance(old, Tensor) or old.ndim != len(target.indices):
        raise ShapeError(
            f"evaluate {text!r}: {assignment.text(target)} has {len(target.indices)} indices; "
            f"{target.name!r} is {einsums.to_operands([old], (target.name,))[0]}"
        )
    windows = windows_of(target, old.shape)
    counts = [n if w is None else w.extent for w, n in zip(windows, old.shape, strict=True)]
    if list(made.shape) != counts:
        raise ShapeError(
            f"evaluate {text!r}: the part {assignment.text(target)} has shape {counts}, not {list(made.shape)}"
        )
    if not isinstance(old, sparsetensor.SparseTensor):
        return _place_dense(old, windows, made, sign)
    moved = shift(made, windows, old.shape)
    if not sign:
        return update("sum", _outside(old, windows), moved, target.indices, old.format)
    return update(sign, old, moved, target.indices, old.format)


def _place_dense(old: Tensor, windows: Sequence[Window | None], made: Any, sign: str) -> Tensor:
    where = tuple(slice(None) if w is None else w.slice for w in windows)
    if sign:
        made = update(sign, old[where], made, tuple(f"i{d}" for d in range(old.ndim)), "dense")
    elif isinstance(made, sparsetensor.SparseTensor):
        made = made.to_dense()
    out = old.to(dtypes.promote((old.dtype, made.dtype)), copy=True)
    out[where] = made.to(out.dtype)
    return out


def shift(made: Any, windows: Sequence[Window | None], shape: Sequence[int]) -> Any:
    """A part of a tensor at its place in one of the shape of the whole, sparse."""
    indices = tuple(f"i{d}" for d in range(len(shape)))
    asked, plain = expressions.prepare(
        "a part",
        Access("out", indices, tuple(windows)),
        Access("made", indices),
        {"made": made},
        Format("coo").resolve(len(shape)),
        shape=tuple(shape),
    )
    return einsums.finish(*expressions.compute(asked, plain))


def _outside(old: Any, windows: Sequence[Window | None]) -> Any:
    """The entries of a sparse tensor that are not in a part of it."""
    coords = old.indices()
    inside = torch.ones(coords.shape[1], dtype=torch.bool)
    for row, window in zip(coords, windows, strict=True):
        if window is not None:
            first, end, step = (int(bound or 0) for bound in window)
            inside &= (row >= first) & (row < end) & ((row - first) % step == 0)
    kept = (~inside).nonzero().flatten()
    values = old.values().index_select(0, kept)
    return construct.from_coo(coords.index_select(1, kept), values, old.shape, old.format, check=False)
