"""The grammar of assignments: TACO's notation, read into the trees of `assignment`.

The compiler reads the same in Go (`libsparse/index`), but for parts that Python replaces first: bounds
that are left out or counted from the end, and coordinates selected one by one. Reading it here too keeps Go out of warm
calls; a test gives both a corpus of texts.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence

from . import operations
from .assignment import Access, Call, Expr, Number, Part, Selection, Statement, Window
from .errors import FormatError

_TOKEN = r"\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_][A-Za-z_0-9]*)|(//|\S)|$)"
_HINTS = {
    "**": "a power is pow(x, y)",
    "^": "a power is pow(x, y), and exclusive or xor(x, y)",
    **{sign: f"write {name}(x, y)" for sign, name in operations.COMPARISONS.items()},
    "==": "an assignment has one =, and a comparison is eq(x, y)",
    ":=": "an assignment is written with =",
    **{sign: f"write {name}(x, y)" for sign, name in (("&", "and"), ("|", "or"))},
    "!": "write not(x)",
    "~": "write not(x)",
    "?": "a choice is where(condition, x, y)",
    "@": "a product names its indices: A(i,j) * x(j)",
    "[": "indices stand in parentheses: y(i)",
}
_MOST = 20_000  # tokens: trees are as deep as sums are long, and Python hashes them recursively
_DEEPEST = 100  # parentheses and signs in each other, so that it does not depend on how deep the program is that calls


@functools.lru_cache(maxsize=1024)
def parse(text: str, functions: tuple[str, ...] = ()) -> tuple[Statement, ...]:
    """The statements of a program that may call the user's functions of these names.

    Raises:
        FormatError: `text` is malformed.
    """
    parser = _Parser(text, functions)
    if len(parser.tokens) > _MOST:
        raise FormatError(f"{text[:80]!r}...: more than {_MOST} names and signs; name a part and compute it first")
    try:
        found = [parser.statement()]
        while parser.accept(";") and parser.peek():
            found.append(parser.statement())
    except RecursionError:
        raise parser.too_deep() from None
    parser.end()
    return tuple(found)


@functools.lru_cache(maxsize=1024)
def expression(text: str, functions: tuple[str, ...] = ()) -> Expr:
    """A single expression, such as the body of a function.

    Raises:
        FormatError: `text` is malformed.
    """
    parser = _Parser(text, functions)
    found = parser.sum()
    parser.end()
    return found


class _Parser:
    """Recursive descent; each method reads the part of its name."""

    def __init__(self, text: str, functions: Sequence[str]) -> None:
        self.text = text
        self.functions = functions
        self.tokens = [match for match in re.finditer(_TOKEN, text) if match.end() > match.start()]
        self.at = 0
        self.depth = 0

    def peek(self, ahead: int = 0) -> str:
        """The next token, "" at the end."""
        at = self.at + ahead
        return self.tokens[at].group().strip() if at < len(self.tokens) else ""

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
        return FormatError(f"{self.text!r}: expected {wanted} at column {column}, found {found}{self.hint()}")

    def too_deep(self) -> FormatError:
        return FormatError(f"{self.text[:80]!r}...: nested too deeply; name a part and compute it first")

    def hint(self) -> str:
        """How the notation says what a sign of Python or of C says, as half a sentence; empty for other tokens."""
        sign, after = self.peek(), self.peek(1)
        before = self.tokens[self.at - 1].group().strip() if self.at else ""
        found = next((_HINTS[text] for text in (before + sign, sign + after, sign) if text in _HINTS), "")
        return f"; {found}" if found else ""

    def name(self, wanted: str) -> str:
        token = self.peek()
        if not (token and self.tokens[self.at].group(2)):
            raise self.unexpected(wanted)
        self.at += 1
        return token

    def statement(self) -> Statement:
        target = self.access(self.name("the name of the result"))
        sign = self.accept(*operations.REDUCTIONS, "-", "/")
        self.expect("=")
        return Statement(target, sign, self.sum())

    def sum(self) -> Expr:
        return self.binary(self.product, "+", "-")

    def product(self) -> Expr:
        return self.binary(self.factor, "*", "/", *operations.NAMED_SIGNS)

    def binary(self, operand: Callable[[], Expr], *ops: str) -> Expr:
        left = operand()
        while op := self.accept(*ops):
            left = Call(operations.NAMED_SIGNS.get(op, op), (left, operand()))
        return left

    def factor(self) -> Expr:
        if self.depth == _DEEPEST:
            raise self.too_deep()
        self.depth += 1
        found = self.operand()
        self.depth -= 1
        return found

    def operand(self) -> Expr:
        if self.accept("-"):
            return Call("neg", (self.factor(),))
        if self.accept("("):
            inner = self.sum()
            self.expect(")")
            return inner
        token = self.peek()
        if token and self.tokens[self.at].group(1):
            whole = token.isdigit() and len(token) < 20 and int(token) < 2**63
            number = int(token) if whole else float(token)
            if math.isinf(number):
                raise self.unexpected("a number that float64 holds (infinity is passed under a name)")
            self.at += 1
            return Number(number)
        name = self.name("a tensor, a number or a parenthesis")
        if self.peek() in ("(", "[") and name in operations.ALIASES and name not in self.functions:
            name = operations.ALIASES[name]
        if self.peek() in ("(", "[") and (name in operations.ARITY or name in self.functions):
            return self.access(name) if name == "sum" and self.names_follow() else self.call(name)
        return self.access(name)

    def names_follow(self) -> bool:
        """Whether only index variables are in the next parentheses: then `sum(i,j)` is an access to a tensor."""
        at = self.at + 1
        while at < len(self.tokens) and (self.tokens[at].group(2) or self.tokens[at].group().strip() == ","):
            at += 1
        return at < len(self.tokens) and self.tokens[at].group().strip() == ")"

    def call(self, name: str) -> Call:
        region = ""
        if self.accept("["):
            start = self.tokens[self.at - 1].end()
            while self.peek() not in ("]", ""):
                self.at += 1
            region = self.text[start : self.tokens[self.at].start()].strip() if self.peek() else ""
            self.expect("]")
        self.expect("(")
        args = [self.sum()]
        while self.accept(","):
            args.append(self.sum())
        self.expect(")")
        wanted = operations.ARITY.get(name, len(args))
        defaults = operations.DEFAULTS.get(name, ())
        if wanted - len(defaults) <= len(args) < wanted:
            args += map(expression, defaults[len(args) - wanted :])
        if len(args) != wanted:
            counted = f"{wanted} argument{'' if wanted == 1 else 's'}"
            hint = ": what is summed, over the indices that nothing else has" if name == "sum" else ""
            raise FormatError(f"{self.text!r}: {name} takes {counted}{hint}, not {len(args)}")
        return Call(name if region else operations.SIGN_OF.get(name, name), tuple(args), region)

    def access(self, name: str) -> Access:
        indices: list[str] = []
        windows: list[Part] = []
        if self.accept("(") and not self.accept(")"):
            while True:
                if self.peek() == ":":
                    raise FormatError(
                        f"{self.text!r}: {name} has ':' for an index; name one for each dimension, such as "
                        f"{name}(i,j): a name in the result is kept, others are summed over"
                    )
                indices.append(self.name("an index variable"))
                windows.append(self.window(name))
                if not self.accept(","):
                    break
            self.expect(")")
        return Access(name, tuple(indices), tuple(windows) if any(w is not None for w in windows) else ())

    def window(self, name: str) -> Part:
        if not self.accept("("):
            return None
        if self.accept("["):
            places = [self.whole()]
            while self.accept(","):
                places.append(self.whole())
            self.expect("]")
            self.expect(")")
            return Selection(tuple(places))
        if name in operations.OF_TENSORS:
            raise FormatError(
                f"{self.text!r}: functions take single elements, and {name} takes many; use torch's {name} of the "
                "tensor, or several statements, as "
                "e(i,j) = stored(A(i,j)) * exp(A(i,j)); s(i) = e(i,j); y(i,j) = e(i,j) / s(i)"
            )
        if (token := self.peek()) not in (":", "-") and not token.isdigit():
            raise FormatError(
                f"{self.text!r}: there is no function {name!r}{operations.suggestion(name)}; ls.register adds some "
                f"of your own. Numbers and a colon follow an index, as in i(2:4), not {token!r}"
            )
        bounds = [self.bound()]
        self.expect(":")
        bounds.append(self.bound())
        bounds.append(self.bound() if self.accept(":") else None)
        self.expect(")")
        return Window(*bounds)

    def bound(self) -> int | None:
        return None if self.peek() in (":", ")") else self.whole()

    def whole(self) -> int:
        sign = -1 if self.accept("-") else 1
        token = self.peek()
        if not token.isdigit():
            raise self.unexpected("a whole number")
        self.at += 1
        return sign * int(token)
