"""What libsparse claims to have, one test for each line of the table in `docs/reference/features.md`."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import libsparse as ls

DENSE = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
A = ls.tensor(DENSE)
X = torch.arange(6.0).reshape(3, 2)


def same(found: ls.SparseTensor | torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(found.to_dense() if isinstance(found, ls.SparseTensor) else found, wanted)


def test_creation() -> None:
    indices, values = A.indices(), A.values()
    same(ls.from_coo(indices, values, (3, 3)), DENSE)
    same(ls.from_csr(A.crow_indices(), A.col_indices(), values, (3, 3)), DENSE)
    csc = A.to_format("csc")
    same(ls.from_csc(csc.ccol_indices(), csc.row_indices(), csc.values(), (3, 3)), DENSE)
    same(ls.eye(3), torch.eye(3))
    same(ls.diag(torch.arange(3.0)), torch.diag(torch.arange(3.0)))


@pytest.mark.parametrize(
    "format", ["coo", "csr", "csc", "dcsr", "dcsc", "bsr(2,2)", "ell", "sell(2)", "dia", "bb", "hh", "ss"]
)
def test_formats(format: str) -> None:
    tensor = A.to_format(format)
    assert tensor.format == format
    same(tensor, DENSE)
    same(tensor @ X, DENSE @ X)


def test_many_dimensions() -> None:
    dense = torch.rand(2, 3, 4, 5) * (torch.rand(2, 3, 4, 5) < 0.3)
    tensor = ls.tensor(dense)
    same(ls.einsum("ijkl,l->ijk", tensor, torch.ones(5)), dense.sum(3))
    same(tensor.permute(3, 1, 0, 2), dense.permute(3, 1, 0, 2))


def test_batches_of_different_entries() -> None:
    batch = torch.stack([DENSE, torch.eye(3), torch.zeros(3, 3)])
    tensor = ls.tensor(batch)
    same(torch.bmm(tensor, X.expand(3, 3, 2)), batch @ X)
    same(tensor.softmax(-1).sum((1, 2)), torch.tensor([2.0, 3.0, 0.0]))


def test_values_that_are_vectors() -> None:
    tensor = ls.from_coo(A.indices(), torch.ones(3, 4), (3, 3, 4))
    assert tensor.values().shape == (3, 4)
    same(tensor.sum(1), (DENSE != 0).sum(1)[:, None].expand(3, 4).float())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex64, torch.bool, torch.int32], ids=str)
def test_dtypes(dtype: torch.dtype) -> None:
    tensor, x = A.to(dtype), X.to(dtype)
    wanted = (DENSE @ X).to(dtype)
    assert (tensor @ x).dtype == dtype
    same(tensor @ x, wanted)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_both_index_types(dtype: torch.dtype) -> None:
    arrays = A.crow_indices().to(dtype), A.col_indices().to(dtype)
    same(ls.from_csr(*arrays, A.values(), (3, 3)) @ X, DENSE @ X)


def test_broadcasting() -> None:
    same(A * torch.arange(3.0), DENSE * torch.arange(3.0))
    same(ls.tensor(DENSE[:1]) + ls.tensor(DENSE[:, 1:2]), DENSE[:1] + DENSE[:, 1:2])


def test_the_user_picks_the_output_format() -> None:
    assert ls.einsum("ij,jk->ik", A, A, format="csc").format == "csc"
    assert type(ls.einsum("ij,jk->ik", A, A, format="dense")) is torch.Tensor


def test_fill_values() -> None:
    same(torch.exp(A), torch.exp(DENSE))
    assert torch.exp(A).fill_value == 1
    assert (A == 0).fill_value
    same(torch.exp(A) @ torch.ones(3, 2), torch.exp(DENSE) @ torch.ones(3, 2))
    same(ls.einsum("ij,kj->ik", 1 - A, A, format="dense"), (1 - DENSE) @ DENSE.T)


def test_reductions() -> None:
    for function in (torch.sum, torch.mean, torch.amax, torch.amin, torch.std):
        same(function(A, dim=1, keepdim=True), function(DENSE, dim=1, keepdim=True))
    assert A.sum(0, dtype=torch.float64).dtype == torch.float64


def test_indexing() -> None:
    for key in (1, slice(0, 3, 2), torch.tensor([2, 1]), torch.tensor([True, False, True]), (..., None), (1, 2)):
        same(A[key], DENSE[key])
    same(A[torch.tensor([1, 0])][:, torch.tensor([2, 1])], DENSE[[1, 0]][:, [2, 1]])


@pytest.mark.parametrize("dense_first", [False, True])
def test_products_with_dense(dense_first: bool) -> None:
    same(X.T @ A if dense_first else A @ X, X.T @ DENSE if dense_first else DENSE @ X)


def test_batched_products() -> None:
    dense = torch.rand(2, 3, 3) * torch.tensor([[[1.0]], [[0.0]]])  # the second item has no entries
    batch, x = ls.tensor(dense), torch.rand(2, 3, 4)
    same(torch.bmm(batch, x), dense @ x)
    same(torch.baddbmm(x, batch, x), x + dense @ x)
    same(batch @ ls.tensor(dense), dense @ dense)


def test_products_with_reductions() -> None:
    same(ls.matmul(A, X, reduce="max"), torch.tensor([[4.0, 6.0], [16.0, 20.0], [0.0, 0.0]]))
    same(ls.matmul(A, X, reduce="mean"), torch.tensor([[4.0, 6.0], [8.0, 10.5], [0.0, 0.0]]))


def test_products_of_sparse() -> None:
    same(A @ A, DENSE @ DENSE)


def test_einsum_of_many_operands() -> None:
    same(ls.einsum("ij,jk,kl,l->i", A, A, A, torch.ones(3)), DENSE @ DENSE @ DENSE @ torch.ones(3))


def test_sampled_products() -> None:
    same(ls.sddmm(A, X, X.T), DENSE * (X @ X.T))


def test_masked_softmax() -> None:
    same(A.softmax(1), torch.where(DENSE != 0, DENSE, -torch.inf).softmax(1).nan_to_num())


def test_transposes_share_their_arrays() -> None:
    assert A.T.pattern.crd[1] is A.pattern.crd[1]
    same(A.T, DENSE.T)


def test_joining() -> None:
    same(torch.cat([A, A], 1), torch.cat([DENSE, DENSE], 1))
    same(torch.stack([A, A]), torch.stack([DENSE, DENSE]))


def test_gradients_of_stored_values_twice() -> None:
    values = A.values().double().requires_grad_()
    x = X.double().requires_grad_()

    def product(values: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(A.with_values(values) @ x)

    assert gradcheck(product, (values, x))
    assert gradgradcheck(product, (values, x))


def test_a_scheduler_chooses_formats_and_loops() -> None:
    assert "order" in str(ls.explain("ij,jk->ik", A, A)) or "loop" in str(ls.explain("ij,jk->ik", A, A))


def test_threads_give_the_same_numbers() -> None:
    big = ls.random((3000, 3000), 0.01)
    x = torch.randn(3000, 8)
    with ls.options(num_threads=1):
        one = big @ x
    with ls.options(num_threads=2):
        assert torch.equal(big @ x, one)


def _pickled(tensor: ls.SparseTensor) -> ls.SparseTensor:
    return pickle.loads(pickle.dumps(tensor))  # type: ignore[no-any-return]


def _saved(tensor: ls.SparseTensor) -> ls.SparseTensor:
    buffer = io.BytesIO()
    torch.save(tensor, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True)  # type: ignore[no-any-return]


@pytest.mark.parametrize("way", [_pickled, _saved, copy.copy, copy.deepcopy])
def test_copies_and_files(way: Callable[[ls.SparseTensor], ls.SparseTensor]) -> None:
    same(way(A), DENSE)


def test_repr() -> None:
    assert "shape=(3, 3), nnz=3, density=0.333, dtype=float32, format=csr" in repr(A)


def test_scipy() -> None:
    same(ls.from_scipy(A.to_scipy()), DENSE)
    same(A @ A.to_scipy(), DENSE @ DENSE)


def test_fusion() -> None:
    def layer(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(A @ x - 1)

    x = torch.rand(3, 2)
    same(ls.compile(layer)(x), torch.relu(DENSE @ x - 1))
    assert "together: matmul, sub, relu" in ls.explain(layer, x)
