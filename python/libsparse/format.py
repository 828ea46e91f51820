"""Formats: how the levels of a sparse tensor are stored, and in which order its modes are."""

from __future__ import annotations

import re
from typing import Final

from .errors import FormatError, UnsupportedError

_NAMES: Final = {"csr": "ds", "csc": "ds:1,0", "dcsr": "ss", "dcsc": "ss:1,0"}
_RANKED: Final = ("coo", "csf", "dense")  # names whose letters depend on the rank
_LATER: Final = ("bsr", "bsc", "ell", "sell", "dia")
_LETTERS: Final = "dsucq"
_LATER_LETTERS: Final = "bh"
_SHOWN: Final = {text: name for name, text in _NAMES.items()}


class Format:
    """A storage format: one letter a level in storage order, and the mode each level stores.

    Hashable and equal by meaning, so `Format("csr") == Format("ds")`; a string is understood as a format, so
    `A.format == "csr"`. `coo`, `csf` and `dense` have no letters until the rank is known (`resolve`).

    Args:
        text: A name (`coo csr csc dcsr dcsc csf dense`) or letters (`d` dense, `s` compressed, `u` compressed not
            unique, `c` singleton not unique, `q` singleton), with an optional mode order (`ds:1,0`).

    Raises:
        FormatError: `text` is no format.
        UnsupportedError: A format that libsparse knows of and can't use yet.
    """

    __slots__ = ("levels", "order", "text")

    levels: str
    order: tuple[int, ...]
    text: str

    def __init__(self, text: str | Format) -> None:
        """Parse `text`."""
        if isinstance(text, Format):
            self.levels, self.order, self.text = text.levels, text.order, text.text
            return
        if not isinstance(text, str):
            raise FormatError(f"a format is a string or an ls.Format, got {type(text).__name__}")
        name = text.strip().lower()
        if name in _RANKED:
            self.levels, self.order, self.text = "", (), name
            return
        letters, colon, suffix = _NAMES.get(name, name).partition(":")
        self.levels = _check_letters(letters, text)
        self.order = _parse_order(suffix, text) if colon else tuple(range(len(letters)))
        if sorted(self.order) != list(range(len(letters))):
            raise FormatError(
                f"format {text!r}: the mode order {self.order} is not a permutation of its {len(letters)} modes"
            )
        identity = self.order == tuple(range(len(letters)))
        self.text = letters if identity else f"{letters}:{','.join(map(str, self.order))}"

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
        """Whether values are stored for coordinates that nobody gave: a dense level is the last, below a sparse one."""
        return self.levels.endswith("d") and not self.is_dense

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
        if self.text == "dense":
            return Format("d" * ndim)
        if self.text == "coo" and ndim > 1:
            return Format("u" + "c" * (ndim - 2) + "q")
        return Format("s" * ndim)

    def permute(self, dims: tuple[int, ...]) -> Format:
        """The format of the same storage seen with its modes permuted as `torch.permute(dims)` does."""
        new_mode = {old: new for new, old in enumerate(dims)}
        order = ",".join(str(new_mode[mode]) for mode in self.order)
        return Format(f"{self.levels}:{order}")

    def __eq__(self, other: object) -> bool:
        """Equality by meaning; a string is parsed, and a rank that it leaves open is taken from this format."""
        if isinstance(other, str):
            try:
                other = Format(other)
                if self.levels and not other.levels:
                    other = other.resolve(len(self.levels))
            except (FormatError, UnsupportedError):
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
        return self.text

    def __repr__(self) -> str:
        """`Format('csr')`."""
        return f"Format({str(self)!r})"

    def __reduce__(self) -> tuple[type[Format], tuple[str]]:
        """Pickles as its text."""
        return Format, (self.text,)


def _check_letters(letters: str, text: str) -> str:
    base = re.split(r"[(\d]", letters, maxsplit=1)[0]
    if base in _LATER or (
        letters and set(letters) <= set(_LETTERS + _LATER_LETTERS) and set(letters) & set(_LATER_LETTERS)
    ):
        raise UnsupportedError(f"format {text!r} is not supported yet; use coo, csr, csc, dcsr or csf")
    if not letters or not set(letters) <= set(_LETTERS):
        raise FormatError(
            f"{text!r} is no format; use a name (coo, csr, csc, dcsr, dcsc, csf, dense) or letters of {_LETTERS!r}"
            " such as 'ds' or 'ds:1,0'"
        )
    for above, below in zip(" " + letters, letters + " ", strict=True):
        if (above in "uc") != (below in "cq"):
            raise FormatError(
                f"format {text!r}: a non-unique level ('u', 'c') and a singleton below it ('c', 'q') come together"
            )
    return letters


def _parse_order(suffix: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in suffix.split(","))
    except ValueError:
        raise FormatError(f"format {text!r}: {suffix!r} is no mode order; write it as '1,0'") from None


def default_format(ndim: int) -> Format:
    """The format used where none is asked for: `s`, `csr`, or `csf` from three dimensions on."""
    return Format("csr") if ndim == 2 else Format("csf").resolve(ndim)
