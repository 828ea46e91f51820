"""torch's products of vectors and of many dimensions, and its solver."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, _lobpcg, _lowrank

from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._ops import agreement, autocast, elementwise, linear_algebra, products
from libsparse._ops.einsum import einsum
from libsparse._ops.indexing.getitem import index
from libsparse._ops.operands import broadcasts, is_sparse, to_operand
from libsparse._tensor.sparse_tensor import dress

from .registry import implements, named

implements(*named("kron", torch, Tensor), layouts="raises")(linear_algebra.kron)
implements(*named("matrix_power", torch, Tensor), torch.linalg.matrix_power, layouts="raises")(
    linear_algebra.matrix_power
)
implements(torch.linalg.matmul, layouts=True)(products.matmul)
implements(*named("spsolve", torch.sparse), layouts="raises")(linear_algebra.solve)


@implements(torch.linalg.solve_triangular, layouts="raises")
def solve_triangular(
    A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False, out: None = None
) -> Tensor:
    """The solution of equations with a triangle of a sparse matrix and dense right-hand sides."""
    return linear_algebra.solve_triangular(A, B, upper, left, unitriangular)


@implements(*named("triangular_solve", torch))
def triangular_solve(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *, out: None = None
) -> tuple[Tensor, Any]:
    """The same, of the matrix or of its transpose, as older versions of torch have it; and the matrix."""
    matrix = dress(to_operand(A, 1)).mT if transpose else A
    return linear_algebra.solve_triangular(matrix, input, upper != transpose, True, unitriangular), A


@implements(torch.svd_lowrank)
def svd_lowrank(A: Any, q: int = 6, niter: int = 2, M: Any = None) -> tuple[Tensor, Tensor, Tensor]:
    """Singular values by a random subspace: torch's own algorithm, whose products are libsparse's."""
    return _lowrank._svd_lowrank(A, q, niter, M)


@implements(torch.lobpcg)
def lobpcg(
    A: Any,
    k: int | None = None,
    B: Any = None,
    X: Any = None,
    n: int | None = None,
    iK: Any = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """Eigenvalues of symmetric matrices: torch's own algorithm, whose products are libsparse's."""
    if any(isinstance(operand, Tensor) and operand.requires_grad for operand in (A, B)) and torch.is_grad_enabled():
        raise UnsupportedError(
            "torch.lobpcg of an ls.SparseTensor that requires grad: torch's gradient needs the dense matrix; "
            "ls.linalg.eigsh has gradients of eigenvalues, A.detach() has none"
        )
    parameters = (n, iK, niter, tol, largest, method, tracker, ortho_iparams, ortho_fparams, ortho_bparams)
    return _lobpcg._lobpcg(A, k, B, X, *parameters)


def _check_extents(name: str, first: Any, second: Any) -> None:
    """Raises unless last dimensions have the same extent; einsum would repeat one of extent 1."""
    a, b = to_operand(first, 0), to_operand(second, 1)
    if a.shape[-1:] != b.shape[-1:]:
        raise ShapeError(f"{name}: operand 0 ({a}) and operand 1 ({b}); expected last dimensions of the same extent")


def _vectors(name: str, equation: str, conjugated: bool = False) -> Any:
    @autocast.ignored
    def handler(input: Any, other: Any) -> Any:
        """A product of two vectors."""
        for number, operand in enumerate((input, other)):
            if to_operand(operand, number).ndim != 1:
                raise ShapeError(f"{name}: operand {number} ({to_operand(operand)}); expected a vector")
        if equation == "i,i->":
            _check_extents(name, input, other)
        return einsum(equation, input.conj() if conjugated and input.is_complex() else input, other)

    handler.__name__ = name
    return handler


implements(*named("dot", torch, Tensor), layouts="raises")(_vectors("dot", "i,i->"))
implements(*named("vdot", torch, Tensor), layouts="raises")(_vectors("vdot", "i,i->", True))


@implements(torch.linalg.vecdot, layouts="raises")
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """Products of vectors along a dimension of two tensors that broadcast, the first conjugated."""
    if x.ndim == y.ndim == 1 and dim in (0, -1):
        _check_extents("vecdot", x, y)
        return einsum("i,i->", x.conj() if x.is_complex() else x, y)
    x, y = (dress(operand) for operand in autocast.cast((x, y)))
    return ((x.conj() if x.is_complex() else x) * y).sum(dim)


implements(*named("outer ger", torch, Tensor), layouts="raises")(_vectors("outer", "i,j->ij"))


@implements(*named("inner", torch, Tensor), layouts="raises")
def inner(input: Any, other: Any) -> Any:
    """The sums of products over the last dimensions."""
    _check_extents("inner", input, other)
    return linear_algebra.contract_dimensions(input, other, (-1,), (-1,))


@implements(torch.tensordot, layouts="raises")
def tensordot(a: Any, b: Any, dims: Any = 2, out: None = None) -> Any:
    """The sums of products over pairs of dimensions, or over the last `dims` of one and the first of the other."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        dims = (range(-dims, 0), range(dims))
    left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    return linear_algebra.contract_dimensions(a, b, left, right)


@implements(torch.chain_matmul, layouts="raises")
def chain_matmul(*matrices: Any, out: None = None) -> Any:
    """The product of matrices, by one expression of all of them."""
    return _chain(matrices) if len(matrices) != 1 else matrices[0]


@implements(torch.linalg.multi_dot, layouts="raises")
def multi_dot(tensors: Any) -> Any:
    """The product of matrices, of which the first and the last may be vectors."""
    return _chain(tensors)


def _chain(matrices: Any) -> Any:
    if len(matrices) < 2:
        raise ShapeError(f"multi_dot: {len(matrices)} matrices; expected two or more")
    result = matrices[0]
    for matrix in matrices[1:]:
        result = products.matmul(result, matrix)
    return result


@implements(*named("trace", torch, Tensor), layouts="raises")
def trace(input: Any) -> Any:
    """The sum of the diagonal of a matrix."""
    if to_operand(input).ndim != 2:
        raise ShapeError(f"trace: the tensor ({to_operand(input)}) has {input.ndim} dimensions; expected a matrix")
    if input.dtype != torch.bool and not (input.dtype.is_floating_point or input.dtype.is_complex):
        input = input.long()  # torch sums integers as int64
    shorter = min(input.shape)
    square = input if input.shape[0] == input.shape[1] else index(input, (slice(shorter), slice(shorter)))
    return einsum("ii->", square)


@implements(*named("addr", torch, Tensor), layouts="raises")
def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * outer(vec1, vec2)`."""
    product = einsum("i,j->ij", vec1, vec2)
    whole = not (product.dtype.is_floating_point or product.dtype.is_complex or product.dtype == torch.bool)
    if whole and (isinstance(beta, float) or isinstance(alpha, float)):
        raise DtypeError(f"addr: beta is {beta!r} and alpha {alpha!r} for {product.dtype}; expected integers")
    return _added("addr", input, product, beta, alpha)


@implements(*named("addbmm", torch, Tensor), layouts="raises")
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (batch1 @ batch2).sum(0)`."""
    agreement.check("addbmm", batch1=(batch1, "b n k"), batch2=(batch2, "b k m"))
    product = einsum("bij,bjk->ik", batch1, batch2)
    return _added("addbmm", autocast.as_product(input, product.dtype), product, beta, alpha)


def _added(name: str, input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """`beta * input + alpha * product`, in the shape of the product."""
    base = to_operand(input)
    if not broadcasts(base.shape, product.shape):
        raise ShapeError(f"{name}: input ({base}) does not broadcast to the product's shape {tuple(product.shape)}")
    beta, alpha = (elementwise.factor_of(number, product.dtype) for number in (beta, alpha))
    product = elementwise.scaled(product, alpha)
    return product if beta == 0 else elementwise.plus(product, elementwise.scaled(base, beta))


@implements(F.bilinear, layouts="raises")
@autocast.ignored
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """`input1 @ weight[o] @ input2 + bias[o]` for each output `o`."""
    agreement.check("bilinear", input1=(input1, "... n"), input2=(input2, "... m"), weight=(weight, "out n m"))
    out = einsum("...i,oij,...j->...o", input1, weight, input2, format="dense").values
    return out if bias is None else out + bias


@implements(F.embedding_bag, torch.embedding_bag)
def embedding_bag(input: Any, weight: Any, *, mode: str = "mean", per_sample_weights: Any = None, **_: Any) -> Any:
    """The sums, means or maxima of the rows of `weight` that each row of a sparse matrix chooses.

    Args:
        input: (bags, embeddings), sparse; its values weigh the rows where it has any.
        weight: (embeddings, features).
        mode: `sum`, `mean` or `max`.
        per_sample_weights: Values in place of those of `input`.
    """
    source = to_operand(input)
    if source.pattern is None or is_sparse(weight):
        raise DtypeError(
            f"embedding_bag: input ({source}) and weight ({to_operand(weight)}); expected a sparse input, a bag a row, "
            "and a dense weight: ls.from_topk(indices, weights, embeddings) makes an input, to_dense() a weight"
        )
    if per_sample_weights is not None:
        source = source.with_data(per_sample_weights)
    return products.matmul(source, weight, mode)
