"""Groups: operations that one expression computes together, found by walking from a result towards what it reads.

An operation joins the group of its only reader. One whose result is read twice, or that the user still holds, is
computed by itself, so that nothing is computed twice.
"""

from __future__ import annotations

import string
from typing import Any

from libsparse._compiler import target
from libsparse._lang.operations import ARITY
from libsparse._lang.records import NamedTuple
from libsparse._ops.mean_notation import Mean

from .graph import Node
from .terms import Indices, Term, entries, scaled_rows, spread

_REGISTERS = frozenset({"abs", "neg", "sqrt", "square"})
"""Functions that processors compute in vector registers."""
_COMPOSED = frozenset({"leaky_relu", "reciprocal", "rsqrt"})
"""Functions of a few such operations, in kernels that no pack has."""
_APPROXIMATED = frozenset({"asinh", "atan", "cos", "erf", "exp", "expm1", "log", "log1p", "sin", "sinh", "tanh"})
_APPROXIMATED |= {"elu", "gelu", "sigmoid", "silu"}
"""Functions that kernels compute in vector registers where the C library does.

Elsewhere they are calls for one element at a time, which take longer than torch's second pass over the result.
"""
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_MOST = 20  # operands of one expression


class Step(NamedTuple):
    """One elementwise operation after a product.

    Attributes:
        op: The operation.
        other: Its other operand, None where it has one.
        first: Whether the product is the first of its operands.
    """

    op: str
    other: Any = None
    first: bool = True


class Group(NamedTuple):
    """Operations that one expression computes.

    Attributes:
        kind: "product", "epilogue", "entries", "reduced" or "attention".
        node: The operation whose result the group computes.
        covered: Its operations.
        reads: What it reads, with indices.
        output: The indices of the result.
        text: The right side of the expression, with a place for the name of each of `reads`.
        term: The product in it.
        steps: The elementwise operations after the product.
        mean: The mean of an "attention".
    """

    kind: str
    node: Node
    covered: list[Node]
    reads: list[tuple[Node, Indices]]
    output: Indices
    text: str
    term: Term | None = None
    steps: tuple[Step, ...] = ()
    mean: Mean | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what the group reads."""
        return tuple(string.ascii_uppercase[: len(self.reads)])

    @property
    def expression(self) -> str:
        """The assignment that computes the group."""
        if self.mean is not None:
            return self.mean.text
        accesses = [
            f"{name}({','.join(indices)})" if indices else name
            for name, (_, indices) in zip(self.names, self.reads, strict=True)
        ]
        return f"y({','.join(self.output)}) = {self.text.format(*accesses)}"


def _is_computed(op: str) -> bool:
    """Whether kernels compute an elementwise operation as fast as torch does."""
    if op in SIGNS or op in _REGISTERS:
        return True
    known = op in _COMPOSED or (op in _APPROXIMATED and target.has_vector_functions())
    return known and target.has_compiler()


def match(node: Node) -> Group | None:
    """The group whose result is that of an operation; None where it is computed by itself."""
    known = _is_computed(node.op) or (not node.sparse and node.op in ("relu", "sum"))
    if node.op in ARITY and not known:
        node.reason = "torch computes this function of several elements at once, faster than a kernel would"
        return None
    group = _sparse(node) if node.sparse else _dense(node)
    return group if group is not None and len(group.reads) <= _MOST else None


def _sparse(node: Node) -> Group | None:
    if node.op == "matmul" and scaled_rows(node) is None:
        node.reason = "the pattern of a product of two sparse matrices is found while it is computed"
        return None
    letters = tuple("ijklmnop"[: len(node.shape)])
    term = entries(node, letters, node)
    if term.sums or any(covered.op == "matmul" for covered in term.covered):
        return _product_group(node, term, letters)
    found = _Entries(node, letters)
    if len(found.covered) < 2:
        node.reason = "it is one operation on stored values, with nothing before it that only it reads"
        return None
    reads, text = found.ordered()
    return Group("entries", node, found.covered, reads, letters, text)


def _dense(node: Node) -> Group | None:
    if node.op == "sum":
        return _reduced(node)
    if _averages(node):
        return _attention(node)
    chain = _chain(node, node)
    if chain is None:
        node.reason = "no product of a sparse and a dense matrix comes before it that only it reads"
        return None
    product = chain.pop()[0]
    term, output = _contraction(product)
    if chain:
        steps = [step for _, step in reversed(chain)]
        return _epilogue(node, term, output, steps, [link for link, _ in chain])
    if len(term.covered) < 2:
        node.reason = "it is one product, which its own kernel computes"
        return None
    return _product_group(node, term, output)


def _reduced(node: Node) -> Group | None:
    """The sums over rows or columns of elementwise operations on stored values."""
    whole, dim = node.args
    letters: Indices = ("i", "j")
    if whole.is_inner(node):
        found = _Entries(whole, letters)
        if found.covered:
            output = letters[1 - dim : 2 - dim]
            reads, text = found.ordered()
            return Group("reduced", node, [node, *found.covered], reads, output, text)
    node.reason = "no elementwise operations come before it that only it reads"
    return None


def _averages(node: Node) -> bool:
    """Whether an operation is the product of a dense matrix with the softmax of scores, which only it reads."""
    if node.op != "matmul" or node.sparse or not node.args[0].sparse:
        return False
    weights, value = node.args
    pattern = weights.pattern
    known = pattern is not None and not pattern.format.pads
    return weights.op == "softmax" and weights.is_inner(node) and known and len(value.shape) == 2 and not value.sparse


def _attention(node: Node) -> Group:
    """A mean weighted by the softmax of scores at entries."""
    weights, value = node.args
    scores = weights.args[0]
    term = Term(("i", "j"))
    term = entries(scores, ("i", "j"), scores) if scores.is_inner(weights) else term
    if not term.factors:
        term.times(scores, ("i", "j"))
    mean = Mean(tuple([indices for _, indices in term.factors]), ("j", "k"), ("i", "k"), tuple(term.numbers))
    covered = [node, weights, *term.covered]
    return Group(
        "attention", node, covered, [*term.factors, (value, ("j", "k"))], mean.output, mean.text, term, mean=mean
    )


def _chain(node: Node, top: Node) -> list[tuple[Node, Step]] | None:
    """The elementwise operations from one down to a product, and that at the end; None where there is none."""
    if node.op == "matmul":
        if _averages(node):
            return None
        return [(node, Step("matmul"))] if any(arg.sparse for arg in node.args) else None
    if node.op != "relu" and not _is_computed(node.op):
        return None
    for place, arg in enumerate(node.args):
        if isinstance(arg, Node) and not arg.sparse and arg.shape == top.shape and arg.is_inner(node):
            rest = _chain(arg, top)
            if rest is not None:
                other = node.args[1 - place] if len(node.args) == 2 else None
                return [(node, Step(node.op, other, place == 0)), *rest]
    return None


def _contraction(product: Node) -> tuple[Term, Indices]:
    """A product of a sparse and a dense matrix as a term, and the indices of its result."""
    a, b = product.args
    sparse_first = a.sparse
    term = entries(a if sparse_first else b, ("i", "j") if sparse_first else ("j", "k"), product, samples=False)
    if sparse_first:
        dense: Indices = ("j", "k")[: len(b.shape)]
        output: Indices = ("i", "k")[: len(b.shape)]
        term.times(b, dense)
    else:
        output = ("i", "k")
        term.times(a, ("i", "j"))
    term.sums = ("j",)
    term.covered.insert(0, product)
    return term, output


def _product_group(node: Node, term: Term, output: Indices) -> Group:
    return Group("product", node, term.covered, term.factors, output, _product_text(term), term)


def _product_text(term: Term, begin: int = 0) -> str:
    places = [f"{{{begin + n}}}" for n in range(len(term.factors))]
    return " * ".join([*map(number, term.numbers), *places])


def number(value: Any) -> str:
    """A number in the notation."""
    return f"({value!r})" if value < 0 else repr(value)


def _epilogue(node: Node, term: Term, output: Indices, steps: list[Step], covered: list[Node]) -> Group:
    """A product with elementwise operations on its elements."""
    reads = list(term.factors)
    # Beside a number, rows without entries are 0.
    text = f"(sum({_product_text(term)}) + 0)"
    for step in steps:
        other = ""
        if isinstance(step.other, Node):
            other = f"{{{len(reads)}}}"
            reads.append((step.other, spread(step.other.shape, node.shape, output)))
        elif step.other is not None:
            other = number(step.other)
        text = (
            _applied(step.op, *([text, other] if step.first else [other, text])) if other else _applied(step.op, text)
        )
    return Group("epilogue", node, [*covered, *term.covered], reads, output, text, term, tuple(steps))


def _applied(op: str, *args: str) -> str:
    return f"({args[0]} {SIGNS[op]} {args[1]})" if op in SIGNS else f"{op}({', '.join(args)})"


class _Entries:
    """Elementwise operations on stored values: sparse tensors of one pattern, dense ones that are repeated, numbers."""

    def __init__(self, node: Node, letters: Indices) -> None:
        self.node, self.letters = node, letters
        self.covered: list[Node] = []
        self.reads: list[tuple[Node, Indices]] = []
        self.text = self._of(node, node)

    def ordered(self) -> tuple[list[tuple[Node, Indices]], str]:
        """What the operations read, sparse tensors first: the result has the pattern of the first; and the text."""
        order = sorted(range(len(self.reads)), key=lambda n: not self.reads[n][0].sparse)
        text = self.text.format(*(f"{{{order.index(n)}}}" for n in range(len(order))))
        return [self.reads[n] for n in order], text

    def _of(self, arg: Any, user: Node) -> str:
        if not isinstance(arg, Node):
            return number(arg)
        inner = arg is user or (arg.sparse and arg.is_inner(user))
        if not inner or not _is_computed(arg.op) or self._samples(arg):
            self.reads.append((arg, self.letters if arg.sparse else spread(arg.shape, self.node.shape, self.letters)))
            return f"{{{len(self.reads) - 1}}}"
        self.covered.append(arg)
        return _applied(arg.op, *[self._of(part, arg) for part in arg.args])

    def _samples(self, arg: Node) -> bool:
        """Whether an operation is a product of dense matrices at the entries of a mask, which is a group of its own."""
        return any(
            isinstance(part, Node) and part.op == "matmul" and not part.sparse and part.value is None
            for part in arg.args
        )
