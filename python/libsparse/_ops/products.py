"""Products under the names the field has for them; each is an einsum."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang.errors import DtypeError, FormatError, ShapeError
from libsparse._runtime import notes
from libsparse._runtime.problem import Einsum, Operand, product
from libsparse._runtime.repeats import by_kind
from libsparse._storage.format import Format, default_format

from . import agreement, autocast, einsum, einsum_reader, prepared_products
from .assemble import to_format
from .operands import is_sparse, is_tensor, plain_number, to_operand


@by_kind
def matmul(a: Any, b: Any, reduce: str = "sum", format: str | Format | None = None) -> Any:
    """The product of vectors, matrices or batches of matrices, as `torch.matmul`; either operand may be sparse.

    Args:
        a: (..., n, k) or (k,).
        b: (..., k, m) or (k,).
        reduce: `sum mean max min`; where no term exists the result is 0.
        format: The format of the result; None lets the compiler choose.

    Raises:
        ShapeError: The inner extents differ.

    Example:
        >>> A, x = ls.tensor([[0.0, 2.0], [1.0, 0.0]]), torch.ones(2)
        >>> ls.matmul(A, x).tolist(), ls.mv(A, x).tolist(), ls.spmv(A, x).tolist()
        ([2.0, 1.0], [2.0, 1.0], [2.0, 1.0])
        >>> ls.mm(A, torch.eye(2)).tolist(), ls.spmm(A, torch.eye(2), reduce="max").tolist()
        ([[0.0, 2.0], [1.0, 0.0]], [[0.0, 2.0], [1.0, 0.0]])
        >>> ls.spgemm(A, A).to_dense().tolist()
        [[2.0, 0.0], [0.0, 2.0]]
    """
    if reduce == "sum" and format is None:
        found: Any = _of_two_sparse(a, b) if is_sparse(b) else short(a, b)
        if found is not None:
            return found
    for number, operand in enumerate((a, b)):
        if not is_tensor(operand):
            raise DtypeError(
                f"matmul: operand {number} is a {type(operand).__name__}; expected a tensor, or an array of NumPy or "
                "SciPy"
            )
        if operand.ndim == 0:
            raise ShapeError(f"matmul: operand {number} has shape (), no dimensions; use * to scale a tensor")
    if reduce not in ("sum", "mean", "max", "min", "amax", "amin"):
        raise FormatError(f"matmul: reduce={reduce!r}; expected sum, mean, max or min")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ShapeError(
            f"matmul: operand 0 ({to_operand(a)}) and operand 1 ({to_operand(b)}): the inner extents "
            f"{a.shape[-1]} and {b.shape[-2 if b.ndim > 1 else 0]} differ; transpose one of them?"
        )
    left = "j" if a.ndim == 1 else "...ij" if a.ndim > 2 or b.ndim > 2 else "ij"
    right = "j" if b.ndim == 1 else "...jk" if a.ndim > 2 or b.ndim > 2 else "jk"
    out = ("..." if "." in left + right else "") + ("i" if "i" in left else "") + ("k" if "k" in right else "")
    equation = f"{left},{right}->{out}"
    first, second = to_operand(a, 0), to_operand(b, 1)
    if reduce == "sum":
        first, second = autocast.cast((first, second))
    if "." in equation and 1 < first.ndim == second.ndim and first.shape[:-2] != second.shape[:-2]:
        agreement.check("matmul", **{"operand 0": (first, "... n k"), "operand 1": (second, "... k m")})
    if "." in equation and (first.pattern is None or second.pattern is None) and not of_arrays(first, second):
        format = format or "dense"  # as all of torch's products with a dense operand are
    if reduce in ("max", "min", "amax", "amin"):
        return _zero_where_empty(equation, first, second, reduce, format)
    return einsum.einsum(equation, first, second, format=format, reduce=reduce)


mm = mv = spmm = spmv = spgemm = matmul


def of_arrays(a: Operand, b: Operand) -> bool:
    """Whether a product with a matrix or vector is one of each value, which is an array: its result is sparse, too."""
    if a.pattern is None or b.pattern is not None or b.ndim > 2:
        return False
    return bool(a.pattern.block) and a.ndim - len(a.pattern.block) > 1


@by_kind
def sddmm(mask: Any, q: Any, kt: Any) -> Any:
    """`mask * (q @ kt)`, computed only where `mask` has entries; differentiable in all three.

    Of sparse `q` and `kt` it has entries where the mask and their product have: `ls.sddmm(A, A, A)` counts the common
    neighbours of the ends of each edge.

    Args:
        mask: (..., n, m), sparse; its leading dimensions are those of `q`, or missing: then all batches share it, and
            each of its entries is stored as a block with a number for each batch.
        q: (..., n, d), dense or sparse; a sparse one has the leading dimensions of the mask.
        kt: (..., d, m), as `q`.

    Raises:
        ShapeError: Shapes don't agree.
        DtypeError: `mask` is not sparse, or another argument is no tensor.

    Example:
        >>> mask = ls.tensor([[0.0, 1.0], [1.0, 0.0]])
        >>> ls.sddmm(mask, torch.ones(2, 3), torch.ones(3, 2)).to_dense().tolist()
        [[0.0, 3.0], [3.0, 0.0]]
    """
    if not is_tensor(mask) or to_operand(mask).pattern is None:
        raise DtypeError(f"sddmm: mask is a {type(mask).__name__}; expected an ls.SparseTensor, see ls.from_mask")
    where = to_operand(mask)
    for name, tensor in (("q", q), ("kt", kt)):
        if not is_tensor(tensor):
            raise DtypeError(f"sddmm: {name} is a {type(tensor).__name__}; expected a tensor, dense or sparse")
    agreement.check("sddmm", mask=(where, "... n m"), q=(q, "... n d"), kt=(kt, "... d m"))
    dense = not is_sparse(q) and not is_sparse(kt)
    if dense and 2 <= where.ndim < q.ndim and q.ndim == kt.ndim:
        # The values of a batch are a block at each entry, which formats with padding can't hold.
        listed = to_format(where, default_format(where.ndim)) if where.sparsity.format.pads else where
        return _sampled_batches(listed, to_operand(q, 1).values, to_operand(kt, 2).values)
    if where.ndim < max(q.ndim, kt.ndim):
        raise ShapeError(
            f"sddmm: mask ({where}) has {where.ndim} dimensions, q {q.ndim} and kt {kt.ndim}; expected a mask of as "
            "many, or dense q and kt of the same leading dimensions"
        )
    dots = "..." if where.ndim > 2 else ""
    return einsum.einsum(f"{dots}ij,{dots}ik,{dots}kj->{dots}ij", where, q, kt, format=where.sparsity.format)


def _sampled_batches(mask: Operand, q: Tensor, kt: Tensor) -> Operand:
    """The samples of batches that share a mask."""
    lead = q.ndim - mask.ndim
    same = q.shape[:-2] == kt.shape[:-2] and q.shape[lead:-1] == mask.shape[:-1] and q.shape[-1] == kt.shape[-2]
    if not same or kt.shape[-1] != mask.shape[-1]:
        raise ShapeError(
            f"sddmm: mask {tuple(mask.shape)}, q {tuple(q.shape)}, kt {tuple(kt.shape)}; expected q (..., n, d), kt "
            "(..., d, m) of the same leading dimensions, and a mask (..., n, m) of the last of these"
        )
    from .sampled import Sampled  # with the first sampled product

    found = Sampled(mask, q, kt, ("d", "m"))
    values = found.values
    if mask.data is not None:
        values = (values.reshape(mask.sparsity.size, math.prod(found.pattern.block)) * mask.data[:, None]).reshape(-1)
    return Operand(found.pattern.transposed((*range(mask.ndim, q.ndim), *range(mask.ndim))), values)


def mttkrp(tensor: Any, factors: Sequence[Tensor], mode: int) -> Any:
    """The matricized tensor times the Khatri-Rao product of all factors but the one of `mode`.

    Args:
        tensor: Sparse, of any rank.
        factors: One (extent, r) matrix a mode; the one of `mode` is not read.
        mode: The mode that is left.

    Example:
        >>> T = ls.from_coo([[0], [1], [0]], [2.0], (2, 2, 2))
        >>> ls.mttkrp(T, [torch.ones(2, 3)] * 3, 0).tolist()
        [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0]]
    """
    source = to_operand(tensor, "tensor")
    mode = plain_number(mode)
    if not isinstance(factors, (list, tuple)) or not isinstance(mode, int):
        raise DtypeError(
            f"mttkrp: factors is a {type(factors).__name__}, mode is {mode!r}; expected a list of matrices and an int"
        )
    if len(factors) != source.ndim:
        raise ShapeError(
            f"mttkrp: {len(factors)} factors; expected {source.ndim}, one a dimension of tensor ({source})"
        )
    if not -source.ndim <= mode < source.ndim:
        raise ShapeError(f"mttkrp: mode is {mode}; expected 0 to {source.ndim - 1}, a dimension of tensor ({source})")
    mode %= tensor.ndim
    axes = [f"n{dim}" for dim in range(source.ndim)]
    matrices = {f"factors[{n}]": (factor, f"{axes[n]} r") for n, factor in enumerate(factors) if n != mode}
    agreement.check("mttkrp", tensor=(source, " ".join(axes)), **matrices)
    letters = string.ascii_lowercase[: tensor.ndim]
    rank = string.ascii_uppercase[0]
    others = [n for n in range(tensor.ndim) if n != mode]
    terms = ",".join([letters, *(letters[n] + rank for n in others)])
    return einsum.einsum(f"{terms}->{letters[mode]}{rank}", tensor, *(factors[n] for n in others), format="dense")


def _zero_where_empty(equation: str, a: Operand, b: Operand, reduce: str, format: str | Format | None) -> Operand:
    """A product in which elements without a term are not the reduction's identity but 0, as in torch."""
    result = einsum.einsum(equation, a, b, format=format, reduce=reduce)
    if result.pattern is not None:
        wanted = result.pattern.format
        if wanted.pads:  # its blocks hold elements without a term
            result = einsum.einsum(equation, a, b, format=wanted.compressed, reduce=reduce)
        return to_format(result._replace(fill=0), wanted)
    question, operands = einsum_reader.read(equation, (a, b))
    found = einsum_reader.without_terms(question, operands, result.values)
    if found is not None:
        return Operand(None, found)
    empty = einsum_reader.count_terms(question, operands) == 0
    traced, values = tape.is_traced((a, b)), result.values
    if not traced and not empty.any():
        return result
    fill = torch.Tensor.masked_fill if values.requires_grad else torch.Tensor.masked_fill_
    return Operand(None, notes.apply(lambda values: fill(values, empty, 0), values))


_SPARSE_PRODUCT = product(Einsum((("i", "j"), ("j", "k")), ("i", "k")))


def _of_two_sparse(a: Any, b: Any) -> Operand | None:
    """The product of two sparse matrices that need nothing but a kernel: what `einsum` comes to, found at once."""
    if not is_sparse(a) or tape.is_watched():
        return None
    operands = first, second = to_operand(a), to_operand(b)
    if not first.ndim == second.ndim == 2 or first.shape[1] != second.shape[0] or first.fill or second.fill:
        return None
    if first.data is None or second.data is None or first.data.dtype != second.data.dtype:
        return None
    data, pattern = tape.compute(_SPARSE_PRODUCT, operands)
    return Operand(pattern, data)


@by_kind
def operator(a: Any, b: Any) -> Any:
    """`a @ b`, which is left to objects of other types that have the operator."""
    return matmul(a, b) if is_tensor(b) or not hasattr(type(b), "__rmatmul__") else NotImplemented


def short(a: Any, b: Any) -> Tensor | None:
    """The product of a sparse matrix and a dense operand by the short way, None where that doesn't apply."""
    if not is_sparse(a) or not isinstance(b, Tensor) or is_sparse(b) or b.layout is not torch.strided or not b.is_cpu:
        return None
    source = to_operand(a)
    pattern, values = source.sparsity, source.data
    fits = len(pattern.shape) == 2 and 0 < b.ndim <= 2 and b.shape[0] == pattern.shape[1]
    if tape.is_changed() or tape.is_traced(operands := (source, Operand(None, b))) or tape.is_transformed(operands):
        return None
    # A bool times a bool is a count, of another dtype.
    alike = b.dtype is not torch.bool if values is None else values.dtype == b.dtype
    if not fits or not alike or source.fill != 0 or b.is_neg() or b.is_conj() or b._is_zerotensor():
        return None
    return prepared_products.multiply(pattern, values, b)
