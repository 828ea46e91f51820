"""torch as an expert uses it: transposes built once, functions on values, dense attention, gather and scatter."""

# ruff: noqa: D102  # each method prepares the kernel of its name
from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from method.operands import Matrix
from torch import Tensor

from .peer import Peer, Run, gradients, need

_DENSE_MASK = 1 << 25  # elements of a mask that may be dense


def csr(m: Matrix, values: Tensor | None = None) -> Tensor:
    """int32 CSR."""
    return torch.sparse_csr_tensor(m.crow, m.col, m.values if values is None else values, m.shape)


class Transposed:
    """A matrix with its transpose, and the order of the transpose's entries among those of the matrix."""

    def __init__(self, m: Matrix) -> None:
        rows = m.rows
        self.order = (m.col.long() * m.shape[0] + rows).argsort()
        crow = torch.zeros(m.shape[1] + 1, dtype=torch.int32)
        crow[1:] = torch.bincount(m.col.long(), minlength=m.shape[1]).cumsum(0)
        self.matrix = m
        self.turned = Matrix("", "", crow, rows[self.order].int(), m.values[self.order], m.shape[::-1])

    def at(self, values: Tensor) -> Tensor:
        """The transpose with the values of the matrix in place of its own."""
        return csr(self.turned, values[self.order])


class _Multiply(torch.autograd.Function):
    """A X with gradients of the values of A and of X: a sampled product, and a product with the transpose."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, X: Tensor, pair: Transposed) -> Tensor:
        ctx.save_for_backward(values, X)
        ctx.pair = pair
        return torch.sparse.mm(csr(pair.matrix, values), X)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        values, X = ctx.saved_tensors
        d_values = d_X = None
        if ctx.needs_input_grad[0]:
            d_values = torch.sparse.sampled_addmm(csr(ctx.pair.matrix, values), grads[0], X.t(), beta=0.0).values()
        if ctx.needs_input_grad[1]:
            d_X = torch.sparse.mm(ctx.pair.at(values), grads[0])
        return d_values, d_X, None


def multiply(values: Tensor, X: Tensor, pair: Transposed) -> Tensor:
    """A X, differentiable in the values of A and in X."""
    product: Tensor = _Multiply.apply(values, X, pair)
    return product


class ExpertTorch(Peer):
    """See `Peer`."""

    title = "expert torch"

    def spmm_column_major(self, p: Any) -> Run:
        A, X = csr(p.A), p.X
        return lambda: torch.sparse.mm(A, X.contiguous())

    def dense_sparse(self, p: Any) -> Run:
        At, X = csr(Transposed(p.A).turned), p.X
        return lambda: torch.sparse.mm(At, X.t()).t()

    def linear(self, p: Any) -> Run:
        A, X = csr(p.A), p.X
        return lambda: torch.sparse.mm(A, X.t()).t()

    def spmm_backward(self, p: Any) -> Run:
        values, X = p.A.values.detach().requires_grad_(), p.X.detach().requires_grad_()
        return gradients(multiply(values, X, Transposed(p.A)), (values, X), p.G)

    def linear_backward(self, p: Any) -> Run:
        values, X = p.A.values.detach().requires_grad_(), p.X.detach().requires_grad_()
        return gradients(multiply(values, X.t(), Transposed(p.A)).t(), (values, X), p.G)

    def softmax(self, p: Any) -> Run:
        values, crow, col = p.A.values, p.A.crow, p.A.col
        offsets, counts = crow.long(), crow.diff().long()

        def run() -> Tensor:
            most = torch.segment_reduce(values, "max", offsets=offsets, initial=-torch.inf)
            weights = (values - most.repeat_interleave(counts)).exp_()
            sums = torch.segment_reduce(weights, "sum", offsets=offsets)
            return torch.sparse_csr_tensor(crow, col, weights.div_(sums.repeat_interleave(counts)), p.A.shape)

        return run

    def spmv_backward(self, p: Any) -> Run:
        values, x = p.A.values.detach().requires_grad_(), p.x.detach().requires_grad_()
        rows, columns = p.A.rows, p.A.col.long()
        product = torch.zeros(p.A.shape[0], dtype=x.dtype).index_add(0, rows, values * x[columns])
        return gradients(product, (values, x), p.g)

    def sddmm_backward(self, p: Any) -> Run:
        values, U, V = (t.detach().requires_grad_() for t in (p.A.values, p.U, p.V))
        sampled = (U[p.A.rows] * V[p.A.col.long()]).sum(1) * values
        return gradients(sampled, (values, U, V), p.g)

    def mttkrp_backward(self, p: Any) -> Run:
        values, B, C = (t.detach().requires_grad_() for t in (p.T.values, p.B, p.C))
        i, j, k = p.T.coords
        terms = values[:, None] * B[j] * C[k]
        return gradients(
            torch.zeros(p.T.shape[0], B.shape[1], dtype=B.dtype).index_add(0, i, terms), (values, B, C), p.G
        )

    def chain(self, p: Any) -> Run:
        A, rows, columns, u, v = p.A, p.A.rows, p.A.col.long(), p.u, p.v

        def run() -> Tensor:
            values = (A.values * u[rows]).mul_(v[columns]).relu_().tanh_()
            return torch.sparse_csr_tensor(A.crow, A.col, values, A.shape)

        return run


class DenseAttention(Peer):
    """`scaled_dot_product_attention` with a dense mask."""

    title = "torch SDPA, dense mask"

    def _dense(self, p: Any) -> Tensor:
        need(p.M.shape[0] * p.M.shape[1] <= _DENSE_MASK, "the dense mask is too large")
        need(bool((p.M.crow.diff() > 0).all()), "rows without entries are NaN")
        return csr(p.M, torch.ones(p.M.nnz)).to_dense().bool()

    def attention(self, p: Any) -> Run:
        mask, Q, K, V = self._dense(p), p.Q, p.K, p.V
        return lambda: F.scaled_dot_product_attention(Q, K, V, mask)

    def attention_backward(self, p: Any) -> Run:
        mask, inputs = self._dense(p), [t.detach().requires_grad_() for t in (p.Q, p.K, p.V)]
        return gradients(F.scaled_dot_product_attention(*inputs, mask), inputs, p.G)


class GatherScatter(Peer):
    """Attention over lists of edges, as graph libraries do it."""

    title = "torch gather/scatter"

    def attention(self, p: Any) -> Run:
        need(p.M.nnz * p.Q.shape[0] * p.Q.shape[-1] <= 1 << 28, "the gathered arrays are too large")
        rows, columns, Q, K, V = p.M.rows, p.M.col.long(), p.Q, p.K, p.V
        return lambda: gathered_attention(Q, K, V, rows, columns)

    def attention_backward(self, p: Any) -> Run:
        need(p.M.nnz * p.Q.shape[0] * p.Q.shape[-1] <= 1 << 28, "the gathered arrays are too large")
        inputs = [t.detach().requires_grad_() for t in (p.Q, p.K, p.V)]
        return gradients(gathered_attention(*inputs, p.M.rows, p.M.col.long()), inputs, p.G)


def gathered_attention(Q: Tensor, K: Tensor, V: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Attention whose scores lie in arrays of heads by edges."""
    scores = (Q[:, rows] * K[:, columns]).sum(-1) * Q.shape[-1] ** -0.5
    most = torch.full(Q.shape[:2], -torch.inf, dtype=Q.dtype)
    most = most.index_reduce(1, rows, scores.detach(), "amax")
    weights = (scores - most[:, rows]).exp()
    sums = torch.zeros(Q.shape[:2], dtype=Q.dtype).index_add(1, rows, weights)
    weights = weights / sums[:, rows]
    return torch.zeros_like(Q).index_add(1, rows, weights[..., None] * V[:, columns])


class SparseChain(Peer):
    """Attention as a chain of torch.sparse: sampled product, softmax, product; one head after the other."""

    title = "torch.sparse chain"

    def attention(self, p: Any) -> Run:
        M, Q, K, V = csr(p.M, torch.zeros(p.M.nnz, dtype=p.Q.dtype)), p.Q, p.K, p.V
        places, scale = torch.stack([p.M.rows, p.M.col.long()]), p.Q.shape[-1] ** -0.5

        def head(h: int) -> Tensor:
            scores = torch.sparse.sampled_addmm(M, Q[h], K[h].t(), beta=0.0, alpha=scale)
            listed = torch.sparse_coo_tensor(places, scores.values(), M.shape, is_coalesced=True)
            weights = torch.sparse.softmax(listed, 1)
            return torch.sparse.mm(csr(p.M, weights.values()), V[h])

        return lambda: torch.stack([head(h) for h in range(Q.shape[0])])


PEERS = [ExpertTorch(), DenseAttention(), GatherScatter(), SparseChain()]
