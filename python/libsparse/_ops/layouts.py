"""torch's own sparse tensors, read into operands and written from them; a set of index tensors has one pattern."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from libsparse._lang.errors import UnsupportedError
from libsparse._runtime.problem import Operand
from libsparse._storage import checks, packing, validate
from libsparse._storage.pattern import Pattern

from .assemble import assemble, pattern_from_levels, to_dense, to_format

_FORMATS = {torch.sparse_csr: "csr", torch.sparse_csc: "csc", torch.sparse_coo: "coo"}
_BATCHES = {torch.sparse_csr: "dds", torch.sparse_csc: "dds:0,2,1"}
_BLOCKED = {torch.sparse_bsr: "bsr", torch.sparse_bsc: "bsc"}
LAYOUTS = frozenset({*_FORMATS, *_BLOCKED})
_KEPT = 256


class _Known(NamedTuple):
    """The pattern of a tensor's indices, kept for the next time.

    Attributes:
        pattern: The pattern.
        slots: Where each value of the tensor belongs, where it has duplicates or is not sorted; else None.
        storages: The storages of the index arrays, weakly: arrays that nobody else holds are forgotten, and
            no other storage can have their address before.
        versions: Their version counters when they were read.
    """

    pattern: Pattern
    slots: Tensor | None
    storages: tuple[StorageWeakRef, ...]
    versions: tuple[int, ...]

    def expired(self) -> bool:
        """Whether an array is gone."""
        return any(storage.expired() for storage in self.storages)


_known: dict[tuple[object, ...], _Known] = {}


def read(source: Tensor) -> Operand:
    """The elements of a COO, CSR, CSC, BSR or BSC tensor; autograd follows `source`.

    Dense dimensions become blocks of the entries, and a batch of CSR or CSC matrices a tensor of three levels.

    Raises:
        UnsupportedError: Another layout, or more than one dimension of batches.
    """
    if not source.is_cpu:
        raise UnsupportedError(
            f"a tensor (shape {tuple(source.shape)}, layout {source.layout}) is on {source.device}; "
            "libsparse computes on the CPU, use .cpu()"
        )
    name = _FORMATS.get(source.layout) or _blocked_format(source)
    blocks, batched = source.dense_dim(), name in ("csr", "csc") and source.ndim - source.dense_dim() == 3
    if name is None or (name != "coo" and source.ndim - blocks != 2 and not batched):
        raise UnsupportedError(
            f"tensors of layout {source.layout} and shape {tuple(source.shape)} are not supported yet"
        )
    shape = source.shape[: source.ndim - blocks]
    known = _look_up(name, shape, index_arrays(source))
    values = _Values.apply(source) if source.requires_grad else _raw_values(source.detach())
    if known.slots is not None:
        values = values.new_zeros((known.pattern.size, *values.shape[1:])).index_add(0, known.slots, values)
    return Operand(known.pattern.with_blocks(source.shape[source.ndim - blocks :]), values.reshape(-1))


def index_arrays(source: Tensor) -> tuple[Tensor, ...]:
    """The index arrays of a tensor of any sparse layout."""
    if source.layout is torch.sparse_coo:
        return (source._indices(),)
    if source.layout in (torch.sparse_csr, torch.sparse_bsr):
        return source.crow_indices(), source.col_indices()
    return source.ccol_indices(), source.row_indices()


def _tensor(
    layout: torch.layout, arrays: Sequence[Tensor], values: Tensor, shape: torch.Size, coalesced: bool = True
) -> Tensor:
    """A tensor of a sparse layout from its arrays."""
    given: dict[str, Any] = {"device": values.device, "check_invariants": False}
    if layout is torch.sparse_coo:
        return torch.sparse_coo_tensor(arrays[0], values, shape, is_coalesced=coalesced, **given)
    starts, indices = arrays
    return torch.sparse_compressed_tensor(starts, indices, values, shape, layout=layout, **given)


def _look_up(name: str, shape: torch.Size, arrays: tuple[Tensor, ...]) -> _Known:
    if any(a.is_inference() for a in arrays):
        return _read(name, shape, arrays, ())  # nothing tells when these are written to, so nothing is kept
    places = [(a.untyped_storage()._cdata, a.storage_offset(), a.shape, a.stride(), a.dtype) for a in arrays]
    key = (name, tuple(shape), *places)
    versions = tuple(a._version for a in arrays)
    found = _known.get(key)
    if found is not None and found.versions == versions and not found.expired():
        return found
    for gone in [k for k, known in list(_known.items()) if known.expired()]:
        _known.pop(gone, None)
    for old in list(_known)[: len(_known) + 1 - _KEPT]:
        _known.pop(old, None)
    found = _known[key] = _read(name, shape, arrays, versions)
    return found


@torch.inference_mode(False)
def _read(name: str, shape: torch.Size, arrays: tuple[Tensor, ...], versions: tuple[int, ...]) -> _Known:
    private = [validate.index_array("indices", a, a.ndim, copy=name == "coo") for a in arrays]
    slots = None
    if name == "coo":
        for mode, row in enumerate(private[0]):
            place = f"shape {tuple(shape)}, layout torch.sparse_coo"
            validate.bounds(f"indices[{mode}]", row, shape[mode], meaning=place)
        pattern = assemble(list(private[0].to(torch.int64)), None, shape, "coo").sparsity
        if pattern.nnz != private[0].shape[1] or not torch.equal(pattern.coordinates(), private[0]):
            slots, _ = packing.locate(list(private[0]), list(pattern.coordinates()), shape)
    elif len(shape) == 3:
        pattern = _batched(name, shape, *private)
    else:
        pattern = pattern_from_levels(name, shape, [None, private[0]], [None, private[1]], called=_names(name))
    return _Known(pattern, slots, tuple(StorageWeakRef(a.untyped_storage()) for a in arrays), versions)


def _batched(name: str, shape: torch.Size, starts: Tensor, indices: Tensor) -> Pattern:
    """The pattern of a batch of matrices, which torch stores with as many entries each."""
    count, each = indices.shape
    shifted = starts.to(torch.int64)[:, :-1] + torch.arange(count, device="cpu")[:, None] * each
    pos = torch.cat([shifted.reshape(-1), torch.tensor([count * each], device="cpu")])
    format = "dds" if name == "csr" else "dds:0,2,1"
    return pattern_from_levels(format, shape, [None, None, pos], [None, None, indices.reshape(-1)], called=_names(name))


def _names(name: str) -> checks.Names:
    """What torch calls the arrays of a layout, by the name of its format."""
    along, across = ("row", "col") if name.startswith(("csr", "bsr")) else ("col", "row")
    blocks = " of blocks" if name.startswith("b") else ""
    return checks.Names(f"c{along}_indices", f"{across}_indices", f"{'column' if along == 'col' else along}{blocks}")


def _blocked_format(source: Tensor) -> str | None:
    """The format of a BSR or BSC tensor."""
    if source.layout not in _BLOCKED or source.ndim != 2:
        return None
    height, width = source.values().shape[1:3]
    return f"{_BLOCKED[source.layout]}({height},{width})"


def _raw_values(source: Tensor) -> Tensor:
    if source.layout is torch.sparse_coo:
        return source._values()
    values = source.values()
    if source.layout is torch.sparse_bsc:  # its blocks are row-major, those of the format run along columns
        values = values.transpose(1, 2)
    return values.reshape(-1)


_TAKING_COO = ("TBackward", "Transpose", "Permute", "NumpyT", "ToSparse", "Neg", "Add", "Clone", "Alias", "_Followed")


def _takes_coo(node: Any) -> bool:
    """Whether the function that made a CSR tensor takes a COO gradient; others would multiply it by a CSR tensor."""
    if node is None:
        return False
    try:
        other = getattr(node, "_saved_other", None)
    except RuntimeError:  # it has been written to, which torch says when there is a gradient
        other = None
    scaled = other is not None and not other.ndim
    return scaled or bool(node.name().startswith(_TAKING_COO))


class _Values(torch.autograd.Function):
    """The values of a sparse tensor.

    The gradient of a leaf has its layout, but where torch can't accumulate that it is COO. So is that of other tensors,
    which may be transposed, if torch takes it.
    """

    @staticmethod
    def forward(ctx: Any, source: Tensor) -> Tensor:
        ctx.source = source.detach()
        ctx.keeps = source.layout is not torch.sparse_csc and not _takes_coo(source.grad_fn)
        ctx.set_materialize_grads(False)  # an undefined gradient stays undefined, as in torch
        return _raw_values(ctx.source).clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> Tensor | None:
        if grad is None:
            return None
        grad = grad.reshape(_raw_values(ctx.source).shape)
        if ctx.source.layout in _BLOCKED:
            return write(Operand(read(ctx.source).pattern, grad), torch.sparse_coo)
        if ctx.source.layout is torch.sparse_coo and not ctx.source.is_coalesced():
            # Duplicates of an entry have one gradient, as in torch.
            sparse = ctx.source.shape[: ctx.source.sparse_dim()]
            known = _look_up("coo", sparse, index_arrays(ctx.source))
            if known.slots is not None:
                grad = grad.new_zeros((known.pattern.size, *grad.shape[1:])).index_copy(0, known.slots, grad)
            arrays = [known.pattern.coordinates()]
            return _tensor(torch.sparse_coo, arrays, grad, ctx.source.shape)
        if ctx.source.layout is not torch.sparse_coo:
            grad = grad.reshape(ctx.source.values().shape)
        tensor = _with_values(ctx.source, grad)
        return tensor if ctx.keeps or tensor.layout is torch.sparse_coo else tensor.to_sparse_coo()


class _Followed(torch.autograd.Function):
    """A tensor of torch's layouts from values; differentiable in both directions."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, bare: Tensor) -> Tensor:
        ctx.pattern = read(bare).pattern
        ctx.set_materialize_grads(False)
        return _with_values(bare, values if bare.layout is torch.sparse_coo else values.reshape(bare.values().shape))

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, None]:
        if grad is None:
            return None, None
        if grad.layout is torch.strided:
            return grad.reshape(-1).index_select(0, ctx.pattern.linear()), None
        source = read(grad)
        return ctx.pattern.resample(source.values, source.sparsity), None


def followed(source: Operand, layout: torch.layout) -> Tensor:
    """A tensor of one of torch's sparse layouts that autograd follows, as torch's own products return."""
    values = to_format(source, _BATCHES[layout] if is_batch(source, layout) else _FORMATS[layout]).values
    bare = write(source.with_data(source.values.detach()), layout)
    if not (values.requires_grad and torch.is_grad_enabled()):
        return bare
    tensor: Tensor = _Followed.apply(values, bare)
    return tensor


def _with_values(source: Tensor, values: Tensor) -> Tensor:
    """A tensor of the layout and the indices of `source` with other values."""
    coalesced = source.layout is not torch.sparse_coo or source.is_coalesced()
    return _tensor(source.layout, index_arrays(source), values, source.shape, coalesced)


def write(source: Operand, layout: torch.layout | None = None) -> Tensor:
    """A tensor of one of torch's sparse layouts; by default the one of the format, COO where there is none.

    Raises:
        UnsupportedError: torch has no such layout for this tensor, or libsparse doesn't write it yet.
    """
    format, blocks = source.sparsity.format, block_shape(source)
    if layout is None and blocks is not None:
        layout = torch.sparse_bsr if format.order == (0, 1) else torch.sparse_bsc
    elif layout is None:
        layout = next((known for known, name in _FORMATS.items() if format == name), torch.sparse_coo)
    if layout is torch.strided:
        return to_dense(source)
    source.need_zero_fill("a tensor of torch's")
    shape = source.shape
    if layout in _BLOCKED and blocks is not None:
        return _blocked(source, layout, blocks)
    if is_batch(source, layout):
        return _write_batch(source, layout)
    if layout not in _FORMATS or (source.ndim != 2 and layout is not torch.sparse_coo):
        raise UnsupportedError(
            f"to_torch({layout!r}) of a tensor ({source}) is not supported; expected torch.sparse_coo or, of a matrix, "
            "torch.sparse_csr, sparse_csc, or of a format of blocks sparse_bsr, sparse_bsc (see A.to_format)"
        )
    if math.prod(shape) >= 2**63:
        raise UnsupportedError(f"torch has no tensors of shape {tuple(shape)}, whose elements it can't number")
    converted = to_format(source, _FORMATS[layout])
    pattern = converted.sparsity
    indices = [pattern.coordinates()] if layout is torch.sparse_coo else pattern.compressed(1)
    return _tensor(layout, indices, converted.values, shape)


def _blocked(source: Operand, layout: torch.layout, blocks: tuple[int, int]) -> Tensor:
    """A BSR or BSC tensor with blocks of this height and width."""
    source = to_format(source, f"{_BLOCKED[layout]}({blocks[0]},{blocks[1]})")
    if layout is torch.sparse_bsr:
        *arrays, values = block_arrays(source, blocks)
    else:  # the blocks of the format run along columns, torch's are row-major
        *arrays, values = block_arrays(source, blocks[::-1])
        values = values.transpose(1, 2).contiguous()
    return _tensor(layout, arrays, values, source.shape)


def is_batch(source: Operand, layout: torch.layout) -> bool:
    """Whether a tensor is a batch of matrices with as many entries each, which torch's CSR and CSC hold."""
    if source.ndim != 3 or layout not in _BATCHES or 0 in source.shape:
        return False
    counts = torch.bincount(source.sparsity.coordinates()[0], minlength=source.shape[0])
    return bool((counts == counts[0]).all())


def _write_batch(source: Operand, layout: torch.layout) -> Tensor:
    converted = to_format(source, _BATCHES[layout])
    pos, crd = converted.sparsity.compressed(2)
    count, values = source.shape[0], converted.values
    each, lines = values.numel() // count, (pos.numel() - 1) // count
    first = torch.arange(count, device="cpu")[:, None]
    starts = pos[first * lines + torch.arange(lines + 1, device="cpu")] - first * each
    arrays = starts.to(pos.dtype), crd.reshape(count, each)
    return _tensor(layout, arrays, values.reshape(count, each), source.shape)


def block_shape(source: Operand) -> tuple[int, int] | None:
    """The height and width of the blocks that tile a BSR or BSC matrix, None for other tensors."""
    format = source.sparsity.format
    last = format.kinds[-1]
    if not (last.filling and last.numbers) or source.ndim != 2:
        return None
    along, across = last.numbers
    height, width = (along, across) if format.order == (0, 1) else (across, along)
    return None if source.shape[0] % height or source.shape[1] % width else (height, width)


def block_arrays(source: Operand, blocks: tuple[int, int]) -> tuple[Tensor, Tensor, Tensor]:
    """The arrays of torch's and SciPy's BSR."""
    return *source.sparsity.compressed(1), source.values.reshape(-1, *blocks)
