"""Tensors of order 3: MTTKRP, and products with a vector or a matrix over the last mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from method import checking
from method.operands import Problem, SparseTensor
from scipy.sparse import csr_array

from .kernel import Kernel, dense, small


def _factors(T: SparseTensor, rank: int) -> dict[str, Any] | None:
    """M_ir = sum over j, k of T_ijk B_jr C_kr."""
    if not small(max(T.shape), rank):
        return None
    return {"T": T, "B": dense("B", T.shape[1], rank), "C": dense("C", T.shape[2], rank)}


def _factors_backward(T: SparseTensor, rank: int) -> dict[str, Any] | None:
    """Gradients of the values of T, of B and of C, where M has the gradient G."""
    operands = _factors(T, rank)
    return None if operands is None else {**operands, "G": dense("G", T.shape[0], rank)}


def _vector(T: SparseTensor, _: int) -> dict[str, Any]:
    """S_ij = sum over k of T_ijk v_k, sparse."""
    return {"T": T, "v": dense("v", T.shape[2])}


def _columns(T: SparseTensor, rank: int) -> dict[str, Any] | None:
    """S_ijr = sum over k of T_ijk C_kr, sparse in i and j."""
    fibers = T.fibers()[0].numel()
    return {"T": T, "C": dense("C", T.shape[2], rank)} if small(fibers, rank) else None


def _mttkrp(p: Any) -> np.ndarray:
    (i, j, k), values, shape = p.T
    select = csr_array((values, (i, np.arange(len(i)))), shape=(shape[0], len(i)))
    return select @ (p.B[j] * p.C[k])


def _mttkrp_backward(p: Any) -> Any:
    (i, j, k), values, shape = p.T
    entries = np.arange(len(i))
    to_j, to_k = (csr_array((values, (m, entries)), shape=(shape[n], len(i))) for n, m in ((1, j), (2, k)))
    G, B, C = p.G[i], p.B[j], p.C[k]
    return (G * B * C).sum(1), to_j @ (G * C), to_k @ (G * B)


def _fibers(p: Any) -> tuple[np.ndarray, np.ndarray, csr_array]:
    (i, j, k), values, shape = p.T
    keys, places = np.unique(i * shape[1] + j, return_inverse=True)
    return keys // shape[1], keys % shape[1], csr_array((values, (places, k)), shape=(len(keys), shape[2]))


def _ttv(p: Any) -> checking.Sparse:
    i, j, rows = _fibers(p)
    return checking.sparse((i, j), rows @ p.v, p.T[2][:2])


def _ttm(p: Any) -> checking.Sparse:
    i, j, rows = _fibers(p)
    rank = p.C.shape[1]
    coords = (i.repeat(rank), j.repeat(rank), np.tile(np.arange(rank), len(i)))
    return checking.sparse(coords, (rows @ p.C).reshape(-1), (*p.T[2][:2], rank))


def _flops(p: Problem) -> float:
    return 3.0 * p.T.nnz * p.C.shape[1]


KERNELS = (
    Kernel("mttkrp", "MTTKRP", _factors, _mttkrp, (16, 32), _flops, tensor=True),
    Kernel(
        "mttkrp_backward",
        "MTTKRP backward",
        _factors_backward,
        _mttkrp_backward,
        (16,),
        lambda p: 3 * _flops(p),
        tensor=True,
    ),
    Kernel("ttv", "tensor times vector", _vector, _ttv, flops=lambda p: 2.0 * p.T.nnz, tensor=True),
    Kernel("ttm", "tensor times matrix", _columns, _ttm, (16,), lambda p: 2.0 * p.T.nnz * p.C.shape[1], tensor=True),
)
