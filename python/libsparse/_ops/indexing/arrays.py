"""Tensors whose values are arrays, and matrices of blocks: what moves entries moves whole arrays, or blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from libsparse._lang import dtypes
from libsparse._lang.records import NamedTuple
from libsparse._ops.operands import PLAIN
from libsparse._runtime.problem import Operand
from libsparse._storage import conversion, ordinary
from libsparse._storage.conversion import Conversion, in_arrays
from libsparse._storage.fakes import is_fake
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from .keys import INDEX, Key, Slice


def above_blocks(source: Operand) -> Operand | None:
    """A tensor whose values are arrays as one with an entry for each: its values are (entries, elements of each).

    What gives entries other places carries rows of values along, which is shorter than to find a place for each number.

    Returns:
        None where values are numbers, or torch traces.
    """
    pattern = source.sparsity
    if not pattern.block or pattern.traced or source.data is None or is_fake(source.data):
        return None
    above = conversion.above(pattern, pattern.ndim - len(pattern.block))
    if above is None:
        return None
    return Operand(above, source.data.reshape(above.size, math.prod(pattern.block)), source.fill)


def with_blocks(above: Operand, block: Sequence[int]) -> Operand:
    """The tensor whose values are arrays of this shape: the inverse of `above_blocks`."""
    return Operand(above.sparsity.with_blocks(block), above.values.reshape(-1), above.fill)


def moved(source: Operand, modes: Sequence[int], move: Callable[[Operand], Operand]) -> Operand:
    """What a function that moves entries makes of a tensor; whole values are moved where they are arrays.

    Args:
        source: The tensor.
        modes: The dimensions whose coordinates change.
        move: The function, which keeps the number of dimensions.
    """
    block = source.sparsity.block
    above = above_blocks(source) if max(modes, default=0) < source.ndim - len(block) else None
    return move(source) if above is None else with_blocks(move(above), block)


def regrouped(
    above: tuple[int, ...], block: tuple[int, ...], new: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The new shape of a tensor of arrays and that of the arrays, where no element goes to another one."""
    for count in (len(above), len(new) - len(block)):
        products = math.prod(new[:count]), math.prod(new[count:])
        if 0 < count <= len(new) and products == (math.prod(above), math.prod(block)):
            return new[:count], new[count:]
    return None


def side_by_side(operands: Sequence[Operand], mode: int) -> Operand | None:
    """Tensors whose values are arrays, joined along a dimension of these; None where not all have the same entries."""
    above = [found for found in map(above_blocks, operands) if found is not None]
    if len(above) < len(operands) or any(a.pattern is not above[0].pattern for a in above) or mode < above[0].ndim:
        return None
    blocks = [in_arrays(o.sparsity, a.values) for a, o in zip(above, operands, strict=True)]
    values = torch.cat(blocks, mode - above[0].ndim + 1)
    return with_blocks(above[0].with_data(values), values.shape[1:])


def split(key: Key, count: int) -> tuple[Key, Inner] | None:
    """The parts of a key for the first modes, so many, and for those behind them.

    Returns:
        None where one list names coordinates of both, or dimensions of the result don't follow each other like
        this; or where none is left of the first modes.
    """
    inner = [mode for mode in key.indices if mode >= count]
    if len(inner) > 1 or (inner and len(key.indices) > 1):
        return None
    behind = [dim >= count or (dim == INDEX and bool(inner)) for dim in key.dims]
    cut = behind.index(True) if True in behind else len(behind)
    modes = sorted({*key.slices, *inner, *key.picks})
    wanted = tuple(INDEX if mode in inner else mode for mode in modes if mode >= count and mode not in key.picks)
    if not cut or key.dims[cut:] != wanted:
        return None
    first = range(count)
    outer = Key(
        {mode: at for mode, at in key.picks.items() if mode in first},
        {mode: at for mode, at in key.slices.items() if mode in first},
        {mode: at for mode, at in key.indices.items() if mode in first},
        () if inner else key.index_shape,
        key.dims[:cut],
    )
    items = [key.picks.get(mode, key.slices.get(mode)) for mode in modes if mode >= count]
    return outer, Inner(tuple(items), key.indices[inner[0]] if inner else None, key.index_shape)


class Inner(NamedTuple):
    """What a key names of values that are arrays.

    Attributes:
        items: For each of their dimensions an integer, a slice, or None for the one that is selected by `listed`.
        listed: The coordinates of one dimension, int64 and flat, if a tensor selects them.
        shape: The shape that these have.
    """

    items: tuple[int | Slice | None, ...]
    listed: Tensor | None
    shape: tuple[int, ...]

    def of(self, values: Tensor) -> Tensor:
        """The part of values, (entries, *block); differentiable."""
        for dim in range(len(self.items), 0, -1):
            item = self.items[dim - 1]
            if item is None:
                assert self.listed is not None
                values = values.index_select(dim, self.listed)
                values = values if len(self.shape) == 1 else values.unflatten(dim, self.shape)
            elif isinstance(item, int):
                values = values.select(dim, item)
            elif not item.whole(values.shape[dim]):
                start, step, length = item
                values = values.narrow(dim, start, step * (length - 1) + 1 if length else 0)
                values = values if step == 1 else values[(slice(None),) * dim + (slice(None, None, step),)]
        return values


def of_blocks(pattern: Pattern) -> Pattern | None:
    """A matrix of blocks as one with an entry for each block; None where blocks reach beyond the shape."""
    format, sizes = pattern.format, block_sizes(pattern)
    if (
        sizes is None
        or pattern.traced
        or pattern.block
        or any(n % m for n, m in zip(pattern.shape, sizes, strict=True))
    ):
        return None
    shape = torch.Size([n // m for n, m in zip(pattern.shape, sizes, strict=True)])
    listed = Format(f"ds:{','.join(map(str, format.order))}").resolve(2)
    size, dtype = pattern.size // math.prod(sizes), pattern.index_dtype
    return pattern.derive(("blocks",), lambda: Pattern._of_kernel(listed, shape, pattern.pos, pattern.crd, size, dtype))


def block_sizes(pattern: Pattern) -> tuple[int, ...] | None:
    """The shape of the blocks of a matrix of them."""
    kinds, order = pattern.format.kinds, pattern.format.order
    if len(kinds) != 2 or not (kinds[0].letter == "d" and kinds[1].letter == "k"):
        return None
    by_level = kinds[1].numbers
    return tuple([by_level[order.index(mode)] for mode in (0, 1)])


def in_blocks(found: Conversion, like: Pattern) -> Conversion:
    """What was made of a matrix with an entry for each block of `like`, with these blocks again."""
    sizes, (blocks, source, _) = block_sizes(like), found
    assert sizes is not None
    each, shape = math.prod(sizes), [n * m for n, m in zip(blocks.shape, sizes, strict=True)]
    pattern = Pattern(like.format, shape, blocks.pos, blocks.crd)
    if source is not None:
        dtype = torch.int32 if max(pattern.size, like.size) <= dtypes.INT32_MAX else torch.int64
        source = (source.to(dtype)[:, None] * each + torch.arange(each, dtype=dtype, device="cpu")).reshape(-1)
    return Conversion(pattern, source, None)


def divided(
    patterns: Sequence[Pattern], shifts: Sequence[Sequence[int]], shape: Sequence[int], format: Format
) -> tuple[list[Pattern], list[list[int]], list[int], Format] | None:
    """Matrices of blocks of one format that are to be joined, as those with an entry for each; None of others.

    Args:
        patterns: The patterns.
        shifts: What is added to the coordinates of each: extents of others, which are multiples of those of blocks.
        shape: The shape of the result.
        format: Its format.
    """
    sizes = block_sizes(patterns[0])
    if sizes is None or any([pattern.format != format for pattern in patterns]):
        return None
    blocks = [found for found in map(of_blocks, patterns) if found is not None]
    if len(blocks) < len(patterns):
        return None
    first, *others = [[n // m for n, m in zip(numbers, sizes, strict=True)] for numbers in (shape, *shifts)]
    return blocks, others, first, blocks[0].format


def named_blocks(key: Key, sizes: Sequence[int]) -> Key | None:
    """The key of the blocks that a key of elements names; None where it names parts of some, or in another order."""
    if key.picks or len(key.dims) != 2 or len(key.index_shape) > 1 or ordinary.in_transform() is not None:
        return None
    slices, indices, shape = {}, {}, key.index_shape
    for mode, dim in enumerate(key.dims):
        size = sizes[mode]
        if dim == mode:
            start, step, length = key.slices[mode]
            if start % size or step != 1 or length % size:
                return None
            slices[mode] = Slice(start // size, 1, length // size)
        elif dim == INDEX and mode in key.indices:
            listed = key.indices[mode]
            if type(listed) not in PLAIN or is_fake(listed) or listed.numel() % size:
                return None
            each = listed.reshape(-1, size)
            first = each[:, :1]
            if not bool(((first % size == 0) & (each == first + torch.arange(size, device="cpu"))).all()):
                return None
            indices[mode], shape = first.flatten() // size, (listed.numel() // size,)
        else:
            return None
    return Key({}, slices, indices, shape, key.dims)


def covering_blocks(key: Key, sizes: Sequence[int], shape: Sequence[int]) -> tuple[Key, Key] | None:
    """The key of the blocks that hold what a key of elements names, and the key of these elements among those blocks.

    Args:
        key: A key of elements.
        sizes: The extents of a block.
        shape: How many blocks there are along each mode.

    Returns:
        None where they are all blocks, or none.
    """
    if ordinary.in_transform() is not None:
        return None
    slices: dict[int, Slice] = {}
    indices: dict[int, Tensor] = {}
    counts = []
    inner = key._replace(picks=dict(key.picks), slices=dict(key.slices), indices=dict(key.indices))
    for mode, size in enumerate(sizes):
        if mode in key.indices:
            listed = key.indices[mode]
            if type(listed) not in PLAIN or is_fake(listed) or not listed.numel():
                return None
            named, place = torch.unique(listed // size, return_inverse=True)
            first, count = int(named[0]), int(named[-1] - named[0]) + 1
            if not indices:
                indices[mode], count = named, named.numel()
                inner.indices[mode] = place * size + listed % size
            else:  # two lists would name pairs of blocks
                slices[mode] = Slice(first, 1, count)
                inner.indices[mode] = listed - first * size
        else:
            start, step, length = key.slices[mode] if mode in key.slices else Slice(key.picks[mode], 1, 1)
            if not length:
                return None
            first = start // size
            count = (start + step * (length - 1)) // size - first + 1
            slices[mode] = Slice(first, 1, count)
            if mode in key.picks:
                inner.picks[mode] = start - first * size
            else:
                inner.slices[mode] = Slice(start - first * size, step, length)
        counts.append(count)
    if counts == list(shape):
        return None
    dims = tuple([INDEX if mode in indices else mode for mode in range(len(sizes))])
    return Key({}, slices, indices, tuple([named.numel() for named in indices.values()]), dims), inner
