"""Which queries see which keys: masks of attention, each a SparseTensor (n, n) in CSR that is only a pattern.

`|` and `&` combine masks, `~` is the complement: it stores the places that are masked, and costs no more than the mask
itself. A mask that is true where it stores nothing is no pattern, so `~` needs an `&`: `window(n, 8) & ~blocks(n, 4)`.
`.tril()` keeps the keys up to the query. BigBird (Zaheer et al., "Big Bird: Transformers for Longer Sequences", 2020,
section 2) is `window(n, w) | global_tokens(n, g) | random(n, k)`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

import libsparse as ls
from libsparse._ops import operands
from libsparse._storage import validate


def window(n: int, w: int) -> Any:
    """Each query sees the keys at most `w` places away (Beltagy et al., "Longformer", 2020, section 3.1).

    Args:
        n: Length of the sequence.
        w: Reach to both sides.

    Example:
        >>> ls.nn.patterns.window(4, 1).to_dense().int().tolist()
        [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    """
    n, w = _counted("n", n), _counted("w", w)
    query = torch.arange(n, device="cpu")
    return _ranges(n, (query - w).clamp(min=0), (query + w + 1).clamp(max=n))


def blocks(n: int, b: int) -> Any:
    """The sequence is cut into blocks of `b`, inside of which all see each other.

    Args:
        n: Length of the sequence.
        b: Length of a block; the last may be shorter.

    Example:
        >>> ls.nn.patterns.blocks(3, 2).to_dense().int().tolist()
        [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    """
    n, b = _counted("n", n), _counted("b", b, 1)
    start = torch.arange(n, device="cpu") // b * b
    return _ranges(n, start, (start + b).clamp(max=n))


def strided(n: int, s: int) -> Any:
    """Each query sees every `s`th key, counted from itself.

    With `.tril()`, the second head of Child et al., "Generating Long Sequences with Sparse Transformers", 2019, section
    4.3.

    Args:
        n: Length of the sequence.
        s: Stride.

    Example:
        >>> ls.nn.patterns.strided(4, 2).to_dense().int().tolist()
        [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    """
    n, s = _counted("n", n), _counted("s", s, 1)
    first = torch.arange(n, device="cpu") % s
    return _rows(n, (n - first + s - 1) // s, lambda row, place: first[row] + place * s)


def global_tokens(n: int, tokens: int | Sequence[int] | Tensor) -> Any:
    """Some tokens see all, and all see them.

    Args:
        n: Length of the sequence.
        tokens: Their places, or how many at the beginning.

    Raises:
        IndexBoundsError: A place is outside of the sequence.

    Example:
        >>> ls.nn.patterns.global_tokens(4, [1]).to_dense().int().tolist()
        [[0, 1, 0, 0], [1, 1, 1, 1], [0, 1, 0, 0], [0, 1, 0, 0]]
    """
    n, tokens = _counted("n", n), operands.plain_number(tokens)
    places = torch.arange(_counted("tokens", tokens), device="cpu") if isinstance(tokens, int) else tokens
    places = validate.tensor("tokens", places, written=False).to(torch.int64).unique()
    if len(places) and not (int(places[0]) >= 0 and int(places[-1]) < n):
        raise ls.IndexBoundsError(f"global_tokens: tokens are from {places[0]} to {places[-1]}; expected 0 to {n - 1}")
    everything = torch.zeros(n, dtype=torch.bool, device="cpu")
    everything[places] = True
    counts = torch.where(everything, n, len(places))
    padded = torch.cat([places, places.new_zeros(n - len(places))])
    return _rows(n, counts, lambda row, place: torch.where(everything[row], place, padded[place]))


def random(n: int, k: int, generator: torch.Generator | None = None) -> Any:
    """Each query sees `k` different keys, chosen at random.

    Args:
        n: Length of the sequence.
        k: How many; at most `n`.
        generator: Source of randomness.

    Example:
        >>> ls.nn.patterns.random(6, 2).sum(1).tolist()
        [2, 2, 2, 2, 2, 2]
    """
    n, k = _counted("n", n), _counted("k", k)
    if k > n:
        raise ls.ShapeError(f"random: k is {k}; expected at most n, which is {n}")
    chosen = torch.empty(n, k, dtype=torch.int64, device="cpu")
    for count, last in enumerate(range(n - k, n)):  # Floyd's method: of each row, a set that all sets are as likely as
        drawn = torch.randint(last + 1, (n,), generator=generator, device="cpu")
        taken = (chosen[:, :count] == drawn[:, None]).any(1)
        chosen[:, count] = torch.where(taken, last, drawn)
    ends = torch.arange(n + 1, device="cpu") * k
    return ls.from_csr(ends, chosen.sort(1).values.reshape(-1), None, (n, n), check=False)


def entries_of(mask: Any) -> Any:
    """The entries of a mask that are true, as a matrix that is only a pattern; all entries of one of numbers.

    Raises:
        FormatError: It is true where it stores nothing.

    Example:
        >>> mask = ls.nn.patterns.window(4, 1) & ~ls.nn.patterns.blocks(4, 2)
        >>> ls.nn.patterns.entries_of(mask).indices().tolist()
        [[1, 2], [2, 1]]
    """
    if mask.fill_value:
        raise ls.FormatError(
            f"a mask ({mask._facts()}) is true where it stores nothing, as ~mask is; combine it with another by &"
        )
    if mask._held is None or mask.dtype is not torch.bool:
        return mask.with_values(None)
    held = mask.values()
    return mask.with_values(None) if bool(held.all()) else ls.from_coo(mask.indices()[:, held], None, mask.shape)


def _counted(name: str, value: Any, least: int = 0) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        count = least - 1
    if count < least:
        raise ls.ShapeError(f"{name} is {value!r}; expected an integer of at least {least}")
    return count


def _ranges(n: int, start: Tensor, stop: Tensor) -> Any:
    """The mask whose row i has the columns from `start[i]` to below `stop[i]`."""
    return _rows(n, stop - start, lambda row, place: start[row] + place)


def _rows(n: int, counts: Tensor, column: Any) -> Any:
    """The mask whose row i has `counts[i]` entries, the columns of which are a function of row and place in it."""
    ends = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    row = torch.arange(n, device="cpu").repeat_interleave(counts)
    place = torch.arange(len(row), device="cpu") - ends[row]
    return ls.from_csr(ends, column(row, place), None, (n, n), check=False)
