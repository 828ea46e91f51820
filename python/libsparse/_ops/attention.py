"""Masked softmax attention: scores, softmax and the weighted sum only where a sparse mask has entries."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from libsparse._lang.errors import DtypeError, ShapeError
from libsparse._runtime.problem import Einsum, Operand
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import contraction
from .assemble import assemble, to_format
from .operands import is_sparse, to_operand
from .sampled import Sampled


def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Any, scale: float | None = None, dropout_p: float = 0.0
) -> Operand:
    """`softmax(q @ k.mT * scale + mask) @ v` over the entries of a sparse mask: masked attention.

    Rows of the mask without entries give 0, with gradient 0. Scores of all leading dimensions that the mask doesn't
    have share its pattern: they are stored as blocks of one number for each. Differentiable in `q`, `k`, `v` and
    in the values of a floating mask, twice; only scores at the entries are kept for it.

    Args:
        q: (..., n, d), floating; the leading dimensions are batches and heads.
        k: (..., m, d), of the same leading dimensions.
        v: (..., m, e), of the same leading dimensions.
        mask: (n, m), or with leading dimensions that broadcast to those of `q`, sparse. A pattern, or a bool
            tensor, says which pairs attend; the values of a floating one are added to the scores.
        scale: The factor of the scores, `1 / sqrt(d)` by default.
        dropout_p: The probability with which a weight is set to 0.

    Raises:
        DtypeError: The mask is not sparse.
        ShapeError: Shapes don't agree.

    Example:
        >>> mask = ls.tensor([[True, False], [True, True]])
        >>> ls.attention(torch.ones(2, 4), torch.ones(2, 4), torch.eye(2), mask).tolist()
        [[1.0, 0.0], [0.5, 0.5]]
    """
    if not is_sparse(mask):
        raise DtypeError(f"attention: mask is a {type(mask).__name__}; expected an ls.SparseTensor, see ls.from_mask")
    where = _attending(to_operand(mask))
    _check(q, k, v, where)
    if scale is not None and not isinstance(scale, (int, float, Tensor)):
        raise DtypeError(f"attention: scale is a {type(scale).__name__}; expected a number")
    if not isinstance(dropout_p, (int, float)) or not 0 <= dropout_p <= 1:
        raise ShapeError(f"attention: dropout_p is {dropout_p!r}; expected a probability, from 0 to 1")
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = Sampled(where, q * factor, k, ("m", "d"))
    pattern, values = scores.pattern, scores.values
    if where.data is not None:
        values = (
            values.reshape(where.sparsity.size, math.prod(pattern.block)) + where.values.to(values.dtype)[:, None]
        ).reshape(-1)
    weights = _softmax(Operand(pattern, values), scores.indices, "m")
    if dropout_p:
        weights = F.dropout(weights, dropout_p)
    output = (*scores.batch, "n", "e")
    inputs = (scores.indices, (*scores.batch, "m", "e"))
    question = Einsum(inputs, output, contraction.dense_format(len(output)))
    return Operand(None, contraction.contract(question, [Operand(pattern, weights), Operand(None, v)])[0])


def _softmax(scores: Operand, indices: tuple[str, ...], reduced: str) -> Tensor:
    """The softmax of blocks of scores over one index."""
    kept = tuple(index for index in indices if index != reduced)
    pattern, values = scores.sparsity, scores.values
    question = Einsum((indices,), kept, contraction.dense_format(len(kept)), "max")
    top, _ = contraction.contract(question, [Operand(pattern, values.detach())])
    powers = (values - _at_entries(torch.where(top.isfinite(), top, 0), pattern, indices, kept)).exp()
    total, _ = contraction.contract(question._replace(reduce="sum"), [Operand(pattern, powers)])
    return powers / _at_entries(total, pattern, indices, kept)


def _at_entries(rows: Tensor, pattern: Pattern, indices: tuple[str, ...], kept: tuple[str, ...]) -> Tensor:
    """The numbers of the rows, at each entry: a product with the pattern, which is compiled."""
    question = Einsum((indices, kept), indices, pattern.format, pattern_of=0)
    values, found = contraction.contract(question, [Operand(pattern, None), Operand(None, rows)])
    assert found is not None
    return pattern.resample(values, found)


def _attending(mask: Operand) -> Operand:
    """The mask without padding, and without the entries of a bool one that are False."""
    mask.need_zero_fill("a mask of attention")
    if mask.ndim < 2:
        raise ShapeError(f"attention: the mask has shape {tuple(mask.shape)}; expected (..., n, m)")
    ordered = Format("csr" if mask.ndim == 2 else "csf").resolve(mask.ndim)
    if mask.data is not None and mask.dtype == torch.bool:
        chosen = mask.sparsity.entries(mask.values).nonzero().flatten()
        coords = mask.sparsity.coordinates().index_select(1, chosen)
        return assemble(list(coords), None, mask.shape, ordered)
    return mask if mask.sparsity.format == ordered else to_format(mask, ordered)


def _check(q: Tensor, k: Tensor, v: Tensor, mask: Operand) -> None:
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if not isinstance(tensor, Tensor) or is_sparse(tensor):
            raise DtypeError(f"attention: {name} is a {type(tensor).__name__}; expected a dense tensor (..., n, d)")
        if tensor.ndim < 2:
            raise ShapeError(f"attention: {name} has shape {tuple(tensor.shape)}; expected (..., n, d)")
    told = f"q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}, mask ({mask})"
    agree = q.shape[:-2] == k.shape[:-2] == v.shape[:-2] and q.shape[-1] == k.shape[-1]
    if not agree or k.shape[-2] != v.shape[-2] or tuple(mask.shape[-2:]) != (q.shape[-2], k.shape[-2]):
        raise ShapeError(f"attention: {told}; expected q (..., n, d), k (..., m, d), v (..., m, e), mask (..., n, m)")
    leading = q.shape[:-2]
    if mask.ndim > q.ndim or any(
        n not in (1, size) for n, size in zip(mask.shape[-3::-1], leading[::-1], strict=False)
    ):
        raise ShapeError(f"attention: {told}; the leading dimensions of the mask don't broadcast to those of q")
