"""Windows on operands: bounds written out, and coordinates that are selected one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from libsparse._lang import assignment
from libsparse._lang.assignment import Access, Expr, Part, Selection
from libsparse._lang.errors import ShapeError
from libsparse._runtime.problem import Einsum, Operand
from libsparse._runtime.steps import Result
from libsparse._storage.format import Format

from . import contraction
from .assemble import assemble
from .operands import diagonal


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
            kept, plain[number] = diagonal(access.indices, operands[number])
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
    pattern, data, _ = operand
    places = torch.tensor(part.places, dtype=torch.int64, device="cpu")
    if pattern is None:
        return Operand(None, operand.values.index_select(mode, places))
    ones = None if data is None else torch.ones(len(places), dtype=data.dtype, device="cpu")
    values, found = multiply_mode(
        operand, mode, torch.stack([torch.arange(len(places), device="cpu"), places]), ones, len(places)
    )
    return Operand(found, values if found is None or data is not None else None)


def multiply_mode(
    operand: Operand, mode: int, coords: Tensor, ones: Tensor | None, extent: int, output_format: Format | None = None
) -> Result:
    """The product of an operand, along one mode, with a matrix of `extent` rows and ones at these coordinates.

    The format of the result is that of the operand by default.
    """
    matrix = assemble(list(coords), ones, (extent, operand.shape[mode]))
    indices = tuple(f"i{d}" for d in range(operand.ndim))
    kept = tuple("new" if d == mode else index for d, index in enumerate(indices))
    if output_format is None and operand.pattern is not None:
        output_format = operand.pattern.format
    question = Einsum((("new", indices[mode]), indices), kept, output_format)
    return contraction.contract(question, [matrix, operand])


def windows_of(access: Access, shape: Sequence[int]) -> tuple[Part, ...]:
    """The windows of an access to a tensor of a shape, with all their bounds."""
    return tuple(
        w if w is None else w.resolved(n, assignment.text(access)) for w, n in zip(access.windows, shape, strict=True)
    )
