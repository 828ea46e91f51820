"""Masked softmax attention: scores, softmax and the weighted sum only where a sparse mask has entries."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang.errors import DtypeError, ShapeError
from libsparse._runtime import notes
from libsparse._runtime.problem import Einsum, Operand
from libsparse._storage.format import Format

from . import autocast, contraction, foreign, softmax_mean
from .assemble import assemble, to_format
from .mean_notation import Mean
from .operands import is_sparse, is_tensor, plain_number, to_operand
from .sampled import Sampled
from .softmax import softmax


def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Any, scale: float | None = None, dropout_p: float = 0.0
) -> Operand:
    """`softmax(q @ k.mT * scale + mask) @ v` over the entries of a sparse mask: masked attention.

    Rows of the mask without entries give 0, with gradient 0. Scores of all leading dimensions that the mask doesn't
    have share its pattern: they are stored as blocks of one number for each. Differentiable in `q`, `k`, `v` and
    in the values of a floating mask, twice. Where all heads share a mask of two dimensions with long rows, and nothing
    is dropped, one pass over the entries computes the result, and no scores are stored; a gradient computes them anew.

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
    if not is_tensor(mask) or to_operand(mask).pattern is None:
        raise DtypeError(f"attention: mask is a {type(mask).__name__}; expected an ls.SparseTensor, see ls.from_mask")
    where = _attending(to_operand(mask))
    q, k, v = (_dense(tensor) for tensor in (q, k, v))
    _check(q, k, v, where)
    q, k, v = (to_operand(tensor).values for tensor in autocast.cast((q, k, v)))
    scale, dropout_p = plain_number(scale), plain_number(dropout_p)
    if scale is not None and not isinstance(scale, (int, float, Tensor)):
        raise DtypeError(f"attention: scale is a {type(scale).__name__}; expected a number")
    if not isinstance(dropout_p, (int, float)) or not 0 <= dropout_p <= 1:
        raise ShapeError(f"attention: dropout_p is {dropout_p!r}; expected a probability, from 0 to 1")
    # Scores of no terms are 0, whatever their factor.
    q = notes.apply(torch.mul, q, 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale)
    leading = q.shape[:-2]
    if leading and where.ndim == 2 and math.prod(leading) == 1:
        q, k, v = (tensor.reshape(tensor.shape[-2:]) for tensor in (q, k, v))  # one head
    found = _followed(q, k, v, where, dropout_p)
    return Operand(None, found if found.ndim > 2 or not leading else found.reshape(*leading, *found.shape))


def _followed(q: Tensor, k: Tensor, v: Tensor, where: Operand, dropout_p: float) -> Tensor:
    """The means. Those of half precision that have gradients are computed in float32: so are scores, and their slopes.

    Kernels of gradients that round scores take two to three times as long.
    """
    kinds = {tensor.dtype for tensor in (q, k, v)}
    half = len(kinds) == 1 and q.is_floating_point() and q.dtype.itemsize < 4
    if not half or not tape.needed([Operand(None, tensor) for tensor in (q, k, v)]):
        return _weighted(q, k, v, where, dropout_p)
    wide = [notes.apply(Tensor.float, tensor) for tensor in (q, k, v)]
    return notes.apply(Tensor.to, _weighted(wide[0], wide[1], wide[2], where, dropout_p), q.dtype)


def _weighted(q: Tensor, k: Tensor, v: Tensor, where: Operand, dropout_p: float) -> Tensor:
    """The means of the rows of `v`, by the softmax of scores at the entries of a mask without padding."""
    if not dropout_p and (mean := _one_pass(q, k, v, where)) is not None:
        return mean
    scores = Sampled(where, q, k, ("m", "d"))
    pattern, values = scores.pattern, scores.values
    if where.data is not None:
        values = notes.apply(_raised, values, where.values, math.prod(pattern.block))
    weights = softmax(Operand(pattern, values), scores.indices.index("m")).data
    if dropout_p:
        weights = notes.apply(F.dropout, weights, dropout_p)
    output = (*scores.batch, "n", "e")
    inputs = (scores.indices, (*scores.batch, "m", "e"))
    question = Einsum(inputs, output, contraction.dense_format(len(output)))
    return contraction.contract(question, [Operand(pattern, weights), Operand(None, v)])[0]


def _dense(value: Any) -> Any:
    """An array of NumPy as a tensor of its memory; anything else as it is."""
    found = foreign.read(value) if foreign.is_foreign(value) else None
    return value if found is None or found.pattern is not None else found.values


def _raised(scores: Tensor, added: Tensor, heads: int) -> Tensor:
    """The scores of all heads, with the same number added to those of an entry."""
    return (scores.reshape(added.numel(), heads) + added.to(scores.dtype)[:, None]).reshape(-1)


def _one_pass(q: Tensor, k: Tensor, v: Tensor, mask: Operand) -> Tensor | None:
    """Attention that stores no scores, where all heads share the mask; None of anything else."""
    if mask.ndim != 2:
        return None
    heads = ("h",) if q.ndim > 2 else ()
    flat = [tensor.flatten(0, -3) if q.ndim > 2 else tensor for tensor in (q, k, v)]
    mean = Mean((("n", "m"), (*heads, "n", "d"), (*heads, "m", "d")), (*heads, "m", "e"), (*heads, "n", "e"))
    operands = [Operand(mask.sparsity, None), *(Operand(None, tensor) for tensor in flat)]
    if mask.data is not None:
        mean = mean._replace(added=True)
        operands.append(mask.with_data(mask.values.to(q.dtype)))
    out = softmax_mean.compute(mean, operands)
    return None if out is None else out.reshape(*q.shape[:-1], v.shape[-1])


def _attending(mask: Operand) -> Operand:
    """The mask without padding, and without the entries of a bool one that are False."""
    mask.need_zero_fill("a mask of attention")
    if mask.ndim < 2:
        raise ShapeError(f"attention: the mask has shape {tuple(mask.shape)}; expected (..., n, m)")
    ordered = Format("csr" if mask.ndim == 2 else "csf").resolve(mask.ndim)
    if mask.data is not None and mask.dtype == torch.bool:
        held = mask.sparsity.entries(mask.values)
        if notes.decide(held.all()):
            return _attending(mask.with_data(None))
        chosen = held.nonzero().flatten()
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
