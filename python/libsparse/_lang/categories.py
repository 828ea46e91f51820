"""Which expressions have complex values, as the compiler computes them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from . import assignment, operations, user_functions
from .assignment import Access, Call, Expr
from .user_functions import Definition


class Categories:
    """Says of the parts of expressions on given operands whether they are complex."""

    def __init__(self, complexes: Collection[str], functions: Sequence[Definition]) -> None:
        """Take the names of the complex operands, and the user's functions that are called."""
        self._complexes = complexes
        self._functions = {definition.name: definition for definition in functions}
        self._known: dict[int, tuple[Expr, bool]] = {}  # with the expression, so that its id stays its own
        self._calls: dict[tuple[str, tuple[bool, ...]], bool] = {}

    def add(self, functions: dict[str, Definition]) -> None:
        """Takes along functions that were derived since."""
        self._functions.update(functions)

    def is_complex(self, expr: Expr) -> bool:
        """Whether an expression is complex; without recursion where sums are deep."""
        if not self._complexes:
            return False
        known = self._known.get(id(expr))
        if known is None:
            for node in reversed(list(assignment.walk(expr))):
                if id(node) not in self._known:
                    self._known[id(node)] = node, self._node(node)
            known = self._known[id(expr)]
        return known[1]

    def _node(self, node: Expr) -> bool:
        if isinstance(node, Call):
            return self._call(node.op, tuple([self._known[id(arg)][1] for arg in node.args]))
        return isinstance(node, Access) and node.name in self._complexes

    def _call(self, op: str, args: tuple[bool, ...]) -> bool:
        if op not in self._functions:
            return any(args) and op not in operations.PARTS
        if (op, args) not in self._calls:
            definition = self._functions[op]
            complexes = [name for name, arg in zip(definition.params, args, strict=False) if arg]
            inside = Categories(complexes, tuple(self._functions.values()))
            bodies = [user_functions.body(body, self._functions) for _, body in definition.cases]
            self._calls[op, args] = any(inside.is_complex(body) for body in bodies)
        return self._calls[op, args]
