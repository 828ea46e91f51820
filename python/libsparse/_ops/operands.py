"""Operands: tensors and numbers of users taken apart, and einsum's operands simplified."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from numbers import Number
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._runtime import promotion
from libsparse._runtime.problem import Operand
from libsparse._storage import memory, ordinary, packing, sorting
from libsparse._storage.fakes import is_one
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import foreign, layouts
from .assemble import assemble

PLAIN = ordinary.PLAIN
NUMBERS = (bool, int, float, complex)
Indices = tuple[str, ...]


def to_operand(value: Any, name: int | str = 0) -> Operand:
    """Takes apart a tensor that a user hands over, if it has not been yet.

    A class of tensors that knows its operand says so with a method `_operand`.

    Args:
        value: The tensor.
        name: Its name in messages.

    Raises:
        DtypeError: It is none.
        UnsupportedError: It is on another device.
    """
    if isinstance(value, Operand):
        return value
    kind = type(value)
    if kind is not Tensor and hasattr(kind, "_operand"):
        operand: Operand = value._operand()
        return operand
    if not isinstance(value, Tensor):
        if foreign.is_foreign(value):
            return foreign.read(value)
        raise DtypeError(f"operand {name} is a {type(value).__name__}; expected a tensor")
    if value.layout is not torch.strided:
        return layouts.read(value)
    if not value.is_cpu and not value.is_meta:
        raise UnsupportedError(f"operand {name} is on {value.device}; libsparse computes on the CPU, use .cpu()")
    return Operand(None, memory.elements(value))


def plain_number(value: Any) -> Any:
    """The number of Python that a scalar of NumPy's stands for; what is no such scalar stays as it is."""
    known = isinstance(value, NUMBERS) or not isinstance(value, Number)
    return value if known or not hasattr(value, "item") else value.item()  # fractions and decimals have none


def check_devices(operands: Sequence[Operand]) -> None:
    """Operands are all on the CPU or all on the device "meta".

    Raises:
        UnsupportedError: One is on "meta" and another one is not.
    """
    on_meta = [operand.data is not None and operand.data.is_meta for operand in operands]
    if any(on_meta) and any(operand.data is not None and not operand.data.is_meta for operand in operands):
        raise UnsupportedError(
            f"operand {on_meta.index(True)} is on meta, and another is not; libsparse computes on the CPU, use .cpu()"
        )


def same_entries(first: Pattern, second: Pattern) -> bool:
    """Whether two patterns have the same shape, format and entries; while torch traces, nobody knows."""
    if first is second or first.traced or second.traced:
        return True
    if first.shape != second.shape or first.format != second.format or first.nnz != second.nnz:
        return False
    return bool(torch.equal(first.coordinates(), second.coordinates()))


def is_tensor(value: Any) -> bool:
    """Whether `to_operand` takes a value."""
    return isinstance(value, (Tensor, Operand)) or foreign.is_foreign(value)


def is_sparse(value: Any) -> bool:
    """Whether a value is a SparseTensor, or the operand of one."""
    kind = type(value)
    return value.pattern is not None if kind is Operand else kind is not Tensor and hasattr(kind, "_operand")


def is_scalar(value: Any) -> bool:
    """Whether `value` is a number or a strided tensor without dimensions."""
    if isinstance(value, NUMBERS):
        return True
    return isinstance(value, Tensor) and value.ndim == 0 and value.layout is torch.strided


def check_values(pattern: Pattern, values: Any) -> None:
    """Values are a strided tensor on the CPU with one element an entry of the pattern.

    Raises:
        DtypeError: They are no strided tensor.
        ShapeError: There are more or fewer.
        UnsupportedError: They are on another device.
    """
    if type(values) in PLAIN and values.layout is torch.strided and values.shape == (pattern.size,) and values.is_cpu:
        return
    if not isinstance(values, Tensor) or is_sparse(values) or values.layout is not torch.strided:
        raise DtypeError(
            f"values is a {type(values).__name__}; expected a strided torch tensor, such as torch.tensor(...)"
        )
    blocks = values.shape[1:] == pattern.block and values.numel() == pattern.size
    if not blocks and values.shape != (pattern.size,):
        raise ShapeError(
            f"values has shape {tuple(values.shape)}, the tensor (shape {tuple(pattern.shape)}, format "
            f"{pattern.format}) stores {pattern.size} entries; expected shape ({pattern.size},)"
        )
    if not values.is_cpu and not values.is_meta:
        raise UnsupportedError(f"values is on {values.device}; libsparse computes on the CPU, use .cpu()")


def to_operands(given: Sequence[Any], names: Sequence[int | str] | None = None, neutral: str = "sum") -> list[Operand]:
    """Takes apart the operands of a product; Python numbers are weakly typed, as in torch.

    Args:
        given: Tensors and numbers.
        names: Their names in messages.
        neutral: The reduction of the product. Elements that are not stored make no terms, so they may be its identity:
            the result of one in a semiring is an operand of the next.

    Raises:
        UnsupportedError: Elements that are not stored are neither 0 nor the identity of the reduction.
    """
    names = range(len(given)) if names is None else names
    numbers = [value for value in given if isinstance(value, NUMBERS)]
    if not numbers:
        return [_neutral(to_operand(value, name), name, neutral) for name, value in zip(names, given, strict=True)]
    tensors = {
        name: _neutral(to_operand(value, name), name, neutral)
        for name, value in zip(names, given, strict=True)
        if not isinstance(value, NUMBERS)
    }
    dtype = promotion.common(tensors.values(), numbers)
    return [
        tensors[name] if name in tensors else Operand(None, dtypes.scalar(value, dtype, f"operand {name},"))
        for name, value in zip(names, given, strict=True)
    ]


def _neutral(operand: Operand, name: int | str, reduce: str) -> Operand:
    """An operand whose elements that are not stored make no terms."""
    pattern, data, fill = operand
    if not fill or pattern is None:
        return operand
    if fill != dtypes.identity(reduce, operand.dtype):
        operand.need_zero_fill(f"operand {name}")
    return without_fill(pattern, operand.values, fill) if pattern.format.pads else Operand(pattern, data)


def without_fill(pattern: Pattern, values: Tensor, fill: int | float) -> Operand:
    """The elements of blocks that do not hold the fill value: the others make no terms."""
    coords, entries = pattern.coordinates(), pattern.entries(values)
    kept = (entries.detach() != fill).nonzero().flatten()
    coords, entries = coords.index_select(1, kept), entries.index_select(0, kept)
    return assemble(list(coords), entries, pattern.shape, pattern.format.compressed)


def simplify(inputs: Sequence[Indices], operands: Sequence[Operand]) -> tuple[list[Indices], list[Operand]]:
    """Takes diagonals where an index is twice in an operand, and drops dense dimensions that only broadcast."""
    inputs = list(inputs)
    shapes = tuple(o.shape for o in operands)
    is_simple = _is_simple.__wrapped__ if tape.is_traced(operands) else _is_simple  # symbols can't be hashed
    if is_simple(tuple(inputs), shapes):
        return inputs, list(operands)
    largest: dict[str, int] = {}
    for indices, operand in zip(inputs, operands, strict=True):
        for index, extent in zip(indices, operand.shape, strict=True):
            before = largest.get(index, 1)
            largest[index] = before if is_one(extent) else extent if is_one(before) else max(extent, before)
    simple = [diagonal(indices, operand) for indices, operand in zip(inputs, operands, strict=True)]
    for number, (indices, operand) in enumerate(simple):
        drop = [d for d, n in enumerate(operand.shape) if is_one(n) and not is_one(largest[indices[d]])]
        if drop and operand.pattern is not None:
            # A coordinate that is the same for all values of the index: an index of its own, with one value.
            own = tuple(f"{index}{number}" if d in drop else index for d, index in enumerate(indices))
            simple[number] = own, operand
        elif drop and operand.data is not None:
            places = tuple(0 if d in drop else slice(None) for d in range(operand.data.ndim))
            kept = tuple(i for d, i in enumerate(indices) if d not in drop)
            simple[number] = kept, Operand(None, operand.data[places])
    return [indices for indices, _ in simple], [operand for _, operand in simple]


@functools.lru_cache(maxsize=4096)
def _is_simple(inputs: tuple[Indices, ...], shapes: tuple[torch.Size, ...]) -> bool:
    """Whether no index is twice in an operand and no extent is 1, so that there is nothing to simplify."""
    return all(
        len(set(term)) == len(term) and not any(map(is_one, shape)) for term, shape in zip(inputs, shapes, strict=True)
    )


def diagonal(indices: Indices, operand: Operand) -> tuple[Indices, Operand]:
    """An operand with every index once, where it has some several times."""
    kept = tuple(dict.fromkeys(indices))
    if len(kept) == len(indices):
        return indices, operand
    by_index: dict[str, int] = {}
    for index, extent in zip(indices, operand.shape, strict=True):
        if by_index.setdefault(index, extent) != extent:
            raise ShapeError(
                f"operand ({''.join(indices)!r}, {operand}): index {index!r} stands for dimensions that differ"
            )
    pattern, data, _ = operand
    if pattern is not None:
        groups = tuple(kept.index(index) for index in indices)
        smaller, places = diagonal_pattern(pattern, groups)
        return kept, Operand(smaller, None if data is None else data.index_select(0, places))
    data = operand.values
    left = list(indices)
    for index in kept:
        while left.count(index) > 1:
            first = left.index(index)
            second = left.index(index, first + 1)
            data = data.diagonal(0, first, second)
            del left[second], left[first]
            left.append(index)
    return tuple(left), Operand(None, data)


def diagonal_pattern(pattern: Pattern, groups: tuple[int, ...]) -> tuple[Pattern, Tensor]:
    """What `_diagonal` returns, computed once."""
    return pattern.derive(("diagonal", groups), lambda: _diagonal(pattern, groups))


def _diagonal(pattern: Pattern, groups: tuple[int, ...]) -> tuple[Pattern, Tensor]:
    """The entries whose coordinates agree in every group of modes, as a tensor with one mode a group.

    Args:
        pattern: The pattern.
        groups: For each mode, the number of the group it belongs to; groups count from 0.

    Returns:
        The pattern of those entries, and their places among the values.
    """
    leaders = [groups.index(g) for g in range(max(groups) + 1)]
    shape = [pattern.shape[mode] for mode in leaders]
    format = Format("csf").resolve(len(leaders))
    if pattern.format.levels == ("d", "s") and groups == (0, 0) and not torch.is_inference_mode_enabled():
        from libsparse._storage.boxes import Box  # few operands have an index twice

        box = Box.of(pattern, shape[0], 0, 1, moves=(True, True))
        if box is not None:
            rows, places = box.firsts()
            built = packing.build_levels(format, shape, [rows])
            return Pattern(format, shape, built.pos, built.crd), places
    coords = list(pattern.coordinates())
    keep = torch.ones(pattern.nnz, dtype=torch.bool, device="cpu")
    for mode, group in enumerate(groups):
        keep &= coords[mode] == coords[leaders[group]]
    places = keep.nonzero().squeeze(1)
    picked = [coords[mode][places] for mode in leaders]
    order = sorting.sort_order(picked, shape)
    if order is not None:
        places, picked = places[order], [c[order] for c in picked]
    built = packing.build_levels(format, shape, picked)
    taken = (
        pattern.entries(torch.arange(pattern.size, device="cpu")).index_select(0, places)
        if pattern.format.padded
        else places
    )
    return Pattern(format, shape, built.pos, built.crd), taken


def broadcasts(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Whether a tensor of one shape can be expanded to another."""
    return len(shape) <= len(target) and all(n in (1, m) for n, m in zip(shape[::-1], target[::-1], strict=False))
