"""Checks of matrices."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch
from torch import Tensor

import libsparse as ls


def taken(value: Any) -> Any:
    """An array of NumPy as a tensor of a copy, a sparse array as a SparseTensor; anything else as it is."""
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "tocoo"):
        return ls.tensor(value)
    if not hasattr(value, "__array__"):
        return value
    array = value.__array__()  # torch shares none that are read-only, reversed or of another byte order
    try:
        return torch.as_tensor(array.astype(array.dtype.newbyteorder("="), order="C"), device="cpu")
    except TypeError:
        raise ls.DtypeError(f"an array has dtype {array.dtype}; expected numbers of a dtype that torch has") from None


def matrix(name: str, A: Any) -> None:
    """Raises unless A is a sparse matrix of numbers that can be divided."""
    if not isinstance(A, ls.SparseTensor):
        raise ls.DtypeError(f"{name}: A is a {type(A).__name__}; expected an ls.SparseTensor, see ls.tensor")
    if A.ndim != 2:
        raise ls.ShapeError(f"{name}: A ({A._facts()}); expected a matrix")
    if not (A.dtype.is_floating_point or A.dtype.is_complex):
        raise ls.DtypeError(f"{name}: A ({A._facts()}) has dtype {A.dtype}; use A.float() or A.double()")
    if A.fill_value != 0:
        raise ls.UnsupportedError(f"{name}: A ({A._facts()}) has the fill value {A.fill_value}; expected 0")


def square_matrix(name: str, A: Any) -> None:
    """Raises unless A is such a matrix, and square."""
    matrix(name, A)
    if A.shape[0] != A.shape[1]:
        raise ls.ShapeError(f"{name}: A ({A._facts()}); expected a square matrix")


def greatest(A: ls.SparseTensor) -> float:
    """The magnitude of the greatest entry, NaN if one is; 0 without entries."""
    values = A.values()
    return float(values.abs().max()) if values.numel() else 0.0


def scaled(A: ls.SparseTensor) -> tuple[ls.SparseTensor, float]:
    """A times a power of two with which its greatest entry is near 1, and the power: squares vanish in no method."""
    values, most = A.values(), greatest(A)
    if not 0 < most < math.inf:
        return A, 1.0
    limit = math.frexp(torch.finfo(A.dtype).max)[1] - 1
    factor = 2.0 ** min(max(-math.frexp(most)[1], -limit), limit)
    return A.with_values(values * factor), factor


def tolerance(name: str, argument: str, given: Any) -> float:
    """A tolerance; NaN, which nothing compares with, would pass for one that is reached."""
    try:
        found = float(given)
    except (TypeError, ValueError):
        raise ls.DtypeError(f"{name}: {argument} is a {type(given).__name__}; expected a number from 0 on") from None
    if not found >= 0:
        raise ls.FormatError(f"{name}: {argument}={given!r}; expected a number from 0 on")
    return found


def count(name: str, argument: str, given: Any) -> int:
    """How many iterations there may be."""
    try:
        found = operator.index(given)
    except TypeError:
        raise ls.DtypeError(f"{name}: {argument}={given!r}; expected an int from 0 on") from None
    if found < 0:
        raise ls.FormatError(f"{name}: {argument}={given!r}; expected an int from 0 on")
    return found


def vector(name: str, argument: str, given: Any) -> None:
    """Raises unless an argument is a dense tensor."""
    if not isinstance(given, Tensor) or isinstance(given, ls.SparseTensor) or given.layout != torch.strided:
        kind = given._facts() if isinstance(given, ls.SparseTensor) else type(given).__name__
        raise ls.DtypeError(f"{name}: {argument} is {kind}; expected a dense tensor")
