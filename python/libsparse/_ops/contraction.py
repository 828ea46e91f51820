"""Contractions: einsum on operands as plain data, the one door to kernels for everything differentiable."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import chain, pairwise

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang import dtypes, operations
from libsparse._runtime import notes, promotion
from libsparse._runtime.problem import Einsum, Operand, product
from libsparse._runtime.steps import Result
from libsparse._storage.format import Format

_LEAST = 4096  # elements of an operand whose indices are folded: of fewer ones, views take longer than they gain


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
    folded, views = fold(*_at_same_entries(einsum, operands))
    data, pattern = _contract_folded(folded, views)
    if len(folded.output) < len(einsum.output):
        problem = einsum.problem()
        shape = problem.result_shape(problem.extents(operands))
        # Not a view to autograd: users write to results in place.
        data = notes.apply(lambda data: torch.ops.aten._unsafe_view.default(data, shape), data)
    return data, pattern


def _at_same_entries(einsum: Einsum, operands: Sequence[Operand]) -> tuple[Einsum, Sequence[Operand]]:
    """An einsum with one factor for those of one pattern and the same indices: their product at each entry.

    Kernels walk each operand's lists. A pattern alone counts as one, so that the other factor is the product. Values
    are multiplied where that is not in half precision, which kernels don't round products to.
    """
    target = einsum.dtype or promotion.common(operands)
    first: dict[tuple[int, tuple[str, ...]], int] = {}
    goes_to: list[int] = []
    for n, (indices, operand) in enumerate(zip(einsum.inputs, operands, strict=True)):
        place = n if operand.pattern is None else first.setdefault((id(operand.pattern), indices), n)
        goes_to.append(place if place == n or _may_merge(operands[place], operand, target) else n)
    kept = [n for n, place in enumerate(goes_to) if n == place]
    inputs = tuple(einsum.inputs[n] for n in kept)
    if len(kept) == len(operands) or inputs == (einsum.output,) or einsum.combine != "mul" or tape.is_seen(operands):
        return einsum, operands
    left = list(operands)
    for n, place in enumerate(goes_to):
        if n != place and left[place].data is None:
            left[place] = operands[n]
        elif n != place and (data := operands[n].data) is not None:
            left[place] = left[place].with_data(notes.apply(torch.mul, left[place].data, data))
    source = einsum.pattern_of
    source = None if source is None else kept.index(goes_to[source])
    return einsum._replace(inputs=inputs, pattern_of=source), [left[n] for n in kept]


def _may_merge(a: Operand, b: Operand, target: torch.dtype | None) -> bool:
    """Whether the product of operands of one pattern may be that of their values, or those of the one that has some.

    They have the dtype of the result: others would wrap, or be rounded, before they are promoted.
    """
    return a.data is None or b.data is None or (a.dtype == b.dtype == target and a.dtype.itemsize >= 4)


def fold(einsum: Einsum, operands: Sequence[Operand]) -> tuple[Einsum, Sequence[Operand]]:
    """An einsum with one index in the place of several that always stand side by side, and views of its operands.

    Products of stacks of matrices become products of matrices: innermost loops are longer, and kernels are shared.
    `F.linear` of 4 x 8 x 784 elements takes 0.6 of the time. Indices of a result are folded where it is sure to be
    dense; a sparse one would have another pattern.

    Raises:
        ShapeError: Extents do not agree.
    """
    dense = tuple(o.pattern is None for o in operands)
    runs = () if all(dense) else _runs(einsum.inputs, einsum.output, dense, einsum.output_format)
    # Operands that are traced or transformed have no strides of their own to look at.
    if not runs or tape.is_traced(operands) or tape.is_transformed(operands):
        return einsum, operands
    einsum.problem().extents(operands)  # errors name the shapes that the user knows
    for run in runs:
        if _is_one_stretch(run, einsum, operands):
            einsum, operands = _fold_run(run, einsum, operands)
    return einsum, operands


@functools.lru_cache(maxsize=4096)
def _runs(
    inputs: tuple[tuple[str, ...], ...], output: tuple[str, ...], dense: tuple[bool, ...], format: Format | None
) -> tuple[tuple[str, ...], ...]:
    """Indices that follow each other wherever one of them stands: in dense operands, and in a result that is dense."""
    # Patterns have their indices one by one, and so has a result that may get one: not if they have one of its indices.
    kept = {index for indices, is_dense in zip(inputs, dense, strict=True) if not is_dense for index in indices}
    if len(kept.intersection(output)) > 1 if format is None else format != dense_format(len(output)):
        kept.update(output)
    terms = (*inputs, output)
    after: dict[str, str] = {}
    for pair in chain(*map(pairwise, terms)):
        having = [term for term in terms if not {*pair}.isdisjoint(term)]
        if kept.isdisjoint(pair) and all(pair in pairwise(term) for term in having):
            after[pair[0]] = pair[1]
    runs = []
    for first in after.keys() - {*after.values()}:
        run = [first]
        while run[-1] in after:
            run.append(after[run[-1]])
        runs.append(tuple(run))
    return tuple(sorted(runs))


def _is_one_stretch(run: tuple[str, ...], einsum: Einsum, operands: Sequence[Operand]) -> bool:
    """Whether operands that have a run have views with one index for it, and one of them many elements."""
    elements = 0
    for indices, operand in zip(einsum.inputs, operands, strict=True):
        if run[0] in indices:
            begin = indices.index(run[0])
            part = slice(begin, begin + len(run))
            sizes, strides = operand.shape[part], operand.values.stride()[part]
            if strides[:-1] != tuple(stride * size for stride, size in zip(strides[1:], sizes[1:], strict=True)):
                return False
            elements = max(elements, operand.values.numel())
    return elements >= _LEAST


def _fold_run(run: tuple[str, ...], einsum: Einsum, operands: Sequence[Operand]) -> tuple[Einsum, Sequence[Operand]]:
    """An einsum with one index in the place of a run, and views of the operands that have it."""
    first, others = run[0], {*run[1:]}
    views = []
    for indices, operand in zip(einsum.inputs, operands, strict=True):
        if first in indices:
            begin = indices.index(first)
            operand = Operand(None, notes.apply(Tensor.flatten, operand.values, begin, begin + len(others)))
        views.append(operand)
    inputs = tuple(tuple(index for index in indices if index not in others) for indices in einsum.inputs)
    output = tuple(index for index in einsum.output if index not in others)
    format = einsum.output_format if output == einsum.output else dense_format(len(output))
    return einsum._replace(inputs=inputs, output=output, output_format=format), views


def _contract_folded(einsum: Einsum, operands: Sequence[Operand]) -> Result:
    """Computes an einsum whose indices are folded."""
    kinds = {o.data.dtype for o in operands if o.data is not None}
    target = einsum.dtype or (next(iter(kinds)) if len(kinds) == 1 else promotion.common(operands))
    if target is not None and kinds - {target} and not _are_mixed(operands, kinds, target):
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


def _are_mixed(operands: Sequence[Operand], kinds: set[torch.dtype], target: torch.dtype) -> bool:
    """Whether a kernel converts values as it reads them: not where autograd follows some of another dtype."""
    if tape.is_transformed(operands) or not all(dtypes.holds(target, kind) for kind in kinds):
        return False
    return not tape.needed([o for o in operands if o.data is not None and o.data.dtype != target])


def unify(operands: Sequence[Operand], dtype: torch.dtype | None) -> Sequence[Operand]:
    """Brings all values to one dtype; autograd follows."""
    if dtype is None:
        return operands
    return [o if o.data is None or o.data.dtype == dtype else o.with_data(o.data.to(dtype)) for o in operands]
