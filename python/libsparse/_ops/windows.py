"""Parts of tensors in assignments: windows on either side, and old elements that a reduction takes along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang import assignment, dtypes, operations
from libsparse._lang.assignment import Access, Expr, Part, Selection, Window
from libsparse._lang.errors import FormatError, ShapeError
from libsparse._lang.user_functions import Definition
from libsparse._runtime.problem import Operand
from libsparse._storage.format import Format
from libsparse._tensor import constructors, sparse_tensor

from . import contraction, einsum, evaluate


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
            kept, plain[number] = einsum.diagonal(access.indices, operands[number])
            changed[name] = Access(name, kept)
        elif access.windows:
            parts = windows_of(access, operands[number].shape)
            for mode, part in enumerate(parts):
                if isinstance(part, Selection):
                    plain[number] = select(plain[number], mode, part)
            left = tuple(None if isinstance(part, Selection) else part for part in parts)
            changed[name] = access._replace(windows=left if any(w is not None for w in left) else ())
    if not changed:
        return value, dict(found), plain
    value = assignment.replace(value, lambda access: changed.get(access.name, access))
    return value, {name: changed.get(name, access) for name, access in found.items()}, plain


def select(operand: Operand, mode: int, part: Selection) -> Operand:
    """The selected coordinates of one mode of an operand: a product with a matrix that has one entry a coordinate."""
    pattern, data = operand
    places = torch.tensor(part.places, dtype=torch.int64)
    if pattern is None:
        assert data is not None
        return Operand(None, data.index_select(mode, places))
    ones = None if data is None else torch.ones(len(places), dtype=data.dtype)
    coords = torch.stack([torch.arange(len(places)), places])
    matrix = constructors.from_coo(coords, ones, (len(places), pattern.shape[mode]))
    indices = tuple(f"i{d}" for d in range(len(pattern.shape)))
    kept = tuple("new" if d == mode else index for d, index in enumerate(indices))
    factors = [Operand(matrix.pattern, matrix._values), operand]
    made, found = contraction.contract([("new", indices[mode]), indices], kept, factors, wish=pattern.format)
    return Operand(found, made if found is None or data is not None else None)


def windows_of(access: Access, shape: Sequence[int]) -> tuple[Part, ...]:
    """The windows of an access to a tensor of a shape, with all their bounds."""
    return tuple(
        w if w is None else w.resolved(n, assignment.text(access)) for w, n in zip(access.windows, shape, strict=True)
    )


def update(sign: str, old: Any, made: Any, indices: tuple[str, ...], format: str | Format | None) -> Any:
    """Old elements reduced with new ones; where only one of them has a value, that."""
    fill: int | float = 0
    if isinstance(old, sparse_tensor.SparseTensor) and old.fill_value == dtypes.identity(sign, old.dtype):
        old, fill = sparse_tensor.SparseTensor(old.pattern, old._values), old.fill_value  # no terms, as in what is made
    left = "ne(a, 0)" if sign in ("any", "all", "xor") else "a"
    cases = (("a & b", operations.UPDATES[sign]), ("a", left), ("b", operations.ALONE.get(sign, "b")))
    merge = Definition("merge_", ("a", "b"), cases)
    value = assignment.Call("merge_", (Access("old", indices), Access("made", indices)))
    asked, plain = evaluate.prepare(
        "old and new elements",
        Access("out", indices),
        value,
        {"old": old, "made": made},
        format,
        definitions={"merge_": merge},
    )
    data, pattern = evaluate.compute(asked, plain)
    return einsum.finish(data, pattern, fill)


def place(text: str, old: Any, target: Access, made: Any, sign: str) -> Any:
    """The tensor `old` with a part replaced, or reduced with what was made for it."""
    if not isinstance(old, Tensor) or old.ndim != len(target.indices):
        raise ShapeError(
            f"evaluate {text!r}: {assignment.text(target)} has {len(target.indices)} indices; "
            f"{target.name!r} is {einsum.to_operands([old], (target.name,))[0]}"
        )
    windows = windows_of(target, old.shape)
    for part in windows:
        if isinstance(part, Selection) and len(set(part.places)) < len(part.places):
            raise FormatError(f"evaluate {text!r}: {assignment.text(target)} selects a coordinate twice")
    counts = [n if w is None else w.extent for w, n in zip(windows, old.shape, strict=True)]
    if list(made.shape) != counts:
        raise ShapeError(
            f"evaluate {text!r}: the part {assignment.text(target)} has shape {counts}, not {list(made.shape)}"
        )
    if isinstance(made, sparse_tensor.SparseTensor) and made.fill_value != 0:
        made = made.to_dense()  # the part has these elements
    if not isinstance(old, sparse_tensor.SparseTensor):
        return _place_dense(old, windows, made, sign)
    moved = shift(made, windows, old.shape)
    if not sign:
        return update("sum", _outside(old, windows), moved, target.indices, old.format)
    return update(sign, old, moved, target.indices, old.format)


def _place_dense(old: Tensor, windows: Sequence[Part], made: Any, sign: str) -> Tensor:
    """A dense tensor with a part replaced: a copy, written through the places of the part."""
    where: tuple[Any, ...] = tuple(_places(w) for w in windows)
    if any(isinstance(w, Selection) for w in windows):
        rows = [torch.arange(n)[places] for places, n in zip(where, old.shape, strict=True)]
        where = torch.meshgrid(*rows, indexing="ij")
    if sign:
        made = update(sign, old[where], made, tuple(f"i{d}" for d in range(old.ndim)), "dense")
    elif isinstance(made, sparse_tensor.SparseTensor):
        made = made.to_dense()
    out = old.to(dtypes.promote((old.dtype, made.dtype)), copy=True)
    out[where] = made.to(out.dtype)
    return out


def _places(part: Part) -> Any:
    """A part of a dimension, to index a tensor with."""
    if part is None:
        return slice(None)
    return part.slice if isinstance(part, Window) else list(part.places)


def shift(made: Any, windows: Sequence[Part], shape: Sequence[int]) -> Any:
    """A part of a tensor at its place in one of the shape of the whole, sparse."""
    indices = tuple(f"i{d}" for d in range(len(shape)))
    for mode, part in enumerate(windows):
        if isinstance(part, Selection):  # the other way round: the coordinate that each one comes from
            made = _spread(made, mode, part, shape[mode])
    windows = tuple(None if isinstance(part, Selection) else part for part in windows)
    if not any(part is not None for part in windows):
        return made
    asked, plain = evaluate.prepare(
        "a part",
        Access("out", indices, tuple(windows)),
        Access("made", indices),
        {"made": made},
        Format("coo").resolve(len(shape)),
        shape=tuple(shape),
    )
    return einsum.finish(*evaluate.compute(asked, plain))


def _spread(made: Any, mode: int, part: Selection, extent: int) -> Any:
    """A tensor whose coordinates of one mode go to the selected ones of a longer one."""
    places = torch.tensor(part.places, dtype=torch.int64)
    coords = torch.stack([places, torch.arange(len(places))])
    (source,) = einsum.to_operands([made])
    ones = torch.ones(len(places), dtype=made.dtype)
    matrix = constructors.from_coo(coords, ones, (extent, len(places)))
    indices = tuple(f"i{d}" for d in range(made.ndim))
    kept = tuple("new" if d == mode else index for d, index in enumerate(indices))
    factors = [Operand(matrix.pattern, matrix._values), source]
    wish = Format("coo").resolve(made.ndim)
    return einsum.finish(*contraction.contract([("new", indices[mode]), indices], kept, factors, wish=wish))


def _outside(old: Any, windows: Sequence[Part]) -> Any:
    """The entries of a sparse tensor that are not in a part of it."""
    coords = old.indices()
    inside = torch.ones(coords.shape[1], dtype=torch.bool)
    for row, window in zip(coords, windows, strict=True):
        if isinstance(window, Selection):
            inside &= torch.isin(row, torch.tensor(window.places))
        elif window is not None:
            first, end, step = (int(bound or 0) for bound in window)
            inside &= (row >= first) & (row < end) & ((row - first) % step == 0)
    kept = (~inside).nonzero().flatten()
    values = old.pattern.entries(old.values()).index_select(0, kept)
    return constructors.from_coo(coords.index_select(1, kept), values, old.shape, old.format, check=False)
