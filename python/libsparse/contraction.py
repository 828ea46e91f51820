"""Contractions: einsum on operands as plain data, the one door to kernels for everything differentiable."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch
from torch import Tensor

from . import autograd, dtypes, running
from .errors import UnsupportedError
from .format import Format
from .pattern import Pattern
from .problem import Operand, Problem

# Index names in the order the field likes to use them.
_LETTERS = "ijklmnopqrstuvwxyzabcdefghIJKLMNOPQRSTUVWXYZABCDEFGH"


@functools.cache
def dense_wish(ndim: int) -> Format | None:
    """The format to ask for where a dense result is wanted; None for a scalar, which is dense anyway."""
    return Format("d" * ndim) if ndim else None


@functools.lru_cache(maxsize=4096)
def product(
    inputs: tuple[tuple[str, ...], ...],
    output: tuple[str, ...],
    wish: Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
    pattern_of: int | None = None,
) -> Problem:
    """The problem of an einsum, its indices renamed in order of appearance so that spellings share kernels."""
    found = dict.fromkeys(index for term in inputs for index in term)
    if len(found) > len(_LETTERS):
        raise UnsupportedError(f"einsum: {len(found)} indices; up to {len(_LETTERS)} are supported")
    letters = dict(zip(found, _LETTERS, strict=False))
    terms = tuple(tuple(letters[index] for index in term) for term in inputs)
    result = tuple(letters[index] for index in output)
    text = ",".join(map("".join, terms)) + "->" + "".join(result)
    names = tuple(f"A{number}" for number in range(len(inputs)))
    return Problem(text, False, names, terms, result, wish, reduce, combine, pattern_of)


def contract(
    inputs: Sequence[tuple[str, ...]],
    output: tuple[str, ...],
    operands: Sequence[Operand],
    *,
    wish: Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
    pattern_of: int | None = None,
) -> tuple[Tensor, Pattern | None]:
    """Computes an einsum; autograd follows it where it has to.

    Args:
        inputs: The indices of each operand, none of them twice in one operand.
        output: The indices of the result.
        operands: The operands.
        wish: The format of the result, None to let the compiler choose.
        reduce: How terms are reduced.
        combine: How factors are combined.
        pattern_of: The operand whose pattern the result has to have.

    Returns:
        A dense tensor and None, or the values of a sparse result and its pattern.

    Raises:
        ShapeError: Extents do not agree.
    """
    asked = product(tuple(inputs), output, wish, reduce, combine, pattern_of)
    operands = unify(operands)
    if all(o.pattern is None for o in operands) and reduce == "sum" and combine == "mul":
        asked.extents(operands)
        return torch.einsum(asked.text, *(o.data for o in operands if o.data is not None)), None
    if autograd.needed(operands):
        return autograd.apply(asked, operands)
    return running.run(asked, operands)


def unify(operands: Sequence[Operand], numbers: Sequence[int | float] = ()) -> Sequence[Operand]:
    """Brings all values to the dtype that they, and plain numbers beside them, promote to.

    Where there are numbers and nothing else has values, the first operand gets them: ones.
    """
    dtype = dtypes.weakly(dtypes.promote(o.data.dtype for o in operands if o.data is not None), numbers)
    if dtype is None:
        return operands
    if numbers and operands and all(o.data is None for o in operands):
        pattern = operands[0].pattern
        assert pattern is not None
        return [Operand(pattern, torch.ones(pattern.nnz, dtype=dtype, device="cpu")), *operands[1:]]
    return [o if o.data is None or o.data.dtype == dtype else Operand(o.pattern, o.data.to(dtype)) for o in operands]
