"""Other entries for a weight that is trained: which to drop, which to add, and what an optimizer keeps for them."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
from torch import Tensor

import libsparse as ls
from libsparse._lang.records import NamedTuple
from libsparse._ops.operands import plain_number, same_entries
from libsparse._storage import sorting
from libsparse._torch import optimizers

from . import magnitude

_CHUNK = 1 << 20  # numbers of the dense gradient that are in memory at a time


class Blocks(NamedTuple):
    """A matrix as blocks, of one element each in CSR.

    Attributes:
        keys: (blocks,) row * columns + column of each, counted in blocks; ascending in those of a matrix.
        values: (blocks, height * width).
        source: (blocks,) where each was among those of the matrix, or -1.
        block: (height, width).
        shape: Of the matrix.
    """

    keys: Tensor
    values: Tensor
    source: Tensor
    block: tuple[int, int]
    shape: tuple[int, int]

    @staticmethod
    def of(A: Any, block: tuple[int, int]) -> Blocks:
        """The blocks of a matrix in CSR, or in BSR of this block."""
        height, width = block
        pos, crd = A.pos(1), A.crd(1).long()
        rows = torch.arange(len(pos) - 1, device="cpu").repeat_interleave(pos.diff().long())
        columns = -(-A.shape[1] // width)
        values, places = A.values().reshape(-1, height * width), torch.arange(len(crd), device="cpu")
        return Blocks(rows * columns + crd, values, places, block, tuple(A.shape))

    @property
    def grid(self) -> tuple[int, int]:
        """The extents, counted in blocks."""
        return -(-self.shape[0] // self.block[0]), -(-self.shape[1] // self.block[1])

    def select(self, keep: Tensor) -> Blocks:
        """Those that a bool tensor (blocks,) says."""
        return self._taken(keep.nonzero()[:, 0])

    def extended(self, places: Tensor) -> Blocks:
        """With blocks of zeros at other places."""
        values = torch.cat([self.values, self.values.new_zeros(len(places), self.values.shape[1])])
        source = torch.cat([self.source, torch.full_like(places, -1)])
        return self._replace(keys=torch.cat([self.keys, places]), values=values, source=source)

    def _taken(self, places: Tensor) -> Blocks:
        """Those at some places, in the order of these."""
        keys, values, source = [part.index_select(0, places) for part in (self.keys, self.values, self.source)]
        return self._replace(keys=keys, values=values, source=source)

    def ordered(self) -> Blocks:
        """In storage order."""
        order = sorting.sort_order([self.keys], [math.prod(self.grid)])
        return self if order is None else self._taken(order)

    def tensor(self) -> Any:
        """The matrix of blocks in storage order."""
        rows, columns = self.grid
        ends = torch.searchsorted(self.keys, torch.arange(rows + 1, device="cpu") * columns)
        if self.block == (1, 1):
            return ls.from_csr(ends, self.keys % columns, self.values.view(-1), self.shape, check=False)
        blocks = self.values.view(-1, *self.block)
        return ls.from_bsr(ends, self.keys % columns, blocks, self.shape, check=False)


def without_smallest(blocks: Blocks, fraction: float, signs_apart: bool) -> Tensor:
    """Which blocks stay, as a bool tensor (blocks,)."""
    magnitude.check_share("prune: fraction", fraction)
    sizes = magnitude.norms(blocks.values, (1,))
    keep = torch.ones(len(sizes), dtype=torch.bool, device="cpu")
    groups = [torch.arange(len(sizes), device="cpu")]
    if signs_apart:
        if blocks.block != (1, 1):
            raise ls.UnsupportedError("prune: signs_apart=True needs single weights, and this layer stores blocks")
        if blocks.values.is_complex():
            raise ls.UnsupportedError(f"prune: signs_apart=True needs signs, and weights are {blocks.values.dtype}")
        groups = [signs.nonzero()[:, 0] for signs in (blocks.values[:, 0] >= 0, blocks.values[:, 0] < 0)]
    for places in groups:
        among = sizes if len(places) == len(sizes) else sizes[places]
        smallest = among.topk(int(fraction * len(places) + 0.5), largest=False).indices
        keep[places[smallest]] = False
    return keep


def random_places(blocks: Blocks, count: int, generator: torch.Generator | None) -> Tensor:
    """The keys of `count` blocks that are not stored; of all of these where there are no more."""
    total = blocks.grid[0] * blocks.grid[1]
    count = min(_counted(count), total - len(blocks.keys))
    if 2 * (len(blocks.keys) + count) >= total:  # most of the matrix is stored: a list of all places is no larger
        free = torch.ones(total, dtype=torch.bool, device="cpu")
        free[blocks.keys] = False
        places = free.nonzero()[:, 0]
        return places[torch.randperm(len(places), generator=generator, device="cpu")[:count]]
    found = blocks.keys[:0]
    while len(found) < count:
        drawn = torch.randint(total, (2 * count,), generator=generator, device="cpu").unique()
        drawn = torch.cat([found, drawn[~_among(drawn, blocks.keys)]]).unique()
        found = drawn[torch.randperm(len(drawn), generator=generator, device="cpu")[:count]]
    return found


def _among(wanted: Tensor, keys: Tensor) -> Tensor:
    """Whether each is one of some keys, which ascend."""
    if not len(keys):
        return torch.zeros_like(wanted, dtype=torch.bool)
    return keys[torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)] == wanted


def steepest_places(blocks: Blocks, count: int, seen: list[tuple[Tensor, Tensor]]) -> Tensor:
    """The keys of the blocks that are not stored where the gradient of the dense weight is largest.

    Args:
        blocks: What is stored.
        count: How many.
        seen: Inputs (n, in_features) of calls, and the gradients (n, out_features) of their results.
    """
    rows, columns = blocks.grid
    height, width = blocks.block
    count = min(_counted(count), rows * columns - len(blocks.keys))
    step = max(1, _CHUNK // (columns * height * width))
    best, places = torch.empty(0, device="cpu"), blocks.keys[:0]
    for start in range(0, rows, step):
        stop = min(start + step, rows)
        sizes = _block_sizes(seen, start * height, stop * height, blocks)
        low, high = torch.searchsorted(blocks.keys, torch.tensor([start, stop], device="cpu") * columns).tolist()
        sizes[blocks.keys[low:high] - start * columns] = -1
        chunk = sizes.topk(min(count, len(sizes)))
        best, places = torch.cat([best, chunk.values]), torch.cat([places, chunk.indices + start * columns])
        order = best.topk(min(count, len(best))).indices
        best, places = best[order], places[order]
    return places


def _block_sizes(seen: list[tuple[Tensor, Tensor]], start: int, stop: int, blocks: Blocks) -> Tensor:
    """The norms of blocks of the dense gradient, for some rows of it; autocast gives results another dtype."""
    height, width = blocks.block
    dtype = torch.promote_types(blocks.values.dtype, torch.float32)
    parts = (g[:, start:stop].T.to(dtype) @ x.to(dtype).conj() for x, g in seen)
    gradient = functools.reduce(Tensor.add_, parts)
    pad = (0, -gradient.shape[1] % width, 0, -gradient.shape[0] % height)
    padded = torch.nn.functional.pad(gradient, pad) if any(pad) else gradient
    return magnitude.norms(padded.view(padded.shape[0] // height, height, -1, width), (1, 3)).view(-1)


def _counted(count: int) -> int:
    count = plain_number(count)
    if not isinstance(count, int) or count < 0:
        raise ls.ShapeError(f"grow: count is {count!r}; expected how many weights to add, as prune returns it")
    return count


def take_over(weight: Any, after: Blocks, optimizer: Any) -> None:
    """Gives a parameter other blocks of its matrix, and the state of optimizers the same blocks.

    Args:
        weight: The parameter; it stays the same object.
        after: The blocks, in storage order.
        optimizer: One that has the parameter, beside those that have made a step with it; or None.
    """
    new, numbers = (after.source < 0)[:, None], weight.detach().values().numel()
    for keeper in optimizers.keepers(weight, optimizer):
        state = keeper.state[weight]
        for name, value in state.items():
            if isinstance(value, Tensor) and value.ndim == 1 and value.numel() == numbers:
                state[name] = _moved(value.reshape(-1, after.values.shape[1]), after.source, new).view(-1)
    weight.data, weight.grad = after.tensor(), None


def _moved(parts: Tensor, source: Tensor, new: Tensor) -> Tensor:
    """What is kept for each block, and zeros for new ones."""
    if not len(parts):
        return parts.new_zeros(len(source), parts.shape[1])
    return parts.index_select(0, source.clamp(min=0)).masked_fill(new, 0)


def check_loaded(name: str, found: Any, weight: Any, assigned: bool) -> None:
    """Refuses a loaded weight that is dense or, where it is not to take the place of the layer's, has other entries.

    Raises:
        FormatError: It is, with advice.
    """
    if not isinstance(found, ls.SparseTensor):
        raise ls.FormatError(
            f"{name}: the state has a dense weight of shape {tuple(found.shape)}, and this layer a sparse one; load it "
            "into an nn.Linear, and use SparseLinear.from_dense"
        )
    same = found.shape == weight.shape and same_entries(found.to_format(weight.format).pattern, weight.pattern)
    if not same and not assigned:
        raise ls.FormatError(
            f"{name}: the state has {found.nnz} entries of {found.pattern}, other places than the {weight.nnz} of this "
            f"layer; make the layer with mask=state[{name!r}], or load with assign=True before the optimizer is made"
        )
