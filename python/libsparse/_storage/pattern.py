"""Pattern: the sparsity structure of a tensor, immutable and shared, and the arrays and patterns derived from it."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from libsparse._lang.errors import UnsupportedError

from . import checks, derived, levels, ordinary, packing, sorting, statistics, validate
from .conversion import Begun, Conversion, convert, expanded, extended, inverse, taken
from .derived import Located
from .format import Format

_Derived = TypeVar("_Derived")


def _seen(shape: torch.Size) -> torch.Size:
    """What torch is told of a shape: it numbers the elements of every tensor, and larger shapes have too many."""
    count = math.prod(shape) or math.prod(n or 1 for n in shape)  # also of no elements, of which strides may have none
    return shape if count < 2**63 else torch.Size((0,) * len(shape))


class Pattern:
    """Where a sparse tensor has entries: format, shape, and the positions and coordinates of each level.

    Immutable; equal only to itself, since prepared kernel calls, transposes, conversions and the patterns of results
    are kept with it. Make one through the constructors of the package, such as `ls.from_coo`.

    Attributes:
        format, shape: The storage format, and the shape of the tensor.
        seen_shape: The shape that torch itself is told.
        pos, crd: Positions and coordinates of each level, in storage order; None where a level has none.
        size: How many values there are, with those that belong to no entry.
        block: The shape of each value, for tensors whose values are arrays; then the last modes, as many, are dense.
        origin: A weak reference to the pattern that it was made of by changes of dense levels, or None.
        expanded: One element as a tensor of this shape, where torch reads extents that a graph did not know; else None.
        transposes: The same arrays under other orders of the modes, as far as they have been wanted; some weakly.
        index_dtype: int32 where everything fits, else int64; one for all arrays.

    Example:
        >>> ls.eye(2).pattern
        Pattern(shape=(2, 2), nnz=2, format='csr')
    """

    __slots__ = (
        "__weakref__",
        "_kept",
        "_located",
        "_statistics",
        "_unions",
        "begun",
        "block",
        "calls",
        "crd",
        "expanded",
        "fast",
        "format",
        "index_dtype",
        "origin",
        "pos",
        "repeated",
        "seen_shape",
        "shape",
        "size",
        "transposes",
    )

    traced = False
    """Whether torch traces, so that the arrays have no elements."""

    def __init__(
        self,
        format: Format,
        shape: Sequence[int],
        pos: Sequence[Tensor | None],
        crd: Sequence[Tensor | None],
        block: tuple[int, ...] = (),
    ) -> None:
        """Trusts its arguments; `validate` and `checks` check those of users first."""
        size = packing.count(format, [shape[mode] for mode in format.order], pos, crd)
        dtype = packing.common_index_dtype(shape, size, (*pos, *crd))
        arrays = [ordinary.arrays(packing.cast(*a)) for a in ((pos, [dtype] * len(pos)), (crd, format.dtypes(dtype)))]
        self._begin(format, torch.Size(shape), tuple(arrays[0]), tuple(arrays[1]), size, dtype, block)
        self.seen_shape = _seen(self.shape)

    @classmethod
    def _of_kernel(
        cls,
        format: Format,
        shape: torch.Size,
        pos: Sequence[Tensor | None],
        crd: Sequence[Tensor | None],
        size: int,
        index_dtype: torch.dtype,
    ) -> Pattern:
        """The pattern of arrays that a kernel has written, all of `index_dtype`, with `size` values."""
        self = cls.__new__(cls)
        self._begin(format, shape, tuple(pos), tuple(crd), size, index_dtype)
        self.seen_shape = _seen(shape)
        return self

    @classmethod
    def _of_copies(
        cls, format: Format, shape: torch.Size, pos: Sequence[Tensor | None], crd: Sequence[Tensor | None]
    ) -> Pattern:
        """The pattern of copies of a user's arrays, which have been checked."""
        size = packing.count(format, [shape[mode] for mode in format.order], pos, crd)
        dtype = packing.common_index_dtype(shape, size, (*pos, *crd))
        own = [a if a is None else packing.copied(a, dtype) for a in pos]
        own_crd = [None if a is None else packing.copied(a, d) for a, d in zip(crd, format.dtypes(dtype), strict=True)]
        # Transforms wrap the copies, too.
        return cls._of_kernel(format, shape, ordinary.arrays(own), ordinary.arrays(own_crd), size, dtype)

    def _begin(
        self,
        format: Format,
        shape: torch.Size,
        pos: tuple[Tensor | None, ...],
        crd: tuple[Tensor | None, ...],
        size: int,
        index_dtype: torch.dtype,
        block: tuple[int, ...] = (),
    ) -> None:
        """Takes what is stored, and nothing that is derived from it yet."""
        self.format, self.shape, self.pos, self.crd, self.block = format, shape, pos, crd, block
        self.size, self.index_dtype = size, index_dtype
        self.expanded: Tensor | None = None
        self.origin: weakref.ref[Pattern] | None = None
        self.calls: dict[Any, Any] = {}
        self.fast: dict[Any, Any] = {}
        self.begun: dict[Any, Any] = {}
        self.repeated: dict[Any, Any] = {}
        self._kept = derived.Store()
        self._statistics: statistics.Statistics | None = None
        self.transposes: dict[tuple[int, ...], Pattern | weakref.ref[Pattern]] = {}
        self._unions: weakref.WeakKeyDictionary[Pattern, Pattern] | None = None  # takes long to make
        self._located: weakref.WeakKeyDictionary[Pattern, Located] | None = None

    @property
    def extents(self) -> tuple[int, ...]:
        """The extent of each level, in storage order."""
        return tuple([self.shape[mode] for mode in self.format.order])

    @property
    def ndim(self) -> int:
        """The rank."""
        return len(self.shape)

    @property
    def nnz(self) -> int:
        """How many entries are stored, without padding."""
        return self.size if self._is_whole else self.coordinates().shape[1]

    @property
    def _is_whole(self) -> bool:
        """Whether every value is sure to be an entry."""
        return not self.format.padded or levels.are_whole(self.format.kinds, self.extents)

    # Derived arrays are kept, so they are ordinary tensors even inside of torch.inference_mode() and torch.func.

    def coordinates(self) -> Tensor:
        """The coordinates of every entry: (ndim, nnz), int64, rows are modes, columns in the order of the values."""
        coords: Tensor = self._keep(("coordinates",), self._expanded)[0]
        return coords

    def _places(self) -> Tensor | None:
        """The places of the entries among the values, None where that is their own number."""
        if levels.are_whole(self.format.kinds, self.extents):
            return None
        places: Tensor | None = self._keep(("coordinates",), self._expanded)[1]
        return places

    def entries(self, values: Tensor) -> Tensor:
        """The values of the entries, in the order of `coordinates()`; differentiable."""
        places = self._places() if self.format.padded else None
        return values if places is None else taken(values, places)

    def spread(self, entries: Tensor) -> Tensor:
        """Values with these entries, and padding of zeros: the inverse of `entries`; differentiable."""
        places = self._places() if self.format.padded else None
        return entries if places is None else entries.new_zeros(self.size).scatter(0, places, entries)

    def to_dense(self, values: Tensor, fill: int | float = 0) -> Tensor:
        """The strided tensor of these values; differentiable."""
        flat = values.new_full((math.prod(self.shape),), fill)
        return flat.index_put_((self.linear(),), self.entries(values)).reshape(self.shape)

    def linear(self) -> Tensor:
        """The offset of every entry in a contiguous dense tensor of this shape."""
        keys: Tensor | None = self._keep(("linear",), lambda: sorting.linear_keys(list(self.coordinates()), self.shape))
        if keys is None:
            raise UnsupportedError(f"shape {tuple(self.shape)}: {math.prod(self.shape)} elements can't be numbered")
        return keys

    @property
    def statistics(self) -> statistics.Statistics:
        """How the entries are spread; each number is computed when it is first read, and once."""
        if self._statistics is None:
            self._statistics = statistics.Statistics(self.format, self.extents, self.pos, self.crd, self.size)
        return self._statistics

    def transposed(self, dims: tuple[int, ...]) -> Pattern:
        """The pattern with its modes permuted: the same arrays under another mode order."""
        if dims == tuple(range(self.ndim)):
            return self
        known = self.transposes.get(dims)
        known = known() if isinstance(known, weakref.ref) else known
        if known is None:
            shape, format = torch.Size([self.shape[d] for d in dims]), self.format.permute(dims)
            known = Pattern._of_kernel(format, shape, self.pos, self.crd, self.size, self.index_dtype)
            first = self.ndim - len(self.block)  # values stay arrays where their modes stay the last ones
            known.block = self.block if dims[first:] == tuple(range(first, self.ndim)) else ()
            known.transposes[inverse(dims)] = weakref.ref(self)  # weak: no cycle that keeps arrays alive
            self.transposes[dims] = known
        return known

    def converted(self, format: Format) -> Conversion:
        """The pattern in another format, converted once."""
        if format == self.format:
            return Conversion(self, None, None)
        found: Conversion | Begun = self._keep(("format", format), lambda: self._converted(format))
        return found.completed(self, format) if isinstance(found, Begun) else found

    def _converted(self, format: Format) -> Conversion:
        return convert(self, format)

    def derive(self, name: tuple[Any, ...], build: Callable[[], _Derived]) -> _Derived:
        """What a function of shape makes of the pattern; the last few results are kept, by the function's arguments."""
        found: _Derived = self._keep(("function", *name), build)
        return found

    def _keep(self, name: tuple[Any, ...], build: Callable[[], Any]) -> Any:
        """A value that is computed from the pattern, once."""
        known = self._kept.get(name)
        if known is None:
            known = self._kept.add(name, lambda: derived.as_first(self.begun, name, build()))
            if self._kept.drop(name, self.tensors()):  # prepared calls hold arrays of other formats, too
                for calls in (self.calls, self.fast, self.repeated):
                    calls.clear()
        return known

    @property
    def derived(self) -> derived.Derived:
        """What has been computed from the pattern and is kept with it, as long as it lives: bytes and seconds of each.

        `ls.options(derived_bytes=...)` bounds the bytes of each pattern: the oldest are dropped first.

        Example:
            >>> A = ls.eye(3)
            >>> A.to_format("csc").nnz, list(A.pattern.derived)
            (3, ['format csc'])
        """
        return derived.listed(self._kept, self.calls, self.tensors())

    def _expanded(self) -> tuple[Tensor, Tensor | None]:
        return expanded(self)

    def united(self, other: Pattern, unite: Callable[[Pattern, Pattern], Pattern]) -> Pattern:
        """The union with another pattern of the same shape, which `unite` computes once."""
        self._unions = derived.by_pattern(self._unions)
        if (known := self._unions.get(other)) is not None:
            return known
        with ordinary.tensors(of_fakes=self.traced or other.traced):
            return self._unions.setdefault(other, unite(self, other))

    def _has_met(self, other: Pattern) -> bool:
        """Whether this was asked of `other` before, or where its entries are: then `locate` pays, which is kept."""
        known = self._located is not None and other in self._located
        return known or not derived.is_first(self.begun, ("met", id(other)))  # another one with its address would do

    def locate(self, other: Pattern) -> tuple[Tensor, Tensor]:
        """Where this pattern's entries are among those of `other`: their numbers, and whether they are there."""
        return self._found_in(other)[:2]

    def _found_in(self, other: Pattern) -> Located:
        self._located = derived.by_pattern(self._located)
        if (known := self._located.get(other)) is None:
            with ordinary.tensors(of_fakes=self.traced or other.traced):
                numbers, found = packing.locate(list(self.coordinates()), list(other.coordinates()), self.shape)
                self._located[other] = known = Located(numbers, found, bool(found.all()))
        return known

    def _contained_in(self, other: Pattern, numbers: Tensor) -> None:
        """Notes that all entries are entries of `other`, and which: `locate` need not look for them."""
        self._located = weakref.WeakKeyDictionary({other: Located(numbers.to(torch.int64), numbers >= 0, True)})

    def resample(self, values: Tensor, source: Pattern) -> Tensor:
        """The values of a tensor of pattern `source` at the entries of this one, else 0; differentiable."""
        if source is self:
            return values
        numbers, _, whole = self._found_in(source)
        given = source.entries(values)
        return self.spread((given if whole else torch.cat([given, given.new_zeros(1)])).index_select(0, numbers))

    def with_blocks(self, block: Sequence[int]) -> Pattern:
        """The pattern whose entries are dense blocks of this shape: dense levels below its own, and modes behind."""
        found: Pattern = extended(self, extents, extents) if (extents := tuple(block)) else self
        return found

    def compressed(self, level: int) -> tuple[Tensor, Tensor]:
        """The positions and coordinates of a level that has both."""
        pos, crd = self.pos[level], self.crd[level]
        assert pos is not None
        assert crd is not None
        return pos, crd

    def tensors(self) -> list[Tensor]:
        """Every array of the pattern."""
        return [a for a in (*self.pos, *self.crd) if a is not None]

    def __repr__(self) -> str:
        """A short description."""
        return f"Pattern(shape={tuple(self.shape)}, nnz={self.nnz}, format={str(self.format)!r})"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Pickles the arrays and nothing that was derived from them."""
        return restore_pattern, (self.format.text, tuple(self.shape), list(self.pos), list(self.crd), self.block)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Pattern:
        """Patterns are immutable: a copy is the pattern itself."""
        return self

    __copy__ = __deepcopy__


def restore_pattern(
    format: str,
    shape: tuple[int, ...],
    pos: list[Tensor | None],
    crd: list[Tensor | None],
    block: tuple[int, ...] = (),
) -> Pattern:
    """Unpickles a Pattern; the file may be anybody's, so the arrays are checked as a user's are."""
    resolved = Format(format).resolve(len(shape))
    validate.loaded(*pos, *crd)
    checks.check(resolved, validate.shape(shape), pos, crd, contents=True)
    blocks = tuple(shape[len(shape) - len(block) :]) == tuple(block) and set(resolved.levels[-len(block) :]) == {"d"}
    return Pattern(resolved, shape, pos, crd, tuple(block) if block and blocks else ())


# Files name it: a place that stays. pickle writes its `__qualname__`, and torch 2.4 loads what has that `__name__`.
restore_pattern.__module__ = "libsparse"
restore_pattern.__name__ = restore_pattern.__qualname__ = "_restore_pattern"
torch.serialization.add_safe_globals([restore_pattern])
