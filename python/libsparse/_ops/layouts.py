"""torch's own sparse tensors, read into operands and written from them; both are differentiable."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import UnsupportedError
from libsparse._runtime.problem import Operand
from libsparse._storage import ordinary
from libsparse._storage.conversion import in_arrays
from libsparse._storage.fakes import refuse_jit_trace
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import nodes
from .assemble import to_dense, to_format
from .layout_patterns import copies, index_arrays, known_copies, look_up, of_blocks, raw_values, remember, values_of

_FORMATS = {torch.sparse_csr: "csr", torch.sparse_csc: "csc", torch.sparse_coo: "coo"}
_BATCHES = {torch.sparse_csr: "dds", torch.sparse_csc: "dds:0,2,1"}
_BLOCKED = {torch.sparse_bsr: "bsr", torch.sparse_bsc: "bsc"}
_to_coo: Callable[[Tensor], Tensor] = Tensor.to_sparse_coo  # torch's own, also under ls.enable()
_MATRICES = {layout: Format(name).resolve(2) for layout, name in _FORMATS.items()}
LAYOUTS = frozenset({*_FORMATS, *_BLOCKED})


def read(source: Tensor, *, compared: bool = False) -> Operand:
    """The elements of a COO, CSR, CSC, BSR or BSC tensor; autograd follows `source`.

    Dense dimensions become blocks of the entries, and a batch of CSR or CSC matrices a tensor of three levels.

    Args:
        source: The tensor.
        compared: Whether index arrays that were read before are compared with what they were then.

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
    shape, followed = source.shape[: source.ndim - blocks], source.requires_grad
    arrays = index_arrays(source.detach() if followed else source)
    known = look_up(name, shape, arrays, compared=compared)
    values = _followed_values(source, arrays) if followed else raw_values(source)
    if known.slots is not None:
        values = values.new_zeros((known.pattern.size, *values.shape[1:])).index_add(0, known.slots, values)
    if values.ndim == 1 and not blocks:
        return Operand(known.pattern, values)
    return Operand(known.pattern.with_blocks(source.shape[source.ndim - blocks :]), values.reshape(-1))


def read_followed(source: Tensor, pattern: Pattern, arrays: Sequence[Tensor]) -> Operand:
    """A matrix that autograd follows, by the pattern and the index arrays that it is known to have."""
    return Operand(pattern, _followed_values(source, arrays))


def _followed_values(source: Tensor, arrays: Sequence[Tensor]) -> Tensor:
    """A copy of the values that autograd follows to the sparse tensor."""
    if source.layout is torch.sparse_coo and source.is_coalesced():
        return values_of(source).clone()  # of no other layout does torch differentiate the gradient
    return nodes.apply(_Values, source, arrays)


def _tensor(
    layout: torch.layout, arrays: Sequence[Tensor], values: Tensor, shape: torch.Size, coalesced: bool = True
) -> Tensor:
    """A tensor of a sparse layout from its arrays."""
    given: dict[str, Any] = {"device": values.device, "check_invariants": False}
    if layout is torch.sparse_coo:
        return torch.sparse_coo_tensor(arrays[0], values, shape, is_coalesced=coalesced, **given)
    starts, indices = arrays
    return torch.sparse_compressed_tensor(starts, indices, values, shape, layout=layout, **given)


def _blocked_format(source: Tensor) -> str | None:
    """The format of a BSR or BSC tensor."""
    if source.layout not in _BLOCKED or source.ndim != 2:
        return None
    height, width = values_of(source).shape[1:3]
    return f"{_BLOCKED[source.layout]}({height},{width})"


def _gradient_layout(source: Tensor) -> torch.layout:
    """The layout of the gradient of a sparse tensor: its own for COO and CSR, of which torch can add several; else COO.

    A function of torch's that keeps a sparse tensor multiplies the gradient by that, which needs both in one layout.
    Others, such as a transposition, pass it on to one that may be CSC. Of bfloat16 torch adds COO alone.
    """
    if source.layout is not torch.sparse_csr or source.is_leaf:
        return torch.sparse_csr if source.layout is torch.sparse_csr else torch.sparse_coo
    reads = getattr(source.grad_fn, "reads_layouts", False) or nodes.keeps(source.grad_fn, LAYOUTS)
    return torch.sparse_csr if reads and source.dtype != torch.bfloat16 else torch.sparse_coo


class _Values(torch.autograd.Function):
    """The values of a sparse tensor, with its index arrays."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        _Values.keep(ctx, inputs, None)
        return _Values.compute(*inputs)

    @staticmethod
    def compute(source: Tensor, arrays: Sequence[Tensor]) -> Tensor:
        return raw_values(source.detach()).clone()

    @staticmethod
    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        source, arrays = inputs[0], tuple(map(ordinary.unwrapped, inputs[1]))
        plain = source.detach()
        ctx.source, ctx.arrays, ctx.layout = plain, arrays, _gradient_layout(source)
        needs_conversion = ctx.layout is not plain.layout and source.is_leaf
        ctx.leaf = weakref.ref(source) if needs_conversion else None
        ctx.set_materialize_grads(False)  # an undefined gradient stays undefined, as in torch

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, None]:
        return None if grad is None else _gradient(ctx, grad), None


def _gradient(ctx: Any, grad: Tensor) -> Tensor:
    """The gradient of a sparse tensor from that of its values."""
    source, layout = ctx.source, ctx.source.layout
    if layout is torch.sparse_csr and ctx.layout is layout:
        arrays = known_copies("csr", source.shape[: source.ndim - source.dense_dim()], ctx.arrays)
        return _tensor(layout, arrays, grad.reshape(values_of(source).shape), source.shape)
    if ctx.leaf is not None and (leaf := ctx.leaf()) is not None:
        _keep_layout_of_grad(leaf)
    grad = grad.reshape(raw_values(source).shape)
    if layout in _BLOCKED:
        return write(Operand(read(source).pattern, grad), torch.sparse_coo)
    if layout is torch.sparse_coo:
        # Duplicates of an entry have one gradient, as in torch.
        known = look_up("coo", source.shape[: source.sparse_dim()], ctx.arrays)
        if known.firsts is not None:
            grad = grad.index_select(0, known.firsts)
        return _tensor(torch.sparse_coo, [known.pattern.coordinates()], grad, source.shape)
    return _to_coo(_tensor(layout, ctx.arrays, grad.reshape(values_of(source).shape), source.shape))


def _keep_layout_of_grad(leaf: Tensor) -> None:
    """Gives the gradient of a leaf the layout of the leaf after the backward pass, in which torch can only add COO."""

    def restore() -> None:
        if leaf.grad is not None and leaf.grad.layout is torch.sparse_coo:
            leaf.grad = _converted(leaf.grad, leaf)

    if leaf.grad is not None and leaf.grad.layout is leaf.layout:
        leaf.grad = write(read(leaf.grad), torch.sparse_coo)
    torch.autograd.Variable._execution_engine.queue_callback(restore)


def _converted(source: Tensor, like: Tensor) -> Tensor:
    """A COO tensor with the layout and the pattern of another."""
    pattern, found, indices = read(like).sparsity, read(source), index_arrays(like)[0].dtype
    return write(Operand(pattern, pattern.resample(found.values, found.sparsity)), like.layout, copied=indices)


class _Followed(torch.autograd.Function):
    """A tensor of torch's layouts from the values of a pattern in its format; differentiable in both directions."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        _Followed.keep(ctx, inputs, None)
        return _Followed.compute(*inputs)

    @staticmethod
    def compute(values: Tensor, pattern: Pattern, layout: torch.layout, indices: torch.dtype) -> Tensor:
        return write(Operand(pattern, values), layout, copied=indices)

    @staticmethod
    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.pattern, ctx.reads_layouts = inputs[1], True
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, None, None, None]:
        if grad is None:
            return None, None, None, None
        if grad.layout is torch.strided:
            return grad.reshape(-1).index_select(0, ctx.pattern.linear()), None, None, None
        source = read(grad)
        return ctx.pattern.resample(source.values, source.sparsity), None, None, None


def followed(source: Operand, layout: torch.layout, indices: torch.dtype) -> Tensor:
    """A tensor of one of torch's sparse layouts that autograd follows, as torch's own products return.

    It is COO where there is no matrix, and CSR where there are no blocks.

    Args:
        source: The entries.
        layout: The layout.
        indices: The dtype of its index arrays, which it has for itself: torch's in-place functions write to them.
    """
    is_known = source.ndim == 2 and source.sparsity.format == _MATRICES.get(layout)
    blocks, batched = (None, False) if is_known else (block_shape(source), is_batch(source, layout))
    if source.ndim != 2 and not batched:
        layout = torch.sparse_coo
    elif layout in _BLOCKED and blocks is None:
        layout = torch.sparse_csr
    if not (source.values.requires_grad and torch.is_grad_enabled()):
        return write(source.with_data(source.values.detach()), layout, copied=indices)
    source.need_zero_fill("a tensor of torch's")
    if layout in _BLOCKED and blocks is not None:
        source = to_format(source, f"{_BLOCKED[layout]}({blocks[0]},{blocks[1]})")
    elif not is_known:
        source = to_format(source, _BATCHES[layout] if batched else _FORMATS[layout])
    return nodes.apply(_Followed, source.values, source.sparsity, layout, indices)


def _block_rows(values: Tensor, shape: Sequence[int], layout: torch.layout) -> Tensor:
    """Values in storage order as torch has them: the blocks of BSC, which run along columns, become row-major."""
    if layout is not torch.sparse_bsc:
        return values.reshape(shape)
    count, height, width = shape
    return values.reshape(count, width, height).transpose(1, 2).contiguous()


def shaped_values(source: Operand) -> Tensor:
    """The values as torch's layout of the format has them: blocks for BSR and BSC, else as a SparseTensor has them."""
    blocks, values = block_shape(source), source.values
    if blocks is not None:
        return _block_rows(values, (values.numel() // (blocks[0] * blocks[1]), *blocks), own_layout(source))
    if source.ndim == 3 and not source.sparsity.block:  # a batch of matrices with as many entries each
        return values.reshape(source.shape[0], -1)
    return in_arrays(source.sparsity, values)


def write(source: Operand, layout: torch.layout | None = None, *, copied: bool | torch.dtype = False) -> Tensor:
    """A tensor of one of torch's sparse layouts; by default the one of the format, COO where there is none.

    Args:
        source: The entries.
        layout: The layout.
        copied: Whether index arrays are copies, for users who may write to them, and not the pattern's own memory; or
            the dtype of the copies.

    Raises:
        UnsupportedError: torch has no such layout for this tensor, or libsparse doesn't write it yet.
    """
    refuse_jit_trace()
    if layout is not None and source.ndim == 2 and source.fill == 0 and source.sparsity.format == _MATRICES.get(layout):
        return _matrix(source, source.sparsity, layout, copied)
    blocks = block_shape(source)
    outer = of_blocks(source.sparsity)
    own = own_layout(Operand(outer, None))
    layout = layout or own
    if layout is torch.sparse_coo and outer is not source.pattern and outer.format == "csr":
        outer, own = to_format(Operand(outer, None), "coo").sparsity, layout
    if layout is own and outer is not source.pattern and source.fill == 0 and outer.format == _FORMATS[own]:
        return _matrix(source.with_data(shaped_values(source)), outer, layout, copied)
    if layout is torch.strided:
        return to_dense(source)
    source.need_zero_fill("a tensor of torch's")
    if layout in _BLOCKED and blocks is not None:
        return _blocked(source, layout, blocks, copied)
    if is_batch(source, layout):
        return _write_batch(source, layout, copied)
    if layout not in _FORMATS or (source.ndim != 2 and layout is not torch.sparse_coo):
        raise UnsupportedError(
            f"to_torch({layout!r}) of a tensor ({source}) is not supported; expected torch.sparse_coo or, of a matrix, "
            "torch.sparse_csr, sparse_csc, or of a format of blocks sparse_bsr, sparse_bsc (see A.to_format)"
        )
    source = to_format(source, _FORMATS[layout])
    return _matrix(source, source.sparsity, layout, copied)


def _matrix(source: Operand, pattern: Pattern, layout: torch.layout, copied: bool | torch.dtype) -> Tensor:
    """A CSR or CSC matrix, or a COO tensor, of an operand in that format; entries are those of a pattern, or blocks.

    Raises:
        UnsupportedError: It has too many elements.
    """
    if math.prod(source.shape) >= 2**63:
        raise UnsupportedError(f"torch has no tensors of shape {tuple(source.shape)}, whose elements it can't number")
    own = (pattern.coordinates(),) if layout is torch.sparse_coo else pattern.compressed(1)
    arrays = copies(own, bool(copied) if layout is torch.sparse_coo else copied)
    remember(_FORMATS[layout], pattern, arrays, bool(copied))
    return _tensor(layout, arrays, source.values, source.shape)


def own_layout(source: Operand) -> torch.layout:
    """The layout of torch's that is an operand's format; COO where there is none."""
    format = source.sparsity.format
    if block_shape(source) is not None:
        return torch.sparse_bsr if format.order == (0, 1) else torch.sparse_bsc
    return next((known for known, name in _FORMATS.items() if format == name), torch.sparse_coo)


def _blocked(source: Operand, layout: torch.layout, blocks: tuple[int, int], copied: bool | torch.dtype) -> Tensor:
    """A BSR or BSC tensor with blocks of this height and width."""
    source = to_format(source, f"{_BLOCKED[layout]}({blocks[0]},{blocks[1]})")
    if layout is torch.sparse_bsr:
        *arrays, values = block_arrays(source, blocks)
    else:  # the blocks of the format run along columns, torch's are row-major
        *arrays, values = block_arrays(source, blocks[::-1])
        values = values.transpose(1, 2).contiguous()
    return _tensor(layout, copies(arrays, copied), values, source.shape)


def is_batch(source: Operand, layout: torch.layout) -> bool:
    """Whether a tensor is a batch of matrices with as many entries each, which torch's CSR and CSC hold."""
    if source.ndim != 3 or layout not in _BATCHES or 0 in source.shape:
        return False
    counts = torch.bincount(source.sparsity.coordinates()[0], minlength=source.shape[0])
    return bool((counts == counts[0]).all())


def _write_batch(source: Operand, layout: torch.layout, copied: bool | torch.dtype) -> Tensor:
    converted = to_format(source, _BATCHES[layout])
    pos, crd = converted.sparsity.compressed(2)
    count, values = source.shape[0], converted.values
    each, lines = values.numel() // count, (pos.numel() - 1) // count
    first = torch.arange(count, device="cpu")[:, None]
    starts = pos[first * lines + torch.arange(lines + 1, device="cpu")] - first * each
    starts, indices = copies([starts.to(pos.dtype), crd], copied)
    arrays = starts, indices.reshape(count, each)
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
