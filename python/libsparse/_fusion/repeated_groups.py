"""Groups as traces compute them again: prepared kernel calls, followed by autograd where the first one was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._runtime import dispatch
from libsparse._runtime.call import Call
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage import threads
from libsparse._tensor.sparse_tensor import SparseTensor, dress

from . import execute
from .groups import Group

_profiled = torch._C._autograd._profiler_enabled


class RepeatedGroup:
    """The problem of a group, for tensors of the patterns, shapes and dtypes that it was first computed for.

    It keeps no tensor that the group read, so that patterns may die.
    """

    __slots__ = (
        "_constants",
        "_followed",
        "_kind",
        "_narrowed",
        "_prepared",
        "_problem",
        "_shortcut",
        "_sparse",
        "_variant",
        "_whole",
    )

    def __init__(self, group: Group) -> None:
        """Reads the problem off a group whose operands are computed."""
        self._problem, operands = execute.asked(group)
        nodes = [node for node, _ in group.reads]
        self._constants = [operand.data for operand in operands[len(nodes) :]]
        self._narrowed = [
            number
            for number, (node, operand) in enumerate(zip(nodes, operands, strict=False))
            if operand.pattern is None and operand.ndim < len(node.shape)
        ]
        self._sparse = [operand.pattern is not None for operand in operands]
        self._whole, self._followed = group.node.sparse, group.node.grad and tape.needed(operands)
        self._kind = execute.node_of(group, self._problem) if self._followed else None
        self._find_shortcut(operands)

    def _find_shortcut(self, operands: Sequence[Operand]) -> None:
        """Finds the shortest way of the present variant, which another may replace."""
        self._prepared = dispatch.prepare(self._problem, operands)
        self._variant = self._prepared.variant
        self._shortcut = _shortcut(self._variant, self._problem, operands)

    def __call__(self, given: Sequence[Any]) -> Any:
        """The result, given what the group reads."""
        datas: list[Any] = [value._held if type(value) is SparseTensor else value for value in given]
        for number in self._narrowed:  # matrices of one row or column, and those that are diagonal
            if datas[number] is given[number]:  # values of sparse ones are a vector already
                datas[number] = datas[number].squeeze()
        data = self._computed(given, [*datas, *self._constants])
        return dress(Operand(given[0]._pattern, data)) if self._whole else data

    def _is_short(self) -> bool:
        """Whether nobody watches problems, and the variant is the one that the shortest way runs."""
        return self._prepared.variant is self._variant and not _profiled()

    def _computed(self, given: Sequence[Any], datas: list[Any]) -> Tensor:
        if self._shortcut is not None and not self._followed and self._is_short():
            return self._shortcut(datas)
        patterns: list[Any] = [given[n]._pattern if sparse else None for n, sparse in enumerate(self._sparse)]
        if self._prepared.variant is not self._variant:
            detached = [None if data is None else data.detach() for data in datas]
            self._find_shortcut(list(map(Operand, patterns, detached)))
        if self._kind is None:
            data, pattern = tape.compute(self._problem, list(map(Operand, patterns, datas)))
        elif self._shortcut is None or not self._is_short():
            data, pattern = tape.follow(self._kind, self._problem, list(map(Operand, patterns, datas)))
        else:
            node = self._kind(self._problem, patterns)
            node.shortcut = self._shortcut
            node.pattern = pattern = patterns[0] if self._whole else None
            data = tape.Function.apply(node, *datas)
        if not self._whole or pattern is None or pattern is patterns[0]:
            return data
        resampled: Tensor = patterns[0].resample(data, pattern)
        return resampled


def _shortcut(
    variant: dispatch.Variant, problem: Problem, operands: Sequence[Operand]
) -> Callable[[Sequence[Any]], Tensor] | None:
    """The shortest way from the values of operands to those of the result; None where the kernel does more."""
    wanted = problem.output_format
    found = variant.direct_on(operands) if isinstance(variant, Call) else None
    if found is None or (wanted is not None and wanted.writable != wanted):
        return None
    if any(operand.pattern not in (None, operands[0].pattern) for operand in operands):
        return None
    direct, numbers, orders = found
    taken, count = [(n, orders[n]) for n in numbers], threads.count

    def shortcut(datas: Sequence[Any]) -> Tensor:
        values = [datas[n] if order is None else datas[n].permute(order).contiguous() for n, order in taken]
        return direct(*values, count())

    return shortcut
