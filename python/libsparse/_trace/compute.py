"""Computing problems while torch traces: each becomes one operator of the graph, or several where it has steps.

`torch.utils.flop_counter` is told how many floating-point operations that operator takes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from libsparse._autograd import tape
from libsparse._compiler import kernel
from libsparse._lang import dtypes
from libsparse._ops.operands import check_devices
from libsparse._runtime.problem import Operand, Problem
from libsparse._runtime.requests import to_request
from libsparse._runtime.steps import Chain, Result
from libsparse._storage import memory, statistics
from libsparse._storage.pattern import Pattern

from . import encoding, library
from .patterns import faked, hint, taken_apart


def compute(problem: Problem, operands: Sequence[Operand]) -> Result:
    """Computes a problem on operands without elements; its result has none either."""
    operands = [_resolved(operand) for operand in operands]
    problem.extents(operands)
    _register_flops()
    problem = problem._replace(divided=problem.is_expr)
    found = kernel.find(to_request(problem, [_example(operand) for operand in operands]))
    if found.steps:
        return Chain(found, problem, tape.compute)(operands)
    return _called(_explicit(problem, operands, found), operands)


def _register_flops() -> None:
    """Lets the counters that are active know what a computation costs."""
    for mode in _get_current_dispatch_mode_stack():
        registry = getattr(getattr(mode, "counter", None), "flop_registry", None)
        if registry is not None:
            registry.setdefault(torch.ops.libsparse.compute, _flops)


def _flops(problem: str, formats: Any, shape: Any, arrays: Any, values: Any, *, out_val: Any = None) -> int:
    """An operation for each factor of each term; of several sparse operands, as if their entries were independent."""
    question, operands = encoding.from_text(problem), library.read(formats, shape, arrays, values)
    terms = math.prod(question.extents(operands).values())
    for operand in operands:
        if operand.pattern is not None:
            terms = terms * operand.pattern.size // max(1, math.prod(operand.shape))
    return terms * len(operands)


def _resolved(operand: Operand) -> Operand:
    return operand if operand.data is None else operand.with_data(memory.elements(operand.data))


def _called(problem: Problem, operands: Sequence[Operand]) -> Result:
    check_devices(operands)
    formats: list[str] = []
    shape: list[Any] = []
    arrays: list[Tensor] = []
    for pattern, data, _ in operands:
        if pattern is None:
            formats.append("")
            continue
        own = taken_apart(pattern)
        formats.append(own.format + "?" * (data is None))
        shape += own.shape
        arrays += own.tensors
    values = [o.data for o in operands if o.data is not None]
    arrays, values = faked(arrays, values), faked(values, values)
    data, *levels = torch.ops.libsparse.compute(encoding.to_text(problem), formats, shape, arrays, values)
    return data, library.result_pattern(problem, operands, levels)


def _explicit(problem: Problem, operands: Sequence[Operand], found: kernel.Kernel) -> Problem:
    """A problem that says what the compiler has inferred: the format and the dtype of its result, and whose pattern."""
    format = found.format if problem.output_format is None else problem.output_format
    of, found_of = problem.pattern_of, found.pattern_of
    if found_of >= 0 and found_of not in found.convert and problem.inputs[found_of] == problem.output:
        owner = operands[found_of].pattern
        of = found_of if owner is not None and owner.format == format else of  # graphs name whole patterns
    dtype = dtypes.DTYPES[found.dtype] if problem.dtype is None else problem.dtype
    return problem._replace(output_format=format, pattern_of=of, dtype=dtype)


def _example(operand: Operand) -> Operand:
    """An operand of the same kind of which every number is known, for the compiler's choices."""
    pattern, data, _ = operand
    if pattern is not None:
        values = None if data is None else torch.empty(0, dtype=data.dtype, device="meta")
        return Operand(_Example(pattern), values)
    assert data is not None
    shape = [hint(n) for n in data.shape]
    order = sorted(range(data.ndim), key=lambda mode: -hint(data.stride(mode))) if not data.is_contiguous() else ()
    back = [list(order).index(mode) for mode in range(len(order))]
    example = torch.empty([shape[mode] for mode in order] if back else shape, dtype=data.dtype, device="meta")
    return Operand(None, example.permute(back) if back else example)


class _Example(Pattern):
    """A pattern of known extents without arrays."""

    __slots__ = ()

    def __init__(self, pattern: Pattern) -> None:
        """The pattern that is like one of which extents are symbols."""
        shape, size = torch.Size([hint(n) for n in pattern.shape]), hint(pattern.size)
        self._begin(pattern.format, shape, (), (), size, pattern.index_dtype)
        self.seen_shape = shape
        nothing = [None] * len(self.format.kinds)
        self._statistics = statistics.Statistics(self.format, self.extents, nothing, nothing, 0)
        self._statistics.lengths = None  # nobody knows the rows yet
