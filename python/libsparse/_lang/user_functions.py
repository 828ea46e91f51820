"""Functions of the user that expressions can call: their definitions travel to the compiler as text, in requests."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping

from . import assignment, grammar, operations
from .assignment import Access, Call, Expr
from .errors import DtypeError, FormatError
from .records import NamedTuple

_HEAD = r"(?a)\s*([A-Za-z_]\w*)\s*\(\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*\)\s*"
_REGION = r"(?a)[A-Za-z_]\w*|[&|^~()\s]"
_MOST = 6  # parameters


class Definition(NamedTuple):
    """A function: its value is the body beside the first region of `cases` that holds; "" is the region of the body."""

    name: str
    params: tuple[str, ...]
    cases: tuple[tuple[str, str], ...]

    def describe(self) -> dict[str, object]:
        """The definition as a request has it."""
        cases = [{"region": region, "body": body} for region, body in self.cases]
        return {"name": self.name, "params": list(self.params), "cases": cases}


_known: dict[str, Definition] = {}
_versions = itertools.count(1)
_version = 0


def register(head: str, body: str | Mapping[str, str], region: str | None = None) -> None:
    """Makes a function that the expressions of `evaluate` can call.

    Where it has a value is a Boolean expression over which arguments do: `&`, `|`, `^`, `~` and parentheses over the
    parameters, or `every`, `some`, `all`. An argument without a value counts as zero. Without a region a function has
    one where its body, written out in its place, would.

        ls.register("unvisited(front, seen)", "front", region="front & ~seen")
        ls.register("merge(a, b)", {"a & b": "a * b", "a": "a", "b": "-b"})

    Args:
        head: The name and the parameters.
        body: An expression over the parameters, or one for each of several regions: the first that holds counts.
        region: The region of a single body.

    Raises:
        FormatError: Something of that is malformed, or the name is that of a function of the compiler.

    Example:
        >>> ls.register("twice(x)", "x + x")
        >>> ls.evaluate("y(i) = twice(a(i))", a=torch.ones(2)).tolist()
        [2.0, 2.0]
        >>> ls.unregister("twice")
    """
    if not isinstance(head, str):
        raise DtypeError(f"register: head is a {type(head).__name__}; expected a string such as 'f(a, b)'")
    found = re.fullmatch(_HEAD, head)
    if found is None:
        raise FormatError(f"register: {head!r} is no head of a function; write such as 'f(a, b)'")
    name, params = found[1], tuple(part.strip() for part in found[2].split(","))
    if name in operations.ARITY:
        raise FormatError(f"register: {name!r} is a function of the compiler; choose another name")
    if len(set(params)) < len(params) or len(params) > _MOST:
        raise FormatError(f"register: {head!r} needs different parameters, {_MOST} at most")
    cases = tuple(body.items()) if isinstance(body, Mapping) else ((region or "", body),)
    if not cases or (isinstance(body, Mapping) and region is not None):
        raise FormatError(f"register {name!r}: give one body and its region, or a body for each region")
    definition = Definition(name, params, cases)
    for where, value in cases:
        _check(definition, where, value)
    if any(name in (d.name, *_calls(d)) for d in needed(_calls(definition))):
        raise FormatError(f"register {name!r}: its body calls it again")
    _known[name] = definition
    _change()


def unregister(name: str) -> None:
    """Forgets a function.

    Raises:
        FormatError: There is none of this name.

    Example:
        >>> ls.register("half(x)", "x / 2")
        >>> ls.unregister("half")
    """
    if _known.pop(name, None) is None:
        raise FormatError(f"unregister: there is no function {name!r}")
    _change()


def version() -> int:
    """A number that is another one after every change."""
    return _version


def _change() -> None:
    global _version
    _version = next(_versions)


def names() -> tuple[str, ...]:
    """The names of the user's functions."""
    return tuple(_known)


def needed(called: Iterable[str], extra: Mapping[str, Definition] | None = None) -> tuple[Definition, ...]:
    """The definitions of functions and of the functions that they call, callees first."""
    known = {**_known, **(extra or {})}
    found: dict[str, Definition] = {}

    def visit(name: str) -> None:
        if name in known and name not in found:
            for other in _calls(known[name], known):
                visit(other)
            found[name] = known[name]

    for name in called:
        visit(name)
    return tuple(found.values())


def calls(expr: Expr) -> list[str]:
    """The functions that an expression calls."""
    return [node.op for node in assignment.walk(expr) if isinstance(node, Call)]


def body(value: str, functions: Iterable[str]) -> Expr:
    """The body of a case as a tree, whose parameters are accesses without indices."""
    return grammar.expression(value, tuple(functions))


def _calls(definition: Definition, known: Collection[str] = ()) -> list[str]:
    return [op for _, value in definition.cases for op in calls(body(value, (*names(), *known)))]


def _check(definition: Definition, region: str, value: str) -> None:
    """Raises a FormatError where a case is malformed as far as can be said without the compiler."""
    words = re.findall(_REGION, region)
    unknown = [w for w in words if w[0].isalpha() and w not in (*definition.params, "every", "some", "all")]
    if "".join(words) != region or unknown:
        raise FormatError(
            f"register {definition.name!r}: {region!r} is no region over {', '.join(definition.params)}; write such as "
            f"'{definition.params[0]} & ~{definition.params[-1]}'"
        )
    for node in assignment.walk(body(value, names())):
        if isinstance(node, Access) and (node.indices or node.name not in definition.params):
            raise FormatError(
                f"register {definition.name!r}: {node.name!r} in {value!r} is neither a parameter nor a function"
            )
