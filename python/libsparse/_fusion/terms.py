"""Terms: operations put together as one product over indices, whose factors are tensors that are stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from libsparse._runtime.problem import Operand
from libsparse._storage.pattern import Pattern

from .graph import Node

Indices = tuple[str, ...]


@dataclass
class Term:
    """A product: factors with their indices, and numbers.

    Attributes:
        indices: The indices of the product; others of its factors are summed over.
        factors: Nodes whose results are read, and their indices. One that stands for the diagonal of a matrix has one.
        numbers: Numbers that are multiplied.
        sums: The indices that are summed over.
        covered: The operations that the product computes.
        samples: Whether one factor may be a product of dense matrices.
    """

    indices: Indices
    factors: list[tuple[Node, Indices]] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    sums: tuple[str, ...] = ()
    covered: list[Node] = field(default_factory=list)
    samples: bool = True

    def times(self, node: Node, indices: Indices) -> None:
        """Adds a factor."""
        self.factors.append((node, indices))


def entries(node: Node, indices: Indices, top: Node, *, samples: bool = True) -> Term:
    """A sparse tensor as a product at its entries; `top` is the operation that reads it, or itself."""
    term = Term(indices, samples=samples)
    _into(term, node, top)
    return term


def _into(term: Term, node: Node, top: Node) -> None:
    """Multiplies a term by a sparse matrix, taken apart as far as only this reads it."""
    if node is not top and not node.is_inner(top):
        term.times(node, term.indices)
    elif node.op == "neg":
        term.covered.append(node)
        term.numbers.append(-1)
        _into(term, node.args[0], node)
    elif node.op == "div":
        term.covered.append(node)
        term.numbers.append(1 / node.args[1])
        _into(term, node.args[0], node)
    elif node.op == "mul":
        term.covered.append(node)
        for arg in sorted(node.args, key=lambda arg: not (isinstance(arg, Node) and arg.sparse)):
            _multiply(term, arg, node)
    elif node.op == "sddmm" and term.samples:
        term.covered.append(node)
        mask, q, kt = node.args
        _into(term, mask, node)
        _sample(term, q, kt)
    elif node.op == "matmul" and (diagonal := scaled_rows(node)) is not None:
        term.covered.append(node)
        scale, matrix = diagonal
        index = term.indices[0 if scale is node.args[0] else 1]
        _into(term, matrix, node)
        term.times(scale, (index,))
    else:
        term.times(node, term.indices)


def _multiply(term: Term, arg: Any, node: Node) -> None:
    if not isinstance(arg, Node):
        term.numbers.append(arg)
    elif arg.sparse:
        _into(term, arg, node)
    elif arg.op == "matmul" and arg.is_inner(node) and term.samples and not any(a.sparse for a in arg.args):
        term.covered.append(arg)
        _sample(term, *arg.args)
    else:
        term.times(arg, spread(arg.shape, node.shape, term.indices))


def _sample(term: Term, q: Node, kt: Node) -> None:
    """Multiplies a term by the product of two dense matrices."""
    rows, columns = term.indices
    term.times(q, (rows, "d"))
    term.times(kt, ("d", columns))
    term.sums, term.samples = ("d",), False


def spread(shape: torch.Size, to: torch.Size, indices: Indices) -> Indices:
    """The indices of a dense operand that is repeated to a shape with these indices."""
    own = indices[len(indices) - len(shape) :]
    tail = to[len(to) - len(shape) :]
    return tuple(index for index, n, m in zip(own, shape, tail, strict=True) if n == m != 1)


def scaled_rows(node: Node) -> tuple[Node, Node] | None:
    """The diagonal matrix and the other one of a product whose result has the pattern of the other one."""
    return None if node.value is not None else diagonal_and_matrix(*node.args)


def diagonal_and_matrix(a: Node, b: Node) -> tuple[Node, Node] | None:
    """The diagonal matrix and the other one of two factors whose product has the pattern of the other one."""
    for scale, matrix in ((a, b), (b, a)) if a.sparse and b.sparse else ():
        pattern = matrix.pattern
        if (
            scale.value is not None
            and _is_diagonal(pattern_of(scale))
            and pattern is not None
            and pattern.format == "csr"
        ):
            return scale, matrix
    return None


def pattern_of(node: Node) -> Pattern | None:
    """The pattern of a sparse node, as far as it is known."""
    if node.value is not None and node.sparse:
        pattern: Pattern = node.value.pattern
        return pattern
    return node.pattern


def _is_diagonal(pattern: Any) -> bool:
    """Whether a pattern is the whole diagonal of a matrix with compressed rows."""
    if pattern is None or pattern.ndim != 2:
        return False
    rows, columns = pattern.shape
    if rows != columns or pattern.nnz != rows or pattern.format != "csr":
        return False
    found: bool = pattern.derive(("is_diagonal",), lambda: bool(torch.equal(*pattern.coordinates())))
    return found


def factor(node: Node, indices: Indices) -> Operand:
    """A factor as an operand: a diagonal matrix with one index as a vector, dimensions of extent 1 without."""
    operand = node.operand()
    if operand.pattern is not None and len(indices) == 1:
        return Operand(None, operand.sparsity.entries(operand.values))
    if operand.pattern is None and len(indices) < operand.ndim:
        return Operand(None, operand.values.squeeze())
    return operand
