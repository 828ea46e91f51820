"""Leaving: SparseTensor to dense, to torch's own layouts and to SciPy; and how it is shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._storage import levels, memory
from libsparse._tensor import constructors, layouts

if TYPE_CHECKING:
    from libsparse._storage.format import Format
    from libsparse._tensor.sparse_tensor import SparseTensor

_SHOWN = 6  # entries in a repr
_LAYOUTS = {torch.sparse_csr: "csr", torch.sparse_csc: "csc", torch.sparse_coo: "coo"}


def to_dense(source: SparseTensor, dtype: torch.dtype | None = None) -> Tensor:
    """A strided tensor of the same elements; differentiable."""
    pattern, values = source.pattern, source.values()
    if dtype is not None:
        values = values.to(dtype)
    memory.check(
        math.prod(pattern.shape),
        values.element_size(),
        f"a dense tensor of shape {tuple(pattern.shape)}",
        "keep it sparse",
    )
    flat = values.new_full((pattern.shape.numel(),), source.fill_value)
    return flat.index_put_((pattern.linear(),), pattern.entries(values)).reshape(pattern.shape)


def to_torch(source: SparseTensor, layout: torch.layout | None = None) -> Tensor:
    """A tensor of one of torch's sparse layouts.

    Raises:
        UnsupportedError: torch has no such layout for this tensor, or libsparse doesn't make it yet.
    """
    if layout is None:
        layout = next((known for known, name in _LAYOUTS.items() if source.format == name), torch.sparse_coo)
        layout = torch.sparse_bsr if _block(source) is not None else layout
    if layout is torch.strided:
        return source.to_dense()
    source.need_zero_fill("a tensor of torch's")
    if layout is torch.sparse_bsr and _block(source) is not None:
        return torch.sparse_bsr_tensor(*_blocks(source), tuple(source.shape), check_invariants=False)
    if layout not in _LAYOUTS or (source.ndim != 2 and layout is not torch.sparse_coo):
        raise UnsupportedError(f"to_torch({layout}) of a tensor with {source.ndim} dimensions is not supported")
    if math.prod(source.shape) >= 2**63:
        raise UnsupportedError(f"torch has no tensors of shape {tuple(source.shape)}, whose elements it can't number")
    brought = source.to_format(_LAYOUTS[layout])
    shape = tuple(brought.shape)
    if layout is torch.sparse_coo:
        return torch.sparse_coo_tensor(
            brought.indices(), brought.values(), shape, is_coalesced=True, check_invariants=False
        )
    pos, crd = brought.pos(1), brought.crd(1)
    assert pos is not None
    assert crd is not None
    make = torch.sparse_csr_tensor if layout is torch.sparse_csr else torch.sparse_csc_tensor
    return make(pos, crd, brought.values(), shape, check_invariants=False)


def to_scipy(source: SparseTensor) -> Any:
    """A SciPy sparse array; values are shared where their order allows it.

    Raises:
        ShapeError: SciPy has no compressed arrays of this rank.
    """
    import scipy.sparse as sp

    source.need_zero_fill("a SciPy array")
    if source.dtype == torch.bfloat16:
        raise DtypeError("to_scipy: NumPy has no bfloat16; convert with .to(torch.float32) first")
    if _block(source) is not None:
        crow, col, blocks = _blocks(source.detach())
        return sp.bsr_array((blocks.numpy(), col.numpy(), crow.numpy()), shape=tuple(source.shape))
    if source.format == "dia":
        return _diagonals(source)
    values = source.pattern.entries(source.values().detach()).numpy()
    if source.format == "csr" or source.format == "csc":
        make = sp.csr_array if source.format == "csr" else sp.csc_array
        pos, crd = source.pos(1), source.crd(1)
        assert pos is not None
        assert crd is not None
        return make((values, crd.numpy(), pos.numpy()), shape=tuple(source.shape))
    if source.ndim != 2:
        raise ShapeError(f"to_scipy takes matrices, got shape {tuple(source.shape)}")
    return sp.coo_array((values, tuple(source.indices().numpy())), shape=tuple(source.shape))


def _block(source: SparseTensor) -> tuple[int, int] | None:
    """The height and width of the blocks that tile a BSR matrix, None for other tensors."""
    letter, numbers = levels.kind(source.format.levels[-1])
    if letter != "k" or source.ndim != 2 or source.format.order != (0, 1):
        return None
    height, width = numbers
    return None if source.shape[0] % height or source.shape[1] % width else (height, width)


def _blocks(source: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    """The arrays of torch's BSR."""
    pos, crd, block = source.pos(1), source.crd(1), _block(source)
    assert pos is not None
    assert crd is not None
    assert block is not None
    return pos, crd, source.values().reshape(-1, *block)


def _diagonals(source: SparseTensor) -> Any:
    """SciPy's DIA, which keeps an element in the column where it stands; ours keeps it in its row."""
    import scipy.sparse as sp

    offsets = source.crd(1)
    assert offsets is not None
    rows, columns = source.shape
    place = torch.arange(columns) - offsets.to(torch.int64)[:, None]
    values = source.values().detach().reshape(-1, rows)
    if not rows:
        return sp.dia_array((rows, columns), dtype=values.numpy().dtype)
    inside = (place >= 0) & (place < rows)
    shifted = torch.where(inside, values.gather(1, place.clamp(0, rows - 1)), values.new_zeros(()))
    return sp.dia_array((shifted.numpy(), offsets.numpy()), shape=(rows, columns))


def from_torch(source: Tensor, format: str | Format | None = None) -> SparseTensor:
    """A SparseTensor from any tensor of torch: COO, CSR, CSC (keeping the format) or strided; differentiable.

    Args:
        source: The tensor.
        format: The format of the result; that of `source` by default.
    """
    if not isinstance(source, Tensor):
        raise DtypeError(f"from_torch takes a torch tensor, got {type(source).__name__}")
    if source.layout is torch.strided:
        return constructors.tensor(source, format)
    wrapped = layouts.wrap(source)
    return wrapped if format is None else wrapped.to_format(format)


def from_scipy(source: Any, format: str | Format | None = None) -> SparseTensor:
    """A SparseTensor from a SciPy sparse array or matrix, in its format (`coo` for those libsparse lacks).

    Args:
        source: The array.
        format: The format of the result.
    """
    import scipy.sparse as sp

    if not sp.issparse(source):
        raise DtypeError(f"from_scipy takes a SciPy sparse array, got {type(source).__name__}")
    if source.format in ("csr", "csc") and source.ndim == 2:
        source = source.copy()
        source.sum_duplicates()
        make = constructors.from_csr if source.format == "csr" else constructors.from_csc
        made = make(
            torch.from_numpy(source.indptr),
            torch.from_numpy(source.indices),
            torch.from_numpy(source.data),
            source.shape,
        )
        return made if format is None else made.to_format(format)
    coo = source.tocoo()
    coords = [torch.as_tensor(c, dtype=torch.int64) for c in getattr(coo, "coords", (coo.row, coo.col))]
    values = torch.from_numpy(coo.data.copy())
    return constructors.from_coo(torch.stack(coords), values, coo.shape, format=format or "coo")


def describe(source: SparseTensor) -> str:
    """Shape, nnz, density, dtype, format, and a few entries."""
    pattern, total = source.pattern, source.numel()
    share = f"{source.nnz / total:.3g}" if total else "0"
    kind = "pattern only" if source._values is None else str(source.dtype).removeprefix("torch.")
    head = f"SparseTensor(shape={tuple(source.shape)}, nnz={source.nnz}, density={share}, dtype={kind}"
    head += f", format={source.format}"
    if source.fill_value != 0:
        head += f", fill_value={source.fill_value}"
    if source.requires_grad:
        head += f", grad_fn=<{type(source.grad_fn).__name__}>" if source.grad_fn else ", requires_grad=True"
    values = pattern.entries(source.values())[:_SHOWN].tolist()
    places = pattern.coordinates()[:, :_SHOWN].t().tolist() if values else []
    lines = [
        f"  {tuple(place)}" + ("" if source._values is None else f": {value:.6g}")
        for place, value in zip(places, values, strict=True)
    ]
    if source.nnz > _SHOWN:
        lines.append(f"  ... {source.nnz - _SHOWN} more")
    return "\n".join([head + ")", *lines])
