"""The types of expressions, as torch promotes: tensors before tensors without dimensions before plain numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import torch

from . import assignment, dtypes, operations, user_functions
from .assignment import Access, Call, Expr
from .dtypes import Number
from .records import NamedTuple
from .user_functions import Definition


class Type(NamedTuple):
    """What an expression is made of: dtypes of tensors with and without dimensions, and numbers of each category."""

    tensors: torch.dtype | None = None
    scalars: torch.dtype | None = None
    numbers: tuple[Number, ...] = ()

    @property
    def is_complex(self) -> bool:
        """Whether a tensor in it is complex."""
        return any(dtype is not None and dtype.is_complex for dtype in self[:2])

    def dtype(self) -> torch.dtype | None:
        """The dtype that all of it promotes to; None where there is nothing but patterns."""
        if self.tensors is None or self.scalars is None:
            found = self.tensors or self.scalars
        else:
            sample = torch.empty(1, dtype=self.tensors, device="cpu")
            found = dtypes.whole(torch.result_type(sample, torch.empty((), dtype=self.scalars, device="cpu")))
        return dtypes.weakly(found, self.numbers)

    def real(self) -> Type:
        """The same with the parts of complex ones."""
        numbers = tuple(abs(n) if isinstance(n, complex) else n for n in self.numbers)
        tensors, scalars = self.tensors, self.scalars
        return Type(tensors and tensors.to_real(), scalars and scalars.to_real(), numbers)

    def logical(self) -> Type:
        """The type of truth values of such operands."""
        tensors, scalars = self.tensors and torch.bool, self.scalars and torch.bool
        return Type(tensors, scalars, () if tensors or scalars else (True,))


def merged(types: Iterable[Type]) -> Type:
    """The type of an expression of parts of these types."""
    found = list(types)
    return Type(
        dtypes.promote(t.tensors for t in found if t.tensors is not None),
        dtypes.promote(t.scalars for t in found if t.scalars is not None),
        tuple({(type(n), n): n for t in found for n in t.numbers}.values()),
    )


def counted(expr: Expr, kept: Collection[str] | None = None) -> tuple[Number, ...]:
    """The number that a sum adds to the type of an expression: truth values are counted, as by torch.sum.

    Args:
        expr: The expression.
        kept: The indices that are not summed over; None for an argument of `sum(...)`. Only what stands outside of
            `sum(...)` is summed over the others.
    """
    nodes = list(assignment.walk(expr, into_sums=False))
    summed = kept is None or any(not set(node.indices).issubset(kept) for node in nodes if isinstance(node, Access))
    logical = any(isinstance(node, Call) and node.op in operations.LOGICAL for node in nodes)
    return (1,) if summed and logical else ()


class Typing:
    """The types of expressions on given operands, with the user's functions that they call."""

    def __init__(self, given: Mapping[str, Type], functions: Iterable[Definition]) -> None:
        """Take the types of the operands, by name, and the functions."""
        self._given = given
        self._functions = {definition.name: definition for definition in functions}
        self._known: dict[int, tuple[Expr, Type]] = {}  # with the expression, so that its id stays its own
        self._calls: dict[tuple[str, tuple[Type, ...]], Type] = {}
        self._some_complex = any(type.is_complex for type in given.values())

    def add(self, functions: Mapping[str, Definition]) -> None:
        """Takes along functions that were derived since."""
        self._functions.update(functions)

    def is_complex(self, expr: Expr) -> bool:
        """Whether an expression is complex; literals are real."""
        return self._some_complex and self.of(expr).is_complex

    def of(self, expr: Expr) -> Type:
        """The type of an expression, from the leaves up without recursion: sums may have thousands of terms."""
        if id(expr) not in self._known:
            for node in reversed(list(assignment.walk(expr))):
                if id(node) not in self._known:
                    self._known[id(node)] = node, self._of(node)
        return self._known[id(expr)][1]

    def _of(self, node: Expr) -> Type:
        if isinstance(node, assignment.Number):
            return Type(numbers=(node.value,))
        if isinstance(node, Access):
            return self._given.get(node.name, Type())  # where it is not given it is an index variable as a value
        args = tuple([self._known[id(arg)][1] for arg in node.args])
        if node.op in self._functions:
            return self._defined(self._functions[node.op], args)
        if node.op in ("first", "second"):  # the other argument is only looked up
            return args[node.op == "second"]
        found = merged((*args, Type(numbers=counted(node.args[0])))) if node.op == "sum" else merged(args)
        if node.op in operations.LOGICAL:
            return found.logical()
        if operations.is_floating(node.op):
            found = found._replace(numbers=(*found.numbers, 1.0))
        return found.real() if node.op in operations.PARTS else found

    def _defined(self, definition: Definition, args: tuple[Type, ...]) -> Type:
        """The type of all bodies of a function: a result has one dtype wherever it is."""
        if (definition.name, args) not in self._calls:
            given = dict(zip(definition.params, args, strict=False))  # the compiler says where arguments are missing
            inside = Typing(given, self._functions.values())
            bodies = [user_functions.body(body, self._functions) for _, body in definition.cases]
            self._calls[definition.name, args] = merged(map(inside.of, bodies))
        return self._calls[definition.name, args]
