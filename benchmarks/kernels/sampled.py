"""Computations at the entries of a matrix: sampled products, softmax, masked attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from method.operands import Matrix, Problem
from scipy.sparse import csr_array

from .kernel import Kernel, dense, small
from .products import sampled

HEADS = 8
_ATTENTION_NNZ = 3_000_000


def _two_sides(A: Matrix, width: int) -> dict[str, Any] | None:
    """A * (U V.T), at the entries of A."""
    if not small(max(A.shape), width):
        return None
    return {"A": A, "U": dense("U", A.shape[0], width), "V": dense("V", A.shape[1], width)}


def _two_sides_backward(A: Matrix, width: int) -> dict[str, Any] | None:
    """Adds g, the gradient of the values of the result."""
    operands = _two_sides(A, width)
    return None if operands is None else {**operands, "g": dense("g", A.nnz)}


def _matrix(A: Matrix, _: int) -> dict[str, Any]:
    """Softmax over the entries of each row."""
    return {"A": A}


def _matrix_backward(A: Matrix, _: int) -> dict[str, Any]:
    """The gradient of the values of A, where the values of the softmax have the gradient g."""
    return {"A": A, "g": dense("g", A.nnz)}


def _attention(A: Matrix, width: int) -> dict[str, Any] | None:
    """softmax(Q K.T / sqrt(width) at the entries of M) V, with 8 heads that share M."""
    if A.nnz > _ATTENTION_NNZ or not small(max(A.shape), width, HEADS):
        return None
    return {
        "M": A.with_values(torch.zeros_like(A.values)),
        "Q": dense("Q", HEADS, A.shape[0], width),
        "K": dense("K", HEADS, A.shape[1], width),
        "V": dense("V", HEADS, A.shape[1], width),
    }


def _attention_backward(A: Matrix, width: int) -> dict[str, Any] | None:
    operands = _attention(A, width)
    return None if operands is None else {**operands, "G": dense("G", HEADS, A.shape[0], width)}


def _rows(A: csr_array) -> np.ndarray:
    return np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))


def _with(A: csr_array, values: np.ndarray) -> csr_array:
    return csr_array((values, A.indices, A.indptr), shape=A.shape)


def softmax(A: csr_array, values: np.ndarray) -> np.ndarray:
    """The softmax of values over the entries of each row."""
    rows, full = _rows(A), np.diff(A.indptr) > 0
    largest = np.zeros(A.shape[0])
    largest[full] = np.maximum.reduceat(values, A.indptr[:-1][full])
    weights = np.exp(values - largest[rows])
    return weights / np.bincount(rows, weights, minlength=A.shape[0])[rows]


def _softmax_backward(p: Any) -> np.ndarray:
    weights, rows = softmax(p.A, p.A.data), _rows(p.A)
    inner = np.bincount(rows, weights * p.g, minlength=p.A.shape[0])
    return weights * (p.g - inner[rows])


def _sddmm(p: Any) -> csr_array:
    return _with(p.A, p.A.data * sampled(_rows(p.A), p.A.indices, p.U, p.V))


def _sddmm_backward(p: Any) -> Any:
    weighted = _with(p.A, p.A.data * p.g)
    return p.g * sampled(_rows(p.A), p.A.indices, p.U, p.V), weighted @ p.V, weighted.T @ p.U


def _weights(p: Any, head: int) -> np.ndarray:
    scores = sampled(_rows(p.M), p.M.indices, p.Q[head], p.K[head]) / p.Q.shape[-1] ** 0.5
    return softmax(p.M, scores)


def _attended(p: Any) -> np.ndarray:
    return np.stack([_with(p.M, _weights(p, head)) @ p.V[head] for head in range(HEADS)])


def _attended_backward(p: Any) -> Any:
    rows, columns = _rows(p.M), p.M.indices
    scale, out = p.Q.shape[-1] ** -0.5, ([], [], [])
    for head in range(HEADS):
        weights = _weights(p, head)
        gradient = sampled(rows, columns, p.G[head], p.V[head])
        inner = np.bincount(rows, weights * gradient, minlength=p.M.shape[0])
        scores = _with(p.M, weights * (gradient - inner[rows]) * scale)
        out[0].append(scores @ p.K[head])
        out[1].append(scores.T @ p.Q[head])
        out[2].append(_with(p.M, weights).T @ p.G[head])
    return tuple(np.stack(heads) for heads in out)


def _flops(p: Problem) -> float:
    return 2.0 * p.A.nnz * p.U.shape[1]


def _attention_flops(p: Problem) -> float:
    return 4.0 * p.M.nnz * p.Q.shape[-1] * HEADS


KERNELS = (
    Kernel("sddmm", "SDDMM", _two_sides, _sddmm, (32, 128), _flops),
    Kernel("sddmm_backward", "SDDMM backward", _two_sides_backward, _sddmm_backward, (32,), lambda p: 3 * _flops(p)),
    Kernel("softmax", "softmax of rows", _matrix, lambda p: _with(p.A, softmax(p.A, p.A.data)), linear=False),
    Kernel("softmax_backward", "softmax backward", _matrix_backward, _softmax_backward, linear=False),
    Kernel("attention", "masked attention", _attention, _attended, (32,), _attention_flops, linear=False),
    Kernel(
        "attention_backward",
        "masked attention backward",
        _attention_backward,
        _attended_backward,
        (32,),
        lambda p: 2.5 * _attention_flops(p),
        linear=False,
    ),
)
