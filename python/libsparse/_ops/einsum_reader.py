"""Einsums as text and operands: read, checked and computed where no fill value makes terms."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang import dtypes, spec
from libsparse._lang.errors import DtypeError, FormatError
from libsparse._runtime import notes, promotion
from libsparse._runtime.problem import Computed, Einsum, Operand
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

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
    sparse = [(term, o.pattern) for term, o in zip(question.inputs, operands, strict=True) if o.pattern is not None]
    factor = _factor(question, operands)
    if not sparse:
        return torch.tensor(factor, device="cpu")
    output, covered = question.output, {index for term, _ in sparse for index in term}
    kept = tuple(index for index in output if index in covered)
    inputs, patterns = zip(*sparse, strict=True)
    if len(patterns) == 1 and not tape.is_traced([Operand(patterns[0], None)]):
        number = _terms(patterns[0], tuple(inputs[0].index(index) for index in kept)).long()
    else:
        number = _counted(inputs, kept, patterns)
    number = number[tuple(slice(None) if i in covered else None for i in output)] if output else number
    return number if factor == 1 else number * factor


def _factor(question: Einsum, operands: Sequence[Operand]) -> int:
    """How many terms each one of the sparse operands stands for, by indices of dense ones alone."""
    terms = [*zip(question.inputs, operands, strict=True)]
    covered = {index for term, o in terms if o.pattern is not None for index in term}
    extents = {i: e for term, o in terms for i, e in zip(term, o.shape, strict=True)}
    return math.prod(extent for index, extent in extents.items() if index not in {*covered, *question.output})


def _counted(inputs: Sequence[tuple[str, ...]], kept: tuple[str, ...], patterns: Sequence[Pattern]) -> Tensor:
    counted = Einsum(tuple(inputs), kept, contraction.dense_format(len(kept)), dtype=torch.int64)
    return contraction.contract(counted, [Operand(pattern, None) for pattern in patterns])[0]


def _terms(pattern: Pattern, modes: tuple[int, ...]) -> Tensor:
    """How many entries a pattern has at each place of some of its modes, which it keeps where that takes a kernel."""
    begins = pattern.statistics.begins
    if begins is not None and modes == pattern.format.order[:1] and not pattern.block:
        return begins.diff()
    letters = tuple(string.ascii_lowercase[: pattern.ndim])
    kept = tuple(letters[mode] for mode in modes)
    return pattern.derive(("terms", modes), lambda: _counted((letters,), kept, (pattern,)))


def without_terms(question: Einsum, operands: Sequence[Operand], values: Tensor) -> Tensor | None:
    """A result of a matrix, or of a tensor, of which one mode is kept, with 0 where it has no term.

    None where that isn't said by one mode of one pattern. The result may be the one that is given.
    """
    sparse = [(term, o.sparsity) for term, o in zip(question.inputs, operands, strict=True) if o.pattern is not None]
    if len(sparse) != 1 or tape.is_traced(operands) or _factor(question, operands) != 1:
        return None
    (term, pattern), output = sparse[0], question.output
    kept = [dim for dim, index in enumerate(output) if index in term]
    if len(kept) != 1:
        return None
    clear = Computed(_cleared, (term.index(output[kept[0]]), kept[0]))
    found, _ = notes.run(clear, [Operand(pattern, None), Operand(None, values)])
    return found


def _cleared(operands: Sequence[Operand], mode: int, dim: int) -> Tensor:
    """Elements with 0 at places of a mode where a pattern has no entry: these are few, and a mask takes long."""
    (pattern, _, _), (_, values, _) = operands
    assert pattern is not None
    assert values is not None
    of = pattern
    rows = of.derive(("places without terms", mode), lambda: (_terms(of, (mode,)) == 0).nonzero().flatten())
    if not len(rows):
        return values
    return values.index_fill(dim, rows, 0) if values.requires_grad else values.index_fill_(dim, rows, 0)


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
    modes = tuple(indices.index(index) for index in kept)
    factor = _factor(question, operands)
    weigh = Computed(_reciprocals, (modes, factor, dtype), has_extents=factor != 1)
    weights, _ = notes.run(weigh, [Operand(pattern, None)])
    weighted = question._replace(inputs=(kept, *question.inputs), reduce="sum")
    data, found = contraction.contract(weighted, (Operand(None, weights), *operands))
    return data if found is None else None


def _reciprocals(operands: Sequence[Operand], modes: tuple[int, ...], factor: int, dtype: torch.dtype) -> Tensor:
    """The reciprocals of how many terms there are at each place of some modes of a pattern, which keeps them."""
    pattern = operands[0].sparsity

    def weigh() -> Tensor:
        terms = _terms(pattern, modes)
        return (terms if factor == 1 else terms.long() * factor).clamp(min=1).to(dtype).reciprocal()

    return pattern.derive(("reciprocals of terms", modes, factor, dtype), weigh)
