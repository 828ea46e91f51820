"""Elementwise arithmetic: products intersect, sums unite; what would fill a tensor is refused, not densified."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._runtime.problem import Operand
from libsparse._tensor import layouts, sparse_tensor

from . import contraction, einsum, sums

if TYPE_CHECKING:
    from libsparse._tensor.sparse_tensor import SparseTensor


def multiply(a: Any, b: Any) -> Any:
    """The product of sparse, dense (broadcast to the sparse shape) and scalar operands: sparse."""
    if not isinstance(a, sparse_tensor.SparseTensor):
        a, b = b, a
    a.need_zero_fill("*")
    if is_scalar(b):
        return a.with_values(numbers(a, b) * b)
    if isinstance(b, sparse_tensor.SparseTensor):
        return _multiply_sparse(a, b)
    if not isinstance(b, Tensor):
        return NotImplemented
    dense = einsum.to_operand(b, 1)
    if dense.pattern is not None:
        return _multiply_sparse(a, sparse_tensor.SparseTensor(dense.pattern, dense.data))
    assert dense.data is not None
    letters = tuple(string.ascii_letters[: a.ndim])
    kept = broadcast_letters(a, dense.data)
    squeezed = dense.data[tuple(slice(None) if k else 0 for k in kept)]
    own = tuple(letter for letter, k in zip(letters[a.ndim - dense.data.ndim :], kept, strict=True) if k)
    operands = [Operand(a.pattern, a._values), Operand(None, squeezed)]
    return einsum.finish(*contraction.contract([letters, own], letters, operands, wish=a.format))


def divide(a: Any, b: Any) -> Any:
    """A sparse tensor divided by a scalar."""
    if isinstance(a, sparse_tensor.SparseTensor) and is_scalar(b):
        a.need_zero_fill("/")
        return a.with_values(numbers(a, b) / b)
    raise UnsupportedError(
        "division by a tensor gives a fill value other than 0, which is not supported yet; "
        "multiply by the reciprocal instead: A * (1 / d)"
    )


def add(a: Any, b: Any) -> Any:
    """The sum of two tensors: sparse where both are, dense where one is."""
    if is_scalar(a) or is_scalar(b):
        raise UnsupportedError(
            "adding a number to a sparse tensor gives a fill value other than 0, which is not supported yet; "
            "use A.map(lambda v: v + c) for the stored entries, or A.to_dense()"
        )
    first, second = _tensor(a), _tensor(b)
    if first is None or second is None:
        return NotImplemented
    if isinstance(first, sparse_tensor.SparseTensor) and isinstance(second, sparse_tensor.SparseTensor):
        return sums.add(first, second)
    if isinstance(second, sparse_tensor.SparseTensor):
        first, second = second, first
    return _add_dense(first, second)  # type: ignore[arg-type]


def subtract(a: Any, b: Any) -> Any:
    """The difference of two tensors."""
    if is_scalar(a) or is_scalar(b):
        return add(a, b)
    if isinstance(a, Tensor) and isinstance(b, Tensor) and b.dtype == torch.bool:
        if a.dtype == torch.bool:
            raise DtypeError("subtract: both operands are bool, which has no difference; use ^ or .to(torch.int64)")
        b = b.to(a.dtype)
    return add(a, -b)


def is_scalar(value: Any) -> bool:
    """Whether `value` is a number or a strided tensor without dimensions."""
    if isinstance(value, (bool, int, float, complex)):
        return True
    return isinstance(value, Tensor) and value.ndim == 0 and value.layout is torch.strided


def numbers(a: SparseTensor, scalar: Any) -> Tensor:
    """The values of `a`; ones of the scalar's type where it has none."""
    if a._values is not None:
        whole = isinstance(scalar, complex) and dtypes.accumulator(a.dtype) != a.dtype
        return a._values.to(torch.complex64) if whole else a._values  # torch hardly computes with complex halves
    return torch.ones(a.pattern.size, dtype=torch.result_type(a.values(), scalar))


def broadcast_letters(a: SparseTensor, dense: Tensor) -> list[bool]:
    """For each dimension of a dense operand, whether it runs along the one of `a` (or is repeated along it).

    Raises:
        ShapeError: The shapes don't broadcast.
        UnsupportedError: `a` itself would have to be repeated.
    """
    tail = a.shape[a.ndim - dense.ndim :] if dense.ndim <= a.ndim else None
    if tail is None or any(n != 1 and m == 1 for n, m in zip(dense.shape, tail, strict=True)):
        raise UnsupportedError(
            f"operand 0 (shape {tuple(a.shape)}, format {a.format}) would have to be repeated to the shape "
            f"of operand 1 ({tuple(dense.shape)}), which is not supported yet"
        )
    if any(n not in (1, m) for n, m in zip(dense.shape, tail, strict=True)):
        raise ShapeError(
            f"operand 0 (shape {tuple(a.shape)}, format {a.format}) and operand 1 (shape {tuple(dense.shape)}, dense) "
            "do not broadcast; extents must agree or be 1"
        )
    return [n == m and not (n == 1 and m != 1) for n, m in zip(dense.shape, tail, strict=True)]


def _multiply_sparse(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    if a.shape != b.shape:
        raise ShapeError(
            f"operand 0 (shape {tuple(a.shape)}, format {a.format}) and operand 1 (shape {tuple(b.shape)}, format "
            f"{b.format}) differ in shape; sparse tensors are multiplied element by element only where shapes agree"
        )
    if a.pattern is b.pattern:
        if a._values is None or b._values is None:
            return b if a._values is None else a
        return a.with_values(a._values * b._values)
    letters = tuple(string.ascii_letters[: a.ndim])
    operands = [Operand(a.pattern, a._values), Operand(b.pattern, b._values)]
    made: SparseTensor = einsum.finish(*contraction.contract([letters, letters], letters, operands, wish=a.format))
    return made


def _tensor(value: Any) -> Tensor | None:
    if not isinstance(value, Tensor):
        return None
    if isinstance(value, sparse_tensor.SparseTensor):
        value.need_zero_fill("a sum or a product")
        return value
    if value.layout is not torch.strided:
        return layouts.wrap(value)
    return value


def _add_dense(a: SparseTensor, dense: Tensor) -> Tensor:
    if a._values is None:
        raise DtypeError("a tensor that is only a pattern can't be added to a dense one; give it values first")
    shape = torch.broadcast_shapes(a.shape, dense.shape)
    if shape != a.shape:
        raise UnsupportedError(
            f"operand 0 (shape {tuple(a.shape)}) would have to be repeated to {tuple(shape)}; not supported yet"
        )
    dtype = torch.promote_types(a.dtype, dense.dtype)
    flat = dense.to(dtype).expand(shape).reshape(-1)
    return flat.index_add(0, a.pattern.linear(), a.pattern.entries(a._values).to(dtype)).reshape(shape)
