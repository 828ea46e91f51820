"""Checks of matrices."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import libsparse as ls


def taken(value: Any) -> Any:
    """An array of NumPy as a tensor of its memory, a sparse array as a SparseTensor; anything else as it is."""
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "tocoo"):
        return ls.tensor(value)
    return torch.as_tensor(value, device="cpu") if hasattr(value, "__array__") else value


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
