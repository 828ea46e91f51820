"""How autograd follows a computation: the one `torch.autograd.Function` of the package.

Operations register how problems of their kind are differentiated; every gradient is again a problem, computed by the
same compiler and differentiable again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor, is_legacy_batchedtensor
from torch.autograd import forward_ad

from libsparse._lang.records import NamedTuple
from libsparse._runtime import dispatch, notes, repeats
from libsparse._runtime.problem import Operand, Problem
from libsparse._runtime.steps import Result
from libsparse._storage import memory, ordinary
from libsparse._storage.fakes import is_fake
from libsparse._storage.pattern import Pattern

watchers = (
    torch._C._len_torch_dispatch_stack,
    torch._C._autograd._profiler_enabled,
    torch._C._is_any_autocast_enabled,
    ordinary.in_transform,
    torch._C._get_tracing_state,
)
_dispatch_modes, _profiled, _autocast, _in_transform, _jit_trace = watchers  # called one by one: calls ask them all


def is_watched() -> bool:
    """Whether something of torch wants to see each operation, or to change its operands: no short way then."""
    return _profiled() or is_changed()


def is_changed() -> bool:
    """The same but for the profiler, which only sees operations."""
    return bool(_dispatch_modes() or _autocast() or _jit_trace()) or _in_transform() is not None


class Node:
    """One computation in autograd's graph, without its values; a subclass says how it is differentiated.

    Attributes:
        problem: The computation: a problem, or what names another one.
        patterns: The pattern of each operand, None for a dense one.
        pattern: The pattern of the result, known once that is computed; None for a dense one.
        shortcut: Computes the values of the result, given those of the operands; None where `dispatch` finds out how.
    """

    __slots__ = ("pattern", "patterns", "problem", "shortcut")

    def __init__(self, problem: Problem, patterns: Sequence[Pattern | None]) -> None:
        """Begin without a result."""
        self.problem, self.patterns = problem, patterns
        self.pattern: Pattern | None = None
        self.shortcut: Callable[[Sequence[Any]], Tensor] | None = None

    by_kind = False
    """Whether no more of patterns than their formats, shapes and blocks decides which problem a gradient comes to."""

    reads_operands = True
    """Whether gradients read the values of operands, which autograd then keeps, and watches for writes."""

    def forward(self, datas: Sequence[Any]) -> tuple[Tensor, Tensor | tuple[Tensor, ...] | None]:
        """Computes the result, given the values of each operand.

        Returns:
            The values of the result, and a tensor to keep for the gradients, or several.
        """
        if self.shortcut is not None:
            return self.shortcut(datas), None
        run = compute if _dispatch_modes() else dispatch.run
        data, self.pattern = run(self.problem, self.operands(datas))
        return data, None

    def kept(self, datas: Sequence[Any]) -> Tensor | None:
        """What `forward` keeps, computed anew."""
        return None

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> Sequence[Tensor | None]:
        """The gradient of each operand, on its pattern or dense; None where it is not wanted.

        Args:
            datas: The values of each operand.
            kept: The tensor that `forward` kept; a tuple where it kept several.
            grad: The gradient of the values of the result.
            wanted: Which operands need their gradient.
        """
        raise NotImplementedError

    def again(self, datas: Sequence[Any]) -> Result:
        """The result of other values of the operands, which is followed as they are."""
        return compute(self.problem, self.operands(datas))

    def operands(self, datas: Sequence[Tensor | None]) -> list[Operand]:
        """The operands, given their values."""
        return list(map(Operand, self.patterns, datas))


Differentiable = Callable[[Problem, Sequence[Operand]], Result]
_product: Differentiable
_expression: Differentiable
_traced: Differentiable
_dual: Differentiable
_transformed: Callable[[Node, Sequence[Operand]], Result]


def register(*, product: Differentiable, expression: Differentiable) -> None:
    """Registers the functions that compute problems with gradients: sums of products, and all others."""
    global _product, _expression
    _product, _expression = product, expression


def register_others(
    traced: Differentiable, dual: Differentiable, transformed: Callable[[Node, Sequence[Operand]], Result]
) -> None:
    """Registers the functions that compute problems while torch traces, such in forward mode, and transformed ones."""
    global _traced, _dual, _transformed
    _traced, _dual, _transformed = traced, dual, transformed


def compute(problem: Problem, operands: Sequence[Operand]) -> Result:
    """Computes a problem; autograd follows it where it has to.

    Raises:
        UnsupportedError: It has to, and something in the problem has no gradient.
    """
    if is_seen(operands) and not any(o.data is not None and is_functorch_wrapped_tensor(o.data) for o in operands):
        # The operators that tracing sees have no derivatives of forward mode.
        return (_dual if _has_tangent(operands) else _traced)(problem, operands)
    if not needed(operands):
        return dispatch.run(problem, operands)
    return (_product if is_product(problem) else _expression)(problem, operands)


def is_product(problem: Problem) -> bool:
    """Whether a problem is a sum of products, and so linear in every operand."""
    return not problem.is_expr and problem.reduce == "sum" and problem.combine == "mul"


def is_traced(operands: Sequence[Operand]) -> bool:
    """Whether torch traces what is done to these operands, which have no elements."""
    for pattern, data, _ in operands:
        if (pattern is not None and pattern.traced) or (data is not None and is_fake(data)):
            return True
    return False


def is_seen(operands: Sequence[Operand]) -> bool:
    """Whether torch, or a dispatch mode of a user, sees what is done to these operands: as one of torch's operators."""
    return is_traced(operands) or bool(_dispatch_modes())


def _has_tangent(operands: Sequence[Operand]) -> bool:
    """Whether forward-mode autograd follows one of these operands."""
    return forward_ad._current_level >= 0 and any(
        data is not None and forward_ad.unpack_dual(data).tangent is not None for _, data, _ in operands
    )


def needed(operands: Sequence[Operand]) -> bool:
    """Whether autograd, or a transform of torch.func, has to follow a computation on these operands."""
    followed = False
    for _, data, _ in operands:
        if data is None:
            continue
        if is_functorch_wrapped_tensor(data):
            return True
        if forward_ad._current_level >= 0 and forward_ad.unpack_dual(data).tangent is not None:
            return True
        followed = followed or data.requires_grad
    return followed and torch.is_grad_enabled()


def is_transformed(operands: Sequence[Operand]) -> bool:
    """Whether a transform of torch.func is under way, or forward-mode autograd follows one of these operands."""
    if ordinary.in_transform() is not None:  # the tape's function is for none of them, whatever they follow
        return True
    return any([o.data is not None and is_functorch_wrapped_tensor(o.data) for o in operands]) or _has_tangent(operands)


def follow(kind: Callable[[Any, Sequence[Any]], Node], problem: Any, operands: Sequence[Operand]) -> Result:
    """Computes a problem, followed by autograd through a node of the given kind."""
    return notes.run(Followed(kind, problem), operands)


class Followed(NamedTuple):
    """A problem that is computed by a node of autograd's graph, a new one each time, which `kind` makes."""

    kind: Callable[[Any, Sequence[Any]], Node]
    problem: Any

    def anew(self) -> Followed:
        """What computes the problem with operands of other patterns."""
        return self

    def __call__(self, operands: Sequence[Operand]) -> Result:
        """Computes the problem."""
        node = self.kind(self.problem, [o.pattern for o in operands])
        if is_transformed(operands):
            return _transformed(node, operands)
        data: Tensor = Function.apply(node, *(o.data for o in operands))
        return data, node.pattern


def gradients(
    node: Node,
    datas: Sequence[Any],
    kept: Tensor | None,
    grad: Tensor,
    wanted: Sequence[bool],
    compute: Callable[[int], Tensor],
) -> list[Tensor | None]:
    """The gradients of a node that are wanted: by the steps of earlier ones where autograd doesn't follow them.

    Args:
        node: The node.
        datas: The values of each operand.
        kept: The tensor that `forward` kept.
        grad: The gradient of the values of the result.
        wanted: Which operands need their gradient.
        compute: The gradient of the operand of a number. It reads elements by problems that it computes alone.
    """
    patterns, tensors = (*node.patterns, node.pattern, node.pattern), (*datas, kept, grad)
    return [
        repeated(node, number, patterns, tensors, functools.partial(compute, number)) if want else None
        for number, want in enumerate(wanted)
    ]


def repeated(
    node: Node,
    part: Hashable,
    patterns: Sequence[Pattern | None],
    tensors: Sequence[Tensor | None],
    compute: Callable[[], Tensor],
) -> Tensor:
    """What a node computes of tensors: by the steps of an earlier node like it where autograd doesn't follow that.

    Args:
        node: The node.
        part: What is computed of it.
        patterns: The pattern of each tensor, None of a dense one.
        tensors: The tensors, None where there is none.
        compute: Reads elements of the tensors by problems that it computes, and by functions that it notes, alone.
    """
    watched = torch.is_grad_enabled() or notes.notes.runs is not None or forward_ad._current_level >= 0 or is_watched()
    if watched or not any(patterns):
        return compute()
    name: list[Any] = [part, type(node), node.problem, *map(id, patterns)]
    values: list[Tensor | None] = []
    seen: dict[Any, int] = {}
    for tensor in tensors:
        kind = None if tensor is None else _kind(tensor)
        if tensor is not None and kind is None:
            return compute()
        first = len(values) if tensor is None else seen.setdefault((tensor.data_ptr(), kind), len(values))
        again = first < len(values)  # as where an expression names an operand twice
        name.append(first if again else kind)
        values.append(None if again else tensor)
    alike = functools.partial(repeats.kind_of_node, name, values, patterns) if node.by_kind else None
    result, _ = repeats.run(tuple(name), values, [*patterns], compute, False, alike)
    return result.values if type(result) is Operand else result


def _kind(tensor: Tensor) -> tuple[Any, ...] | None:
    """Dtype, shape and strides of a tensor that is nothing but elements in memory; None of another."""
    alone = type(tensor) in ordinary.PLAIN and tensor.is_cpu and _elements_alone(tensor)
    return (tensor.dtype, tensor.shape, tensor.stride()) if alone else None


def _elements_alone(tensor: Tensor) -> bool:
    return tensor.layout is torch.strided and not tensor.is_conj() and not tensor.is_neg()


def in_memory(grad: Tensor) -> Tensor:
    """A gradient in which no element stands for several, as in that of a sum: kernels of each operand would copy it."""
    return grad.contiguous() if 0 in grad.stride() else grad


def is_batch(tensor: Tensor | None) -> bool:
    """Whether a tensor hides several, as `is_grads_batched` and torch.autograd.functional make them."""
    return tensor is not None and is_legacy_batchedtensor(tensor)


def of_each(compute: Callable[..., tuple[Tensor | None, ...]], *given: Tensor | None) -> tuple[Tensor | None, ...]:
    """What is computed of each of several tensors that one hides, hidden again; kernels take one at a time.

    Args:
        compute: Takes as many tensors as are given, and always has None in the same places of its result.
        given: Tensors of which some are batches.
    """
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    parts = [torch._remove_batch_dim(t, level, 0, 0).unbind() if t is not None and is_batch(t) else t for t in given]
    count = next(len(part) for part in parts if isinstance(part, tuple))
    several = [compute(*(p[n] if isinstance(p, tuple) else p for p in parts)) for n in range(count)]
    return tuple(
        None if found[0] is None else torch._add_batch_dim(torch.stack(found), 0, level)
        for found in zip(*several, strict=True)
    )


class Function(torch.autograd.Function):
    """Values in, values out; the node carries the patterns."""

    @staticmethod
    def forward(ctx: Any, node: Node, *datas: Tensor | None) -> Tensor:
        ctx.node = node
        data, kept = node.forward(datas)
        if not node.reads_operands:
            pass
        elif kept is None:  # the usual case, and saving nothing takes time, too
            ctx.save_for_backward(*datas)
        else:
            ctx.save_for_backward(*datas, *(kept if isinstance(kept, tuple) else (kept,)))
        ctx.set_materialize_grads(False)
        return data

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, ...]:
        if grad is None:
            return (None,) * len(ctx.needs_input_grad)
        if is_batch(grad):
            return of_each(functools.partial(Function.backward, ctx), grad)
        node: Node = ctx.node
        count = len(node.patterns)
        saved: tuple[Any, ...] = ctx.saved_tensors if node.reads_operands else (None,) * count
        grad = memory.elements(grad if grad.layout is torch.strided else grad.to_dense())
        grad = grad if node.pattern is None else grad.contiguous()
        kept: Any = saved[count:] if len(saved) > count + 1 else saved[count] if len(saved) > count else None
        return None, *node.gradients(saved[:count], kept, grad, ctx.needs_input_grad[1:])
