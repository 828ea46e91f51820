"""SciPy's arrays from operands, and how a tensor is shown."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, ShapeError
from libsparse._runtime.problem import Operand
from libsparse._storage.fakes import refuse_jit_trace

from .assemble import to_format
from .layouts import block_arrays, block_shape
from .operands import to_operand

_SHOWN = 6  # entries in a repr


def to_scipy(source: Operand) -> Any:
    """A SciPy sparse array of copies: SciPy's methods that write in place move values together with indices.

    Raises:
        ShapeError: SciPy has no compressed arrays of this rank.
    """
    import scipy.sparse as sp  # optional, and slow to import

    refuse_jit_trace()
    source.need_zero_fill("a SciPy array")
    pattern, shape = source.sparsity, tuple(source.shape)
    if source.dtype == torch.bfloat16:
        raise DtypeError("to_scipy: NumPy has no bfloat16; convert with .to(torch.float32) first")
    blocks = block_shape(source)
    if blocks is not None:
        crow, col, values = block_arrays(to_format(source, f"bsr({blocks[0]},{blocks[1]})"), blocks)
        return sp.bsr_array((values.detach().clone().numpy(), col.clone().numpy(), crow.clone().numpy()), shape=shape)
    if pattern.format == "dia":
        (offsets,) = (crd for crd in pattern.crd if crd is not None)
        return sp.dia_array((_by_column(source, offsets).numpy(), offsets.clone().numpy()), shape=shape)
    entries = pattern.entries(source.values.detach()).clone().numpy()
    if pattern.format == "csr" or pattern.format == "csc":
        array = sp.csr_array if pattern.format == "csr" else sp.csc_array
        pos, crd = pattern.compressed(1)
        return array((entries, crd.clone().numpy(), pos.clone().numpy()), shape=shape)
    if source.ndim != 2:
        raise ShapeError(f"to_scipy takes matrices, got shape {shape}")
    return sp.coo_array((entries, tuple(pattern.coordinates().clone().numpy())), shape=shape)


def to_linear_operator(matrix: Tensor) -> Any:
    """SciPy's view of a matrix as a linear map, by products with it and with its adjoint.

    Raises:
        ShapeError: It is no matrix.
        DtypeError: NumPy has not its dtype.
        UnsupportedError: It has a fill value other than 0.
    """
    import numpy as np
    from scipy.sparse.linalg import LinearOperator

    source = to_operand(matrix)
    if source.ndim != 2:
        raise ShapeError(f"as_linear_operator takes matrices, got {source}")
    source.need_zero_fill("a SciPy operator")
    if source.dtype == torch.bfloat16:
        raise DtypeError("as_linear_operator: NumPy has no bfloat16; convert with .to(torch.float32) first")
    constant = matrix.detach()
    adjoint = constant.mH

    def product(left: Tensor, right: Any) -> Any:
        right = torch.from_numpy(np.ascontiguousarray(right))
        dtype = torch.promote_types(left.dtype, right.dtype)
        return (left.to(dtype) @ right.to(dtype)).numpy()

    def forward(x: Any) -> Any:
        return product(constant, x)

    def backward(x: Any) -> Any:
        return product(adjoint, x)

    dtype = torch.empty(0, dtype=source.dtype, device="cpu").numpy().dtype
    shape = tuple(source.shape)
    return LinearOperator(shape, matvec=forward, rmatvec=backward, matmat=forward, rmatmat=backward, dtype=dtype)


def _by_column(source: Operand, offsets: Tensor) -> Tensor:
    """The values of SciPy's DIA, which keeps an element in the column where it stands; ours keeps it in its row."""
    rows, columns = source.shape
    if not rows:
        return source.values.detach().new_zeros(offsets.numel(), columns)
    place = torch.arange(columns, device="cpu") - offsets.to(torch.int64)[:, None]
    values = source.values.detach().reshape(-1, rows)
    inside = (place >= 0) & (place < rows)
    return torch.where(inside, values.gather(1, place.clamp(0, rows - 1)), values.new_zeros(()))


def describe(source: Operand) -> str:
    """Shape, nnz, density, dtype, format, and a few entries."""
    pattern, data, fill = source.sparsity, source.data, source.fill
    total, nnz = math.prod(pattern.shape), pattern.nnz
    share = f"{nnz / total:.3g}" if total else "0"
    kind = "pattern only" if data is None else str(data.dtype).removeprefix("torch.")
    head = f"SparseTensor(shape={tuple(pattern.shape)}, nnz={nnz}, density={share}, dtype={kind}, "
    head += f"format={pattern.format}" + (f", fill_value={fill}" if fill != 0 else "")
    if data is not None and data.requires_grad:
        head += f", grad_fn=<{type(data.grad_fn).__name__}>" if data.grad_fn else ", requires_grad=True"
    values = pattern.entries(source.values)[:_SHOWN].tolist()
    places = pattern.coordinates()[:, :_SHOWN].t().tolist() if values else []
    lines = [
        f"  {tuple(place)}" + ("" if data is None else f": {value:.6g}")
        for place, value in zip(places, values, strict=True)
    ]
    if nnz > _SHOWN:
        lines.append(f"  ... {nnz - _SHOWN} more")
    return "\n".join([head + ")", *lines])
