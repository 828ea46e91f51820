"""Einsums as text and operands: read, checked and computed where no fill value makes terms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang import dtypes, spec
from libsparse._lang.errors import DtypeError, FormatError
from libsparse._runtime import notes, promotion
from libsparse._runtime.problem import Einsum, Operand
from libsparse._storage.format import Format

from . import contraction
from .assemble import assemble
from .operands import is_tensor, simplify, to_operands

REDUCTIONS = ("sum", "prod", "min", "max", "any", "all", "xor", "mean")
COMBINATIONS = (
    *("mul", "add", "sub", "div", "min", "max", "and", "or", "xor", "first", "second"),
    *("pow", "atan2", "fmod", "remainder", "floor_divide", "hypot", "eq", "ne", "lt", "le", "gt", "ge"),
)
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_ALIASES = {"amax": "max", "amin": "min", "or": "any", "and": "all", "add": "sum", "mul": "prod"}
_COMBINATION_ALIASES = {"any": "or", "all": "and", "sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


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


def compute(question: Einsum, operands: Sequence[Operand]) -> Operand:
    """The result of an einsum."""
    output_format, reduce = question.output_format, question.reduce
    dense = all(o.pattern is None for o in operands) and output_format is not None and not output_format.is_dense
    if dense and dtypes.identity(reduce, question.dtype or torch.bool) == 0:
        data, _ = contraction.contract(question._replace(output_format=None), operands)
        coords = data.detach().nonzero(as_tuple=True)
        return assemble(list(coords), data[coords], data.shape, output_format)
    if reduce == "mean" and (found := _mean(question, operands)) is not None:
        return Operand(None, found)
    data, pattern = contraction.contract(question, operands)
    return Operand(pattern, data, 0 if pattern is None else dtypes.identity(reduce, data.dtype))


def checked(reduce: str, combine: str) -> tuple[str, str]:
    """The reduction and the combination, by their usual names.

    Raises:
        FormatError: There is no such reduction, or no such combination.
    """
    if isinstance(reduce, str) and isinstance(combine, str):
        reduce, combine = _ALIASES.get(reduce, reduce), _COMBINATION_ALIASES.get(combine, combine)
    if reduce not in REDUCTIONS or combine not in COMBINATIONS:
        known: tuple[str, ...] = COMBINATIONS if reduce in REDUCTIONS else REDUCTIONS
        wrong = f"combine is {combine!r}" if reduce in REDUCTIONS else f"reduce is {reduce!r}"
        raise FormatError(f"{wrong}; expected one of {', '.join(known)}")
    return reduce, combine


def count_terms(question: Einsum, operands: Sequence[Operand]) -> Tensor:
    """How many terms every element of a result has; broadcasts against the result.

    The numbers of one pattern are kept with it.
    """
    output, terms = question.output, [*zip(question.inputs, operands, strict=True)]
    extents = {i: e for term, o in terms for i, e in zip(term, o.shape, strict=True)}
    sparse = [(term, Operand(o.pattern, None)) for term, o in terms if o.pattern is not None]
    covered = {index for term, _ in sparse for index in term}
    factor = math.prod(extent for index, extent in extents.items() if index not in {*covered, *output})
    if not sparse:
        return torch.tensor(factor, device="cpu")
    kept = tuple(index for index in output if index in covered)
    inputs, patterns = zip(*sparse, strict=True)
    counted = Einsum(inputs, kept, contraction.dense_format(len(kept)), dtype=torch.int64)

    def count() -> Tensor:
        return contraction.contract(counted, patterns)[0]

    modes = tuple(inputs[0].index(index) for index in kept)
    single = len(patterns) == 1 and not tape.is_traced(patterns)
    number = patterns[0].sparsity.derive(("terms", modes), count) if single else count()
    number = number[tuple(slice(None) if i in covered else None for i in output)] if output else number
    return number if factor == 1 else number * factor


def _mean(question: Einsum, operands: Sequence[Operand]) -> Tensor | None:
    """A dense mean of products over the terms of one sparse operand, None of others.

    It is the sum of products with one more factor, the reciprocal of how many terms there are, which is kept with the
    pattern. It is the first one, so that it is multiplied once for a stored value and not for each element.
    """
    given = [number for number, o in enumerate(operands) if o.pattern is not None]
    if question.combine != "mul" or len(given) != 1 or question.dtype not in _FLOATS:
        return None
    # Of half precision they are float32: the sum would lose what their reciprocal has lost.
    (number,), dtype = given, torch.promote_types(question.dtype, torch.float32)
    indices, pattern = question.inputs[number], operands[number].sparsity
    kept = tuple(index for index in question.output if index in indices)
    format = question.output_format
    if tape.is_traced(operands) or (format is not None and not format.is_dense):
        return None

    def weigh() -> Tensor:
        counts = count_terms(question, operands).reshape([pattern.shape[indices.index(index)] for index in kept])
        return counts.clamp(min=1).to(dtype).reciprocal()

    extents = tuple(o.shape for n, o in enumerate(operands) if n != number)
    kept_weights = pattern.derive(("reciprocals of terms", question.inputs, question.output, extents, dtype), weigh)
    weights = notes.apply(lambda: kept_weights)  # so that repeated calls know where they come from
    weighted = question._replace(inputs=(kept, *question.inputs), reduce="sum")
    data, found = contraction.contract(weighted, (Operand(None, weights), *operands))
    return data if found is None else None
