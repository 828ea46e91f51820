"""Elementwise arithmetic: products intersect, sums unite; operations that would fill a tensor are refused."""

from __future__ import annotations

import string
from typing import Any

import torch
from torch import Tensor

from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._runtime.problem import Einsum, Operand

from . import contraction, union
from .operands import Indices, is_scalar, is_sparse, is_tensor, to_operand


def multiply(input: Any, other: Any) -> Any:
    """The product of sparse, dense (broadcast to the sparse shape) and scalar operands: sparse."""
    a, b = (input, other) if is_sparse(input) else (other, input)
    first = to_operand(a)
    if is_scalar(b):
        first.need_zero_fill("*")
        return Operand(first.pattern, numbers(first, b) * b)
    if not is_tensor(b):
        return NotImplemented
    first.need_zero_fill("*")
    second = to_operand(b, 1)
    if second.pattern is not None:
        return _multiply_sparse(first, second)
    letters = tuple(string.ascii_letters[: first.ndim])
    own, squeezed = squeeze(letters, second, broadcast_dims(first, second.values))
    return _product(letters, own, first, squeezed)


def divide(a: Any, b: Any) -> Operand:
    """A sparse tensor divided by a scalar."""
    if is_sparse(a) and is_scalar(b):
        source = to_operand(a)
        source.need_zero_fill("/")
        return source.with_data(numbers(source, b) / b)
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
    if not is_tensor(a) or not is_tensor(b):
        return NotImplemented
    first, second = to_operand(a, 0), to_operand(b, 1)
    for operand in (first, second):
        operand.need_zero_fill("a sum or a product")
    if second.pattern is None:
        return _add_dense(first, second.values)
    return _add_dense(second, first.values) if first.pattern is None else union.add(first, second)


def subtract(a: Any, b: Any) -> Any:
    """The difference of two tensors."""
    if is_scalar(a) or is_scalar(b):
        return add(a, b)
    if not is_tensor(a) or not is_tensor(b):
        return NotImplemented
    first, second = to_operand(a, 0), to_operand(b, 1)
    if second.dtype == torch.bool:
        if first.dtype == torch.bool:
            raise DtypeError("subtract: both operands are bool, which has no difference; use ^ or .to(torch.int64)")
        second = second.with_data(second.values.to(first.dtype))
    return add(first, second.with_data(-second.values))


def scaled(a: Any, factor: Any) -> Any:
    """A tensor multiplied by a number; itself where that is 1."""
    if isinstance(factor, (int, float)) and factor == 1:
        return a
    if isinstance(a, Operand) and a.pattern is None:
        return Operand(None, a.values * factor)
    return multiply(a, factor) if is_sparse(a) else a * factor


def plus(a: Operand, b: Operand) -> Any:
    """The sum of two operands, of which both may be dense."""
    return a.values + b.values if a.pattern is None and b.pattern is None else add(a, b)


def numbers(a: Operand, scalar: Any) -> Tensor:
    """The values of `a`; ones of the scalar's type where it has none."""
    if a.data is not None:
        whole = isinstance(scalar, complex) and dtypes.accumulator(a.dtype) != a.dtype
        return a.data.to(torch.complex64) if whole else a.data  # torch hardly computes with complex halves
    return torch.ones(a.values.numel(), dtype=torch.result_type(a.values, scalar))


def broadcast_dims(a: Operand, dense: Tensor) -> list[bool]:
    """For each dimension of a dense operand, whether it runs along the one of `a` (or is repeated along it).

    Raises:
        ShapeError: The shapes don't broadcast.
        UnsupportedError: `a` itself would have to be repeated.
    """
    tail = a.shape[a.ndim - dense.ndim :] if dense.ndim <= a.ndim else None
    if tail is None or any(n != 1 and m == 1 for n, m in zip(dense.shape, tail, strict=True)):
        raise UnsupportedError(
            f"operand 0 ({a}) would have to be repeated to the shape of operand 1 ({tuple(dense.shape)}), which is "
            "not supported yet"
        )
    if any(n not in (1, m) for n, m in zip(dense.shape, tail, strict=True)):
        raise ShapeError(
            f"operand 0 ({a}) and operand 1 (shape {tuple(dense.shape)}, dense) do not broadcast; extents must agree "
            "or be 1"
        )
    return [n == m and not (n == 1 and m != 1) for n, m in zip(dense.shape, tail, strict=True)]


def squeeze(letters: Indices, dense: Operand, kept: list[bool]) -> tuple[Indices, Operand]:
    """A dense operand and its indices without the dimensions that it is repeated along."""
    own = letters[len(letters) - dense.ndim :]
    values = dense.values[tuple(slice(None) if k else 0 for k in kept)]
    return tuple(letter for letter, k in zip(own, kept, strict=True) if k), Operand(None, values)


def _multiply_sparse(a: Operand, b: Operand) -> Operand:
    b.need_zero_fill("*")
    if a.shape != b.shape:
        raise ShapeError(
            f"operand 0 ({a}) and operand 1 ({b}) differ in shape; sparse tensors are multiplied element by element "
            "only where shapes agree"
        )
    if a.pattern is b.pattern:
        if a.data is None or b.data is None:
            return b if a.data is None else a
        return a.with_data(a.data * b.data)
    letters = tuple(string.ascii_letters[: a.ndim])
    return _product(letters, letters, a, b)


def _product(letters: Indices, own: Indices, a: Operand, b: Operand) -> Operand:
    """The product of a sparse operand and one with some of its indices, in the format of the first."""
    data, pattern = contraction.contract(Einsum((letters, own), letters, a.sparsity.format), [a, b])
    return Operand(pattern, data)


def _add_dense(a: Operand, dense: Tensor) -> Tensor:
    if a.data is None:
        raise DtypeError("a tensor that is only a pattern can't be added to a dense one; give it values first")
    shape = torch.broadcast_shapes(a.shape, dense.shape)
    if shape != a.shape:
        raise UnsupportedError(
            f"operand 0 (shape {tuple(a.shape)}) would have to be repeated to {tuple(shape)}; not supported yet"
        )
    dtype = torch.promote_types(a.dtype, dense.dtype)
    flat = dense.to(dtype).expand(shape).reshape(-1)
    return flat.index_add(0, a.sparsity.linear(), a.sparsity.entries(a.data).to(dtype)).reshape(shape)
