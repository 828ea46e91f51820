"""Contractions: einsum on operands as plain data, the one door to kernels for everything differentiable."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch

from libsparse._autograd import tape
from libsparse._lang import dtypes, operations
from libsparse._runtime import promotion
from libsparse._runtime.dispatch import Result
from libsparse._runtime.problem import Einsum, Operand, product
from libsparse._storage.format import Format


@functools.cache
def dense_format(ndim: int) -> Format | None:
    """The format of a dense result; None for a scalar, which has none."""
    return Format("d" * ndim) if ndim else None


def contract(einsum: Einsum, operands: Sequence[Operand]) -> Result:
    """Computes an einsum; autograd follows it where it has to.

    Returns:
        A dense tensor and None, or the values of a sparse result and its pattern.

    Raises:
        ShapeError: Extents do not agree.
    """
    kinds = {o.data.dtype for o in operands if o.data is not None}
    target = einsum.dtype or (next(iter(kinds)) if len(kinds) == 1 else promotion.common(operands))
    if (
        target is not None
        and kinds - {target}
        and (tape.needed(operands) or not all(dtypes.holds(target, kind) for kind in kinds))
    ):
        operands, kinds = unify(operands, target), {target}
    # Whether the dtype of the result follows from the operands: what is compared keeps its dtype here.
    implied = (kinds == {target} and einsum.combine not in operations.LOGICAL) or target is None
    problem = product(einsum if implied or einsum.dtype else einsum._replace(dtype=target), implied)
    plain = problem.reduce == "sum" and problem.combine == "mul" and target != torch.bool
    if plain and all(o.pattern is None for o in operands):
        problem.extents(operands)
        # Torch widens sums of integers, and refuses to multiply one that it takes on the way by what is left.
        whole = target is not None and not (target.is_floating_point or target.is_complex)
        widened = whole and (len(operands) > 2 or _sums_an_operand(einsum))
        same = unify(operands, torch.int64 if widened else target)
        out = torch.einsum(problem.text, *(o.data for o in same if o.data is not None))
        return (out if target is None else out.to(target)), None  # torch widens integers that it merely sums
    return tape.compute(problem, operands)


def _sums_an_operand(einsum: Einsum) -> bool:
    """Whether an index is summed that one operand alone has."""
    if len(einsum.inputs) < 2:
        return False
    first, second = ({*indices} - {*einsum.output} for indices in einsum.inputs)
    return first != second


def unify(operands: Sequence[Operand], dtype: torch.dtype | None) -> Sequence[Operand]:
    """Brings all values to one dtype; autograd follows. Kernels take mixed dtypes, gradients don't."""
    if dtype is None:
        return operands
    return [o if o.data is None or o.data.dtype == dtype else o.with_data(o.data.to(dtype)) for o in operands]
