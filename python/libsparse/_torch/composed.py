"""Functions of torch that are a few others: differences, covariances, distances and principal components."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._ops.indexing import margins
from libsparse._ops.indexing.entries import integer, wrap
from libsparse._ops.indexing.keys import checked
from libsparse._ops.operands import is_sparse, to_operand
from libsparse._ops.products import matmul
from libsparse._storage import memory
from libsparse._storage.fakes import is_fake
from libsparse._tensor.constructors import from_coo
from libsparse._tensor.sparse_tensor import dress

from .registry import implements, named

_DECOMPOSED = (torch.float32, torch.float64, torch.complex64, torch.complex128)
_ADVICE = "use parts of the tensor, A[:, first:last], and torch.cat"
_LEAST = 1e-7  # added to norms that are divided by, as torch has it


implements(torch.nn.functional.pad, torch._C._nn.pad, layouts="raises")(margins.pad)  # graphs have the second one


@implements(*named("diff", torch, Tensor), layouts="raises")
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along a dimension, `n` times."""
    along = wrap(dim, input.ndim, "diff")
    count = integer("diff: n", n)
    if count < 0:
        raise ShapeError(f"diff: n is {count}; expected an int from 0 on")
    parts = [part for part in (prepend, input, append) if part is not None]
    found = torch.cat(parts, along) if len(parts) > 1 else input
    for _ in range(min(count, found.shape[along])):
        extent = found.shape[along] - 1
        later, earlier = found.narrow(along, 1, extent), found.narrow(along, 0, extent)
        found = torch.logical_xor(later, earlier) if found.dtype == torch.bool else later - earlier
    return found


@implements(*named("renorm", torch, Tensor), layouts="raises")
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """The slices along a dimension, scaled down to a norm where theirs is greater."""
    along = wrap(dim, input.ndim, "renorm")
    if input.ndim < 2:
        raise ShapeError(f"renorm: the tensor ({to_operand(input)}) has {input.ndim} dimensions; expected two or more")
    if not p > 0 or not maxnorm >= 0:
        raise ShapeError(f"renorm: p is {p} and maxnorm {maxnorm}; expected p above 0, and a norm from 0 on")
    others = tuple([d for d in range(input.ndim) if d != along])
    norms = input.norm(p, dim=others, keepdim=True)
    return input * torch.where(norms > maxnorm, maxnorm / (norms + _LEAST), 1.0).to(norms.dtype)


@implements(*named("index_add", torch, Tensor), layouts="raises")
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """The sum of a tensor and slices along a dimension, at the coordinates that an index has for them.

    Args:
        input: A tensor, sparse unless `source` is.
        dim: The dimension.
        index: int64 or int32, one coordinate for each slice; some may be equal.
        source: The slices, in a tensor of as many dimensions.
        alpha: What slices are multiplied by.

    Raises:
        DtypeError: The index has no such dtype, or the source has another dtype than the tensor.
        IndexBoundsError: A coordinate is out of range.
        ShapeError: The extents differ.
        UnsupportedError: The source has a fill value, which all elements of the slices would get.
    """
    along = wrap(dim, input.ndim, "index_add")
    if not isinstance(index, Tensor) or is_sparse(index) or index.dtype not in (torch.int64, torch.int32):
        raise DtypeError("index_add: expected a dense index of dtype int64 or int32")
    _check_source(input, source)
    expected = (*input.shape[:along], index.numel(), *input.shape[along + 1 :])
    if index.ndim > 1 or source.shape != expected:
        raise ShapeError(
            f"index_add: index has shape {tuple(index.shape)} and source {tuple(source.shape)}; expected one "
            f"dimension, and {expected} for a tensor of shape {tuple(input.shape)}"
        )
    if is_sparse(source):
        listed = source.to_format("coo")
        coords, values = list(listed.indices()), listed.values()
    else:
        places = torch.meshgrid([torch.arange(n, device="cpu") for n in source.shape], indexing="ij")
        coords, values = [c.reshape(-1) for c in places], source.reshape(-1)
    wanted = index.reshape(-1)
    wanted = wanted if is_fake(wanted) else checked(wanted, along, input.shape, negative=False)
    coords[along] = wanted.to(torch.int64)[coords[along].to(torch.int64)]
    moved = from_coo(torch.stack(coords), values, input.shape)
    return input + (moved if alpha == 1 else moved.with_values(moved.values() * _factor(alpha, input.dtype)))


def _check_source(input: Any, source: Any) -> None:
    """The slices have the dtype of the tensor, and are 0 where nothing is stored."""
    if not isinstance(source, Tensor) or source.dtype != input.dtype:
        kind = source.dtype if isinstance(source, Tensor) else type(source).__name__
        raise DtypeError(f"index_add: source is {kind}; expected a tensor of {input.dtype}, as the other one is")
    if is_sparse(source) and to_operand(source).fill != 0:
        raise UnsupportedError(
            f"index_add: elements of source ({to_operand(source)}) that are not stored are {to_operand(source).fill}; "
            "expected 0: other elements would have to be stored"
        )


def _factor(alpha: Any, dtype: torch.dtype) -> Tensor:
    """A factor in the dtype of a tensor, which must hold it, as torch has it for sums.

    Raises:
        DtypeError: The dtype can't hold it.
    """
    given = torch.as_tensor(alpha, device="cpu")
    whole = not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)
    if given.ndim or (given.is_complex() and not dtype.is_complex) or (whole and given != given.to(dtype)):
        raise DtypeError(f"index_add: alpha is {alpha!r}; expected a number that {dtype} holds")
    return given.to(dtype)


@implements(*named("index_fill", torch, Tensor), layouts="raises")
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """The tensor with a value at some coordinates of a dimension, as `masked_fill` has it there."""
    along = wrap(dim, input.ndim, "index_fill")
    if not isinstance(index, Tensor) or is_sparse(index) or index.dtype not in (torch.int64, torch.int32):
        raise DtypeError("index_fill: expected a dense index of dtype int64 or int32")
    memory.check(input.shape[along], 1, f"a mask of dimension {along} of a tensor ({to_operand(input)})", _ADVICE)
    mask = torch.zeros(input.shape[along], dtype=torch.bool, device="cpu")
    places = index.reshape(-1)
    mask[places if is_fake(places) else checked(places, along, input.shape)] = True
    return input.masked_fill(mask.reshape(-1, *[1] * (input.ndim - along - 1)), value)


@implements(*named("cov", torch, Tensor), layouts="raises")
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariances of rows, a dense matrix, summed in double precision; of one row its variance.

    Raises:
        DtypeError: The values are bools, or the weights of a dtype or below 0, as no weights are.
        ShapeError: There are more than two dimensions, or the weights are not one for each column.
    """
    if input.ndim > 2 or input.dtype == torch.bool:
        raise (DtypeError if input.ndim <= 2 else ShapeError)(
            f"cov of a tensor ({to_operand(input)}) of {input.dtype}; expected at most two dimensions, and numbers"
        )
    given = input.dtype if input.dtype.is_floating_point or input.dtype.is_complex else torch.get_default_dtype()
    wide = input.to(torch.promote_types(given, torch.float64))
    wide = wide if wide.ndim == 2 else wide.reshape(1, input.shape[0])
    weights = None
    for own, name, floats in ((fweights, "fweights", False), (aweights, "aweights", True)):
        if own is not None:
            checked_weights = _weights(own, name, floats, wide.shape[1])
            weights = checked_weights if weights is None else weights * checked_weights
            given = torch.promote_types(given, own.dtype) if floats else given
    weighted = wide if weights is None else wide * weights
    total = torch.tensor(wide.shape[1], dtype=torch.float64, device="cpu") if weights is None else weights.sum()
    mean = weighted.sum(1) / total
    mean = torch.where(mean.isfinite(), mean, torch.nan)  # as differences from an infinite mean are
    products = dress(matmul(weighted, wide.mT.conj(), format="dense")) - total * torch.outer(mean, mean.conj())
    spread = correction if aweights is None else correction * (weights * aweights).sum() / total
    found: Tensor = products / (total - spread).clamp(min=0)
    return found.to(given).squeeze()


def _weights(given: Any, name: str, floats: bool, count: int) -> Tensor:
    """The weights of columns, in double precision."""
    if not isinstance(given, Tensor) or is_sparse(given) or given.dtype.is_floating_point != floats:
        kind = given.dtype if isinstance(given, Tensor) else type(given).__name__
        raise DtypeError(f"cov: {name} is {kind}; expected a dense tensor of {'floats' if floats else 'ints'}")
    if given.shape != (count,):
        raise ShapeError(f"cov: {name} has shape {tuple(given.shape)}; expected ({count},)")
    if bool((given < 0).any()):
        raise DtypeError(f"cov: {name} has values below 0; expected none")
    return given.double()


@implements(*named("corrcoef", torch, Tensor), layouts="raises")
def corrcoef(input: Any) -> Tensor:
    """The correlation coefficients of rows, a dense matrix; NaN for rows of equal elements."""
    found = cov(input)
    if not found.ndim:
        return found / found
    deviation = found.diagonal().real.sqrt() if found.is_complex() else found.diagonal().sqrt()
    found = found / deviation[:, None] / deviation
    return found if found.is_complex() else found.clamp(-1, 1)


@implements(torch.cdist, layouts="raises")
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The Euclidean distances of the rows of two matrices, a dense matrix, summed in double precision.

    Raises:
        ShapeError: One is no matrix, or the rows are not of one length.
        UnsupportedError: `p` is another number than 2.
    """
    if p != 2:
        raise UnsupportedError(
            f"cdist of sparse matrices: p is {p}; expected 2: others sum terms where neither is stored"
        )
    if not (isinstance(x1, Tensor) and isinstance(x2, Tensor)):
        raise DtypeError(f"cdist of {type(x1).__name__} and {type(x2).__name__}; expected two tensors")
    if x1.ndim != 2 or x2.ndim != 2 or x1.shape[1] != x2.shape[1]:
        raise ShapeError(f"cdist of {tuple(x1.shape)} and {tuple(x2.shape)}; expected two matrices of as many columns")
    if not (x1.is_floating_point() and x2.is_floating_point()):
        raise DtypeError(f"cdist of {x1.dtype} and {x2.dtype}; expected floating dtypes: use A.float()")
    left, right = x1.to(torch.float64), x2.to(torch.float64)
    norms = (left * left).sum(1)[:, None] + (right * right).sum(1)
    squares = (norms - 2 * dress(matmul(left, right.mT, format="dense"))).clamp(min=0)
    there = ~((squares <= norms * 2**-48) & norms.isfinite())  # what is left of equal rows is rounding
    roots = torch.where(there, squares, 1.0).sqrt()  # the square root has no gradient at 0
    return torch.where(there, roots, 0.0).to(torch.promote_types(x1.dtype, x2.dtype))


@implements(*named("pairwise_distance", torch, torch.nn.functional), layouts="raises")
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The norms of the differences of two tensors over the last dimension, `eps` added to each of them as in torch."""
    found: Tensor = (x1 - x2 + eps).norm(p, dim=-1, keepdim=keepdim)
    return found


@implements(*named("pca_lowrank", torch))
def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components by a random subspace (Halko, Martinsson and Tropp 2009), of a matrix that stays sparse.

    The columns' means are taken off in the products, where torch makes them a dense matrix.

    Args:
        A: (m, n), floating.
        q: How many components, up to the lesser of m and n; by default at most 6.
        center: Whether means are taken off.
        niter: How many times the subspace is multiplied by `A A^T`.

    Returns:
        `(U, S, V)` of shapes (m, q), (q,) and (n, q), so that `A - mean` is close to `U diag(S) V^T`.
    """
    if A.ndim != 2 or A.dtype not in _DECOMPOSED:
        raise (ShapeError if A.ndim != 2 else DtypeError)(
            f"pca_lowrank of a tensor ({to_operand(A)}) of {A.dtype}; expected a matrix of float32, float64, or complex"
        )
    least = min(A.shape)
    q = min(6, least) if q is None else q
    if not isinstance(q, int) or not 0 <= q <= least or niter < 0:
        raise ShapeError(f"pca_lowrank: q is {q} and niter {niter}; expected 0 to {least}, and a number from 0 on")
    mean = A.mean(0) if center else torch.zeros(A.shape[1], dtype=A.dtype, device="cpu")
    across = A.mT.conj() if A.is_complex() else A.mT

    def forward(X: Tensor) -> Tensor:
        found: Tensor = A @ X - mean @ X
        return found

    def backward(X: Tensor) -> Tensor:
        found: Tensor = across @ X - torch.outer(mean.conj(), X.sum(0))
        return found

    basis = torch.linalg.qr(forward(torch.randn(A.shape[1], q, dtype=A.dtype, device="cpu"))).Q
    for _ in range(niter):
        basis = torch.linalg.qr(forward(torch.linalg.qr(backward(basis)).Q)).Q
    U, S, Vh = torch.linalg.svd(backward(basis).mH, full_matrices=False)
    return basis @ U, S, Vh.mH
