"""Outlines: what requests have in common where the problem and the formats of its operands are the same."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from libsparse._compiler import size_classes
from libsparse._storage.format import Format

from .problem import Operand, Problem


class Outline:
    """The parts of a request that only depend on the problem and on the formats of its operands.

    Equal only to itself, and stands for these two in signatures: their own hashes take longer.

    Attributes:
        classes: For each mode of each operand, the function from its extent to the class.
        entries: The function from entries and rows to their class.
        several: Whether several operands are sparse.
        scatters: Whether rows, or sums, are added to a dense result all over it where its operand is read as it is.
        dense: The numbers of the operands that are not.
        across: The number of a dense operand that a product of two matrices reads across its rows; None of others.
        merges: Whether the entries of two operands are merged, and each is written once.
    """

    __slots__ = ("across", "classes", "dense", "entries", "merges", "scatters", "several")

    def __init__(self, problem: Problem, formats: tuple[Format | None, ...]) -> None:
        """Work out what doesn't depend on shapes."""
        self.dense = tuple([number for number, format in enumerate(formats) if format is None])
        self.several = len(formats) - len(self.dense) > 1
        extent = size_classes.extent
        self.entries = size_classes.entries if self.several else size_classes.entries_alone
        if problem.temporary:
            extent, self.entries = size_classes.finely, size_classes.finely_entries
        varying, width = _varying(problem, formats), size_classes.width
        self.classes = tuple([tuple([extent if i in varying else width for i in term]) for term in problem.inputs])
        dense = (problem.output_format is None or problem.output_format.is_dense) and problem.pattern_of is None
        adds = len(problem.output) > 1 or len(formats) == len(problem.output)  # rows, or sums
        self.scatters = dense and adds and not self.several and _crosses(problem, formats)
        self.across = _across(problem, formats)
        self.merges = len(formats) == 2 and self.several and set(problem.inputs) == {problem.output}

    def entries_of(self, sums: bool) -> Callable[[int, int], int]:
        """The function from entries and rows to their class, where rows are summed by entries or not."""
        return size_classes.entries_summed if sums and self.entries is size_classes.entries_alone else self.entries


_outline: Callable[[Problem, tuple[Format | None, ...]], Outline] = functools.lru_cache(maxsize=4096)(Outline)


def outline_of(problem: Problem, operands: Sequence[Operand]) -> Outline:
    """The parts of a request that depend on the problem and on the formats of its operands."""
    return _outline(problem, tuple([None if o.pattern is None else o.pattern.format for o in operands]))


def _crosses(problem: Problem, formats: Sequence[Format | None]) -> bool:
    """Whether an index that is summed over is stored before one of the result's."""
    for indices, format in zip(problem.inputs, formats, strict=True):
        kept = [] if format is None else [indices[mode] in problem.output for mode in format.order]
        if kept != sorted(kept, reverse=True):
            return True
    return False


def _varying(problem: Problem, formats: Sequence[Format | None]) -> set[str]:
    """The indices whose extents differ from one mini-batch to the next: those down to the last sparse level."""
    found: set[str] = set()
    for indices, format in zip(problem.inputs, formats, strict=True):
        if format is not None:
            last = max([n for n, level in enumerate(format.kinds) if not (level.full and level.ordered)], default=-1)
            found.update([indices[mode] for mode in format.order[: last + 1]])
    return found


def _across(problem: Problem, formats: Sequence[Format | None]) -> int | None:
    """The number of X in `X(i,j) * A(k,j)` or `X(i,j) * A(j,k)` of the one sparse operand, summed to (i,k)."""
    sparse = [terms for terms, format in zip(problem.inputs, formats, strict=True) if format is not None]
    plain = problem.output_format is None or problem.output_format.text == "dd"
    if len(sparse) != 1 or not plain or problem.reduce != "sum" or problem.combine != "mul":
        return None
    for number, terms in enumerate(problem.inputs):
        if formats[number] is None and len(terms) == len(problem.output) == 2 and problem.output[0] == terms[0]:
            summed, kept = terms[1], problem.output[1]
            if kept != summed and set(sparse[0]) == {summed, kept}:
                return number
    return None
