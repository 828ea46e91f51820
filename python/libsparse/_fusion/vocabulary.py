"""The functions of torch that are noted down, for operands of one floating dtype and results of known shapes.

Everything else is computed at once, after what it reads; so a function that is missing here costs time only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from libsparse._ops import agreement
from libsparse._tensor import functions

from .graph import Node, read
from .terms import diagonal_and_matrix

Reader = Callable[..., "Node | None"]
"""A function of the arguments of a call: the node, or None where the call is not noted down."""

# Functions of one tensor by their names in expressions, and whether they make zero of zero.
_KEEPING_ZERO = "relu tanh abs neg sqrt square sin expm1 log1p erf silu sinh asinh atan"
_OTHERS = "exp sigmoid cos log rsqrt reciprocal softplus"
_UNARY = {
    **dict.fromkeys(_KEEPING_ZERO.split(), True),
    **dict.fromkeys(_OTHERS.split(), False),
}
_BINARY = {"add": "add", "sub": "sub", "subtract": "sub", "mul": "mul", "multiply": "mul", "div": "div"}
_BINARY |= {"true_divide": "div", "divide": "div", "__add__": "add", "__sub__": "sub", "__mul__": "mul"}
_BINARY |= {"__truediv__": "div"}
_REFLECTED = {"__radd__": "add", "__rmul__": "mul", "__rsub__": "sub", "rsub": "sub"}

table: dict[Any, Reader] = {}


def is_number(value: Any) -> bool:
    """Whether a value is a finite number that expressions can hold."""
    return type(value) in (int, float) and math.isfinite(value)


def _alike(nodes: list[Node]) -> torch.dtype | None:
    """The dtype that nodes have in common; None if they have several."""
    kinds = {node.dtype for node in nodes if node.dtype is not None}
    return kinds.pop() if len(kinds) == 1 else None


def _unary(op: str, keeps_zero: bool) -> Reader:
    def note(input: Any) -> Node | None:
        node = read(input)
        if node is None or node.dtype is None or (node.op == "input" and not node.sparse):
            return None
        if node.sparse and (not keeps_zero or node.pattern is None or node.is_padded):
            return None
        return Node(op, (node,), node.shape, node.dtype, node.pattern, sparse=node.sparse)

    return note


def _leaky_relu(input: Any, negative_slope: Any = 0.01, inplace: bool = False) -> Node | None:
    return None if inplace else _with_number("leaky_relu", input, negative_slope)


def _elu(input: Any, alpha: Any = 1.0, inplace: bool = False) -> Node | None:
    return None if inplace else _with_number("elu", input, alpha)


def _gelu(input: Any, approximate: str = "none") -> Node | None:
    return _unary("gelu", keeps_zero=True)(input) if approximate == "none" else None


def _with_number(op: str, input: Any, number: Any) -> Node | None:
    """The node of a function of one tensor and a number, which makes zero of zero."""
    node = _unary(op, keeps_zero=True)(input) if is_number(number) else None
    if node is None:
        return None
    return Node(op, (*node.args, number), node.shape, node.dtype, node.pattern, sparse=node.sparse)


def _binary(op: str, *, swap: bool = False) -> Reader:
    def note(input: Any, other: Any) -> Node | None:
        return _combined(op, other, input) if swap else _combined(op, input, other)

    return note


def _combined(op: str, a: Any, b: Any) -> Node | None:
    """The node of an elementwise function of two operands."""
    parts = [value if is_number(value) else read(value) for value in (a, b)]
    nodes = [part for part in parts if isinstance(part, Node)]
    if None in parts or not any(node.sparse or node.op != "input" for node in nodes):
        return None
    dtype = _alike(nodes)
    if dtype is None:
        return None
    sparse = [node for node in nodes if node.sparse]
    if not sparse:
        shape = _broadcast(nodes)
        return None if shape is None else Node(op, tuple(parts), shape, dtype)
    return _of_sparse(op, parts, sparse, dtype)


def _broadcast(nodes: list[Node]) -> torch.Size | None:
    """The shape that results broadcast to, None if they don't."""
    shape = nodes[0].shape
    for node in nodes[1:]:
        if _spreads(shape, node.shape):
            shape = node.shape
        elif not _spreads(node.shape, shape):
            common = agreement.broadcast(shape, node.shape)
            if common is None:
                return None
            shape = torch.Size(common)
    return shape


def _of_sparse(op: str, parts: list[Any], sparse: list[Node], dtype: torch.dtype) -> Node | None:
    """The node of a function of sparse operands whose result has the pattern of one of them."""
    first, second = parts
    pattern = sparse[0].pattern
    if any(node.is_padded for node in sparse):
        return None
    if len(sparse) == 2:
        same = pattern is not None and sparse[1].pattern is pattern
        if not same or op == "div" or any(node.dtype is None for node in sparse):
            return None
    elif op == "div":
        if sparse[0] is not first or not is_number(second) or abs(second) < 1e-30:
            return None
    elif op != "mul" or pattern is None or not _scales(second if sparse[0] is first else first, sparse[0]):
        return None
    return Node(op, tuple(parts), sparse[0].shape, dtype, pattern, sparse=True)


def _scales(factor: Any, matrix: Node) -> bool:
    """Whether the product of a sparse matrix with a factor that is not sparse has its pattern."""
    return matrix.dtype is not None if is_number(factor) else _spreads(factor.shape, matrix.shape)


def _spreads(shape: torch.Size, to: torch.Size) -> bool:
    """Whether a dense operand is at most repeated to a shape."""
    tail = to[len(to) - len(shape) :]
    return len(shape) <= len(to) and all(n in (1, m) for n, m in zip(shape, tail, strict=True))


def _product(input: Any, other: Any) -> Node | None:
    """The node of a product of matrices, or of a matrix and a vector."""
    a, b = read(input), read(other)
    if a is None or b is None or len(a.shape) != 2 or len(b.shape) not in (1, 2) or a.shape[1] != b.shape[0]:
        return None
    if (dtype := _alike([a, b])) is None or a.dtype is None or b.dtype is None:
        return None
    shape = torch.Size((a.shape[0], *b.shape[1:]))
    if (
        not a.sparse
        and not b.sparse
        and a.op == b.op == "input"
        and math.prod(shape) <= a.shape.numel() + b.shape.numel()
    ):
        return None  # only a product that is larger than its factors may be sampled by a mask
    if (b.sparse and len(b.shape) == 1) or (a.sparse and b.sparse and (a.is_padded or b.is_padded)):
        return None
    found = diagonal_and_matrix(a, b)
    return Node(
        "matmul", (a, b), shape, dtype, None if found is None else found[1].pattern, sparse=a.sparse and b.sparse
    )


def _matrices(input: Any, mat2: Any) -> Node | None:
    return _product(input, mat2) if getattr(mat2, "ndim", 0) == 2 else None


def _vector(input: Any, vec: Any) -> Node | None:
    return _product(input, vec) if getattr(vec, "ndim", 0) == 1 else None


def _sampled(mask: Any, q: Any, kt: Any) -> Node | None:
    """The node of `mask * (q @ kt)`."""
    where, left, right = read(mask), read(q), read(kt)
    if where is None or left is None or right is None or not where.sparse or where.pattern is None or where.is_padded:
        return None
    nodes = [where, left, right]
    shapes = [node.shape for node in nodes]
    fits = all(len(shape) == 2 for shape in shapes) and shapes[1][1] == shapes[2][0]
    if not fits or shapes[0] != (shapes[1][0], shapes[2][1]) or left.sparse or right.sparse or _alike(nodes) is None:
        return None
    return Node("sddmm", tuple(nodes), where.shape, left.dtype, where.pattern, sparse=True)


def _softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Node | None:
    """The node of the softmax over the rows of a sparse matrix."""
    node = read(input)
    if node is None or not node.sparse or node.pattern is None or node.dtype is None or dtype is not None:
        return None
    if node.is_padded or len(node.shape) != 2 or type(dim) is not int or dim not in (1, -1):
        return None
    return Node("softmax", (node,), node.shape, node.dtype, node.pattern, sparse=True)


def _sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Node | None:
    """The node of the sums over the rows or the columns of elementwise operations on a sparse matrix."""
    node = read(input)
    if node is None or not node.sparse or node.op == "input" or node.pattern is None or node.dtype is None:
        return None
    if len(node.shape) != 2 or type(dim) is not int or not -2 <= dim < 2 or keepdim or dtype is not None:
        return None
    dim %= 2
    return Node("sum", (node, dim), torch.Size([node.shape[1 - dim]]), node.dtype)


def _fill() -> None:
    places = (torch, Tensor, F)
    for name, keeps_zero in _UNARY.items():
        for function in {getattr(place, name, None) for place in places} | {getattr(Tensor, f"__{name}__", None)}:
            if function is not None:
                table[function] = _unary(name, keeps_zero)
    for names, swap in ((_BINARY, False), (_REFLECTED, True)):
        for name, op in names.items():
            for place in (torch, Tensor):
                if hasattr(place, name):
                    table[getattr(place, name)] = _binary(op, swap=swap)
    for function in (torch.matmul, Tensor.matmul, Tensor.__matmul__, functions.matmul):
        table[function] = _product
    table[Tensor.__rmatmul__] = lambda input, other: _product(other, input)
    for function in (torch.mm, Tensor.mm, torch.sparse.mm):
        table[function] = _matrices
    for function in (torch.mv, Tensor.mv):
        table[function] = _vector
    for function in (torch.softmax, Tensor.softmax, F.softmax, torch.sparse.softmax):
        table[function] = _softmax
    for function in (torch.sum, Tensor.sum):
        table[function] = _sum
    table[functions.sddmm] = _sampled
    table.update({F.leaky_relu: _leaky_relu, F.elu: _elu, F.gelu: _gelu})


_fill()
