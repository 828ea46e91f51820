"""`einsum`: any product of sparse and dense tensors in torch's notation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang import dtypes, spec
from libsparse._lang.errors import DtypeError, FormatError, ShapeError
from libsparse._runtime import promotion
from libsparse._runtime.problem import Einsum, Operand
from libsparse._storage.format import Format

from . import autocast, contraction
from .assemble import assemble
from .operands import is_sparse, is_tensor, simplify, to_operand, to_operands

REDUCTIONS = ("sum", "prod", "min", "max", "any", "all", "xor", "mean")
COMBINATIONS = (
    *("mul", "add", "sub", "div", "min", "max", "and", "or", "xor", "first", "second"),
    *("pow", "atan2", "fmod", "remainder", "floor_divide", "hypot", "eq", "ne", "lt", "le", "gt", "ge"),
)
_ALIASES = {"amax": "max", "amin": "min", "or": "any", "and": "all", "add": "sum", "mul": "prod"}
_COMBINATION_ALIASES = {"any": "or", "all": "and", "sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


_filled: Callable[..., Operand]


def register(filled: Callable[..., Operand]) -> None:
    """Registers the function that computes einsums of operands with fill values; it takes the arguments of `einsum`."""
    global _filled
    _filled = filled


def read(
    equation: Any,
    operands: Sequence[Any],
    format: str | Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
) -> tuple[Einsum, list[Operand]]:
    """Reads an einsum and its operands; the arguments are those of `einsum`."""
    if isinstance(equation, str):
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)) and not is_tensor(operands[0]):
            operands = operands[0]
    elif is_tensor(equation) and operands:
        equation, operands = spec.from_sublists((equation, *operands))
    else:
        raise DtypeError(f"einsum takes its equation first, as a string; got {type(equation).__name__}")
    reduce, combine = checked(reduce, combine)
    plain = to_operands(operands, neutral=reduce)
    parsed = spec.parse(equation, tuple(len(o.shape) for o in plain))
    if format is not None and not parsed.output and str(format) != "dense" and set(str(format)) != {"d"}:
        raise FormatError(
            f"einsum {equation!r}: the result has no dimensions, which format={str(format)!r} can't store; leave it out"
        )
    output_format = None if format is None or not parsed.output else Format(format).resolve(len(parsed.output))
    # of operands as they came: one without dimensions counts less
    dtype = promotion.common(plain, promotion.floats(reduce, combine))
    inputs, simple = simplify(parsed.inputs, plain)
    return Einsum(tuple(inputs), parsed.output, output_format, reduce, combine, None, dtype), simple


def einsum(
    equation: Any,
    *operands: Any,
    format: str | Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
) -> Operand:
    """Sums products of tensors over indices, as `torch.einsum` does, for operands sparse or dense.

    Operands are promoted to one dtype, which the result has: integers wrap, booleans combine by or and and, halves are
    summed in float32 and rounded once. `mean` and operations that integers lack make floats of them.

    Args:
        equation: `"ij,jk->ik"`; spaces, `...`, repeated indices and a missing result are understood. Or torch's other
            form, operands and lists of their indices in turns: `einsum(A, [0, 1], B, [1, 2], [0, 2])`.
        operands: SparseTensors and strided tensors (or Python numbers, for operands without indices).
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

    Example:
        >>> A = ls.tensor([[0.0, 2.0], [1.0, 0.0]])
        >>> ls.einsum("ij,j->i", A, torch.ones(2)).tolist()
        [2.0, 1.0]
    """
    if reduce == "sum" and combine == "mul":
        operands = autocast.cast(operands)
    for operand in operands:
        if is_sparse(operand) and (given := to_operand(operand)).fill:
            named = checked(reduce, combine)
            if given.fill != dtypes.identity(named[0], given.dtype):
                return _filled(equation, operands, format, *named)
    question, plain = read(equation, operands, format, reduce, combine)
    try:
        return compute(question, plain)
    except ShapeError:  # says it in the user's letters
        question.problem()._replace(text=str(equation)).extents(plain)
        raise


def compute(question: Einsum, operands: Sequence[Operand]) -> Operand:
    """The result of an einsum."""
    output_format, reduce = question.output_format, question.reduce
    dense = all(o.pattern is None for o in operands) and output_format is not None and not output_format.is_dense
    if dense and dtypes.identity(reduce, question.dtype or torch.bool) == 0:
        data, _ = contraction.contract(question._replace(output_format=None), operands)
        coords = data.detach().nonzero(as_tuple=True)
        return assemble(list(coords), data[coords], data.shape, output_format)
    data, pattern = contraction.contract(question, operands)
    return Operand(pattern, data, 0 if pattern is None else dtypes.identity(reduce, data.dtype))


def checked(reduce: str, combine: str) -> tuple[str, str]:
    """The reduction and the combination, by their usual names.

    Raises:
        FormatError: There is no such reduction, or no such combination.
    """
    reduce, combine = _ALIASES.get(reduce, reduce), _COMBINATION_ALIASES.get(combine, combine)
    if reduce not in REDUCTIONS or combine not in COMBINATIONS:
        known: tuple[str, ...] = COMBINATIONS if reduce in REDUCTIONS else REDUCTIONS
        wrong = f"combine is {combine!r}" if reduce in REDUCTIONS else f"reduce is {reduce!r}"
        raise FormatError(f"{wrong}; expected one of {', '.join(known)}")
    return reduce, combine


def count_terms(question: Einsum, operands: Sequence[Operand]) -> Tensor:
    """How many terms every element of a result has; broadcasts against the result."""
    output, terms = question.output, [*zip(question.inputs, operands, strict=True)]
    extents = {i: e for term, o in terms for i, e in zip(term, o.shape, strict=True)}
    sparse = [(term, Operand(o.pattern, None)) for term, o in terms if o.pattern is not None]
    covered = {index for term, _ in sparse for index in term}
    factor = math.prod(extent for index, extent in extents.items() if index not in {*covered, *output})
    if not sparse:
        return torch.tensor(factor)
    kept = tuple(index for index in output if index in covered)
    inputs, patterns = zip(*sparse, strict=True)
    counted = Einsum(inputs, kept, contraction.dense_format(len(kept)), dtype=torch.int64)
    number, _ = contraction.contract(counted, patterns)
    return number[tuple(slice(None) if i in covered else None for i in output)] * factor if output else number * factor
