"""Is a result right? Whatever a library returns is read into one form and compared with a reference in float64."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

TOLERANCE = {torch.float64: 1e-11, torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}


class Dense(NamedTuple):
    """A dense result in float64."""

    values: np.ndarray


class Sparse(NamedTuple):
    """A sparse result: the sorted linear positions of its entries, and their values in float64."""

    keys: np.ndarray
    values: np.ndarray
    shape: tuple[int, ...]


Result = Dense | Sparse | tuple["Result", ...]


def sparse(coords: Any, values: Any, shape: tuple[int, ...]) -> Sparse:
    """A sparse result from coordinates in any order, where repeats are summed."""
    keys = np.zeros(len(values), np.int64)
    for axis, extent in zip(coords, shape, strict=True):
        keys = keys * extent + np.asarray(axis, np.int64)
    values = np.asarray(values, np.float64)
    if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
        keys, places = np.unique(keys, return_inverse=True)
        values = np.bincount(places, weights=values, minlength=len(keys))
    return Sparse(keys, values, tuple(shape))


def read(result: Any) -> Result:
    """A result of torch, NumPy, SciPy or libsparse in the one form; tuples item by item.

    Raises:
        TypeError: For anything else; a peer whose library returns it has a `read` of its own.
    """
    if isinstance(result, (Dense, Sparse)):
        return result
    if isinstance(result, (tuple, list)):
        return tuple(read(item) for item in result)
    if isinstance(result, np.ndarray):
        return Dense(result.astype(np.float64))
    if hasattr(result, "to_format"):
        coo = result.detach().to_format("coo")
        return sparse(coo.indices().numpy(), coo.values().double().numpy(), tuple(coo.shape))
    if isinstance(result, Tensor):
        result = result.detach()
        if result.layout == torch.strided:
            return Dense(result.double().numpy())
        if result.layout == torch.sparse_csc:  # not every conversion of CSC takes int32
            swapped = torch.sparse_csr_tensor(
                result.ccol_indices(), result.row_indices(), result.values(), result.shape[::-1]
            ).to_sparse_coo()
            coords, values = swapped._indices().flip(0), swapped._values()
        else:
            coo = result if result.layout == torch.sparse_coo else result.to_sparse_coo()
            coords, values = coo._indices(), coo._values()
        return sparse(coords.numpy(), values.double().numpy(), tuple(result.shape))
    if hasattr(result, "tocoo"):
        coo = result.tocoo()
        return sparse((coo.row, coo.col), coo.data, coo.shape)
    raise TypeError(f"a result of type {type(result).__name__} can't be read")


def nbytes(result: Result, dtype: torch.dtype) -> int:
    """Bytes that storing a result takes: values, and for sparse ones int32 coordinates of CSR."""
    if isinstance(result, tuple) and not isinstance(result, (Dense, Sparse)):
        return sum(nbytes(item, dtype) for item in result)
    if isinstance(result, Dense):
        return result.values.size * dtype.itemsize
    return len(result.keys) * (dtype.itemsize + 4) + 4 * result.shape[0]


def error(found: Result, expected: Result, scale: Result) -> float:
    """The largest error relative to the scale, which is the same computation on absolute values.

    Rounding of a sum is relative to the sum of its terms' absolute values, not to the sum.
    """
    if not isinstance(expected, (Dense, Sparse)):
        if isinstance(found, (Dense, Sparse)) or len(found) != len(expected):
            return float("inf")
        return max(error(f, e, s) for f, e, s in zip(found, expected, scale, strict=True))
    if not isinstance(found, (Dense, Sparse)):
        return float("inf")
    if isinstance(expected, Dense):
        return _dense_error(found, expected.values, scale.values)
    if isinstance(found, Dense):
        found = _entries(found)
    if found.shape != expected.shape:
        return float("inf")
    keys = np.union1d(np.union1d(found.keys, expected.keys), scale.keys)
    difference = np.abs(_at(keys, found) - _at(keys, expected))
    return _relative(difference, _at(keys, scale))


def _dense_error(found: Result, expected: np.ndarray, scale: np.ndarray) -> float:
    if isinstance(found, Sparse):
        full = np.zeros(expected.size)
        full[found.keys] = found.values
        values = full.reshape(expected.shape)
    else:
        values = found.values
    if values.shape != expected.shape:
        return float("inf")
    return _relative(np.abs(values - expected), scale)


def _relative(difference: np.ndarray, scale: np.ndarray) -> float:
    if not difference.size:
        return 0.0
    if not np.isfinite(difference).all():
        return float("inf")
    return float((difference / (np.abs(scale) + 1e-30)).max())


def _at(keys: np.ndarray, result: Sparse) -> np.ndarray:
    full = np.zeros(len(keys))
    full[np.searchsorted(keys, result.keys)] = result.values
    return full


def _entries(found: Dense) -> Sparse:
    coords = np.nonzero(found.values)
    return sparse(coords, found.values[coords], found.values.shape)
