"""Keys: what a user writes in the brackets of `A[...]`, understood as torch understands it."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, IndexBoundsError, ShapeError, UnsupportedError
from libsparse._lang.records import NamedTuple
from libsparse._ops import agreement
from libsparse._ops.operands import is_sparse, to_operand
from libsparse._storage import sorting, validate
from libsparse._storage.boxes import nonzeros

_DTYPES = frozenset({torch.int64, torch.int32, torch.bool})  # and uint8, which is taken for bool
_MASKS = frozenset({torch.bool, torch.uint8})
_ACCEPTED = "integers, slices, '...', None, lists and tensors of integers or bools"
_REFUSED = (slice, type(None), type(...))  # in lists


class Slice(NamedTuple):
    """Coordinates `start, start + step, ...` of a mode."""

    start: int
    step: int
    length: int

    def whole(self, extent: int) -> bool:
        """Whether it is every coordinate."""
        return self.length == extent and self.step == 1

    def numbers(self) -> Tensor:
        """The coordinates themselves."""
        return torch.arange(self.start, self.start + self.step * self.length, self.step, device="cpu")


class Key(NamedTuple):
    """A key in its parts.

    Attributes:
        picks: The coordinate of each mode that is selected by an integer.
        slices: What is selected of each mode that stays a dimension of the result.
        indices: The coordinates of each mode that is selected by a tensor, int64, flat, each as long as the others.
        index_shape: The shape that these have; () where there are none.
        dims: The dimensions of the result: a mode that is sliced, NEW for one of extent 1, or INDEX for those of
            `index_shape`.
    """

    picks: dict[int, int]
    slices: dict[int, Slice]
    indices: dict[int, Tensor]
    index_shape: tuple[int, ...]
    dims: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        shape: list[int] = []
        for dim in self.dims:
            shape.extend(self.index_shape if dim == INDEX else (1 if dim == NEW else self.slices[dim].length,))
        return tuple(shape)

    def below_rows(self, mode: int, count: int) -> Key:
        """What is left of a key after the rows have been selected."""
        picks = {other: 0 if other == mode else place for other, place in self.picks.items()}
        slices, indices = dict(self.slices), dict(self.indices)
        if mode not in picks:
            slices[mode] = Slice(0, 1, count)
            indices.pop(mode, None)
        return self._replace(picks=picks, slices=slices, indices=indices)

    def is_all(self, shape: Sequence[int], owner_mode: int | None) -> bool:
        """Whether nothing is left of a key: the result is the tensor as it is."""
        if self.picks or self.indices or (owner_mode is not None and len(self.index_shape) != 1):
            return False
        dims = tuple(owner_mode if dim == INDEX else dim for dim in self.dims)
        return dims == tuple(range(len(shape))) and all(part.whole(shape[mode]) for mode, part in self.slices.items())


NEW, INDEX = -1, -2


def parse(key: Any, shape: Sequence[int]) -> Key:
    """A key of a tensor of this shape.

    Raises:
        IndexBoundsError: An index is out of range, there are too many, they don't broadcast, or it is no index.
        ShapeError: A step is not positive.
    """
    items = [_item(item) for item in (key if isinstance(key, tuple) or _is_listed(key) else (key,))]
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexBoundsError("A[...]: '...' stands for all dimensions that are left, so a key has it once")
    reader = _Reader(tuple(shape))
    open_modes = len(shape) - sum(map(_width, items))
    if open_modes < 0:
        raise IndexBoundsError(
            f"A[...]: {len(shape) - open_modes} indices for a tensor of {len(shape)} dimensions, shape {tuple(shape)}"
        )
    for item in items:
        if item is Ellipsis:
            for _ in range(open_modes):
                reader.read(slice(None))
            open_modes = 0
        else:
            reader.read(item)
    for _ in range(len(shape) - reader.mode):
        reader.read(slice(None))
    return reader.key()


def _is_listed(key: Any) -> bool:
    """Whether a list has the indices of several dimensions, as torch reads a short one of tensors, lists or arrays."""
    if not isinstance(key, list) or len(key) >= 32 or any(isinstance(part, _REFUSED) for part in key):
        return False
    return any(hasattr(part, "__len__") and not isinstance(part, str) for part in key)


def _item(item: Any) -> Any:
    """An item of a key: an int, a bool, a slice, None, `...`, or a tensor."""
    if item is None or item is Ellipsis or isinstance(item, (bool, int, slice)):
        return item
    if is_sparse(item):
        return item
    if not isinstance(item, Tensor):
        item = _as_tensor(item)
    if isinstance(item, int):
        return item
    if item.layout is not torch.strided or not item.is_cpu:
        raise UnsupportedError(f"A[...]: an index is {item.layout} on {item.device}; expected a strided one on the CPU")
    if item.dtype == torch.uint8:
        item = item.to(torch.bool)  # as torch understands it
    if item.dtype not in _DTYPES and (item.ndim > 0 or item.is_floating_point() or item.is_complex()):
        raise IndexBoundsError(
            f"A[...]: tensors used as indices are integers or bools, got {item.dtype} (not int8, int16)"
        )
    return int(item) if item.ndim == 0 and item.dtype != torch.bool else item


def _as_tensor(item: Any) -> Any:
    """A list, an array or another object that stands for integers or bools."""
    if isinstance(item, (list, tuple, range)):
        if any(isinstance(part, _REFUSED) for part in item):
            raise IndexBoundsError(
                "A[...]: a list in a key has integers or bools; write a tuple for several dimensions"
            )
        try:
            found = torch.as_tensor(item, device="cpu")
        except (TypeError, ValueError, RuntimeError) as error:
            raise IndexBoundsError(f"A[...]: a list is no index: {error}") from None
        return found if found.numel() else found.to(torch.int64)
    if hasattr(item, "__array__") and not isinstance(item, Integral):  # NumPy's arrays of one element have __index__
        found = validate.tensor("A[...]: an index", item, written=False)
        whole = not (found.dtype in _MASKS or found.is_floating_point() or found.is_complex())
        return found.to(torch.int64) if whole else found  # torch reads arrays of any integers, tensors of two
    if hasattr(item, "__index__"):
        return item.__index__()
    if isinstance(item, str):
        raise DtypeError(f"A[...]: {item!r} is no index; expected {_ACCEPTED}")
    raise IndexBoundsError(f"A[...]: a {type(item).__name__} is no index; expected {_ACCEPTED}")


def _width(item: Any) -> int:
    """How many modes an item stands for."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    mask = isinstance(item, Tensor) and item.dtype == torch.bool
    return item.ndim if mask else 1


class _Reader:
    """Reads the items of a key from left to right.

    Attributes:
        mode: The mode that the next item is about.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.mode = shape, 0
        self._picks: dict[int, int] = {}
        self._slices: dict[int, Slice] = {}
        self._indices: list[tuple[int, Tensor]] = []  # with the mode, NEW for none
        self._unchecked: set[int] = set()  # modes of indices that may be out of range
        self._dims: list[int] = []

    def read(self, item: Any) -> None:
        """Reads the next item."""
        if item is None:
            self._dims.append(NEW)
        elif isinstance(item, bool):
            self._index(NEW, torch.zeros(int(item), dtype=torch.int64, device="cpu"))
        elif isinstance(item, int):
            self._picks[self.mode] = in_range(item, self.mode, self.shape)
            self.mode += 1
        elif isinstance(item, slice):
            self._slices[self.mode] = _slice(item, self.shape[self.mode])
            self._dims.append(self.mode)
            self.mode += 1
        elif item.dtype == torch.bool:
            self._mask(item)
        elif is_sparse(item):
            raise UnsupportedError("A[...]: an index that is sparse has to be a bool mask; use to_dense() for others")
        else:
            self._unchecked.add(self.mode)
            self._index(self.mode, item)
            self.mode += 1

    def _index(self, mode: int, index: Tensor) -> None:
        self._indices.append((mode, index))
        self._dims.append(INDEX)

    def _mask(self, mask: Any) -> None:
        """A mask stands for the coordinates where it is true, one index for each of its modes."""
        if not mask.ndim:
            self._index(NEW, torch.zeros(int(mask), dtype=torch.int64, device="cpu"))
            return
        covered = self.shape[self.mode : self.mode + mask.ndim]
        if tuple(mask.shape) != covered:
            raise IndexBoundsError(
                f"A[...]: a mask of shape {tuple(mask.shape)} does not match the dimensions it stands for, of shape "
                f"{covered}"
            )
        for row in true_elements(mask):
            self._index(self.mode, row)
            self.mode += 1

    def key(self) -> Key:
        """What was read."""
        tensors = [index for _, index in self._indices]
        common = agreement.broadcast(*(index.shape for index in tensors))
        if common is None:
            shapes = ", ".join(str(tuple(index.shape)) for index in tensors)
            raise IndexBoundsError(f"A[...]: indices of shapes {shapes} don't broadcast together")
        flat = {mode: self._in_range(mode, index, common) for mode, index in self._indices if mode != NEW}
        return Key(self._picks, self._slices, flat, common, tuple(self._placed(self._dims)))

    def _in_range(self, mode: int, index: Tensor, common: tuple[int, ...]) -> Tensor:
        """The coordinates of an index in the shape of all; torch looks at none where that has no elements."""
        if mode in self._unchecked:
            index = index.to(torch.int64) if 0 in common else checked(index, mode, self.shape)
        return index.expand(common).reshape(-1)

    @staticmethod
    def _placed(dims: Sequence[int]) -> list[int]:
        """All dimensions of indices in one place: theirs if they are side by side, else the first."""
        if INDEX not in dims:
            return list(dims)
        first, count = dims.index(INDEX), dims.count(INDEX)
        together = all(dim == INDEX for dim in dims[first : first + count])
        others = [dim for dim in dims if dim != INDEX]
        others.insert(first if together else 0, INDEX)
        return others


def _slice(item: slice, extent: int) -> Slice:
    """A slice of a mode."""
    start, stop = (part if part is None else _integer(part) for part in (item.start, item.stop))
    step = 1 if item.step is None else _integer(item.step)
    if step <= 0:
        raise ShapeError(f"A[...]: a slice has step {step}; steps are positive, as in torch: use flip to turn around")
    chosen = range(*slice(start, stop, step).indices(extent))
    return Slice(chosen.start, step, len(chosen))


def _integer(value: Any) -> int:
    try:
        return int(value.__index__())
    except (AttributeError, TypeError, RuntimeError):
        raise DtypeError(f"A[...]: a bound of a slice is a {type(value).__name__}; expected an integer") from None


def in_range(place: int, mode: int, shape: Sequence[int]) -> int:
    """A coordinate counted from the front.

    Raises:
        IndexBoundsError: It is out of range.
    """
    extent = shape[mode]
    if not -extent <= place < extent:
        raise _outside(place, mode, shape)
    return place + extent if place < 0 else place


def _outside(place: int, mode: int, shape: Sequence[int]) -> IndexBoundsError:
    return IndexBoundsError(
        f"index {place} is out of range for dimension {mode} of a tensor of shape {tuple(shape)}: it has extent "
        f"{shape[mode]}"
    )


def checked(index: Tensor, mode: int, shape: Sequence[int], negative: bool = True) -> Tensor:
    """Coordinates of a mode, int64, counted from the front.

    Raises:
        IndexBoundsError: One is out of range.
    """
    index, low = bounded(index, mode, shape, negative)
    return torch.where(index < 0, index + shape[mode], index) if low < 0 else index


def bounded(index: Tensor, mode: int, shape: Sequence[int], negative: bool = True) -> tuple[Tensor, int]:
    """Coordinates of a mode, int64, counted from the back where they are negative, and the least of them.

    Raises:
        IndexBoundsError: One is out of range.
    """
    index = index.to(torch.int64)
    if not index.numel():
        return index, 0
    low, high = (int(bound) for bound in torch.aminmax(index))
    extent = shape[mode]
    if high >= extent or low < (-extent if negative else 0):
        raise _outside(high if high >= extent else low, mode, shape)
    return index, low


def true_elements(mask: Any) -> list[Tensor]:
    """The coordinates where a dense or sparse mask is true, in row-major order: one array a mode."""
    if not is_sparse(mask):
        return [nonzeros(mask).long()] if mask.ndim == 1 else list(mask.nonzero().unbind(1))
    operand = to_operand(mask)
    if operand.fill:
        raise UnsupportedError(
            f"A[mask]: the sparse mask ({operand}) is true where it stores nothing; use mask.to_dense()"
        )
    pattern = operand.sparsity
    coords = pattern.coordinates()
    if operand.data is not None:
        true = pattern.entries(operand.data)
        # few masks store what is false, and a selection takes longer than a look
        if not (sorting.is_plain(true, (torch.bool,)) and bool(true.all())):
            coords = coords[:, true]
    order = sorting.sort_order(list(coords), pattern.shape)
    return list(coords if order is None else coords.index_select(1, order))
