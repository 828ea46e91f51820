"""The patterns of torch's own sparse tensors: a set of index arrays has one pattern."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from libsparse._lang.records import NamedTuple
from libsparse._storage import checks, ordinary, validate
from libsparse._storage.fakes import refuse_jit_trace
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from .assemble import pattern_from_levels

values_of = Tensor.values  # torch's own, also under ls.enable()

_KEPT = 256
_COPIES = 8  # arrays of a pattern that tensors have been written with, with its own
_COMPARED = 4  # patterns of which a COO tensor may have one


class _Known(NamedTuple):
    """The pattern of a tensor's indices, kept for the next time.

    Attributes:
        pattern: The pattern.
        slots: Where each value of the tensor belongs, where it has duplicates or is not sorted; else None.
        firsts: One of the values of each entry, where there are slots; else None.
        indices: A copy of the indices of a COO tensor, as they came; None of other layouts.
        storages: The storages of the index arrays, weakly: arrays that nobody else holds are forgotten, and
            no other storage can have their address before.
        versions: Their version counters when they were read.
    """

    pattern: Pattern
    slots: Tensor | None
    firsts: Tensor | None
    indices: Tensor | None
    storages: tuple[StorageWeakRef, ...]
    versions: tuple[int, ...]

    def expired(self) -> bool:
        """Whether an array is gone."""
        return any([storage.expired() for storage in self.storages])


_known: dict[tuple[object, ...], _Known] = {}
_written: dict[object, tuple[Callable[[], Pattern | None], tuple[StorageWeakRef, ...]]] = {}
"""Patterns, weakly, by arrays that tensors have been written with, and the storages of these."""
_writing: weakref.WeakKeyDictionary[Pattern, list[object]] = weakref.WeakKeyDictionary()
"""The last of these arrays of each pattern, its own before copies."""


def index_arrays(source: Tensor) -> tuple[Tensor, ...]:
    """The index arrays of a tensor of any sparse layout, which no transform of torch.func wraps."""
    plain = ordinary.unwrapped(source)
    with ordinary.not_seen(plain):
        if plain.layout is torch.sparse_coo:
            return (plain._indices(),)
        if plain.layout in (torch.sparse_csr, torch.sparse_bsr):
            return plain.crow_indices(), plain.col_indices()
        return plain.ccol_indices(), plain.row_indices()


def copies(arrays: Sequence[Tensor], copied: bool | torch.dtype) -> tuple[Tensor, ...]:
    """Index arrays, or copies of them, which no transform of torch.func wraps."""
    if not copied:
        return tuple(arrays)
    with ordinary.not_seen(arrays[0]):
        dtype = torch.int64 if arrays[0].dtype is torch.int64 or copied is torch.int64 else torch.int32
        return tuple([array.clone() if copied is True or array.dtype is dtype else array.to(dtype) for array in arrays])


def known_copies(name: str, shape: torch.Size, arrays: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Copies of index arrays, which are read as the pattern that these have."""
    made = copies(arrays, True)
    remember(name, look_up(name, shape, arrays).pattern, made, True)
    return made


def raw_values(source: Tensor) -> Tensor:
    """The values in storage order, without a graph."""
    if source.layout is torch.sparse_coo:
        return source._values()
    values = values_of(source).detach()  # else a view of the sparse tensor, which has no strides
    if source.layout is torch.sparse_bsc:  # its blocks are row-major, those of the format run along columns
        values = values.transpose(1, 2)
    return values if values.ndim == 1 else values.reshape(-1)


def look_up(name: str, shape: torch.Size, arrays: tuple[Tensor, ...], *, compared: bool = False) -> _Known:
    """The pattern of index arrays, in a format by its name.

    Args:
        name: The name.
        shape: The shape of the tensor.
        arrays: Its index arrays. Version counters tell where torch has written to them since they were read.
        compared: Whether they are compared, too, which tells where others have, as through arrays of NumPy.
    """
    refuse_jit_trace()
    if any([a.is_inference() for a in arrays]):
        return _read(name, shape, arrays, ())  # nothing tells when these are written to, so nothing is kept
    key, versions = _key(name, shape, arrays), tuple([a._version for a in arrays])
    found = _known.get(key)
    valid = found is not None and found.versions == versions and not found.expired()
    if found is not None and valid and (not compared or _has(found.pattern, found.indices, arrays)):
        return found
    own, storages = _written.get((key, versions), (_nothing, ()))
    pattern = None if any(storage.expired() for storage in storages) else own()
    if pattern is not None and (not compared or _has(pattern, None, arrays)):
        return _Known(pattern, None, None, None, (), versions)
    found = _same_entries(shape, arrays[0], versions) if name == "coo" else None
    for gone in [k for k, known in list(_known.items()) if known.expired()]:
        _known.pop(gone, None)
    for old in list(_known)[: len(_known) + 1 - _KEPT]:
        _known.pop(old, None)
    found = _known[key] = found or _read(name, shape, arrays, versions)
    return found


def _has(pattern: Pattern, indices: Tensor | None, arrays: tuple[Tensor, ...]) -> bool:
    """Whether index arrays are those of a pattern, or the indices that a COO tensor came with."""
    own: tuple[Tensor | None, ...]
    if len(arrays) == 1:
        own = (pattern.coordinates() if indices is None else indices,)
    elif arrays[0].ndim == 2:  # a batch
        own, arrays = (pattern.pos[2], pattern.crd[2]), _joined(*arrays)
    else:
        own = pattern.pos[1], pattern.crd[1]
    return all(b is not None and torch.equal(a.to(b.dtype), b) for a, b in zip(arrays, own, strict=True))


def of_blocks(pattern: Pattern) -> Pattern:
    """The pattern of the places of blocks, which a tensor of torch's with dense dimensions has."""
    count = len(pattern.block)
    if not count:
        return pattern

    def build() -> Pattern:
        levels, order = "".join(pattern.format.levels[:-count]), pattern.format.order[:-count]
        format = Format(f"{levels}:{','.join(map(str, order))}")
        return Pattern(format, pattern.shape[:-count], pattern.pos[:-count], pattern.crd[:-count])

    return pattern.derive(("of blocks",), build)


def remember(name: str, pattern: Pattern, arrays: tuple[Tensor, ...], copied: bool) -> None:
    """Has the index arrays of a tensor that was written from a pattern read as that pattern.

    Args:
        name: The name of the pattern's format.
        pattern: The pattern.
        arrays: Its own arrays, which are the same each time, or copies of them.
        copied: Whether they are copies.
    """
    written = _writing.get(pattern)
    if written is None:
        written = _writing.setdefault(pattern, [None])
    if (written[0] is not None and not copied) or any([a.is_inference() for a in arrays]):
        return
    key = _key(name, pattern.shape, arrays), tuple([a._version for a in arrays])
    storages = tuple([StorageWeakRef(a.untyped_storage()) for a in arrays])
    _written[key] = weakref.ref(pattern, lambda _: _written.pop(key, None)), storages
    if not copied:
        written[0] = key
        return
    written.append(key)
    if len(written) > _COPIES:
        _written.pop(written.pop(1), None)


def _nothing() -> None:
    """What is known of arrays that no tensor has been written with."""


def _key(name: str, shape: torch.Size, arrays: tuple[Tensor, ...]) -> tuple[object, ...]:
    """What tells index arrays from all others whose storages live."""
    places = [(a.untyped_storage()._cdata, a.storage_offset(), a.shape, a.stride(), a.dtype) for a in arrays]
    return name, tuple(shape), *places


def _same_entries(shape: torch.Size, indices: Tensor, versions: tuple[int, ...]) -> _Known | None:
    """The pattern of another COO tensor with the same indices: torch's functions copy those of their arguments."""
    compared = 0
    for (_, extents, *_), known in [*_known.items()][::-1]:
        own = known.indices
        if own is not None and extents == shape and own.shape == indices.shape and own.dtype is indices.dtype:
            if torch.equal(own, indices):
                return known._replace(storages=(StorageWeakRef(indices.untyped_storage()),), versions=versions)
            compared += 1
            if compared == _COMPARED:
                break
    return None


@ordinary.outside_inference
def _read(name: str, shape: torch.Size, arrays: tuple[Tensor, ...], versions: tuple[int, ...]) -> _Known:
    from . import arranging  # with the first coordinates

    private = [validate.index_array("indices", a, a.ndim, copy=name == "coo") for a in arrays]
    slots = firsts = indices = None
    if name == "coo":
        for mode, row in enumerate(private[0]):
            place = f"shape {tuple(shape)}, layout torch.sparse_coo"
            validate.bounds(f"indices[{mode}]", row, shape[mode], meaning=place)
        wanted = Format("coo").resolve(len(shape))
        pattern, found = arranging.arrange(list(private[0].to(torch.int64)), shape, wanted, 1)
        indices = pattern.coordinates()
        if found.order is not None:
            indices, slots, firsts = private[0], found.owners, found.order
    elif len(shape) == 3:
        pattern = _batched(name, shape, *private)
    else:
        pattern = pattern_from_levels(name, shape, [None, private[0]], [None, private[1]], called=_names(name))
    return _Known(pattern, slots, firsts, indices, tuple(StorageWeakRef(a.untyped_storage()) for a in arrays), versions)


def _batched(name: str, shape: torch.Size, starts: Tensor, indices: Tensor) -> Pattern:
    """The pattern of a batch of matrices, which torch stores with as many entries each."""
    pos, crd = _joined(starts, indices)
    format = "dds" if name == "csr" else "dds:0,2,1"
    return pattern_from_levels(format, shape, [None, None, pos], [None, None, crd], called=_names(name))


def _joined(starts: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """The positions and coordinates of all matrices of a batch."""
    count, each = indices.shape
    shifted = starts.to(torch.int64)[:, :-1] + torch.arange(count, device="cpu")[:, None] * each
    return torch.cat([shifted.reshape(-1), torch.tensor([count * each], device="cpu")]), indices.reshape(-1)


def _names(name: str) -> checks.Names:
    """What torch calls the arrays of a layout, by the name of its format."""
    along, across = ("row", "col") if name.startswith(("csr", "bsr")) else ("col", "row")
    blocks = " of blocks" if name.startswith("b") else ""
    return checks.Names(f"c{along}_indices", f"{across}_indices", f"{'column' if along == 'col' else along}{blocks}")
