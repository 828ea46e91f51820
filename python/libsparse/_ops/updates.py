"""Old elements in assignments: reductions take them along, and a write to a part of a tensor keeps the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang import assignment, dtypes, operations
from libsparse._lang.assignment import Access, Part, Selection, Window
from libsparse._lang.errors import FormatError, ShapeError
from libsparse._lang.user_functions import Definition
from libsparse._runtime.problem import Operand
from libsparse._storage.conversion import taken
from libsparse._storage.format import Format

from . import statements
from .assemble import assemble, to_dense
from .operands import is_sparse, is_tensor, to_operand, to_operands
from .windows import multiply_mode, windows_of


def update(sign: str, old: Any, new: Operand, indices: tuple[str, ...], format: str | Format | None) -> Operand:
    """Old elements reduced with new ones; where only one of them has a value, that."""
    fill: int | float = 0
    if is_sparse(old):
        operand = to_operand(old)
        if operand.fill == dtypes.identity(sign, operand.dtype):
            old, fill = operand._replace(fill=0), operand.fill  # no terms, as in the new one
    left = "ne(a, 0)" if sign in ("any", "all", "xor") else "a"
    cases = (("a & b", operations.UPDATES[sign]), ("a", left), ("b", operations.ALONE.get(sign, "b")))
    merge = Definition("merge_", ("a", "b"), cases)
    value = assignment.Call("merge_", (Access("old", indices), Access("new", indices)))
    problem, operands = statements.prepare(
        "old and new elements",
        Access("out", indices),
        value,
        {"old": old, "new": new},
        format,
        definitions={"merge_": merge},
    )
    data, pattern = tape.compute(problem, operands)
    return Operand(pattern, data, fill)


def place(text: str, old: Any, target: Access, new: Operand, sign: str) -> Operand:
    """The tensor `old` with a part replaced by new elements, or reduced with them."""
    if not is_tensor(old) or old.ndim != len(target.indices):
        raise ShapeError(
            f"evaluate {text!r}: {assignment.text(target)} has {len(target.indices)} indices; "
            f"{target.name!r} is {to_operands([old], (target.name,))[0]}"
        )
    windows = windows_of(target, old.shape)
    for part in windows:
        if isinstance(part, Selection) and len(set(part.places)) < len(part.places):
            raise FormatError(f"evaluate {text!r}: {assignment.text(target)} selects a coordinate twice")
    counts = [n if w is None else w.extent for w, n in zip(windows, old.shape, strict=True)]
    if list(new.shape) != counts:
        raise ShapeError(
            f"evaluate {text!r}: the part {assignment.text(target)} has shape {counts}, not {list(new.shape)}"
        )
    if new.fill != 0:
        new = Operand(None, to_dense(new))  # the part has these elements
    if not is_sparse(old):
        return Operand(None, _place_dense(old.values if isinstance(old, Operand) else old, windows, new, sign))
    whole = to_operand(old)
    moved = _moved(new, windows, whole.shape)
    if not sign:
        whole.need_zero_fill(f"evaluate {text!r}: replacing {assignment.text(target)}")
        return update("sum", _outside(whole, windows), moved, target.indices, whole.sparsity.format)
    return update(sign, whole, moved, target.indices, whole.sparsity.format)


def _place_dense(old: Tensor, windows: Sequence[Part], new: Operand, sign: str) -> Tensor:
    """A dense tensor with a part replaced: a copy, written through the places of the part."""
    where: tuple[Any, ...] = tuple(
        slice(None) if w is None else w.slice if isinstance(w, Window) else list(w.places) for w in windows
    )
    if any(isinstance(w, Selection) for w in windows):
        rows = [torch.arange(n, device="cpu")[places] for places, n in zip(where, old.shape, strict=True)]
        where = torch.meshgrid(*rows, indexing="ij")
    if sign:
        new = update(sign, old[where], new, tuple(f"i{d}" for d in range(old.ndim)), "dense")
    part = to_dense(new)
    out = old.to(dtypes.promote((old.dtype, part.dtype)), copy=True)
    out[where] = part.to(out.dtype)
    return out


def _moved(part: Operand, windows: Sequence[Part], shape: Sequence[int]) -> Operand:
    """A part of a tensor at its place in one of the shape of the whole, sparse."""
    indices = tuple(f"i{d}" for d in range(len(shape)))
    coo = Format("coo").resolve(len(shape))
    for mode, window in enumerate(windows):
        if isinstance(window, Selection):  # the other way round: the coordinate that each one comes from
            coords = torch.stack(
                [
                    torch.tensor(window.places, dtype=torch.int64, device="cpu"),
                    torch.arange(window.extent, device="cpu"),
                ]
            )
            ones = torch.ones(window.extent, dtype=part.dtype, device="cpu")
            data, pattern = multiply_mode(part, mode, coords, ones, shape[mode], coo)
            part = Operand(pattern, data)
    bounds = tuple(None if isinstance(window, Selection) else window for window in windows)
    if not any(window is not None for window in bounds):
        return part
    problem, operands = statements.prepare(
        "a part",
        Access("out", indices, bounds),
        Access("new", indices),
        {"new": part},
        coo,
        shape=tuple(shape),
    )
    data, pattern = tape.compute(problem, operands)
    return Operand(pattern, data)


def _outside(old: Operand, windows: Sequence[Part]) -> Operand:
    """The entries of a sparse tensor that are not in a part of it."""
    coords = old.sparsity.coordinates()
    inside = torch.ones(coords.shape[1], dtype=torch.bool, device="cpu")
    for row, window in zip(coords, windows, strict=True):
        if isinstance(window, Selection):
            inside &= torch.isin(row, torch.tensor(window.places, device="cpu"))
        elif window is not None:
            first, end, step = (int(bound or 0) for bound in window)
            inside &= (row >= first) & (row < end) & ((row - first) % step == 0)
    kept = (~inside).nonzero().flatten()
    values = taken(old.sparsity.entries(old.values), kept)
    return assemble(list(coords.index_select(1, kept)), values, old.shape, old.sparsity.format)
