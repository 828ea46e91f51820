"""torch's own sparse tensors seen as SparseTensors: patterns are made once for each set of index tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from libsparse._autograd import tape
from libsparse._lang.errors import UnsupportedError
from libsparse._storage import packing, validate
from libsparse._storage.pattern import Pattern

from . import constructors, sparse_tensor

if TYPE_CHECKING:
    from .sparse_tensor import SparseTensor

_FORMATS = {torch.sparse_csr: "csr", torch.sparse_csc: "csc", torch.sparse_coo: "coo"}
_BLOCKED = {torch.sparse_bsr: "bsr", torch.sparse_bsc: "bsc"}
_KEPT = 256


class _Known(NamedTuple):
    """What is kept of a tensor's indices.

    Attributes:
        pattern: The pattern.
        slots: Where each value of the tensor belongs, where it has duplicates or is not sorted; else None.
        storages: The storages of the index arrays, weakly: what nobody else holds is forgotten, but until it is no
            other storage can have the same address.
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


def wrap(source: Tensor) -> SparseTensor:
    """A SparseTensor of the elements of a COO, CSR, CSC, BSR or BSC tensor; autograd follows `source`.

    Raises:
        UnsupportedError: Another layout, a batch of matrices, or dense dimensions.
    """
    if not source.is_cpu:
        raise UnsupportedError(f"a tensor is on {source.device}; libsparse computes on the CPU, use .cpu()")
    name = _FORMATS.get(source.layout) or _blocks(source)
    if name is None or source.dense_dim() or (name != "coo" and source.ndim != 2):
        raise UnsupportedError(
            f"tensors of layout {source.layout} and shape {tuple(source.shape)} are not supported yet"
        )
    if name == "coo":
        arrays: tuple[Tensor, ...] = (source._indices(),)
    elif source.layout in (torch.sparse_csr, torch.sparse_bsr):
        arrays = source.crow_indices(), source.col_indices()
    else:
        arrays = source.ccol_indices(), source.row_indices()
    known = _look_up(name, source.shape, arrays)
    values = _Values.apply(source) if source.requires_grad else _raw_values(source.detach())
    if known.slots is not None:
        values = values.new_zeros(known.pattern.size).index_add(0, known.slots, values)
    return sparse_tensor.SparseTensor(known.pattern, values)


def _look_up(name: str, shape: torch.Size, arrays: tuple[Tensor, ...]) -> _Known:
    if any(a.is_inference() for a in arrays):
        return _read(name, shape, arrays, ())  # nothing tells when these are written to, so nothing is kept
    key = (name, tuple(shape), *((_address(a), a.storage_offset(), a.shape, a.stride(), a.dtype) for a in arrays))
    versions = tuple(a._version for a in arrays)
    found = _known.get(key)
    if found is not None and found.versions == versions and not found.expired():
        return found
    for gone in [k for k, known in list(_known.items()) if known.expired()]:
        _known.pop(gone, None)
    for old in list(_known)[: len(_known) + 1 - _KEPT]:
        _known.pop(old, None)
    made = _known[key] = _read(name, shape, arrays, versions)
    return made


@torch.inference_mode(False)
def _read(name: str, shape: torch.Size, arrays: tuple[Tensor, ...], versions: tuple[int, ...]) -> _Known:
    private = [validate.index_array("indices", a, a.ndim) for a in arrays]
    slots = None
    if name == "coo":
        pattern = constructors.from_coo(private[0], None, shape, "coo").pattern
        if pattern.nnz != private[0].shape[1] or not torch.equal(pattern.coordinates(), private[0]):
            slots, _ = packing.locate(list(private[0]), list(pattern.coordinates()), shape)
    else:
        pattern = constructors.pattern_from_levels(name, shape, [None, private[0]], [None, private[1]])
    return _Known(pattern, slots, tuple(StorageWeakRef(a.untyped_storage()) for a in arrays), versions)


def _address(array: Tensor) -> int:
    address: int = array.untyped_storage()._cdata
    return address


def _blocks(source: Tensor) -> str | None:
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


class _Values(torch.autograd.Function):
    """The values of a sparse tensor.

    The gradient of a leaf has its layout, but where torch can't accumulate or transpose that it is COO.
    """

    @staticmethod
    def forward(ctx: Any, source: Tensor) -> Tensor:
        ctx.source = source.detach()
        ctx.keeps = source.is_leaf and source.layout is not torch.sparse_csc
        return _raw_values(ctx.source).clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        if ctx.source.layout in _BLOCKED:
            return sparse_tensor.SparseTensor(wrap(ctx.source).pattern, grad).to_torch(torch.sparse_coo)
        if ctx.source.layout is torch.sparse_coo and not ctx.source.is_coalesced():
            # What is there several times has one gradient, as in torch.
            known = _look_up("coo", ctx.source.shape, (ctx.source._indices(),))
            if known.slots is not None:
                grad = grad.new_zeros(known.pattern.size).index_copy(0, known.slots, grad)
            return sparse_tensor.SparseTensor(known.pattern, grad).to_torch(torch.sparse_coo)
        made = with_values(ctx.source, grad)
        return made if ctx.keeps or made.layout is torch.sparse_coo else made.to_sparse_coo()


class _Dress(torch.autograd.Function):
    """A tensor of torch's layouts from values; differentiable in both directions."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, bare: Tensor) -> Tensor:
        ctx.pattern = wrap(bare).pattern
        return with_values(bare, values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        if grad.layout is torch.strided:
            return grad.reshape(-1).index_select(0, ctx.pattern.linear()), None
        wrapped = wrap(grad)
        return tape.resample(wrapped.values(), wrapped.pattern, ctx.pattern), None


def dress(source: SparseTensor, layout: torch.layout) -> Tensor:
    """A tensor of one of torch's sparse layouts that autograd follows, as torch's own products return."""
    bare = source.detach().to_torch(layout)
    values = source.to_format(_FORMATS[layout]).values()
    if not (values.requires_grad and torch.is_grad_enabled()):
        return bare
    dressed: Tensor = _Dress.apply(values, bare)
    return dressed


def with_values(source: Tensor, values: Tensor) -> Tensor:
    """A tensor of the layout and the indices of `source` with other values."""
    shape = tuple(source.shape)
    if source.layout is torch.sparse_coo:
        return torch.sparse_coo_tensor(
            source._indices(), values, shape, is_coalesced=source.is_coalesced(), check_invariants=False
        )
    if source.layout is torch.sparse_csr:
        return torch.sparse_csr_tensor(
            source.crow_indices(), source.col_indices(), values, shape, check_invariants=False
        )
    return torch.sparse_csc_tensor(source.ccol_indices(), source.row_indices(), values, shape, check_invariants=False)
