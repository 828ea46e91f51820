"""Swaps: other variants of a site's problem, made ready beside it, and put into its place."""

from __future__ import annotations

from collections.abc import Sequence

from libsparse._lang.errors import LibsparseError
from libsparse._lang.records import NamedTuple
from libsparse._runtime import dispatch
from libsparse._runtime.call import Call
from libsparse._runtime.problem import Operand
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from .sites import Site


class Candidate(NamedTuple):
    """A variant that could take a site's place.

    Attributes:
        variant: It.
        added: The number of each operand whose pattern was converted for it, and the format.
        bytes: The memory of these.
        converts: Whether it reads other formats than the present variant.
    """

    variant: Call
    added: list[tuple[int, Format]]
    bytes: int
    converts: bool


def prepare(site: Site, schedule: str | None) -> Candidate | None:
    """The variant of a schedule, or of the one that records have (None), with all that it reads in the pattern's place.

    None where there is none, or the site has it, or is gone.
    """
    prepared, operands = site.prepared(), site.operands()
    if prepared is None or operands is None:
        return None
    problem = prepared.problem if schedule is None else prepared.problem._replace(schedule=schedule)
    try:
        variant = dispatch.build(problem, operands)
        if not isinstance(variant, Call) or variant.kernel is prepared.kernel:
            return None
        own = prepared.kernel.convert
        added = [(n, f) for n, f in _formats(variant, operands) if f"format {f}" not in operands[n].sparsity.derived]
        _make_ready(variant, operands)
    except (LibsparseError, MemoryError):  # a compiler that is gone since
        return None
    read = {(id(operands[n].pattern), f): operands[n].sparsity.derived for n, f in added}
    bytes = sum(kept[f"format {f}"].bytes for (_, f), kept in read.items())
    return Candidate(variant, added, bytes, variant.kernel.convert != own)


def take_over(site: Site, candidate: Candidate) -> None:
    """Computes with a variant from the next call on."""
    prepared = site.prepared()
    if prepared is not None:
        prepared.replace(candidate.variant)
        site.copied, site.swapped = candidate.bytes, True


def drop(site: Site, candidate: Candidate) -> None:
    """Gives back the memory of formats that nothing else has read before."""
    operands = site.operands()
    if operands is not None:
        for number, format in candidate.added:
            operands[number].sparsity._kept.entries.pop(("format", format), None)


def go_back(site: Site) -> None:
    """Computes with what is known for the present number of threads."""
    prepared, operands = site.prepared(), site.operands()
    if prepared is not None and operands is not None:
        prepared.replace(dispatch.build(prepared.problem, operands))
        site.swapped, site.copied = False, 0


def _formats(variant: Call, operands: Sequence[Operand]) -> list[tuple[int, Format]]:
    """The formats of patterns that a variant reads in place of their own."""
    patterns: list[tuple[int, Format, Pattern | None]] = [
        (n, f, operands[n].pattern) for n, f in variant.kernel.convert.items()
    ]
    return [(n, f) for n, f, p in patterns if p is not None and p.format != f]


def _make_ready(variant: Call, operands: Sequence[Operand]) -> None:
    """Has a variant convert what it reads, so that no call has to."""
    for number, format in _formats(variant, operands):
        operands[number].sparsity.converted(format)
    if operands[0].pattern is not None and len(operands) == 2:
        variant.make_direct(operands)
