"""Products under the names the field has for them; each is an einsum."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._compiler import threads
from libsparse._lang import spec
from libsparse._lang.errors import DtypeError, FormatError, ShapeError
from libsparse._runtime import shortcut
from libsparse._runtime.problem import Operand, stored
from libsparse._storage.format import Format
from libsparse._tensor import sparse_tensor

from . import einsum


def matmul(a: Any, b: Any, reduce: str = "sum", format: str | Format | None = None) -> Any:
    """The product of vectors, matrices or batches of matrices, as `torch.matmul`; either operand may be sparse.

    Args:
        a: (..., n, k) or (k,).
        b: (..., k, m) or (k,).
        reduce: `sum mean max min`; where no term exists the result is 0.
        format: The format of the result; None lets the compiler choose.

    Raises:
        ShapeError: The inner extents differ.
    """
    if reduce == "sum" and format is None:
        product = _prepared(a, b)
        if product is not None:
            return product
    for number, operand in enumerate((a, b)):
        if not isinstance(operand, Tensor):
            raise DtypeError(f"matmul: operand {number} is a {type(operand).__name__}; expected a tensor")
        if operand.ndim == 0:
            raise ShapeError(f"matmul: operand {number} has no dimensions; use * to scale a tensor")
    if reduce not in ("sum", "mean", "max", "min", "amax", "amin"):
        raise FormatError(f"matmul: reduce={reduce!r}; expected sum, mean, max or min")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ShapeError(
            f"matmul: operand 0 has shape {tuple(a.shape)}, operand 1 {tuple(b.shape)}: the inner extents "
            f"{a.shape[-1]} and {b.shape[-2 if b.ndim > 1 else 0]} differ; transpose one of them?"
        )
    left = "j" if a.ndim == 1 else "...ij" if a.ndim > 2 or b.ndim > 2 else "ij"
    right = "j" if b.ndim == 1 else "...jk" if a.ndim > 2 or b.ndim > 2 else "jk"
    out = ("..." if "." in left + right else "") + ("i" if "i" in left else "") + ("k" if "k" in right else "")
    equation = f"{left},{right}->{out}"
    wish = format
    if "." in equation and not (_is_sparse(a) and _is_sparse(b)):
        wish = format or "dense"  # as all of torch's products with a dense operand are
    if reduce in ("max", "min", "amax", "amin"):
        return _zero_where_empty(equation, a, b, reduce, wish)
    return einsum.einsum(equation, a, b, format=wish, reduce=reduce)


mm = mv = spmm = spmv = spgemm = matmul


def sddmm(mask: Any, q: Tensor, kt: Tensor) -> Any:
    """`mask * (q @ kt)`, computed only where `mask` has entries; differentiable in all three.

    Args:
        mask: (..., n, m), sparse.
        q: (..., n, d).
        kt: (..., d, m).
    """
    if not isinstance(mask, sparse_tensor.SparseTensor):
        raise DtypeError(f"sddmm: the mask is a {type(mask).__name__}; expected an ls.SparseTensor, see ls.from_mask")
    dots = "..." if mask.ndim > 2 else ""
    return einsum.einsum(f"{dots}ij,{dots}ik,{dots}kj->{dots}ij", mask, q, kt, format=mask.format)


def mttkrp(tensor: Any, factors: Sequence[Tensor], mode: int) -> Any:
    """The matricized tensor times the Khatri-Rao product of all factors but the one of `mode`.

    Args:
        tensor: Sparse, of any rank.
        factors: One (extent, r) matrix a mode; the one of `mode` is not read.
        mode: The mode that is left.
    """
    if len(factors) != tensor.ndim or not -tensor.ndim <= mode < tensor.ndim:
        raise ShapeError(
            f"mttkrp: a tensor of {tensor.ndim} dimensions takes {tensor.ndim} factors and one of its modes, "
            f"got {len(factors)} and mode {mode}"
        )
    mode %= tensor.ndim
    letters = string.ascii_lowercase[: tensor.ndim]
    rank = string.ascii_uppercase[0]
    others = [n for n in range(tensor.ndim) if n != mode]
    terms = ",".join([letters, *(letters[n] + rank for n in others)])
    return einsum.einsum(f"{terms}->{letters[mode]}{rank}", tensor, *(factors[n] for n in others), format="dense")


def _zero_where_empty(equation: str, a: Tensor, b: Tensor, reduce: str, wish: Any) -> Any:
    """A product in which elements without a term are not the reduction's identity but 0, as in torch."""
    result = einsum.einsum(equation, a, b, format=wish, reduce=reduce)
    if isinstance(result, sparse_tensor.SparseTensor):
        wanted = result.format
        if wanted.pads:  # its blocks hold elements without a term
            result = einsum.einsum(equation, a, b, format=wanted.compressed, reduce=reduce)
        return sparse_tensor.SparseTensor(result.pattern, result._values).to_format(wanted)
    operands = [einsum.to_operand(a, 0), einsum.to_operand(b, 1)]
    parsed = spec.parse(equation, (a.ndim, b.ndim))
    inputs, operands = einsum.simplify(parsed.inputs, operands)
    number = einsum.count_terms(inputs, parsed.output, operands)
    return result.masked_fill(number == 0, 0)


def _is_sparse(operand: Tensor) -> bool:
    return operand.layout is not torch.strided or isinstance(operand, sparse_tensor.SparseTensor)


def _prepared(a: Any, b: Any) -> Tensor | None:
    """The product of a sparse matrix and a dense operand by the operator's short cut, None where it doesn't apply."""
    if not isinstance(a, sparse_tensor.SparseTensor) or not isinstance(b, Tensor):
        return None
    shape, values = a.pattern.shape, a._values
    if isinstance(b, sparse_tensor.SparseTensor) or b.layout is not torch.strided or not b.is_cpu:
        return None
    plain = len(shape) == 2 and 0 < b.ndim <= 2 and b.shape[0] == shape[1]
    if not plain or values is None or values.dtype != b.dtype or b.is_neg() or b.is_conj():
        return None
    a.need_zero_fill("a product")
    followed = tape.needed((Operand(a.pattern, values), Operand(None, b)))
    made = shortcut.find(a.pattern, b, values)
    if made is None:
        return None
    if followed:
        return made.differentiable(stored(a.pattern, values), b, a.pattern)
    return made.multiply(stored(a.pattern, values), b, threads.count())
