"""`einsum`: any product of sparse and dense tensors in torch's notation."""

from __future__ import annotations

import re
from typing import Any

from libsparse._lang import dtypes
from libsparse._lang.errors import LibsparseError, ShapeError
from libsparse._runtime.problem import Einsum, Operand
from libsparse._runtime.repeats import by_kind
from libsparse._storage.format import Format

from . import autocast
from .einsum_reader import checked, compute, read
from .operands import is_sparse, to_operand


@by_kind
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
                from . import filled_products  # only operands with fill values need it

                return filled_products.of(equation, operands, format, *named)
    question, plain = read(equation, operands, format, reduce, combine)
    try:
        return compute(question, plain)
    except ShapeError:  # says it in the user's letters
        question.problem()._replace(text=str(equation)).extents(plain)
        raise
    except LibsparseError as error:
        error.args = tuple([_titled(str(part), question) for part in error.args[:1]]) + error.args[1:]
        raise


def _titled(message: str, question: Einsum) -> str:
    """A message about the expression that the compiler gets, with operands and indices as the user knows them."""
    title = question.problem().title
    named = re.sub(r"\bA(\d+)\b(?:\([\w,]*\))?", lambda found: title(int(found[1])), message)
    if named == message:
        return message
    result = f"out({','.join(question.output)})" if question.output else "out"
    return re.sub(r"^out(\([\w,]*\))?", result, named).replace("[every]", "")
