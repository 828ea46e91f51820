"""torch's products, tensors like another, losses and operands of NumPy and SciPy, on sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck, gradgradcheck

import libsparse as ls


def drawn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.where(torch.rand(shape) < 0.4, torch.randn(shape), 0).to(dtype)


def dense(value: Any) -> Any:
    return value.to_dense() if isinstance(value, ls.SparseTensor) else value


x, x3 = torch.randn(8, 4), torch.randn(3, 8, 4)
M = [drawn(6, 8), drawn(8, 5), drawn(6, 6)]
B = [drawn(3, 6, 8), drawn(3, 8, 5)]
CALLS: dict[str, tuple[Callable[..., Any], list[torch.Tensor]]] = {
    "bmm": (lambda a: torch.bmm(a, x3), [B[0]]),
    "bmm of two": (torch.bmm, B),
    "baddbmm": (lambda a: torch.baddbmm(torch.ones(3, 6, 4), a, x3, beta=0.5, alpha=2), [B[0]]),
    "baddbmm of three": (lambda m, a, b: torch.baddbmm(m, a, b, beta=0.5), [drawn(3, 6, 5), *B]),
    "addbmm": (lambda a: torch.addbmm(torch.ones(6, 4), a, x3), [B[0]]),
    "matmul of a batch": (lambda a: torch.matmul(a, x), [B[0]]),
    "matmul with a batch": (lambda a: torch.matmul(a, x3), [M[0]]),
    "addmm of a vector": (lambda a: torch.addmm(torch.ones(4), a, x), [M[0]]),
    "addr": (lambda a: torch.addr(a, torch.arange(6.0), torch.ones(6)), [M[2]]),
    "dot": (lambda a: torch.dot(a, torch.ones(6)), [drawn(6)]),
    "inner": (torch.inner, [M[0], drawn(3, 8)]),
    "outer": (torch.outer, [drawn(6), drawn(5)]),
    "tensordot": (lambda a: torch.tensordot(a, x, dims=1), [M[0]]),
    "tensordot of pairs": (lambda a, b: torch.tensordot(a, b, dims=([0, 1], [0, 1])), [B[0], drawn(3, 6)]),
    "kron": (torch.kron, M[:2]),
    "chain_matmul": (torch.chain_matmul, [M[2], M[0], M[1]]),
    "multi_dot": (lambda a, b: torch.linalg.multi_dot([a, b]), M[:2]),
    "matrix_power": (lambda a: torch.matrix_power(a, 3), [M[2]]),
    "matrix_power 0": (lambda a: torch.matrix_power(a, 0), [M[2]]),
    "trace": (torch.trace, [M[2]]),
    "linear": (lambda a: F.linear(torch.ones(2, 8), a, torch.ones(6)), [M[0]]),
    "bilinear": (lambda a: F.bilinear(torch.ones(2, 6), torch.ones(2, 8), a), [B[0]]),
    "zeros_like": (torch.zeros_like, [M[0]]),
    "ones_like": (torch.ones_like, [M[0]]),
    "full_like": (lambda a: torch.full_like(a, 3), [M[0]]),
    "new_zeros": (lambda a: a.new_zeros(2), [M[0]]),
    "masked_fill": (lambda a: a.masked_fill(a > 0, 5), [M[0]]),
    "mse_loss": (lambda a: F.mse_loss(a, a * 2), [M[0]]),
    "l1_loss": (lambda a: F.l1_loss(a, a * 2, reduction="sum"), [M[0]]),
    "cosine_similarity": (lambda a: F.cosine_similarity(a, a * 2 + 1), [M[0]]),
}


@pytest.mark.filterwarnings("ignore:torch.chain_matmul")
@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    function, operands = CALLS[name]
    wanted = torch.as_tensor(function(*operands))
    found = dense(function(*map(ls.tensor, operands)))
    assert found.dtype == wanted.dtype
    torch.testing.assert_close(found, wanted)


def test_masks_that_batches_share() -> None:
    mask = drawn(6, 8)
    q, kt = torch.randn(2, 3, 6, 4), torch.randn(2, 3, 4, 8)
    for shape in ((6, 8), (3, 6, 8), (2, 3, 6, 8)):
        m = mask.expand(shape) * (torch.rand(shape) < 0.7)
        torch.testing.assert_close(ls.sddmm(ls.tensor(m), q, kt).to_dense(), m * (q @ kt))
    with pytest.raises(ls.ShapeError, match=r"mask \(shape \(6, 8\), format csr\), q \(shape \(2, 3, 5, 4\)"):
        ls.sddmm(ls.tensor(mask), q[..., :5, :], kt)


@pytest.mark.parametrize("shape", [(7, 6), (2, 1, 7, 6), (3, 7, 6), (2, 3, 7, 6), (1, 7, 6)], ids=str)
def test_attention(shape: tuple[int, ...]) -> None:
    q, k, v = (torch.randn(2, 3, n, 4, dtype=torch.float64, requires_grad=True) for n in (7, 6, 6))
    chosen = torch.rand(shape) < 0.5
    chosen[..., 0, :] = False
    for mask, added in (
        (ls.from_mask(chosen), torch.zeros(())),
        (ls.tensor(torch.where(chosen, 2.0, 0.0)), torch.tensor(2.0)),
    ):
        found = ls.attention(q, k, v, mask)
        scores = torch.where(chosen, q @ k.mT / 2 + added, -1e30)
        wanted = (scores.softmax(-1) * chosen) @ v
        torch.testing.assert_close(found, wanted)
        upstream = torch.randn_like(found)
        gradients = [torch.autograd.grad(out, (q, k, v), upstream) for out in (found, wanted)]
        torch.testing.assert_close(*gradients)


def test_masks_without_entries() -> None:
    q = torch.randn(2, 3, 5, 4, requires_grad=True)
    empty = ls.from_mask(torch.zeros(5, 5, dtype=torch.bool))
    out = ls.attention(q, q, q, empty)
    assert torch.equal(out, torch.zeros(2, 3, 5, 4))
    assert torch.equal(torch.autograd.grad(out.sum(), q)[0], torch.zeros_like(q))
    assert ls.sddmm(empty.float(), q, q.mT).nnz == 0


def test_gradients() -> None:
    A = ls.tensor(drawn(4, 4, dtype=torch.float64) + 4 * torch.eye(4, dtype=torch.float64))
    b = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    values = A.values().clone().requires_grad_()
    for function in (
        lambda v, b: torch.sparse.spsolve(A.with_values(v), b),
        lambda v, b: torch.kron(A.with_values(v), A.with_values(v)).values() * b.sum(),
        lambda v, b: ls.sddmm(A.with_values(v), b.expand(2, 4, 2), b.mT.expand(2, 2, 4)).values(),
        lambda v, b: ls.attention(b, b, b, A.with_values(v)),
    ):
        assert gradcheck(function, (values, b))
        assert gradgradcheck(function, (values, b))


def test_arrays_of_numpy_and_scipy() -> None:
    a = drawn(6, 6)
    A, S, N = ls.tensor(a), scipy.sparse.csr_matrix(a.numpy()), a.numpy()
    torch.testing.assert_close((A @ S).to_dense(), a @ a)
    torch.testing.assert_close((A * S).to_dense(), a * a)
    torch.testing.assert_close(torch.as_tensor(N @ A), a @ a)
    torch.testing.assert_close((A * N).to_dense(), a * a)
    torch.testing.assert_close(ls.einsum("ij,jk->ik", S, A).to_dense(), a @ a)
    for found in (ls.tensor(S), ls.tensor(S.tocsc()), ls.tensor(S.tocoo(), format="csr"), ls.tensor(N)):
        torch.testing.assert_close(found.to_dense(), a)
    assert ls.tensor(S.tocsc()).format == "csc"
    np.testing.assert_array_equal(np.asarray(A), N)
    with pytest.raises(ls.FormatError, match="GiB"):
        np.asarray(ls.random((10**6, 10**6), 1e-12))


def test_bags() -> None:
    chosen = drawn(5, 8)
    weight = torch.randn(8, 3)
    torch.testing.assert_close(F.embedding_bag(ls.tensor(chosen), weight, mode="sum"), chosen @ weight)
    pattern = ls.from_mask(chosen != 0)
    counted = (chosen != 0).float()
    mean = counted @ weight / counted.sum(1, keepdim=True).clamp(min=1)
    torch.testing.assert_close(F.embedding_bag(pattern, weight), mean)


def test_questions() -> None:
    A = ls.tensor(torch.eye(4))
    assert A.density == 0.25
    assert not A.is_sparse
    assert A.tolist() == torch.eye(4).tolist()
    assert A.to_sparse().layout is torch.sparse_coo
    assert A.to_sparse_csr().layout is torch.sparse_csr
    with pytest.raises(ls.UnsupportedError, match="to_dense"):
        A.numpy()
    with pytest.raises(ls.ShapeError, match="spsolve"):
        torch.sparse.spsolve(A, torch.ones(3))
