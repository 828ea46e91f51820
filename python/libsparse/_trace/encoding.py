"""Problems as text, which a graph of torch carries as a constant and which another process reads again."""

from __future__ import annotations

import functools
import json
from typing import Any

from libsparse._lang import dtypes
from libsparse._lang.assignment import Selection, Window
from libsparse._lang.user_functions import Definition
from libsparse._runtime.problem import Problem
from libsparse._storage.format import Format

_FIELDS = Problem._fields


@functools.lru_cache(maxsize=4096)
def to_text(problem: Problem) -> str:
    """A problem as JSON."""
    given: dict[str, Any] = problem._asdict()
    given["output_format"] = None if problem.output_format is None else problem.output_format.text
    given["dtype"] = None if problem.dtype is None else dtypes.code(problem.dtype)
    given["windows"] = [[None if w is None else [type(w).__name__, *w] for w in term] for term in problem.windows]
    return json.dumps(given, separators=(",", ":"))


@functools.lru_cache(maxsize=4096)
def from_text(text: str) -> Problem:
    """The problem that `to_text` wrote."""
    given = json.loads(text)
    for name in ("names", "output", "inputs", "shape"):
        given[name] = _tuples(given[name])
    given["output_format"] = None if given["output_format"] is None else Format(given["output_format"])
    given["dtype"] = None if given["dtype"] is None else dtypes.DTYPES[given["dtype"]]
    given["windows"] = tuple(tuple(map(_window, term)) for term in given["windows"])
    given["functions"] = tuple(Definition(*_tuples(function)) for function in given["functions"])
    return Problem(**given)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _window(given: Any) -> Any:
    if given is None:
        return None
    kind, *rest = given
    return Window(*rest) if kind == "Window" else Selection(_tuples(rest[0]))
