"""Assignments in TACO's notation as trees; the compiler's own parser reads the same grammar."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, TypeAlias

from .errors import FormatError, UnsupportedError

_TOKEN = re.compile(r"\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_][A-Za-z_0-9]*)|(\S)|$)")

# The compiler's functions: those that keep integers what they are, and those of floating values only.
PARTS = frozenset({"abs", "real", "imag"})  # these make real values of complex ones
_EXACT = PARTS | {"min", "max", "and", "or", "first", "second", "conj", "floor", "ceil", "trunc", "round"}
_FLOATING = frozenset(
    {
        "sqrt",
        "cbrt",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "erf",
    }
)


class Access(NamedTuple):
    """An element of an operand; without indices a scalar, or an index variable as a value."""

    name: str
    indices: tuple[str, ...]


class Number(NamedTuple):
    """A literal: an int, or a float where it has a point or an exponent."""

    value: int | float


class Call(NamedTuple):
    """An operator (`+ - * /`, `neg`) or a function, and what it is applied to."""

    op: str
    args: tuple[Expr, ...]


Expr: TypeAlias = "Access | Number | Call"


class Product(NamedTuple):
    """A term: a number times the operands of these names."""

    factor: int | float
    names: tuple[str, ...]


@functools.lru_cache(maxsize=1024)
def parse(text: str) -> tuple[Access, Expr]:
    """The two sides of `lhs = expr`.

    Raises:
        FormatError: `text` is malformed.
    """
    parser = _Parser(text)
    left = parser.access(parser.name("the name of the result"))
    parser.expect("=")
    try:
        right = parser.sum()
    except RecursionError:
        raise FormatError(f"{text[:80]!r}...: nested too deeply; name a part and compute it first") from None
    parser.end()
    return left, right


def accesses(expr: Expr) -> dict[str, tuple[str, ...]]:
    """The indices of every name in an expression, in order of appearance; () for a scalar or an index variable.

    Raises:
        UnsupportedError: A name is accessed in two ways.
    """
    found: dict[str, tuple[str, ...]] = {}
    for node in walk(expr):
        if isinstance(node, Access) and found.setdefault(node.name, node.indices) != node.indices:
            raise UnsupportedError(f"{node.name!r} is accessed in two ways; pass it under two names")
    return found


def distinct(expr: Expr, operands: Collection[str]) -> tuple[Expr, dict[str, str]]:
    """An expression in which every operand is read once: where one is read again, it gets another name.

    Args:
        expr: The expression.
        operands: The names of operands.

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

    def rename(node: Expr) -> Expr:
        if isinstance(node, Call):
            return Call(node.op, tuple([rename(arg) for arg in node.args]))
        if isinstance(node, Number) or node.name not in operands:
            return node
        name, number = node.name, 1
        while name in origin or (number > 1 and name in taken):
            number += 1
            name = f"{node.name}_{number}"
        origin[name] = node.name
        return Access(name, node.indices)

    try:
        return rename(expr), origin
    except RecursionError:
        raise UnsupportedError(
            "an expression of so many terms reads each operand once; pass it under two names"
        ) from None


def text(expr: Expr) -> str:
    """An expression in TACO's notation."""
    if isinstance(expr, Number):
        return repr(expr.value)
    if isinstance(expr, Access):
        return f"{expr.name}({','.join(expr.indices)})" if expr.indices else expr.name
    args = [text(arg) for arg in expr.args]
    if expr.op == "neg":
        return f"-{args[0]}"
    return f"({args[0]} {expr.op} {args[1]})" if expr.op in "+-*/" else f"{expr.op}({', '.join(args)})"


def walk(expr: Expr) -> Iterator[Expr]:
    """Every node of an expression, from left to right."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.args) if isinstance(node, Call) else ())


def is_floating(op: str) -> bool:
    """Whether an operator makes floating values of integers."""
    return op == "/" or op in _FLOATING


def products(expr: Expr) -> list[Product]:
    """An expression multiplied out to a sum of products, each to be summed over its own indices, as the compiler does.

    Raises:
        UnsupportedError: There is something else in it than `+ - *` and division by numbers.
    """
    if isinstance(expr, Number):
        return [Product(expr.value, ())]
    if isinstance(expr, Access):
        return [Product(1, (expr.name,))]
    if expr.op not in ("+", "-", "*", "/", "neg"):
        raise UnsupportedError(f"{expr.op}() is not a sum of products")
    try:
        first, *rest = [products(arg) for arg in expr.args]
    except RecursionError:
        raise UnsupportedError("it has too many terms; compute it in several parts") from None
    if expr.op == "neg":
        return _scaled(first, -1)
    (second,) = rest
    if expr.op == "+":
        return first + second
    if expr.op == "-":
        return first + _scaled(second, -1)
    if expr.op == "*":
        return [Product(a.factor * b.factor, a.names + b.names) for a in first for b in second]
    divisor = sum(term.factor for term in second)
    if any(term.names for term in second) or divisor == 0:
        raise UnsupportedError("division by anything but a number other than 0 is not a sum of products")
    return _scaled(first, 1 / divisor)


def _scaled(terms: list[Product], factor: int | float) -> list[Product]:
    return [Product(term.factor * factor, term.names) for term in terms]


class _Parser:
    """Recursive descent; each method reads what it is named for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [match for match in _TOKEN.finditer(text) if match.end() > match.start()]
        self.at = 0

    def peek(self) -> str:
        """The next token, "" at the end."""
        return self.tokens[self.at].group().strip() if self.at < len(self.tokens) else ""

    def accept(self, *wanted: str) -> str:
        """Takes the next token if it is one of `wanted`; else ""."""
        token = self.peek()
        if token not in wanted:
            return ""
        self.at += 1
        return token

    def expect(self, wanted: str) -> None:
        if not self.accept(wanted):
            raise self.unexpected(repr(wanted))

    def end(self) -> None:
        if self.peek():
            raise self.unexpected("the end")

    def unexpected(self, wanted: str) -> FormatError:
        found = repr(self.peek()) if self.peek() else "the end"
        column = self.tokens[self.at].end() - len(self.peek()) + 1 if self.peek() else len(self.text) + 1
        return FormatError(f"{self.text!r}: expected {wanted} at column {column}, found {found}")

    def name(self, wanted: str) -> str:
        token = self.peek()
        if not (token and self.tokens[self.at].group(2)):
            raise self.unexpected(wanted)
        self.at += 1
        return token

    def sum(self) -> Expr:
        return self.binary(self.product, "+", "-")

    def product(self) -> Expr:
        return self.binary(self.factor, "*", "/")

    def binary(self, operand: Callable[[], Expr], *ops: str) -> Expr:
        left = operand()
        while op := self.accept(*ops):
            left = Call(op, (left, operand()))
        return left

    def factor(self) -> Expr:
        if self.accept("-"):
            return Call("neg", (self.factor(),))
        if self.accept("("):
            inner = self.sum()
            self.expect(")")
            return inner
        token = self.peek()
        if token and self.tokens[self.at].group(1):
            self.at += 1
            value = float(token)
            return Number(int(token) if token.isdigit() and value < 2**63 else value)
        name = self.name("a tensor, a number or a parenthesis")
        if (name in _EXACT or name in _FLOATING) and self.accept("("):
            args = [self.sum()]
            while self.accept(","):
                args.append(self.sum())
            self.expect(")")
            return Call(name, tuple(args))
        return self.access(name)

    def access(self, name: str) -> Access:
        indices: list[str] = []
        if self.accept("(") and not self.accept(")"):
            indices.append(self.name("an index variable"))
            while self.accept(","):
                indices.append(self.name("an index variable"))
            self.expect(")")
        return Access(name, tuple(indices))
