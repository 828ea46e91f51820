"""Einsum specifications: torch's syntax, turned into one tuple of letters an operand."""

from __future__ import annotations

import functools
import string
from collections.abc import Sequence

from .errors import FormatError, ShapeError
from .records import NamedTuple

_LETTERS = string.ascii_lowercase + string.ascii_uppercase
_SUBLIST_LETTERS = string.ascii_uppercase + string.ascii_lowercase  # in the order of an implicit result


class Spec(NamedTuple):
    """The indices of each operand and of the result, ellipses and defaults written out."""

    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]


def from_sublists(given: Sequence[object]) -> tuple[str, list[object]]:
    """The specification, and the operands, of `A, [0, 1], B, [1, 2], [0, 2]`.

    Raises:
        FormatError: Something else is given.
    """
    pairs, result = (given[:-1], given[-1:]) if len(given) % 2 else (given, ())
    terms = [_letters(part) for part in pairs[1::2]]
    text = ",".join(terms)
    return (f"{text}->{_letters(result[0])}" if result else text), list(pairs[::2])


def _letters(sublist: object) -> str:
    if not isinstance(sublist, (list, tuple)):
        raise FormatError(f"einsum: expected a list of the indices of an operand, got {type(sublist).__name__}")
    letters = []
    for index in sublist:
        if index is Ellipsis:
            letters.append("...")
        elif isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(_LETTERS):
            letters.append(_SUBLIST_LETTERS[index])
        else:
            raise FormatError(f"einsum: {index!r} in {sublist!r} is no index; expected 0 to 51, or ...")
    return "".join(letters)


@functools.lru_cache(maxsize=1024)
def parse(text: str, ndims: tuple[int, ...]) -> Spec:
    """Parses a specification for operands of the given ranks.

    Args:
        text: Such as `"ij,jk->ik"`; spaces, `...` and a missing result are understood as torch does.
        ndims: The rank of each operand.

    Raises:
        FormatError: `text` is malformed.
        ShapeError: An operand has another rank than its letters say.
    """
    compact = "".join(text.split())
    left, arrow, right = compact.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise FormatError(f"einsum {text!r} names {len(terms)} operands, {len(ndims)} were given")
    for term in (*terms, right):
        _check(term, text)
    free = iter(letter for letter in _LETTERS if letter not in compact)
    widths = [_width(term, ndim, number) for number, (term, ndim) in enumerate(zip(terms, ndims, strict=True))]
    hidden = tuple(letter for letter, _ in zip(free, range(max(widths)), strict=False))
    inputs = tuple(_expand(term, hidden[len(hidden) - width :]) for term, width in zip(terms, widths, strict=True))
    if arrow:
        output = _expand(right, hidden if "..." in right else ())
        _check_output(output, inputs, text)
        return Spec(inputs, output)
    letters = "".join(terms).replace("...", "")
    once = tuple(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    return Spec(inputs, hidden + once)


def _check(term: str, text: str) -> None:
    letters = term.replace("...", "", 1)
    bad = next((c for c in letters if c not in _LETTERS), None)
    if bad is not None:
        raise FormatError(
            f"einsum {text!r}: unexpected {bad!r} in {term!r}; indices are letters, '...' stands for any number"
        )


def _width(term: str, ndim: int, number: int) -> int:
    letters = len(term.replace("...", ""))
    if letters == ndim or ("..." in term and letters < ndim):
        return ndim - letters
    raise ShapeError(
        f"operand {number} ({term!r}) has {ndim} dimensions and {letters} indices; give each dimension one index"
    )


def _expand(term: str, hidden: tuple[str, ...]) -> tuple[str, ...]:
    before, dots, after = term.partition("...")
    return (*before, *hidden, *after) if dots else tuple(before)


def _check_output(output: tuple[str, ...], inputs: tuple[tuple[str, ...], ...], text: str) -> None:
    known = {letter for term in inputs for letter in term}
    for letter in output:
        if letter not in known:
            raise FormatError(f"einsum {text!r}: index {letter!r} of the result is in no operand")
        if output.count(letter) > 1:
            raise FormatError(f"einsum {text!r}: index {letter!r} is twice in the result; each may be there once")
