"""Elementwise arithmetic: compiled products and sums of operands without a fill value, `pointwise` for the rest."""

from __future__ import annotations

import contextlib
import functools
import math
import string
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang import dtypes
from libsparse._lang.errors import DivisionByZeroError, DtypeError, ToolchainError, UnsupportedError
from libsparse._runtime import notes
from libsparse._runtime.problem import Einsum, Operand, Problem
from libsparse._storage.conversion import without_ones
from libsparse._storage.format import Format

from . import contraction, pointwise, union
from .assemble import MODES
from .operands import NUMBERS, Indices, is_scalar, is_sparse, is_tensor, to_operand


def multiply(input: Any, other: Any) -> Any:
    """The product of sparse, dense and scalar operands: 0 that is not stored stays 0 times anything dense."""
    a, b = (input, other) if is_sparse(input) else (other, input)
    first = to_operand(a)
    if type(b) in (int, float) and first.fill == 0 and first.data is not None and math.isfinite(b):
        return Operand(first.pattern, notes.apply(torch.mul, first.data, b))
    if is_scalar(b):
        if isinstance(b, complex) and dtypes.accumulator(first.dtype) != first.dtype:
            first = first.with_data(first.values.to(torch.complex64))  # torch hardly computes with complex halves
        return pointwise.apply("mul", torch.mul, (first, b))
    if not is_tensor(b):
        return NotImplemented
    second = to_operand(b, 1)
    if (
        first.fill == 0
        and second.fill == 0
        and dtypes.whole(torch.promote_types(first.dtype, second.dtype)) in dtypes.CODES
    ):
        if second.pattern is not None and first.shape == second.shape:
            return _multiply_sparse(first, second)
        if second.pattern is not None and (_broadcasts(first, second) or _broadcasts(second, first)):
            return _multiply_repeated(*((first, second) if _broadcasts(second, first) else (second, first)))
        if second.pattern is None and _broadcasts(second, first):
            own, squeezed = _without_ones(second, first)
            if not own:  # one element, which has the dtype of a tensor and not that of a number
                return pointwise.apply("mul", torch.mul, (first, second), absorbing=(0, 1))
            return _product(tuple(string.ascii_letters[: first.ndim]), own, first, squeezed)
    return pointwise.apply("mul", torch.mul, (first, second), absorbing=(0, 1))


def divide(a: Any, b: Any) -> Operand | None:
    """The quotient of a sparse tensor and a dense one of the same floating dtype, which broadcasts; None of others."""
    if not is_sparse(a) or is_sparse(b) or not is_tensor(b) or is_scalar(b):
        return None
    first, second = to_operand(a), to_operand(b, 1)
    known = second.pattern is None and first.dtype in (torch.float32, torch.float64) and first.dtype == second.dtype
    if not known or first.fill != 0 or not _broadcasts(second, first) or first.ndim > MODES:
        return None
    own, divisor = _without_ones(second, first)
    if not own or tape.is_transformed([first, second]):
        return None
    data, pattern = tape.compute(_quotient(first.sparsity.format, own), [first, divisor])
    return Operand(pattern, data)


@functools.lru_cache(maxsize=256)
def _quotient(format: Format, own: Indices) -> Problem:
    """A tensor divided by one with some of its indices as a problem; the result has its pattern."""
    letters = tuple(string.ascii_letters[: len(format.order)])
    text = f"C({','.join(letters)}) = A({','.join(letters)}) / B({','.join(own)})"
    return Problem(text, True, ("A", "B"), (letters, own), letters, format, pattern_of=0)


def _without_ones(dense: Operand, sparse: Operand) -> tuple[Indices, Operand]:
    """The indices of a sparse tensor that a dense one runs along, which broadcasts to it, and what has these alone."""
    shape, first = sparse.shape, sparse.ndim - dense.ndim
    runs = [n == m for n, m in zip(dense.shape, shape[first:], strict=True)]
    letters = string.ascii_letters[first : sparse.ndim]
    own = tuple([letter for letter, run in zip(letters, runs, strict=True) if run])
    if False not in runs:
        return own, dense
    return own, Operand(None, dense.values[tuple([slice(None) if run else 0 for run in runs])])


def add(a: Any, b: Any, alpha: Any = 1) -> Any:
    """`a + alpha * b`: sparse where both are; a number becomes part of the fill value."""
    return _sum("add", torch.add, a, b, alpha)


def subtract(a: Any, b: Any, alpha: Any = 1) -> Any:
    """`a - alpha * b`."""
    return _sum("sub", torch.sub, a, b, alpha)


def as_number(value: Any) -> Any:
    """A number where torch takes something for one: a scalar of NumPy's, or a tensor without dimensions."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _sum(name: str, function: pointwise.Function, a: Any, b: Any, alpha: Any) -> Any:
    alpha = as_number(alpha)
    if any(not is_tensor(value) and not is_scalar(value) for value in (a, b)):
        return NotImplemented
    if not isinstance(alpha, (*NUMBERS, torch.SymInt, torch.SymFloat)):
        raise DtypeError(f"{name}: alpha is a {type(alpha).__name__}; expected a number")
    if is_tensor(a) and is_tensor(b) and not is_scalar(a) and not is_scalar(b):
        first, second = to_operand(a, 0), to_operand(b, 1)
        plain = first.fill == second.fill == 0 and first.data is not None and second.data is not None
        if plain and first.pattern is not None and second.pattern is not None and first.shape == second.shape:
            if name == "sub" and second.dtype == torch.bool:
                if first.dtype == torch.bool:
                    raise DtypeError("sub: both operands are bool, which has no difference; use ^ or .to(torch.int64)")
                second = second.with_data(second.values.to(first.dtype))
            if type(alpha) in (int, float) and alpha == 1:
                return union.add(first, second if name == "add" else _negated(second, first.dtype))
        if plain and type(alpha) in (int, float) and alpha == 1 and _sums_densely(first, second):
            with contextlib.suppress(ToolchainError):  # there is no compiler, and torch can do it, too
                return union.add_dense(first, second, "+" if name == "add" else "-")
    # torch multiplies by alpha in the type of the result
    return pointwise.apply(name, function, (a, b), {"alpha": alpha} if alpha != 1 else None)


def _sums_densely(a: Operand, b: Operand) -> bool:
    """Whether kernels sum two operands: one is sparse, and the other dense with at least a dimension that runs."""
    dtype = torch.promote_types(a.dtype, b.dtype)
    sparse, dense = (b, a) if a.pattern is None else (a, b)
    known = dtype in dtypes.CODES and torch.bool not in (a.dtype, b.dtype) and sparse.ndim <= MODES
    mixed = sparse.pattern is not None and dense.pattern is None
    return known and mixed and _broadcasts(dense, sparse) and any(n > 1 for n in dense.shape)


def _negated(operand: Operand, other: torch.dtype) -> Operand:
    """What is subtracted from values of another dtype, in the dtype of the difference, which has its negative."""
    dtype = torch.promote_types(operand.dtype, other)
    negative = torch.neg if operand.dtype is dtype else lambda values: -values.to(dtype)
    return operand.with_data(notes.apply(negative, operand.values))


def scaled(a: Any, factor: Any) -> Any:
    """A tensor multiplied by a number; itself where that is 1."""
    if isinstance(factor, (int, float)) and factor == 1:
        return a
    if isinstance(a, Operand) and a.pattern is None:
        return Operand(None, notes.apply(torch.mul, a.values, factor))
    return multiply(a, factor) if is_sparse(a) else a * factor


def factor_of(number: Any, dtype: torch.dtype) -> Any:
    """A factor of torch's sums of products, in the dtype of what it scales: integers cut off its fraction."""
    number = as_number(number)
    if not isinstance(number, (int, float)) or dtype.is_floating_point or dtype.is_complex:
        return number
    return bool(number) if dtype == torch.bool else int(number)


def plus(a: Operand, b: Operand) -> Any:
    """The sum of two operands, of which both may be dense."""
    if a.pattern is None and b.pattern is None:
        return notes.apply(torch.add, a.values, b.values)
    return add(a, b)


def whole_quotient(name: str, a: Any, b: Any, function: Callable[..., Tensor] | None = None) -> Any:
    """`//`, `%` and `fmod`: elements that are not stored stay 0 where the divisor is dense.

    Args:
        name: The name of torch's function.
        a: The dividend.
        b: The divisor.
        function: What computes it, in place of torch's function of that name.

    Raises:
        DivisionByZeroError: A dense divisor of integers has a zero.
        UnsupportedError: One of floats has a zero or a NaN, where elements that are not stored are NaN.
    """
    if is_tensor(b) and not is_scalar(b) and not is_sparse(b) and is_sparse(a):
        first, second = to_operand(a, 0), to_operand(b, 1)
        divisors = second.values
        kind = torch.promote_types(first.dtype, second.dtype)
        if not kind.is_floating_point and notes.decide((divisors == 0).any()):
            raise DivisionByZeroError(f"{name}: operand 1 ({second}, {second.dtype}) has a zero")
        full = math.prod(first.shape) == first.sparsity.nnz
        if not full and notes.decide(((divisors == 0) | divisors.isnan()).any()):
            raise UnsupportedError(
                f"{name}: operand 1 ({second}) has a zero or a NaN, where elements of operand 0 ({first}) that are not "
                "stored become NaN; use to_dense() on operand 0"
            )
    return pointwise.apply(name, function or getattr(torch, name), (a, b), absorbing=(0,))


def _broadcasts(dense: Operand, sparse: Operand) -> bool:
    """Whether a dense operand is at most repeated to the shape of a sparse one."""
    tail = sparse.shape[sparse.ndim - dense.ndim :]
    return dense.ndim <= sparse.ndim and all(n in (1, m) for n, m in zip(dense.shape, tail, strict=True))


def _multiply_sparse(a: Operand, b: Operand) -> Operand:
    if a.pattern is b.pattern:
        if a.data is None or b.data is None:
            return b if a.data is None else a
        return a.with_data(notes.apply(torch.mul, a.data, b.data))
    letters = tuple(string.ascii_letters[: a.ndim])
    return _product(letters, letters, a, b)


def _multiply_repeated(a: Operand, b: Operand) -> Operand:
    """The product of a sparse operand and one that is repeated to its shape, where both have entries."""
    letters = tuple(string.ascii_letters[: a.ndim])
    first, pattern = a.ndim - b.ndim, b.sparsity if b.sparsity.traced else without_ones(b.sparsity)
    shared = zip(letters[first:], pattern.shape, a.shape[first:], strict=False)
    own = tuple([letter if n == m else f"one{letter}" for letter, n, m in shared])
    return _product(letters, own, a, b._replace(pattern=pattern))


def _product(letters: Indices, own: Indices, a: Operand, b: Operand) -> Operand:
    """The product of a sparse operand and one with some of its indices, in the format of the first."""
    data, pattern = contraction.contract(Einsum((letters, own), letters, a.sparsity.format), [a, b])
    return Operand(pattern, data)
