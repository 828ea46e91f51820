"""Numbers at the entries of a pattern that depend on their rows, by one kernel that goes through the rows once."""

from __future__ import annotations

import functools
import re
import string

from torch import Tensor

from libsparse._autograd import tape
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

_READ = re.compile(r"\{(\w)\}")


def applies(pattern: Pattern, kept: tuple[int, ...], *values: Tensor) -> bool:
    """Whether the dimensions `kept` of a pattern are its rows: the outer ones of its format, and stored as a whole."""
    format, count = pattern.format, len(kept)
    if format.padded or any(not tensor.is_floating_point() for tensor in values):
        return False
    if count == 0 or sorted(format.order[:count]) != list(kept) or any(level != "d" for level in format.levels[:count]):
        return False
    # Graphs don't know that several operands have one pattern.
    return not tape.is_seen([Operand(pattern, tensor) for tensor in values])


def compute(text: str, pattern: Pattern, kept: tuple[int, ...], *values: Tensor) -> Tensor:
    """The values of a tensor with a pattern, by assignments.

    Args:
        text: The assignments: `{k}` stands for the indices of the rows, `{P}` for an element of the pattern, `{0}`,
            `{1}` and so on for elements of tensors with that pattern, `{Y}` for one of the result.
        pattern: The pattern.
        kept: The dimensions that number the rows.
        values: The values of `{0}`, `{1}`...
    """
    problem, read = _problem(text, pattern.format, kept)
    operands = [Operand(pattern, None if number is None else values[number]) for number in read]
    found, result = tape.compute(problem, operands)
    assert result is not None
    return pattern.resample(found, result)


@functools.lru_cache(maxsize=256)
def _problem(text: str, format: Format, kept: tuple[int, ...]) -> tuple[Problem, list[int | None]]:
    """The problem, and which values each of its operands has, None for those that are patterns."""
    rows = tuple(f"i{mode}" for mode in format.order[: len(kept)])
    names: list[str] = []
    read: list[int | None] = []
    inputs: list[tuple[str, ...]] = []
    statements = []
    for number, statement in enumerate(text.split(";")):
        # Each has names of its own for the indices within a row, so that schedules tell loops apart.
        letters = tuple(f"i{mode}" if mode in kept else f"j{number}{mode}" for mode in range(len(format.order)))

        def written(found: re.Match[str], letters: tuple[str, ...] = letters) -> str:
            what = found[1]
            if what == "k":
                return ",".join(rows)
            if what == "Y":
                return f"Y({','.join(letters)})"
            names.append(string.ascii_uppercase[len(names)])  # an operand is read once
            read.append(None if what == "P" else int(what))
            inputs.append(letters)
            return f"{names[-1]}({','.join(letters)})"

        statements.append(_READ.sub(written, statement))
    filled = ";".join(statements)
    problem = Problem(filled, True, tuple(names), tuple(inputs), letters, format, pattern_of=len(names) - 1)
    return problem, read
