"""`einsum`: any product of sparse and dense tensors in torch's notation."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from . import construct, contraction, dtypes, promotion, sparsetensor, spec, wrapping
from .errors import DtypeError, FormatError, ShapeError, UnsupportedError
from .format import Format
from .pattern import Pattern
from .problem import Operand, Problem

REDUCTIONS = ("sum", "prod", "min", "max", "any", "all", "mean")
COMBINATIONS = ("mul", "add", "min", "max", "and", "or", "first", "second")
_ALIASES = {"amax": "max", "amin": "min"}


def einsum(
    equation: str,
    *operands: Any,
    format: str | Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
) -> Any:
    """Sums products of tensors over indices, as `torch.einsum` does, for operands sparse or dense.

    Operands are promoted to one dtype, which the result has: integers wrap, booleans combine by or and and, halves are
    summed in float32 and rounded once.

    Args:
        equation: `"ij,jk->ik"`; spaces, `...`, repeated indices and a missing result are understood.
        operands: `ls.SparseTensor`s and strided tensors (or Python numbers, for operands without indices).
        format: The format of the result; None lets the compiler choose.
        reduce: `sum prod max min any all mean`.
        combine: `mul add min max and or first second`.

    Returns:
        A `torch.Tensor` where the result is dense, else an `ls.SparseTensor`.

    Raises:
        FormatError: `equation` is malformed.
        ShapeError: Extents do not agree.
        DtypeError: An operand is no tensor.
        UnsupportedError: Something libsparse can't do yet.
    """
    if not isinstance(equation, str):
        raise DtypeError(f"einsum takes its equation first, as a string; got {type(equation).__name__}")
    reduce = _ALIASES.get(reduce, reduce)
    if reduce not in REDUCTIONS or combine not in COMBINATIONS:
        raise FormatError(f"einsum: reduce={reduce!r}, combine={combine!r}; expected {REDUCTIONS} and {COMBINATIONS}")
    plain = to_operands(operands)
    parsed = spec.parse(equation, tuple(len(o.shape) for o in plain))
    wish = None if format is None or not parsed.output else Format(format).resolve(len(parsed.output))
    inputs, plain = simplify(parsed.inputs, plain)
    try:
        return compute(inputs, parsed.output, plain, wish, reduce, combine)
    except ShapeError:
        names = tuple(map(str, range(len(inputs))))
        Problem(equation, False, names, tuple(inputs), parsed.output).extents(plain)  # says it in the user's letters
        raise


def compute(
    inputs: Sequence[tuple[str, ...]],
    output: tuple[str, ...],
    operands: Sequence[Operand],
    wish: Format | None,
    reduce: str = "sum",
    combine: str = "mul",
) -> Any:
    """An einsum of simple operands, as the user gets it."""
    wish = unfilled(inputs, output, wish, reduce)
    if reduce == "mean":
        return finish(*_mean(inputs, output, operands, wish, combine))
    if all(o.pattern is None for o in operands) and wish is not None and not wish.is_dense:
        dense, _ = contraction.contract(inputs, output, operands, reduce=reduce, combine=combine)
        return construct.tensor(dense, wish)
    return finish(*contraction.contract(inputs, output, operands, wish=wish, reduce=reduce, combine=combine))


def unfilled(
    inputs: Sequence[tuple[str, ...]], output: tuple[str, ...], wish: Format | None, reduce: str
) -> Format | None:
    """The format to ask for: dense where elements without any term hold an identity other than 0.

    Raises:
        UnsupportedError: A sparse one was wished for.
    """
    if reduce not in ("prod", "min", "max", "all") or {index for term in inputs for index in term} == set(output):
        return wish
    if wish is not None and not wish.is_dense:
        raise UnsupportedError(
            f"reduce={reduce!r} with a result of format {wish} has a fill value other than 0, which is not supported "
            "yet; use format='dense'"
        )
    return wish or contraction.dense_wish(len(output))


def to_operands(given: Sequence[Any], names: Sequence[int | str] | None = None) -> list[Operand]:
    """Takes apart what a user hands over; Python numbers are weakly typed, as in torch."""
    names = range(len(given)) if names is None else names
    numbers = [value for value in given if isinstance(value, (bool, int, float, complex))]
    if not numbers:
        return list(map(to_operand, given, names))
    tensors = {
        name: to_operand(value, name)
        for name, value in zip(names, given, strict=True)
        if not isinstance(value, (bool, int, float, complex))
    }
    dtype = promotion.common(tensors.values(), numbers)
    return [
        tensors[name] if name in tensors else Operand(None, dtypes.scalar(value, dtype, f"operand {name},"))
        for name, value in zip(names, given, strict=True)
    ]


def to_operand(value: Any, number: int | str) -> Operand:
    """Takes apart a tensor that a user hands over."""
    if isinstance(value, sparsetensor.SparseTensor):
        return Operand(value.pattern, value._values)
    if not isinstance(value, Tensor):
        raise DtypeError(f"operand {number} is a {type(value).__name__}; expected a tensor")
    if value.layout is not torch.strided:
        value = wrapping.wrap(value)
        return Operand(value.pattern, value._values)
    if not value.is_cpu:
        raise UnsupportedError(f"operand {number} is on {value.device}; libsparse computes on the CPU, use .cpu()")
    return Operand(None, value.resolve_conj().resolve_neg())


def finish(data: Tensor, pattern: Pattern | None) -> Any:
    """What the user gets: the dense tensor, or values dressed as a SparseTensor."""
    return data if pattern is None else sparsetensor.SparseTensor(pattern, data)


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
            largest[index] = max(extent, largest.get(index, extent)) if extent != 1 else largest.get(index, 1)
    made = [_diagonal(indices, operand) for indices, operand in zip(inputs, operands, strict=True)]
    for number, (indices, (pattern, data)) in enumerate(made):
        if pattern is not None and any(
            n == 1 != largest[index] for index, n in zip(indices, pattern.shape, strict=True)
        ):
            raise UnsupportedError(
                f"operand {number} ({''.join(indices)!r}, {made[number][1]}) would have to be repeated along an index "
                "of extent 1, which is not supported yet for sparse operands; leave the dimension out"
            )
        if pattern is None and data is not None:
            drop = [d for d, index in enumerate(indices) if data.shape[d] == 1 and largest[index] != 1]
            if drop:
                places = tuple(0 if d in drop else slice(None) for d in range(data.ndim))
                kept = tuple(index for d, index in enumerate(indices) if d not in drop)
                made[number] = kept, Operand(None, data[places])
    return [indices for indices, _ in made], [operand for _, operand in made]


@functools.lru_cache(maxsize=4096)
def _is_simple(inputs: tuple[tuple[str, ...], ...], shapes: tuple[torch.Size, ...]) -> bool:
    """Whether no index is twice in an operand and no extent is 1, so that there is nothing to simplify."""
    return all(len(set(term)) == len(term) and 1 not in shape for term, shape in zip(inputs, shapes, strict=True))


def _diagonal(indices: tuple[str, ...], operand: Operand) -> tuple[tuple[str, ...], Operand]:
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


def _mean(
    inputs: Sequence[tuple[str, ...]],
    output: tuple[str, ...],
    operands: Sequence[Operand],
    wish: Format | None,
    combine: str,
) -> tuple[Tensor, Pattern | None]:
    """The mean over existing terms: their sum over their number."""
    dtype = promotion.common(operands) or torch.get_default_dtype()
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = torch.get_default_dtype()
    wide = dtypes.accumulator(dtype)
    total, pattern = contraction.contract(inputs, output, operands, wish=wish, combine=combine, dtype=wide)
    if pattern is not None:
        raise UnsupportedError("reduce='mean' with a sparse result is not supported yet; ask for format='dense'")
    return (total / count_terms(inputs, output, operands).clamp(min=1)).to(dtype), None


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
