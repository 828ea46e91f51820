"""`einsum`: any product of sparse and dense tensors in torch's notation."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang import dtypes, spec
from libsparse._lang.errors import DtypeError, FormatError, ShapeError, UnsupportedError
from libsparse._runtime import promotion
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern
from libsparse._tensor import constructors, layouts, sparse_tensor

from . import contraction

REDUCTIONS = ("sum", "prod", "min", "max", "any", "all", "xor", "mean")
COMBINATIONS = (
    *("mul", "add", "sub", "div", "min", "max", "and", "or", "xor", "first", "second"),
    *("pow", "atan2", "fmod", "remainder", "floor_divide", "hypot", "eq", "ne", "lt", "le", "gt", "ge"),
)
_ALIASES = {"amax": "max", "amin": "min"}


def einsum(
    equation: Any,
    *operands: Any,
    format: str | Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
) -> Any:
    """Sums products of tensors over indices, as `torch.einsum` does, for operands sparse or dense.

    Operands are promoted to one dtype, which the result has: integers wrap, booleans combine by or and and, halves are
    summed in float32 and rounded once. `mean` and what is no operation on integers make floats of them.

    Args:
        equation: `"ij,jk->ik"`; spaces, `...`, repeated indices and a missing result are understood. Or torch's other
            form, operands and lists of their indices in turns: `einsum(A, [0, 1], B, [1, 2], [0, 2])`.
        operands: `ls.SparseTensor`s and strided tensors (or Python numbers, for operands without indices).
        format: The format of the result; None lets the compiler choose.
        reduce: `sum prod max min any all xor mean` of the terms that exist: those where every sparse operand is stored.
            Elements without any term are its identity, 0 for mean; of a sparse result that is the fill value.
        combine: `mul add sub div min max and or xor first second pow atan2 fmod remainder floor_divide eq ne lt
            le gt ge ...`.

    Returns:
        A `torch.Tensor` where the result is dense, else an `ls.SparseTensor`.

    Raises:
        FormatError: `equation` is malformed.
        ShapeError: Extents do not agree.
        DtypeError: An operand is no tensor.
        UnsupportedError: Something libsparse can't do yet.
    """
    if isinstance(equation, Tensor) and operands:
        equation, operands = spec.from_sublists((equation, *operands))  # type: ignore[assignment]
    elif not isinstance(equation, str):
        raise DtypeError(f"einsum takes its equation first, as a string; got {type(equation).__name__}")
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    reduce = checked(reduce, combine)
    plain = to_operands(operands, neutral=reduce)
    parsed = spec.parse(equation, tuple(len(o.shape) for o in plain))
    wish = None if format is None or not parsed.output else Format(format).resolve(len(parsed.output))
    dtype = dtype_of(plain, reduce, combine)  # of operands as they came: one without dimensions counts less
    inputs, plain = simplify(parsed.inputs, plain)
    try:
        return compute(inputs, parsed.output, plain, wish, dtype, reduce, combine)
    except ShapeError:
        names = tuple(map(str, range(len(inputs))))
        Problem(equation, False, names, tuple(inputs), parsed.output).extents(plain)  # says it in the user's letters
        raise


def checked(reduce: str, combine: str) -> str:
    """The reduction, by its usual name.

    Raises:
        FormatError: There is no such reduction, or no such combination.
    """
    reduce = _ALIASES.get(reduce, reduce)
    if reduce not in REDUCTIONS or combine not in COMBINATIONS:
        raise FormatError(f"reduce={reduce!r}, combine={combine!r}; expected {REDUCTIONS} and {COMBINATIONS}")
    return reduce


def compute(
    inputs: Sequence[tuple[str, ...]],
    output: tuple[str, ...],
    operands: Sequence[Operand],
    wish: Format | None,
    dtype: torch.dtype | None,
    reduce: str = "sum",
    combine: str = "mul",
) -> Any:
    """An einsum of simple operands, as the user gets it."""
    plain = all(o.pattern is None for o in operands) and wish is not None and not wish.is_dense
    if plain and dtypes.identity(reduce, dtype or torch.bool) == 0:
        dense, _ = contraction.contract(inputs, output, operands, reduce=reduce, combine=combine, dtype=dtype)
        return constructors.tensor(dense, wish)
    made = contraction.contract(inputs, output, operands, wish=wish, reduce=reduce, combine=combine, dtype=dtype)
    return finish(*made, dtypes.identity(reduce, made[0].dtype))


def to_operands(given: Sequence[Any], names: Sequence[int | str] | None = None, neutral: str = "sum") -> list[Operand]:
    """Takes apart what a user hands over; Python numbers are weakly typed, as in torch.

    Args:
        given: Tensors and numbers.
        names: What messages call them.
        neutral: The reduction of a product. Elements that are not stored make no terms, so they may be its identity:
            the result of one in a semiring is an operand of the next.
    """
    names = range(len(given)) if names is None else names
    numbers = [value for value in given if isinstance(value, (bool, int, float, complex))]
    if not numbers:
        return [to_operand(value, name, neutral) for value, name in zip(given, names, strict=True)]
    tensors = {
        name: to_operand(value, name, neutral)
        for name, value in zip(names, given, strict=True)
        if not isinstance(value, (bool, int, float, complex))
    }
    dtype = promotion.common(tensors.values(), numbers)
    return [
        tensors[name] if name in tensors else Operand(None, dtypes.scalar(value, dtype, f"operand {name},"))
        for name, value in zip(names, given, strict=True)
    ]


def to_operand(value: Any, number: int | str, neutral: str = "sum") -> Operand:
    """Takes apart a tensor that a user hands over, if it has not been yet.

    Elements that are not stored are 0, or the identity of the reduction `neutral`.
    """
    if isinstance(value, Operand):
        return value
    if isinstance(value, sparse_tensor.SparseTensor):
        if value.fill_value != 0:
            if value.fill_value != dtypes.identity(neutral, value.dtype):
                value.need_zero_fill(f"operand {number}")
            value = _unpadded(value)
        return Operand(value.pattern, value._values)
    if not isinstance(value, Tensor):
        raise DtypeError(f"operand {number} is a {type(value).__name__}; expected a tensor")
    if value.layout is not torch.strided:
        value = layouts.wrap(value)
        return Operand(value.pattern, value._values)
    if not value.is_cpu:
        raise UnsupportedError(f"operand {number} is on {value.device}; libsparse computes on the CPU, use .cpu()")
    return Operand(None, value.resolve_conj().resolve_neg())


def _unpadded(value: sparse_tensor.SparseTensor) -> sparse_tensor.SparseTensor:
    """A tensor without the elements of its blocks that hold the fill value: they make no terms."""
    if not value.format.pads:
        return value
    coords, entries = value.indices(), value.pattern.entries(value.values())
    kept = (entries.detach() != value.fill_value).nonzero().flatten()
    coords, entries = coords.index_select(1, kept), entries.index_select(0, kept)
    return constructors.from_coo(coords, entries, tuple(value.shape), value.format.compressed, check=False)


def finish(data: Tensor, pattern: Pattern | None, fill: int | float = 0) -> Any:
    """What the user gets: the dense tensor, or values dressed as a SparseTensor."""
    return data if pattern is None else sparse_tensor.SparseTensor(pattern, data, fill)


def simplify(
    inputs: Sequence[tuple[str, ...]], operands: Sequence[Operand]
) -> tuple[list[tuple[str, ...]], list[Operand]]:
    """Takes diagonals where an index is twice in an operand, and drops dense dimensions that only broadcast."""
    inputs = list(inputs)
    if _is_simple(tuple(inputs), tuple(o.shape for o in operands)):
        return inputs, list(operands)
    largest: dict[str, int] = {}
    for indices, operand in zip(inputs, operands, strict=True):
        for index, extent in zip(indices, operand.shape, strict=True):
            before = largest.get(index, 1)
            largest[index] = before if extent == 1 else extent if before == 1 else max(extent, before)
    made = [diagonal(indices, operand) for indices, operand in zip(inputs, operands, strict=True)]
    for number, (indices, (pattern, data)) in enumerate(made):
        drop = [d for d, n in enumerate(made[number][1].shape) if n == 1 != largest[indices[d]]]
        if drop and pattern is not None:
            # A coordinate that is the same for all values of the index: an index of its own, with one value.
            own = tuple(f"{index}{number}" if d in drop else index for d, index in enumerate(indices))
            made[number] = own, made[number][1]
        elif drop and data is not None:
            places = tuple(0 if d in drop else slice(None) for d in range(data.ndim))
            made[number] = tuple(i for d, i in enumerate(indices) if d not in drop), Operand(None, data[places])
    return [indices for indices, _ in made], [operand for _, operand in made]


@functools.lru_cache(maxsize=4096)
def _is_simple(inputs: tuple[tuple[str, ...], ...], shapes: tuple[torch.Size, ...]) -> bool:
    """Whether no index is twice in an operand and no extent is 1, so that there is nothing to simplify."""
    return all(len(set(term)) == len(term) and 1 not in shape for term, shape in zip(inputs, shapes, strict=True))


def diagonal(indices: tuple[str, ...], operand: Operand) -> tuple[tuple[str, ...], Operand]:
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
    pattern, data = operand
    if pattern is not None:
        smaller, places = pattern.diagonal(tuple(kept.index(index) for index in indices))
        return kept, Operand(smaller, None if data is None else data.index_select(0, places))
    assert data is not None
    left = list(indices)
    for index in kept:
        while left.count(index) > 1:
            first = left.index(index)
            second = left.index(index, first + 1)
            data = data.diagonal(0, first, second)
            del left[second], left[first]
            left.append(index)
    return tuple(left), Operand(None, data)


def dtype_of(operands: Sequence[Operand], reduce: str, combine: str) -> torch.dtype | None:
    """The dtype of a result; None for patterns alone."""
    return promotion.common(operands, promotion.floats(reduce, combine))


def count_terms(inputs: Sequence[tuple[str, ...]], output: tuple[str, ...], operands: Sequence[Operand]) -> Tensor:
    """How many terms every element of a result has; broadcasts against the result."""
    sparse = [(i, Operand(o.pattern, None)) for i, o in zip(inputs, operands, strict=True) if o.pattern is not None]
    extents = {i: e for term, o in zip(inputs, operands, strict=True) for i, e in zip(term, o.shape, strict=True)}
    covered = {index for term, _ in sparse for index in term}
    factor = 1
    for index, extent in extents.items():
        factor *= extent if index not in covered and index not in output else 1
    if not sparse:
        return torch.tensor(factor)
    kept = tuple(index for index in output if index in covered)
    number, _ = contraction.contract(
        [i for i, _ in sparse],
        kept,
        [o for _, o in sparse],
        wish=contraction.dense_wish(len(kept)),
        dtype=torch.int64,
    )
    return number[tuple(slice(None) if i in covered else None for i in output)] * factor if output else number * factor
