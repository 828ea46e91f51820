"""Patterns while torch traces, and how kernels find a pattern again by its arrays.

A graph of torch carries tensors only, so the operators take the arrays of patterns. While a graph is traced they are
fake; a `TracedPattern` leaves what has to read them to an operator. When the graph runs, the arrays are those of a
pattern that exists, and what is prepared for it is found again.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils.weak import WeakTensorKeyDictionary

from libsparse._lang.errors import UnsupportedError
from libsparse._lang.records import NamedTuple
from libsparse._storage import derived, packing
from libsparse._storage.conversion import Conversion
from libsparse._storage.fakes import is_fake, is_unknown
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import tracers

_ops: Any = torch.ops.libsparse


class Arrays(NamedTuple):
    """A pattern as the operators take it.

    Attributes:
        format: The text of its format.
        shape: Its shape, of which extents may be symbols.
        tensors: Its arrays: positions and coordinates of each level that has them.
    """

    format: str
    shape: list[Any]
    tensors: list[Tensor]


def taken_apart(pattern: Pattern) -> Arrays:
    """A pattern as the operators take it; one that exists is remembered."""
    found = Arrays(pattern.format.text, list(pattern.shape), list(_in_order(pattern)))
    if not pattern.traced:
        remember(pattern)
    return found


def _in_order(pattern: Pattern) -> Iterator[Tensor]:
    for pos, crd in zip(pattern.pos, pattern.crd, strict=True):
        if pos is not None:
            yield pos
        if crd is not None:
            yield crd


def put_together(arrays: Arrays) -> Pattern:
    """The pattern of these arrays: a traced one of fake arrays, else the one that they come from."""
    format = Format(arrays.format)
    if any(is_fake(a) for a in arrays.tensors):
        return TracedPattern(format, arrays.shape, *_by_level(format, arrays.tensors))
    return _found(arrays) or _new(format, arrays)


@functools.cache
def parts(format: str) -> tuple[str, ...]:
    """The names of the arrays of a pattern in a format, in order: of positions and coordinates of each level."""
    levels = enumerate(Format(format).kinds)
    return tuple(
        f"_{kind}{n}" for n, level in levels for kind, has in (("pos", level.has_pos), ("crd", level.has_crd)) if has
    )


def count(format: Format) -> int:
    """How many arrays a pattern has."""
    return len(parts(format.text))


def _by_level(format: Format, tensors: Sequence[Tensor]) -> tuple[list[Tensor | None], list[Tensor | None]]:
    left = iter(tensors)
    pos: list[Tensor | None] = []
    crd: list[Tensor | None] = []
    for level in format.kinds:
        pos.append(next(left) if level.has_pos else None)
        crd.append(next(left) if level.has_crd else None)
    return pos, crd


# Patterns by their arrays --------------------------------------------------------------------------------------

_alive: weakref.WeakValueDictionary[tuple[Any, ...], Pattern] = weakref.WeakValueDictionary()  # by `_name`
_copies: Any = WeakTensorKeyDictionary()  # the last array of a copy, to what it was made of by format and shape


def _name(arrays: Arrays) -> tuple[Any, ...]:
    """Equal for the same arrays, in the same format and shape, while they live."""
    return arrays.format, *arrays.shape, *map(id, arrays.tensors)


def remember(pattern: Pattern) -> None:
    """Lets the arrays of a pattern lead to it, as long as it lives and they with it."""
    tensors = list(_in_order(pattern))
    if tensors:
        name = _name(Arrays(pattern.format.text, list(pattern.shape), tensors))
        if name not in _alive:
            _alive[name] = pattern


def copied(pattern: Pattern, dtype: torch.dtype) -> list[Tensor]:
    """Copies of the arrays of a pattern, which lead to it: the compiler may write to what an operator returns."""
    copies = [a.to(a.dtype if a.dtype in packing.OWN else dtype, copy=True) for a in _in_order(pattern)]
    if copies:
        _copies.setdefault(copies[-1], {})[pattern.format.text, tuple(pattern.shape)] = pattern
    return copies


def _found(arrays: Arrays) -> Pattern | None:
    if not arrays.tensors:
        return None
    if (pattern := _alive.get(_name(arrays))) is not None:
        return pattern
    found: Pattern | None = _copies.get(arrays.tensors[-1], {}).get((arrays.format, tuple(arrays.shape)))
    # A copy's memory may have been given to something else since, by the compiler.
    same = found is not None and all(torch.equal(a, b) for a, b in zip(_in_order(found), arrays.tensors, strict=True))
    return found if same else None


def _new(format: Format, arrays: Arrays) -> Pattern:
    with torch.inference_mode(False):
        pattern = Pattern(format, arrays.shape, *_by_level(format, arrays.tensors))
    remember(pattern)
    return pattern


# Patterns while torch traces -----------------------------------------------------------------------------------


class TracedPattern(Pattern):
    """A pattern of fake arrays: what has to read them is an operator of the graph."""

    __slots__ = ("_tracer",)
    traced = True
    _tracer: Any

    def __init__(
        self,
        format: Format,
        shape: Sequence[Any],
        pos: Sequence[Tensor | None],
        crd: Sequence[Tensor | None],
        block: tuple[int, ...] = (),
    ) -> None:
        """Takes the arrays as they are."""
        size: Any = 1
        extents = [shape[mode] for mode in format.order]
        for level, extent, level_pos, level_crd in zip(format.kinds, extents, pos, crd, strict=True):
            size = level.formula("size", level.names(level_pos, level_crd, extent, size))
        arrays = [a for a in (*pos, *crd) if a is not None and a.dtype not in packing.OWN]
        dtype = arrays[0].dtype if arrays else packing.index_dtype([hint(n) for n in shape], hint(size))
        self._tracer, self.seen_shape = None, torch.Size(shape)
        self._begin(format, self.seen_shape, tuple(pos), tuple(crd), size, dtype, block)

    def show_extents(self) -> None:
        """Sets `expanded` where nobody knows the extents."""
        if self.expanded is None and any(map(is_unknown, self.shape)):
            self.expanded = self.tensors()[0].new_empty(()).expand(self.shape)

    def _arrays(self) -> Arrays:
        return taken_apart(self)

    def _forget(self) -> None:
        """Forgets what has been computed for another graph: torch.export traces twice, and this one would lack it."""
        mode = tracers.mode()
        tracer = None if mode is None else weakref.ref(mode.tracer)
        if tracer != self._tracer:
            self._tracer = tracer
            self._kept.entries.clear()

    def _keep(self, name: tuple[Any, ...], build: Callable[[], Any]) -> Any:
        self._forget()
        known = self._kept.get(name)
        if known is None:
            known = build()
            self._kept.entries[name] = known, 0.0
        return known

    def _expanded(self) -> tuple[Tensor, Tensor | None]:
        coords, places = _ops.coordinates(*self._arrays())
        return coords, places if self.format.padded else None

    def transposed(self, dims: tuple[int, ...]) -> Pattern:
        return TracedPattern(self.format.permute(dims), [self.shape[d] for d in dims], self.pos, self.crd)

    def _converted(self, format: Format) -> Conversion:
        source, target, *arrays = _ops.convert(*self._arrays(), format.text)
        pattern = TracedPattern(format, self.shape, *_by_level(format, arrays))
        return Conversion(pattern, source, target if format.pads or format.padded else None)

    def derive(self, name: Any, build: Callable[[], Any]) -> Any:
        if name[0] in ("blocks", "coordinates of each mode"):
            return build()
        if name[0] == "diagonal":
            return self._diagonal(name[1])
        raise UnsupportedError(
            f"{name[0]} of a sparse tensor can't be part of a graph of torch.compile or torch.export yet: its number "
            "of entries depends on the coordinates; call it before, and pass the result"
        )

    def _diagonal(self, groups: tuple[int, ...]) -> tuple[Pattern, Tensor]:
        places, *arrays = _ops.diagonal(*self._arrays(), list(groups))
        shape = [self.shape[groups.index(g)] for g in range(max(groups) + 1)]
        format = Format("csf").resolve(len(shape))
        return TracedPattern(format, shape, *_by_level(format, arrays)), places

    def _found_in(self, other: Pattern) -> derived.Located:
        numbers, found = _ops.locate(*self._arrays(), other.format.text, taken_apart(other).tensors)
        return derived.Located(numbers, found, False)

    def united(self, other: Pattern, unite: Callable[[Pattern, Pattern], Pattern]) -> Pattern:
        return unite(self, other)

    def __call__(self) -> None:
        """Fails. torch.compile keeps an attribute that could be called as a node of its graph, and no other."""
        raise TypeError("a pattern is not called")

    def __repr__(self) -> str:
        return f"TracedPattern(shape={tuple(self.shape)}, format={str(self.format)!r})"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        raise UnsupportedError("a pattern can't be saved while torch traces")


def index_dtype(shape: Sequence[Any]) -> torch.dtype:
    """The dtype of coordinates of a shape, of which extents may be symbols: those that nobody knows are small."""
    return packing.index_dtype([n for n in shape if not is_unknown(n)], 0)


def forget_symbols(tensors: Sequence[Tensor]) -> None:
    """Lets torch forget the symbols of sizes that came up on the way to a result of fake tensors and are not in it."""
    fakes = [tensor for tensor in tensors if isinstance(tensor, FakeTensor)]
    env = fakes[0].fake_mode.shape_env if fakes else None
    if env is None or not env.pending_fresh_unbacked_symbols:
        return
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

    kept = set().union(*(free_unbacked_symbols(tensor) for tensor in fakes))
    env.pending_fresh_unbacked_symbols[:] = [s for s in env.pending_fresh_unbacked_symbols if s in kept]


def faked(arrays: list[Tensor], values: Sequence[Tensor]) -> list[Tensor]:
    """Arrays of the mode of fake values, which may not be mixed with others."""
    modes = [value.fake_mode for value in values if isinstance(value, FakeTensor)]
    if not modes or modes[0].allow_non_fake_inputs:
        return arrays
    return [a if is_fake(a) else modes[0].from_tensor(a) for a in arrays]


def hint(number: Any) -> int:
    """An extent, or a guess at one that is a symbol."""
    if isinstance(number, int):
        return number
    found = number.node.hint if number.node.has_hint() else None
    return 1024 if found is None else int(found)


def fake_arrays(format: Format, shape: Sequence[Any], dtype: torch.dtype, total: Any, like: Tensor) -> list[Tensor]:
    """Arrays as long as those of a pattern of which only format and shape are known.

    Args:
        format: The format.
        shape: The shape.
        dtype: Of the arrays of numbers.
        total: The number of entries where it is known, which is the length of the last list; else None.
        like: A fake tensor.
    """
    arrays: list[Tensor] = []
    parents: Any = 1
    rows: Any = 1
    for number, (level, mode) in enumerate(zip(format.kinds, format.order, strict=True)):
        extent = shape[mode]
        names = {**level.names(None, None, extent, parents), "rows": rows}
        if level.has_pos:
            arrays.append(like.new_empty((level.formula("pos_len", names),), dtype=dtype))
        if level.has_crd:
            last = not any(kind.segmented or kind.locate for kind in format.kinds[number + 1 :])
            if total is not None and last and not level.padded and not level.locate:
                length = total
            else:
                try:
                    length = level.formula("crd_len", names)
                except TypeError:  # it is in the positions
                    length = torch.library.get_ctx().new_dynamic_size()
            arrays.append(like.new_empty((length,), dtype=level.own or dtype))
            names["crd_len"] = length
        parents, rows = level.formula("size", names), extent
    return arrays
