"""Reductions of stored values, and softmax."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import libsparse as ls

from .entries import coordinates, entries_of, parts
from .matrix import SparseMatrix, made, matrix, method, with_parts

_KNOWN = (torch.float32, torch.float64)
_OF_ALL: dict[str, Any] = {
    "sum": torch.sum,
    "smax": torch.amax,
    "smin": torch.amin,
    "smean": torch.mean,
    "sprod": torch.prod,
}
_COMPILED = {"sum": "sum", "smax": "max", "smin": "min", "smean": "sum", "sprod": "prod"}
_REDUCTIONS = {"sum": "sum", "smax": "amax", "smin": "amin", "smean": "mean", "sprod": "prod"}
_SparseTensor = ls.SparseTensor


@method
def reduce(input: _SparseTensor, dim: int | None = None, rtype: str = "sum") -> Tensor:
    """The sum, maximum, minimum, mean or product of the stored values of each row (`dim=1`), column (`dim=0`), or all.

    Elements that are not stored don't count, unlike in `A.amax(1)` and `A.mean(1)`. Rows that store nothing give 0.

    Args:
        input: With values (nnz,) or (nnz, d).
        dim: The dimension that is reduced; None for both.
        rtype: "sum", "smax", "smin", "smean" or "sprod".

    Raises:
        UnsupportedError: `rtype` is another one.
        ShapeError: `dim` is neither 0 nor 1, or there is no value for a maximum or minimum of all.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.reduce(ls.tensor([[0.0, -2.0], [0.0, 0.0]]), 1, "smax").tolist()
        [-2.0, 0.0]
    """
    if rtype not in _REDUCTIONS:
        raise ls.UnsupportedError(f"reduce: rtype is {rtype!r}; expected one of {', '.join(_REDUCTIONS)}")
    if dim not in (None, 0, 1, -1, -2):
        raise ls.ShapeError(f"reduce: dim is {dim}; expected 0 for columns, 1 for rows, or None")
    input = matrix(input, rtype)
    kept = 0 if dim in (1, -1) else 1
    if dim is not None and input.dtype in _KNOWN and input.fill_value == 0:
        entries = entries_of(input)
        if rtype == "sum" or entries is None or entries.inverse is not None:
            return _of_stored(input, kept, rtype)
    row, col, val = parts(input)
    if dim is None and not len(val) and rtype in ("smax", "smin"):
        raise ls.ShapeError(f"{rtype}: input ({input._facts()}) stores no entries; expected one at least")
    if dim is None and (rtype != "smean" or val.is_floating_point()):
        of_all: Tensor = _OF_ALL[rtype](val, 0)
        return of_all
    index = torch.zeros_like(row) if dim is None else (row, col)[kept]
    places = index.to(torch.int64).view(-1, *[1] * (val.ndim - 1)).expand_as(val)
    out = val.new_zeros(1 if dim is None else input.shape[kept], *val.shape[1:])
    out = out.scatter_reduce(0, places, val, _REDUCTIONS[rtype], include_self=False)
    return out[0] if dim is None else out


def _of_stored(input: _SparseTensor, kept: int, rtype: str) -> Tensor:
    """The reduction of what is stored in each row or column, which is compiled for the format."""
    inner = "k"[: input.ndim - 2]
    formula, form = f"ij{inner}->{'ij'[kept]}{inner}", "d" * (input.ndim - 1)
    found: Tensor = ls.einsum(formula, input, format=form, reduce=_COMPILED[rtype])
    if rtype == "sum":
        return found

    def count() -> Tensor:
        return torch.bincount(coordinates(input)[kept], minlength=input.shape[kept])

    def some_empty() -> bool:
        return bool((counts == 0).any())

    name, compiling = ("stored values of rows or columns", kept), torch.compiler.is_compiling()
    counts = count() if compiling else input.pattern.derive(name, count)
    by_entry = counts.view(-1, *[1] * len(inner))
    if rtype == "smean":
        return found / by_entry.clamp(min=1).to(found.dtype)
    if compiling or input.pattern.derive((*name, "some empty"), some_empty):
        return torch.where(by_entry > 0, found, 0)
    return found


@method
def sum(input: _SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by sums.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sum(ls.eye(3), 0).tolist()
        [1.0, 1.0, 1.0]
    """
    return reduce(input, dim, "sum")


@method
def smax(input: _SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by maxima.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.smax(-ls.eye(3), 0).tolist()
        [-1.0, -1.0, -1.0]
    """
    return reduce(input, dim, "smax")


@method
def smin(input: _SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by minima.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.smin(ls.eye(3), 0).tolist()
        [1.0, 1.0, 1.0]
    """
    return reduce(input, dim, "smin")


@method
def smean(input: _SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by means.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.smean(ls.eye(3), 0).tolist()
        [1.0, 1.0, 1.0]
    """
    return reduce(input, dim, "smean")


@method
def sprod(input: _SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by products.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sprod(ls.eye(3) * 2, 0).tolist()
        [2.0, 2.0, 2.0]
    """
    return reduce(input, dim, "sprod")


@method
def softmax(input: _SparseTensor, dim: int = 1) -> SparseMatrix:
    """The softmax over the entries of each row (or, `dim=0`, column), for each value of an entry by itself.

    Raises:
        ShapeError: `dim` is neither 0 nor 1.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.softmax(ls.eye(2)).val.tolist()
        [1.0, 1.0]
    """
    if dim not in (0, 1, -1, -2):
        raise ls.ShapeError(f"softmax: dim is {dim}; expected 0 for columns, 1 for rows")
    dim %= 2
    entries = entries_of(input)
    if entries is None or entries.inverse is not None:
        return made(torch.softmax(input, dim), entries)
    row, col, val = parts(input)
    along = (col, row)[dim].long()
    powers = (val - reduce(input, dim, "smax").detach()[along]).exp()
    sums = val.new_zeros(input.shape[1 - dim], *val.shape[1:]).index_add(0, along, powers)
    return with_parts(input, powers / sums[along])
