"""First products of patterns: computed without what only later ones use, unless somebody is to see them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from libsparse._compiler import kernel
from libsparse._runtime import tally

import libsparse as ls


def _like(seed: int) -> ls.SparseTensor:
    """One of several matrices with a signature in common and entries of their own."""
    torch.manual_seed(seed)
    columns = torch.stack([torch.randperm(300)[:3] for _ in range(300)]).sort(1).values
    return ls.from_csr(torch.arange(0, 901, 3), columns.reshape(-1), torch.rand(900), (300, 300)).requires_grad_()


def _step(A: ls.SparseTensor, X: torch.Tensor) -> None:
    """A product and its gradients are those of dense torch."""
    X = X.clone().requires_grad_()
    (A @ X).square().sum().backward()
    dense, there = A.detach().to_dense().requires_grad_(), X.detach().requires_grad_()
    (dense @ there).square().sum().backward()
    torch.testing.assert_close(X.grad, there.grad)
    rows, columns = A.pattern.coordinates()
    torch.testing.assert_close(A.grad.values(), dense.grad[rows, columns])
    A.grad = None


@pytest.mark.parametrize("columns", [1, 8])
def test_the_second_one_is_prepared(columns):
    X = torch.rand(300, columns)
    for _ in range(2):
        _step(_like(0), X)  # whose kernels are there for others like it
    other = _like(1)
    _step(other, X)
    assert not other.pattern.calls
    _step(other, X)
    assert len(other.pattern.calls) == 3


def test_who_watches_sees_the_first_one(monkeypatch):
    X = torch.rand(300, 8)
    for _ in range(2):
        _step(_like(0), X)
    monkeypatch.setattr(tally, "watching", True)
    other = _like(2)
    _step(other, X)
    assert len(other.pattern.calls) == 3


def test_large_sparse_results_begin_with_what_others_prepared(monkeypatch):
    def sums(seed: int) -> list[torch.Tensor]:
        torch.manual_seed(seed)
        places = torch.randperm(9000)
        A = ls.from_coo(torch.stack([torch.arange(9000), places]), torch.rand(9000), (9000, 9000), format="csr")
        B = ls.from_csr(A.crow_indices(), A.col_indices().flip(0), torch.rand(9000), A.shape)
        return [(A + B).values(), A.to_format("csc").values()]

    sums(0)
    monkeypatch.setattr(kernel, "find", pytest.fail)
    assert [values.numel() > 8999 for values in sums(1)] == [True, True]


def test_large_sparse_results_of_several_threads() -> None:
    def matrix(seed: int) -> torch.Tensor:
        places = torch.randperm(9000, generator=torch.Generator().manual_seed(seed))
        return torch.sparse_coo_tensor(torch.stack([torch.arange(9000), places]), torch.ones(9000), (9000, 9000))

    def total(seed: int) -> ls.SparseTensor:
        A, B = (ls.tensor(matrix(n).coalesce(), format="csr") for n in (seed, seed + 1))
        return A + A.T.to_format("csr") + B

    with ThreadPoolExecutor(4) as pool:
        for seed, found in enumerate(pool.map(total, range(24))):
            A = matrix(seed)
            wanted = (A + A.t() + matrix(seed + 1)).coalesce()
            assert torch.equal(found.indices(), wanted.indices())
            assert torch.equal(found.values(), wanted.values())
