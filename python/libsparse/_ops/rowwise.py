"""Numbers at the entries of a pattern that depend on their rows, by one kernel that goes through the rows once."""

from __future__ import annotations

import functools
import math
import re
import string

from torch import Tensor

from libsparse._autograd import tape
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.conversion import with_dense
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from .reductions import Groups

_READ = re.compile(r"\{(\w)\}")


def applies(pattern: Pattern, kept: tuple[int, ...], *values: Tensor) -> bool:
    """Whether the dimensions `kept` of a pattern are its rows, outermost in its format, and those of its blocks."""
    format = pattern.format
    rows, blocks = _sides(format, kept)
    if not rows or format.padded or any(not tensor.is_floating_point() for tensor in values):
        return False
    if len(rows) + len(blocks) < len(kept):
        return False
    # Graphs don't know that several operands have one pattern.
    return not tape.is_seen([Operand(pattern, tensor) for tensor in values])


def block(pattern: Pattern, kept: tuple[int, ...]) -> int:
    """How many elements of the dimensions `kept` stand side by side at each entry."""
    return math.prod(pattern.shape[mode] for mode in _sides(pattern.format, kept)[1])


@functools.lru_cache(maxsize=256)
def _sides(format: Format, kept: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions among `kept` that are the outer ones of a format, and the inner ones: dense, with none between."""
    dense = [level == "d" and mode in kept for level, mode in zip(format.levels, format.order, strict=True)]
    outer = next((n for n, whole in enumerate(dense) if not whole), len(dense))
    inner = next((n for n, whole in enumerate(reversed(dense)) if not whole), 0)
    return format.order[:outer], format.order[len(dense) - inner :]


def folded(groups: Groups) -> Groups:
    """The same groups of a tensor whose inner dimensions are one, where several of them are dense and kept.

    The values are the same. Kernels go through one long loop for each entry in place of a short one in another.
    """
    source, pattern = groups.source, groups.source.sparsity
    format = pattern.format
    inner = _sides(format, groups.kept)[1]
    if len(inner) < 2 or pattern.traced:
        return groups
    modes = [mode for mode in range(pattern.ndim) if mode not in inner]
    order = [*(modes.index(mode) for mode in format.order if mode not in inner), len(modes)]
    levels = "".join([*format.levels[: -len(inner)], "d"])
    shape = (*(pattern.shape[mode] for mode in modes), block(pattern, groups.kept))
    found = with_dense(pattern, Format(f"{levels}:{','.join(map(str, order))}"), shape)
    return Groups(Operand(found, source.data, source.fill), [modes.index(mode) for mode in groups.dims])


def compute(text: str, pattern: Pattern, kept: tuple[int, ...], *values: Tensor) -> Tensor:
    """The values of a tensor with a pattern, by assignments.

    Args:
        text: The assignments: `{k}` stands for the indices of `kept`, `{P}` for an element of the pattern, `{0}`,
            `{1}` and so on for elements of tensors with that pattern, `{Y}` for one of the result.
        pattern: The pattern.
        kept: The dimensions that number the rows, and those of blocks.
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
    rows = tuple(f"i{mode}" for side in _sides(format, kept) for mode in side)
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
