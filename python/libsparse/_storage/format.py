"""Formats: how the levels of a sparse tensor are stored, and in which order its modes are."""

from __future__ import annotations

import difflib
import functools
import math
import re
from collections.abc import Sequence
from typing import Final

import torch

from libsparse._lang.errors import FormatError
from libsparse._lang.records import cached_property

from . import levels
from .levels import Level, parsed

_RANKED: Final = ("coo", "csf", "dense")  # names whose letters depend on the rank
_NUMBERED: Final = r"([a-z]+)\s*\(\s*(\d{1,9}(?:\s*,\s*\d{1,9})*)\s*\)"  # re compiles it when it is first used
_LARGEST: Final = 1 << 16  # elements of a block, rows of a slice
_TEXTS: Final = {(n["name"], n["numbers"]): n["text"] for n in levels.NAMES}


@functools.cache
def _shown() -> list[tuple[str, int, re.Pattern[str]]]:
    """The names of formats, how many numbers each takes, and what the letters of each match."""
    return [
        (name, count, re.compile(re.sub(r"\\{(\d)\\}", r"(?P<n\1>\\d+)", re.escape(text))))
        for (name, count), text in _TEXTS.items()
    ]


class Format:
    """A storage format: one letter a level in storage order, and the mode each level stores.

    Hashable and equal by meaning, so `Format("csr") == Format("ds")`; a string is understood as a format, so
    `A.format == "csr"`. `coo`, `csf` and `dense` have no letters until the rank is known (`resolve`).

    Args:
        text: A name (`coo csr csc dcsr dcsc csf dense bsr(4,4) bsc(4,4) ell sell(32)
            sell(32,256) dia`) or letters (`d` dense, `s`
            compressed, `u` compressed not unique, `n` compressed with 16-bit coordinates (of modes of up to 2^15),
            `c` singleton not unique, `q` singleton, `b` bitmap, `h` hashed,
            `p` padded as in ELL, `l(32)` in slices as in SELL, `o` offset as in DIA, `k(4,4)` blocked as in BSR,
            `w(256)` dense but sorted within windows by their lengths as in SELL-C-sigma), with an optional mode
            order (`ds:1,0`, `csf:2,1,0`).

    Attributes:
        levels: The levels in storage order, such as `("d", "k(4,4)")`; () while the rank is open.
        order: The mode that each level stores.
        text: Letters and mode order, without names.
        kinds: The levels as objects that know their properties.
        is_dense: Whether every level is dense: a strided tensor.

    Raises:
        FormatError: `text` is no format.

    Example:
        >>> ls.Format("csr") == ls.Format("ds")
        True
    """

    levels: tuple[str, ...]
    order: tuple[int, ...]
    text: str
    kinds: tuple[Level, ...]
    is_dense: bool

    def __new__(cls, text: str | Format) -> Format:
        """Parse `text`; the same text gives the same object, which knows its properties."""
        if isinstance(text, Format):
            return text
        if not isinstance(text, str):
            raise FormatError(f"a format is a string or an ls.Format, got {type(text).__name__}")
        return _parsed(text)

    @property
    def ndim(self) -> int | None:
        """The rank, None while it is open (`coo`, `csf`, `dense`)."""
        return len(self.levels) if self.levels else None

    @cached_property
    def pads(self) -> bool:
        """Whether entries are stored that nobody gave: whole blocks, diagonals, or a dense level below a sparse one."""
        return not self.is_dense and any(level.full or level.filling for level in self.kinds[-1:])

    @cached_property
    def sparse_levels(self) -> int:
        """How many levels there are down to the last that is not dense: each entry has a dense block of the others."""
        return max([n + 1 for n, letter in enumerate(self.levels) if letter != "d"], default=0)

    @cached_property
    def padded(self) -> bool:
        """Whether some values belong to no entry."""
        return any(level.padded for level in self.kinds)

    @cached_property
    def writable(self) -> Format:
        """This format with the sources of conversion-only levels in their places, which kernels can write."""
        letters = "".join(level.source or level.text for level in self.kinds)
        return Format(f"{letters}:{','.join(map(str, self.order))}") if self.levels else self

    @cached_property
    def compressed(self) -> Format:
        """The format of the same order that stores no more than the entries."""
        return Format("s" * len(self.order) + ":" + ",".join(map(str, self.order)))

    def resolve(self, ndim: int) -> Format:
        """This format for tensors of rank `ndim`.

        Raises:
            FormatError: The format has another rank.
        """
        if self.levels:
            if len(self.levels) != ndim:
                raise FormatError(
                    f"format {self} has {len(self.levels)} levels, the tensor has {ndim} dimensions; "
                    f"use a format with {ndim} levels, 'coo' or 'csf'"
                )
            return self
        if ndim == 0:
            raise FormatError("a tensor without dimensions has no sparse format; use a plain torch tensor")
        return Format(_ranked(self.text, ndim))

    def dtypes(self, index: torch.dtype) -> list[torch.dtype]:
        """The dtype of the coordinates of each level, where other arrays have `index`.

        Example:
            >>> ls.Format("dn").dtypes(torch.int32)
            [torch.int32, torch.int16]
        """
        return [level.own or index for level in self.kinds]

    def fitting(self, shape: Sequence[int]) -> Format:
        """This format with the sources of levels that modes of such a shape are too large for in their places.

        Example:
            >>> ls.Format("dn").fitting((2, 3)), ls.Format("dn").fitting((2, 40000))
            (Format('dn'), Format('csr'))
        """
        places = zip(self.kinds, self.order, strict=True)
        letters = "".join(
            level.text if level.most is None or shape[mode] <= level.most else level.source for level, mode in places
        )
        return Format(f"{letters}:{','.join(map(str, self.order))}") if self.levels else self

    def check_extents(self, shape: Sequence[int]) -> None:
        """A tensor of this shape can be stored.

        Raises:
            FormatError: A mode is too large for its level.

        Example:
            >>> ls.Format("dn").check_extents((2, 3))
        """
        for level, mode in zip(self.kinds, self.order, strict=True):
            if level.most is not None and shape[mode] > level.most:
                raise FormatError(
                    f"format {self}: level {level.text} ({level.name}) stores coordinates below {level.most}; mode "
                    f"{mode} of shape {tuple(shape)} has extent {shape[mode]}; use {level.source!r} in its place"
                )

    def permute(self, dims: tuple[int, ...]) -> Format:
        """The format of the same storage seen with its modes permuted as `torch.permute(dims)` does."""
        new_mode = {old: new for new, old in enumerate(dims)}
        order = ",".join(str(new_mode[mode]) for mode in self.order)
        return Format(f"{''.join(self.levels)}:{order}")

    def __eq__(self, other: object) -> bool:
        """Equality by meaning; a string is parsed, and a rank that it leaves open is taken from this format."""
        if other is self:
            return True
        if isinstance(other, str):
            return self.text == _text(other, len(self.levels))
        return isinstance(other, Format) and self.text == other.text

    def __hash__(self) -> int:
        """Agrees with the hash of the letters."""
        return hash(self.text)

    def __str__(self) -> str:
        """The name where there is one, the letters otherwise."""
        return self._name

    @cached_property
    def _name(self) -> str:
        for name, count, pattern in _shown():
            found = pattern.fullmatch(self.text)
            numbers = [found[f"n{n}"] for n in range(count)] if found else []
            if found and not (name == "sell" and count == 2 and int(numbers[1]) % int(numbers[0])):
                return f"{name}({','.join(numbers)})" if numbers else name
        if len(self.levels) > 1 and self.order == tuple(range(len(self.levels))):
            for name in ("coo", "csf"):
                if Format(name).resolve(len(self.levels)).levels == self.levels:
                    return name
        return self.text

    def __repr__(self) -> str:
        """`Format('csr')`."""
        return f"Format({str(self)!r})"

    def __reduce__(self) -> tuple[type[Format], tuple[str]]:
        """Pickles as its text."""
        return Format, (self.text,)


def _text(text: str, ndim: int) -> str | None:
    """The letters and the mode order of what may be a format; None where it is none of this rank."""
    try:
        found = Format(text)
        return found.text if found.levels or not ndim else found.resolve(ndim).text
    except FormatError:
        return None


# torch.compile calls it while it traces, as `torch.compiler.assume_constant_result` says it, and can't trace it.
_text._dynamo_marked_constant = True  # type: ignore[attr-defined]


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> Format:
    levels, order, canonical = _parse(text)
    if canonical != text:
        return _parsed(canonical)
    format = object.__new__(Format)
    format.levels, format.order, format.text = levels, order, text
    format.kinds = tuple([parsed(level) for level in levels])
    format.is_dense = text == "dense" or (bool(levels) and all([k.full and k.ordered for k in format.kinds]))
    # torch.compile takes properties that are computed while it traces for changes of what it has seen.
    _ = format.pads, format.padded, format.sparse_levels
    return format


def _parse(text: str) -> tuple[tuple[str, ...], tuple[int, ...], str]:
    """The levels, the order and the canonical text of a format."""
    name = text.strip().lower()
    if name in _RANKED:
        return (), (), name
    name, colon, suffix = (part.strip() for part in name.partition(":"))
    letters, own, reverse = (_ranked(name, suffix.count(",") + 1) if name in _RANKED else _letters(name)).partition(":")
    if own and colon:
        raise FormatError(
            f"format {text!r}: {name} stands for {letters}:{reverse}, an order of its own; for another, write "
            f"the order after {letters}"
        )
    colon, suffix = colon or own, suffix or reverse
    found = _check_levels(levels.split(letters), text)
    letters = "".join(found)
    identity = tuple(range(len(found)))
    order = _parse_order(suffix, text) if colon else identity
    if sorted(order) != list(identity):
        raise FormatError(f"format {text!r}: the mode order {order} is not a permutation of its {len(found)} modes")
    return found, order, letters if order == identity else f"{letters}:{','.join(map(str, order))}"


def _ranked(name: str, ndim: int) -> str:
    """The letters of a name that has them for every rank."""
    if name == "coo" and ndim > 1:
        return "u" + "c" * (ndim - 2) + "q"
    return ("d" if name == "dense" else "s") * ndim


def _letters(name: str) -> str:
    """The letters of a name; the text itself where it is none."""
    sized = re.fullmatch(_NUMBERED, name)
    kind, numbers = (sized[1], [int(n) for n in sized[2].split(",")]) if sized else (name, [])
    if kind == "sell" and not numbers:
        numbers = [32]
    if kind == "sell" and len(numbers) == 2:
        height, window = numbers
        if window > 1 and (not height or window % height):
            raise FormatError(f"format {name!r}: windows of rows are a multiple of {height}, or 1: no sorting")
        numbers = numbers if window > 1 else [height]
    if kind in ("bsr", "bsc") and not numbers:
        raise FormatError(f"format {name!r} needs the shape of its blocks, such as '{name}(4,4)'")
    text = _TEXTS.get((kind, len(numbers)))
    return name if text is None else str(text).format(*numbers)


_NAMES = ("coo", "csr", "csc", "dcsr", "dcsc", "csf", "bsr", "bsc", "ell", "sell", "dia", "dense")


def _meant(text: str) -> str:
    """The name that a mistyped one may be meant for, as the beginning of an advice; empty where none is like it."""
    name = text.partition("(")[0]
    close = [] if name in _NAMES else difflib.get_close_matches(name, _NAMES, 1)
    return f"did you mean {close[0]}? Else " if close else ""


def _check_levels(found: tuple[str, ...], text: str) -> tuple[str, ...]:
    if not found or any(level[0] not in levels.KINDS for level in found):
        raise FormatError(
            f"{text!r} is no format; {_meant(text)}use a name (coo, csr, csc, dcsr, dcsc, csf, bsr(4,4), bsc(4,4), "
            f"ell, sell(32), sell(32,256), dia, dense) or letters such as 'ds' or 'ds:1,0': {levels.listed()}"
        )
    kinds = [_known(level, text) for level in found]
    for above, level in zip((None, *kinds), kinds, strict=False):
        if level.row_relative and not (above and above.full and above.ordered):
            raise FormatError(f"format {text!r}: level {level.text!r} needs a dense level, 'd', right before it")
    # Entries are stored once, so a level is unique where no singleton follows.
    kinds = [
        level if (below is not None and below.branchless) or not level.distinct else parsed(level.distinct)
        for level, below in zip(kinds, (*kinds[1:], None), strict=True)
    ]
    for above, level in zip((None, *kinds), kinds, strict=False):
        if level.branchless and (above is None or above.unique):
            raise FormatError(
                f"format {text!r}: a singleton ('c', 'q') needs a level that is not unique ('u') before it"
            )
    return tuple(level.text for level in kinds)


def _known(level: str, text: str) -> Level:
    try:
        known = parsed(level)
    except ValueError:
        known = None
    if known is None or min(known.numbers, default=1) < 1 or math.prod(known.numbers) > _LARGEST:
        raise FormatError(
            f"format {text!r}: {level!r} is no level; write k(4,4), l(32), w(256), others without numbers; "
            f"blocks have at most {_LARGEST} elements"
        )
    return known


def _parse_order(suffix: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in suffix.split(","))
    except ValueError:
        raise FormatError(f"format {text!r}: {suffix!r} is no mode order; write it as '1,0'") from None


def default_format(ndim: int) -> Format:
    """The format of a tensor for which none is given: `s`, `csr`, or `csf` from three dimensions on."""
    return Format("csr") if ndim == 2 else Format("csf").resolve(ndim)


for _ndim in range(1, 5):
    Format("d" * _ndim)  # most first calls have a dense result, and no time to parse that
