"""torch's products."""

from __future__ import annotations

import inspect
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._ops import agreement, autocast, elementwise, products
from libsparse._ops.assemble import to_dense
from libsparse._ops.attention import attention
from libsparse._ops.einsum import einsum
from libsparse._ops.operands import broadcasts, is_sparse, is_tensor, to_operand
from libsparse._runtime import notes
from libsparse._runtime.problem import Operand

from .registry import implements, named


@implements(torch.matmul, torch.spmm, Tensor.matmul, Tensor.__matmul__, layouts=True, ranks=(1, 2))
def matmul(input: Any, other: Any, reduce: Any = None) -> Any:
    """The product of vectors, matrices or batches of matrices; torch_sparse's has another argument."""
    if reduce is not None:
        raise DtypeError(
            f"torch.matmul of an ls.SparseTensor takes no reduction, and got {reduce!r}; use "
            f"ls.matmul(A, x, reduce={reduce!r})"
        )
    return products.matmul(input, other)


@implements(Tensor.__rmatmul__, layouts=True)
def rmatmul(input: Any, other: Any) -> Any:
    """`other @ input`."""
    return products.matmul(other, input)


def _check_ranks(name: str, a: Any, b: Any, *ranks: int) -> None:
    """Refuses operands of a product that have other ranks."""
    if is_tensor(a) and is_tensor(b) and (a.ndim, b.ndim) != ranks:
        raise ShapeError(
            f"{name} takes tensors of {ranks[0]} and {ranks[1]} dimensions, got operand 0 ({to_operand(a)}) and "
            f"operand 1 ({to_operand(b)}); torch.matmul takes any"
        )
    if ranks == (3, 3):
        agreement.check(name, input=(a, "b n k"), mat2=(b, "b k m"))


def _ranked(name: str, a: Any, b: Any, *ranks: int) -> Any:
    """The product of tensors of these ranks."""
    _check_ranks(name, a, b, *ranks)
    return matmul(a, b)


@implements(torch.mm, Tensor.mm, layouts=True, ranks=(2,))
def mm(input: Any, mat2: Any) -> Any:
    """The product of two matrices."""
    return _ranked("mm", input, mat2, 2, 2)


@implements(torch.mv, Tensor.mv, layouts=True, ranks=(1,))
@autocast.ignored
def mv(input: Any, vec: Any) -> Any:
    """The product of a matrix and a vector."""
    return _ranked("mv", input, vec, 2, 1)


@implements(torch.bmm, Tensor.bmm, layouts=True)
def bmm(input: Any, mat2: Any) -> Any:
    """The products of two batches of matrices."""
    return _ranked("bmm", input, mat2, 3, 3)


@implements(torch.sparse.mm, layouts=True, ranks=(2,))
def sparse_mm(sparse: Any, dense: Any, reduce: str = "sum") -> Any:
    """The product of two matrices, reduced by `sum`, `mean`, `amax` or `amin`."""
    _check_ranks("sparse.mm", sparse, dense, 2, 2)
    return matmul(sparse, dense) if reduce == "sum" else products.matmul(sparse, dense, reduce)


@implements(torch.addmm, Tensor.addmm, layouts=True)
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)`."""
    _check_ranks("addmm", mat1, mat2, 2, 2)
    return _added(input, mat1, mat2, beta, alpha)


@implements(torch.addmv, Tensor.addmv, layouts=True)
@autocast.ignored
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat @ vec)`."""
    _check_ranks("addmv", mat, vec, 2, 1)
    return _added(input, mat, vec, beta, alpha)


@implements(*named("baddbmm", torch, Tensor), layouts=True)
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (batch1 @ batch2)`."""
    _check_ranks("baddbmm", batch1, batch2, 3, 3)
    return _added(input, batch1, batch2, beta, alpha)


@implements(torch.sparse.addmm, layouts=True)
def sparse_addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * mat + alpha * (mat1 @ mat2)`."""
    _check_ranks("sparse.addmm", mat1, mat2, 2, 2)
    return _added(mat, mat1, mat2, beta, alpha)


def _added(base: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
    """`beta * base + alpha * (a @ b)`."""
    product = to_operand(products.matmul(a, b))
    base = autocast.as_product(base, product.dtype)
    if not broadcasts(base.shape, product.shape):
        raise ShapeError(
            f"operand 0 ({to_operand(base)}) does not broadcast to the product of the others, which has shape "
            f"{tuple(product.shape)}; expected that shape, or extents of 1"
        )
    beta, alpha = (elementwise.factor_of(number, product.dtype) for number in (beta, alpha))
    if beta == 0:  # whatever is in the base, NaN too, is ignored
        scaled = elementwise.scaled(product, alpha)
        return scaled if is_sparse(base) else to_dense(scaled)
    first, second = elementwise.scaled(product, alpha), elementwise.scaled(to_operand(base), beta)
    if _takes(first, second):
        return Operand(None, notes.apply(Tensor.add_, first.values, second.values))
    return elementwise.plus(first, second)


def _takes(product: Operand, base: Operand) -> bool:
    """Whether a dense base is added to a dense product in its own memory: nobody else has the product."""
    dense = product.pattern is None and base.pattern is None and product.dtype == base.dtype
    return dense and not tape.is_watched() and not tape.is_traced((base,)) and not tape.needed((product, base))


@implements(*named("sampled_addmm", torch.sparse), layouts=True)
def sampled_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)` at the entries of `input`."""
    source = to_operand(input)
    if source.pattern is None:
        raise DtypeError(
            f"sampled_addmm: input ({source}) is a dense tensor; expected an ls.SparseTensor, see ls.from_mask"
        )
    agreement.check("sampled_addmm", input=(source, "... n m"), mat1=(mat1, "... n k"), mat2=(mat2, "... k m"))
    product = products.sddmm(source._replace(data=None), mat1, mat2)
    beta, alpha = elementwise.as_number(beta), elementwise.as_number(alpha)
    product = elementwise.scaled(product, alpha)
    return product if beta == 0 else elementwise.plus(product, elementwise.scaled(source, beta))


@implements(F.scaled_dot_product_attention)
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """`ls.attention` with a sparse mask."""
    if is_causal or enable_gqa or attn_mask is None:
        raise UnsupportedError(
            "scaled_dot_product_attention takes a sparse attn_mask, and no is_causal or enable_gqa; for the first use "
            "attn_mask.tril(), for the second key.repeat_interleave(groups, -3), and so value"
        )
    if _in_multihead_attention():
        raise UnsupportedError(
            "torch.nn.MultiheadAttention adds attn_mask to all scores, and a sparse one would leave some out; use "
            "attn_mask.to_dense(), or ls.attention in a module of your own"
        )
    return attention(query, key, value, attn_mask, scale, dropout_p)


@implements(F.linear, layouts=True)
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`input @ weight.T + bias`."""
    if weight.ndim == 1:
        return _biased(to_dense(to_operand(products.matmul(input, weight))), bias)
    agreement.check("linear", input=(input, "... features"), weight=(weight, "out features"))
    letters = "i" if input.ndim == 1 else "ni" if input.ndim == 2 else "...i"
    equation = f"{letters},oi->{letters[:-1]}o"
    if bias is None and products.of_arrays(to_operand(input), to_operand(weight)):
        return einsum(equation, input, weight)
    out = einsum(equation, input, weight, format="dense").values
    return _biased(out, bias)


def _biased(out: Tensor, bias: Any) -> Any:
    """A dense product with a bias, which broadcasts to it."""
    if bias is None:
        return out
    if not is_tensor(bias) or not broadcasts(bias.shape, out.shape):
        found = f"({to_operand(bias)})" if is_tensor(bias) else f"a {type(bias).__name__}"
        raise ShapeError(f"linear: bias is {found}; expected a tensor that broadcasts to shape {tuple(out.shape)}")
    bias = autocast.as_product(bias, out.dtype)
    if type(out) is not Tensor or is_sparse(bias) or bias.dtype != out.dtype:
        return out + bias
    alone = not tape.is_transformed([Operand(None, out), Operand(None, bias)])
    return notes.apply(Tensor.add_ if alone else torch.add, out, bias)  # in place, since nobody else sees the product


@implements(torch.einsum, layouts=True)
def torch_einsum(equation: Any, *operands: Any) -> Any:
    """Sums of products in Einstein's notation."""
    return einsum(equation, *operands)


def _in_multihead_attention() -> bool:
    """Whether torch's module of several heads calls, whose masks mean something else; no argument says so."""
    caller: Any = inspect.currentframe()
    for _ in range(8):
        caller = caller.f_back
        if caller is None:
            return False
        if caller.f_code is F.multi_head_attention_forward.__code__:
            return True
    return False
