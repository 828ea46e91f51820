"""Tensors whose values are arrays, and batches of torch's compressed matrices."""

from __future__ import annotations

import pickle

import pytest
import torch

import libsparse as ls

CROW, COL = torch.tensor([0, 2, 3, 3, 4, 6]), torch.tensor([0, 3, 1, 4, 0, 2])


@pytest.fixture
def values() -> torch.Tensor:
    return torch.randn(6, 3)


@pytest.fixture
def dense(values: torch.Tensor) -> torch.Tensor:
    return torch.sparse_csr_tensor(CROW, COL, values, (5, 5, 3)).to_dense()


def test_constructors(values: torch.Tensor, dense: torch.Tensor) -> None:
    hybrid = torch.sparse_csr_tensor(CROW, COL, values, (5, 5, 3))
    A = ls.from_csr(CROW, COL, values, (5, 5, 3))
    rows = torch.repeat_interleave(torch.arange(5), CROW.diff())
    shuffled = torch.randperm(6)
    B = ls.from_coo(torch.stack([rows, COL])[:, shuffled], values[shuffled], (5, 5, 3))
    for tensor in (A, B, ls.from_torch(hybrid), pickle.loads(pickle.dumps(A))):
        assert tensor.shape == (5, 5, 3)
        assert torch.equal(tensor.values(), values)
        assert torch.equal(tensor.to_dense(), dense)
    twice = ls.from_coo(torch.tensor([[1, 1], [2, 2]]), torch.ones(2, 3), (3, 3, 3), reduce="max")
    assert torch.equal(twice.values(), torch.ones(1, 3))
    with pytest.raises(ls.ShapeError, match=r"values has shape \(6, 3\), shape is \(5, 5, 4\)"):
        ls.from_csr(CROW, COL, values, (5, 5, 4))
    with pytest.raises(ls.ShapeError, match=r"expected \(6, 3\)"):
        ls.from_csr(CROW, COL, values[:5], (5, 5, 3))


def test_operations(values: torch.Tensor, dense: torch.Tensor) -> None:
    A = ls.from_csr(CROW, COL, values, (5, 5, 3))
    assert (A * 2).values().shape == (6, 3)
    assert A.map(lambda v: v.cumsum(1)).values().shape == (6, 3)
    assert A.softmax(1).values().shape == (6, 3)
    torch.testing.assert_close(A.sum(2), dense.sum(2))
    torch.testing.assert_close(ls.einsum("ijd,jd->id", A, torch.ones(5, 3)), dense.sum(1))
    torch.testing.assert_close(A[1:3].to_dense(), dense[1:3])
    leaf = values.clone().requires_grad_()
    (ls.from_csr(CROW, COL, leaf, (5, 5, 3)) * 3).sum().backward()
    assert torch.equal(leaf.grad, torch.full((6, 3), 3.0))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gradients_of_tensors_with_dense_dimensions() -> None:
    indices = torch.tensor([[1, 0, 1], [2, 1, 2]])
    for tensor in (
        torch.sparse_coo_tensor(indices, torch.randn(3, 3), (5, 5, 3)),
        torch.sparse_csr_tensor(CROW, COL, torch.randn(6, 3), (5, 5, 3)),
    ):
        leaf = tensor.clone().requires_grad_()
        (ls.from_torch(leaf) * 3).sum().backward()
        stored = (ls.from_torch(tensor).map(torch.ones_like) * 3).to_dense()
        torch.testing.assert_close(leaf.grad.to_dense(), stored)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc], ids=str)
def test_batches(layout: torch.layout) -> None:
    dense = torch.randn(2, 4, 5) * torch.eye(4, 5)
    batch = dense.to_sparse(layout=layout)
    A = ls.from_torch(batch)
    assert torch.equal(A.to_dense(), dense)
    x = torch.randn(2, 5, 3)
    with ls.override():
        torch.testing.assert_close(torch.bmm(batch, x), dense @ x)
        torch.testing.assert_close(batch @ x[0], dense @ x[0])
        weights = torch.softmax(batch, -1)
    assert weights.layout is layout
    torch.testing.assert_close(weights.to_dense(), torch.eye(4, 5).expand(2, 4, 5))
