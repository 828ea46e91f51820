"""Formats: how the levels of a sparse tensor are stored, and in which order its modes are."""

from __future__ import annotations

import functools
import math
import re
from typing import Final

from libsparse._lang.errors import FormatError

from . import levels

_NAMES: Final = {"csr": "ds", "csc": "ds:1,0", "dcsr": "ss", "dcsc": "ss:1,0", "ell": "dp", "dia": "do"}
_SIZED: Final = re.compile(r"(bsr|bsc|sell)\s*\(([^()]*)\)")
_SIZED_LETTERS: Final = {"bsr": "dk({})", "bsc": "dk({}):1,0", "sell": "dl({})"}
_WINDOWED: Final = re.compile(r"(\d{1,9}),(\d{1,9})")
_RANKED: Final = ("coo", "csf", "dense")  # names whose letters depend on the rank
_LETTERS: Final = "dsucqbhplokw"
_LARGEST: Final = 1 << 16  # elements of a block, rows of a slice
_SHOWN: Final = {text: name for name, text in _NAMES.items()}


class Format:
    """A storage format: one letter a level in storage order, and the mode each level stores.

    Hashable and equal by meaning, so `Format("csr") == Format("ds")`; a string is understood as a format, so
    `A.format == "csr"`. `coo`, `csf` and `dense` have no letters until the rank is known (`resolve`).

    Args:
        text: A name (`coo csr csc dcsr dcsc csf dense bsr(4,4) bsc(4,4) ell sell(32)
            sell(32,256) dia`) or letters (`d` dense, `s`
            compressed, `u` compressed not unique, `c` singleton not unique, `q` singleton, `b` bitmap, `h` hashed,
            `p` padded as in ELL, `l(32)` in slices as in SELL, `o` offset as in DIA, `k(4,4)` blocked as in BSR,
            `w(256)` dense but sorted within windows by what is below as in SELL-C-sigma), with an optional mode
            order (`ds:1,0`, `csf:2,1,0`).

    Attributes:
        levels: The levels in storage order, such as `("d", "k(4,4)")`; () while the rank is open.
        order: The mode that each level stores.
        text: Letters and mode order, without names.

    Raises:
        FormatError: `text` is no format.
    """

    __slots__ = ("levels", "order", "text")

    levels: tuple[str, ...]
    order: tuple[int, ...]
    text: str

    def __init__(self, text: str | Format) -> None:
        """Parse `text`."""
        if isinstance(text, Format):
            self.levels, self.order, self.text = text.levels, text.order, text.text
            return
        if not isinstance(text, str):
            raise FormatError(f"a format is a string or an ls.Format, got {type(text).__name__}")
        self.levels, self.order, self.text = _parse(text)

    @property
    def ndim(self) -> int | None:
        """The rank, None while it is open (`coo`, `csf`, `dense`)."""
        return len(self.levels) if self.levels else None

    @property
    def is_dense(self) -> bool:
        """Whether every level is dense: a strided tensor."""
        return self.text == "dense" or (bool(self.levels) and set(self.levels) == {"d"})

    @property
    def pads(self) -> bool:
        """Whether entries are stored that nobody gave: whole blocks, diagonals, or a dense level below a sparse one."""
        return not self.is_dense and any(level[0] in "dw" + levels.FULL_BLOCKS for level in self.levels[-1:])

    @property
    def padded(self) -> bool:
        """Whether some values belong to no entry."""
        return any(level[0] in levels.PADDED for level in self.levels)

    @property
    def writable(self) -> Format:
        """This format with what laid out levels are made from in their place: what results are computed in."""
        sources = {"w": "d"}
        letters = "".join(sources.get(level[0], "s") if level[0] in levels.FIXED else level for level in self.levels)
        return Format(f"{letters}:{','.join(map(str, self.order))}") if self.levels else self

    @property
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

    def permute(self, dims: tuple[int, ...]) -> Format:
        """The format of the same storage seen with its modes permuted as `torch.permute(dims)` does."""
        new_mode = {old: new for new, old in enumerate(dims)}
        order = ",".join(str(new_mode[mode]) for mode in self.order)
        return Format(f"{''.join(self.levels)}:{order}")

    def __eq__(self, other: object) -> bool:
        """Equality by meaning; a string is parsed, and a rank that it leaves open is taken from this format."""
        if isinstance(other, str):
            try:
                other = Format(other)
                if self.levels and not other.levels:
                    other = other.resolve(len(self.levels))
            except FormatError:
                return False
        return isinstance(other, Format) and self.text == other.text

    def __hash__(self) -> int:
        """Agrees with the hash of the letters."""
        return hash(self.text)

    def __str__(self) -> str:
        """The name where there is one, the letters otherwise."""
        if self.text in _SHOWN:
            return _SHOWN[self.text]
        if len(self.levels) > 1 and self.order == tuple(range(len(self.levels))):
            for name in ("coo", "csf"):
                if Format(name).resolve(len(self.levels)).levels == self.levels and self.text != "ss":
                    return name
        if len(self.levels) == 2 and self.levels[0] == "d" and self.levels[1][0] in "kl":
            name = {"k": "bsr", "l": "sell"}[self.levels[1][0]]
            if self.order == (0, 1) or name == "bsr":
                numbers = [str(n) for n in levels.kind(self.levels[1]).numbers]
                columns = self.order == (1, 0)
                return ("bsc" if columns else name) + f"({','.join(reversed(numbers) if columns else numbers)})"
        if len(self.levels) == 2 and self.levels[0][0] + self.levels[1][0] == "wl" and self.order == (0, 1):
            (window,), (height,) = (levels.kind(level).numbers for level in self.levels)
            if window % height == 0:
                return f"sell({height},{window})"
        return self.text

    def __repr__(self) -> str:
        """`Format('csr')`."""
        return f"Format({str(self)!r})"

    def __reduce__(self) -> tuple[type[Format], tuple[str]]:
        """Pickles as its text."""
        return Format, (self.text,)


@functools.lru_cache(maxsize=1024)
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
    sized = _SIZED.fullmatch(name)
    if sized is not None:
        kind, numbers = sized.groups()
        if kind == "bsc":  # its levels go by columns, and so do the numbers of the level
            numbers = ",".join(reversed(numbers.split(",")))
        windowed = _WINDOWED.fullmatch(numbers) if kind == "sell" else None
        if windowed is not None:
            height, window = (int(n) for n in windowed.groups())
            if window > 1 and (not height or window % height):
                raise FormatError(f"format {name!r}: windows of rows are a multiple of {height}, or 1: no sorting")
            return f"w({window})l({height})" if window > 1 else f"dl({height})"
        return _SIZED_LETTERS[kind].format(numbers)
    if name in ("bsr", "bsc"):
        raise FormatError(f"format {name!r} needs the shape of its blocks, such as '{name}(4,4)'")
    return "dl(32)" if name == "sell" else _NAMES.get(name, name)


def _check_levels(found: tuple[str, ...], text: str) -> tuple[str, ...]:
    if not found or any(level[0] not in _LETTERS for level in found):
        raise FormatError(
            f"{text!r} is no format; use a name (coo, csr, csc, dcsr, dcsc, csf, bsr(4,4), bsc(4,4), ell, sell(32), "
            f"sell(32,256), dia, dense) or letters of {_LETTERS!r} such as 'ds' or 'ds:1,0'"
        )
    for above, level in zip(("", *found), found, strict=False):
        letter, numbers = levels.kind(level)
        if (
            len(numbers) != levels.ARGUMENTS.get(letter, 0)
            or min(numbers, default=1) < 1
            or math.prod(numbers) > _LARGEST
        ):
            raise FormatError(
                f"format {text!r}: {level!r} is no level; write k(4,4), l(32), w(256), others without numbers; "
                f"blocks have at most {_LARGEST} elements"
            )
        if letter in levels.FULL_BLOCKS and above != "d":
            raise FormatError(f"format {text!r}: level {level!r} needs a dense level, 'd', right before it")
    # Entries are stored once, so a level is unique where no singleton follows.
    unique = {"u": "s", "c": "q"}
    found = tuple(
        level if below in ("c", "q") else unique.get(level, level)
        for level, below in zip(found, (*found[1:], " "), strict=True)
    )
    for above, below in zip(("d", *found), found, strict=False):
        if below in ("c", "q") and above not in ("u", "c"):
            raise FormatError(
                f"format {text!r}: a singleton ('c', 'q') needs a level that is not unique ('u') before it"
            )
    return found


def _parse_order(suffix: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in suffix.split(","))
    except ValueError:
        raise FormatError(f"format {text!r}: {suffix!r} is no mode order; write it as '1,0'") from None


def default_format(ndim: int) -> Format:
    """The format used where none is asked for: `s`, `csr`, or `csf` from three dimensions on."""
    return Format("csr") if ndim == 2 else Format("csf").resolve(ndim)


for _ndim in range(1, 5):
    Format("d" * _ndim)  # most first calls have a dense result, and no time to parse that
