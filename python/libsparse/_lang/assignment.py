"""Assignments in TACO's notation as trees, which `grammar` reads; the compiler's own parser reads the same grammar."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeAlias

from . import operations
from .errors import IndexBoundsError, ShapeError, UnsupportedError
from .records import NamedTuple


class Window(NamedTuple):
    """The part `first:end:step` of a dimension; None for a bound that is left out."""

    first: int | None
    end: int | None
    step: int | None

    @property
    def slice(self) -> slice:
        """The part as Python has it."""
        return slice(self.first, self.end, self.step)

    @property
    def extent(self) -> int:
        """How many coordinates it has, once its bounds are known."""
        return len(range(self.first or 0, self.end or 0, self.step or 1))

    def resolved(self, extent: int, subject: str) -> Window:
        """The window with all bounds, of a dimension of this extent.

        Raises:
            ShapeError: It is no range.
            IndexBoundsError: It goes beyond the dimension.
        """
        first, end = (
            default if bound is None else bound + extent if bound < 0 else bound
            for bound, default in ((self.first, 0), (self.end, extent))
        )
        step = 1 if self.step is None else self.step
        if step < 1 or end < first:
            raise ShapeError(f"{subject}: the window {self} is no range first:end:step with a step of at least 1")
        if first < 0 or end > extent:
            raise IndexBoundsError(f"{subject}: the window {self} goes beyond the extent {extent}")
        return Window(first, end, step)

    def __str__(self) -> str:
        """The window as it is written behind an index."""
        bounds = ["" if bound is None else str(bound) for bound in self]
        return f"({':'.join(bounds[:2] if self.step in (None, 1) else bounds)})"


class Selection(NamedTuple):
    """Some coordinates of a dimension, in any order."""

    places: tuple[int, ...]

    @property
    def extent(self) -> int:
        """How many they are."""
        return len(self.places)

    def resolved(self, extent: int, subject: str) -> Selection:
        """The selection with coordinates from the start, of a dimension of this extent.

        Raises:
            IndexBoundsError: One is beyond the dimension.
        """
        for place in self.places:
            if not -extent <= place < extent:
                raise IndexBoundsError(f"{subject}: coordinate {place} is beyond the extent {extent}")
        return Selection(tuple(place % extent for place in self.places))

    def __str__(self) -> str:
        """The selection as it is written behind an index."""
        return f"([{','.join(map(str, self.places))}])"


Part: TypeAlias = "Window | Selection | None"


class Access(NamedTuple):
    """An element of an operand; without indices a scalar, or an index variable as a value.

    Attributes:
        name: The operand.
        indices: The index variable of each dimension.
        windows: The part of each dimension that is accessed, None for all of it; () if no dimension has one.
    """

    name: str
    indices: tuple[str, ...] = ()
    windows: tuple[Part, ...] = ()


class Number(NamedTuple):
    """A literal: an int, or a float where it has a point or an exponent."""

    value: int | float


class Call(NamedTuple):
    """An operator (`+ - * /`, `neg`) or a function, its arguments, and its region if it is given one."""

    op: str
    args: tuple[Expr, ...]
    region: str = ""


Expr: TypeAlias = "Access | Number | Call"


class Statement(NamedTuple):
    """`target = value`, or a reduction such as `target += value`; `sign` is the text before the equals sign."""

    target: Access
    sign: str
    value: Expr

    def __str__(self) -> str:
        """The statement in TACO's notation."""
        sign = (self.sign and f" {self.sign}= ") or " = "
        return text(self.target) + sign + text(self.value)


def accesses(expr: Expr) -> dict[str, Access]:
    """The access of every name in an expression, in order of appearance; scalars and index variables have no indices.

    Raises:
        UnsupportedError: A name is accessed in two ways.
    """
    found: dict[str, Access] = {}
    for node in walk(expr):
        if isinstance(node, Access) and found.setdefault(node.name, node) != node:
            raise UnsupportedError(f"{node.name!r} is accessed in two ways; pass it under two names")
    return found


def indices(expr: Expr) -> set[str]:
    """The index variables of the accesses in an expression."""
    return {index for node in walk(expr) if isinstance(node, Access) for index in node.indices}


def distinct(expr: Expr, operands: Collection[str]) -> tuple[Expr, dict[str, str]]:
    """An expression in which every operand is read once: where one is read again, it gets another name.

    Returns:
        The expression, and the operand that each of its names stands for, in order of appearance.

    Raises:
        UnsupportedError: It is too long.
    """
    names = [node.name for node in walk(expr) if isinstance(node, Access) and node.name in operands]
    origin = {name: name for name in names}
    if len(origin) == len(names):
        return expr, origin
    taken = {node.name for node in walk(expr) if isinstance(node, Access)} | set(operands)
    origin = {}

    def rename(node: Access) -> Access:
        if node.name not in operands:
            return node
        name = node.name
        if name in origin:
            name = fresh(name, taken)
            taken.add(name)
        origin[name] = node.name
        return node._replace(name=name)

    try:
        return replace(expr, rename), origin
    except RecursionError:
        raise UnsupportedError(
            "an expression of so many terms reads each operand once; pass it under two names"
        ) from None


def fresh(name: str, taken: Collection[str]) -> str:
    """A name that begins with `name` and is not in `taken`."""
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def replace(expr: Expr, change: Callable[[Access], Expr], but: str = "") -> Expr:
    """An expression with every access replaced by the result of `change`, other than in calls of the function `but`."""
    calls = []
    while isinstance(expr, Call) and expr.op != but:  # sums are deep to the left
        calls.append(expr)
        expr = expr.args[0]
    result = change(expr) if isinstance(expr, Access) else expr
    for call in reversed(calls):
        result = call._replace(args=(result, *[replace(arg, change, but) for arg in call.args[1:]]))
    return result


def text(expr: Expr) -> str:
    """An expression in TACO's notation."""
    if isinstance(expr, Number):
        return repr(expr.value) if expr.value >= 0 else f"({expr.value!r})"
    if isinstance(expr, Access):
        windows: Sequence[Part] = expr.windows or (None,) * len(expr.indices)
        parts = [i if w is None else f"{i}{w}" for i, w in zip(expr.indices, windows, strict=True)]
        return f"{expr.name}({','.join(parts)})" if expr.indices else expr.name
    if expr.op in operations.SIGNS:
        return _chain(expr)
    if expr.op == "neg" and not expr.region:
        return f"-{_operand(expr.args[0])}"
    return f"{expr.op}{expr.region and f'[{expr.region}]'}({', '.join(map(text, expr.args))})"


def _chain(expr: Expr) -> str:
    """A sum or a product of any length, which is a deep tree to the left."""
    calls = []
    while isinstance(expr, Call) and expr.op in operations.SIGNS:
        calls.append(expr)
        expr = expr.args[0]
    out, last = text(expr), ""
    for call in reversed(calls):
        if call.op in "*/" and last in ("+", "-"):
            out = f"({out})"
        out, last = f"{out} {call.op} {_operand(call.args[1])}", call.op
    return out


def _operand(expr: Expr) -> str:
    infix = isinstance(expr, Call) and expr.op in operations.SIGNS
    return f"({text(expr)})" if infix else text(expr)


def walk(expr: Expr, into_sums: bool = True) -> Iterator[Expr]:
    """Every node of an expression, from left to right; perhaps without the arguments of `sum(...)`."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Call) and (into_sums or node.op != "sum"):
            waiting.extend(reversed(node.args))
