"""Running groups: each is one problem for the compiler, and autograd follows it as it follows the operations."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang.records import NamedTuple
from libsparse._ops import assemble, contraction, softmax_mean
from libsparse._ops.mean_notation import Mean
from libsparse._ops.mean_notation import problem as mean_problem
from libsparse._ops.product_gradient import Product, gradient
from libsparse._runtime import dispatch
from libsparse._runtime.problem import Einsum, Operand, Problem, product
from libsparse._storage.format import Format

from .graph import Node
from .groups import Group, Step
from .terms import Indices, factor


def compute(group: Group) -> Operand | None:
    """The result of a group whose operands are computed; None where its operations have to run one by one."""
    problem, operands = asked(group)
    if group.mean is not None:
        out = mean_of(group.mean, operands)
        return None if out is None else Operand(None, out)
    if group.node.sparse:
        pattern = operands[0].sparsity
        if any(operand.pattern not in (None, pattern) for operand in operands):
            return None
        values, found = tape.compute(problem, operands)
        return Operand(pattern, values if found is None or found is pattern else pattern.resample(values, found))
    if group.kind in ("product", "reduced"):
        if any(o.pattern not in (None, operands[0].pattern) for o in operands if group.kind == "reduced"):
            return None
        return Operand(None, tape.compute(problem, operands)[0])
    return _epilogue(group, problem, operands)


def mean_of(mean: Mean, operands: Sequence[Operand]) -> Tensor | None:
    """A mean weighted by a softmax, whose sparse operands are walked by rows; None where one pass doesn't pay."""
    if any(operand.pattern not in (None, operands[0].pattern) for operand in operands):
        return None
    if operands[0].sparsity.format != "csr":
        operands = [o if o.pattern is None else assemble.to_format(o, "csr") for o in operands]
    return softmax_mean.compute(mean, operands)


def asked(group: Group) -> tuple[Problem, list[Operand]]:
    """The problem that the compiler gets for a group, and its operands."""
    inputs = tuple([indices for _, indices in group.reads])
    operands = [factor(node, indices) for node, indices in group.reads]
    pattern = operands[0].pattern if group.node.sparse else None
    format = contraction.dense_format(len(group.output)) if pattern is None else pattern.format
    place = None if pattern is None else 0
    if group.mean is not None:
        return mean_problem(group.mean), operands
    if group.kind == "product":
        assert group.term is not None
        if group.term.numbers:
            inputs = (*inputs, ())
            operands.append(Operand(None, _number(group.term.numbers, group.node.dtype)))
        return product(Einsum(inputs, group.output, format, pattern_of=place)), operands
    return _problem(group.expression, group.names, inputs, group.output, format, place, group.node.dtype), operands


def _number(numbers: Sequence[float], dtype: torch.dtype | None) -> Tensor:
    return torch.tensor(math.prod(numbers), dtype=dtype, device="cpu")


@functools.lru_cache(maxsize=1024)
def _problem(
    text: str,
    names: tuple[str, ...],
    inputs: tuple[Indices, ...],
    output: Indices,
    format: Format | None,
    pattern_of: int | None,
    dtype: torch.dtype | None,
) -> Problem:
    return Problem(text, True, names, inputs, output, format, pattern_of=pattern_of, dtype=dtype)


def node_of(group: Group, question: Problem) -> Callable[[Problem, Sequence[Any]], tape.Node] | None:
    """The kind of node that autograd follows a group by; None for the one of an expression."""
    if group.kind == "epilogue":
        return functools.partial(Epilogue, plan=_plan(group))
    return Product if tape.is_product(question) else None


def _epilogue(group: Group, question: Problem, operands: Sequence[Operand]) -> Operand | None:
    if not (group.node.grad and tape.needed(operands)):
        return Operand(None, dispatch.run(question, operands)[0])
    if why_not_followed(group) is not None:
        return None
    return Operand(None, tape.follow(functools.partial(Epilogue, plan=_plan(group)), question, operands)[0])


def why_not_followed(group: Group) -> str | None:
    """Why autograd can't follow an epilogue; None where it can.

    The derivative has to follow from the result: sums and products come first, then at most one relu.
    """
    operands = iter(node for node, _ in group.reads[len(group.term.factors) :]) if group.term else iter(())
    after = False
    for step in group.steps:
        other = next(operands) if isinstance(step.other, Node) else step.other
        constant = not isinstance(other, Node) or not other.value.requires_grad
        if after and not (step.op == "mul" and _is_mask(other)):
            return f"its gradient needs the result of 'relu', which {step.op!r} hides"
        if step.op == "relu":
            after = True
        elif step.op not in ("add", "sub", "neg") and not (_scales(step) and constant):
            return f"its gradient needs what {step.op!r} reads"
    return None


def _scales(step: Step) -> bool:
    """Whether a step multiplies what it reads by something."""
    return step.op == "mul" or (step.op == "div" and step.first)


def _is_mask(other: Any) -> bool:
    """Whether a factor is a positive number, or the mask of a dropout, which has no negative ones."""
    return (other.op == "mask") if isinstance(other, Node) else other > 0


class _Plan(NamedTuple):
    """What the gradients of an epilogue need to know of it.

    Attributes:
        inputs: The indices of the product's factors.
        numbers: Its numbers.
        output: The indices of the result.
        steps: The operations after it, each with the place of its other operand among those of the problem, -1 where
            that is a number.
    """

    inputs: tuple[Indices, ...]
    numbers: tuple[float, ...]
    output: Indices
    steps: tuple[tuple[Step, int], ...]


def _plan(group: Group) -> _Plan:
    term = group.term
    assert term is not None
    place = len(term.factors)
    steps = []
    for step in group.steps:
        if isinstance(step.other, Node):
            steps.append((step._replace(other=None), place))
            place += 1
        else:
            steps.append((step, -1))
    return _Plan(tuple(indices for _, indices in term.factors), tuple(term.numbers), group.output, tuple(steps))


class Epilogue(tape.Node):
    """A product and elementwise operations on it; the result is kept where a relu needs it."""

    __slots__ = ("plan",)

    def __init__(self, problem: Problem, patterns: Sequence[Any], plan: _Plan) -> None:
        """Begin without a result; no values of the group are kept."""
        super().__init__(problem, patterns)
        self.plan = plan

    def forward(self, datas: Sequence[Any]) -> tuple[Tensor, Tensor | None]:
        data, _ = super().forward(datas)
        return data, self._needed(data)

    def kept(self, datas: Sequence[Any]) -> Tensor | None:
        return self._needed(dispatch.run(self.problem, self.operands(datas))[0])

    def _needed(self, data: Tensor) -> Tensor | None:
        return data if any(step.op == "relu" for step, _ in self.plan.steps) else None

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        found: list[Tensor | None] = [None] * len(datas)
        inputs, numbers, output, steps = self.plan
        count = len(inputs)
        for step, place in reversed(steps):
            other = step.other if place < 0 else self._spread(datas[place], place)
            if place >= 0 and wanted[place]:
                found[place] = self._reduced(grad if step.op == "add" or not step.first else -grad, datas[place], place)
            grad = _before(step, other, grad, kept)
        operands = self.operands(datas)[:count]
        if numbers:
            inputs = (*inputs, ())
            operands.append(Operand(None, _number(numbers, grad.dtype)))
        question = product(Einsum(inputs, output, contraction.dense_format(len(output))))
        compute = functools.partial(gradient, question, operands, Operand(None, grad))
        if numbers:  # which steps of earlier gradients would not read anew
            found[:count] = [compute(number) if wanted[number] else None for number in range(count)]
        else:
            found[:count] = tape.gradients(self, datas, None, grad, wanted[:count], compute)
        return found

    def _spread(self, data: Tensor, place: int) -> Tensor:
        """An operand of a step with a dimension for each index of the result."""
        indices = self.problem.inputs[place]
        return data[tuple(slice(None) if index in indices else None for index in self.plan.output)]

    def _reduced(self, grad: Tensor, data: Tensor, place: int) -> Tensor:
        """The gradient of an operand that is added, summed where it is repeated."""
        indices = self.problem.inputs[place]
        dims = [n for n, index in enumerate(self.plan.output) if index not in indices]
        return grad.sum(dims).reshape(data.shape) if dims else grad


def _before(step: Step, other: Any, grad: Tensor, kept: Tensor | None) -> Tensor:
    """The gradient of what a step reads, given that of its result."""
    rules: dict[str, Callable[[], Any]] = {
        "add": lambda: grad,
        "sub": lambda: grad if step.first else -grad,
        "neg": lambda: -grad,
        "mul": lambda: grad * other,
        "div": lambda: grad / other,
        "relu": lambda: torch.ops.aten.threshold_backward.default(grad, kept, 0),  # in vectors, and where NaN as torch
    }
    return rules[step.op]()  # type: ignore[no-any-return]
