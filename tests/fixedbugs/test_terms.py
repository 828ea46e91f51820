"""A term exists only where every sparse operand is stored, in chains that are computed in steps too."""

import pytest
import torch

import libsparse as ls

INF = float("inf")


def coo(rows: list[int], columns: list[int], shape: tuple[int, int], format: str = "csr") -> ls.SparseTensor:
    return ls.from_coo(torch.tensor([rows, columns]), torch.ones(len(rows)), shape, format=format)


@pytest.fixture
def sparse() -> ls.SparseTensor:
    return coo([0, 0, 3], [1, 2, 1], (5, 4))


def test_rows_without_terms_are_not_multiplied_by_infinity(sparse: ls.SparseTensor) -> None:
    y = ls.einsum("ij,jk,kl->il", sparse, torch.ones(4, 3), torch.full((3, 6), INF))
    assert (y[[0, 3]] == INF).all()
    assert (y[[1, 2, 4]] == 0).all()


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bd", "bb", "sd", "ss"])
def test_sparse_results_of_chains_have_the_rows_that_have_terms(sparse: ls.SparseTensor, format: str) -> None:
    y = ls.einsum("ij,jk,kl->il", sparse, torch.ones(4, 3), torch.ones(3, 6), format=format)
    assert y.nnz == 12
    assert sorted(set(y.indices()[0].tolist())) == [0, 3]


@pytest.mark.parametrize("count", [2, 400])
def test_chains_do_not_depend_on_density(count: int) -> None:
    keys = torch.randperm(900, generator=torch.Generator().manual_seed(1))[:count]
    a = coo((keys // 30).tolist(), (keys % 30).tolist(), (30, 30))
    c = torch.full((30, 2), INF)
    y = ls.einsum("ij,jk,kl->il", a, a, c)
    reached = (a.to_dense() @ a.to_dense()).sum(1) > 0
    assert torch.equal(y, torch.where(reached, INF, 0.0)[:, None].expand(30, 2))


@pytest.mark.parametrize("format", ["bd", "sd"])
def test_blocks_without_terms_are_not_stored(sparse: ls.SparseTensor, format: str) -> None:
    y = ls.einsum("ij,jk->ik", sparse, torch.ones(4, 64), format=format)
    assert y.nnz == 128


def test_results_have_the_format_of_the_expression(sparse: ls.SparseTensor) -> None:
    b = coo([0, 1, 3], [1, 2, 1], (4, 4))
    assert ls.einsum("ij,jk,k->ik", sparse, b, torch.ones(4)).format == "csr"
    assert ls.einsum("ij,jk->ijk", sparse, torch.ones(4, 3)).format == "dsd"
    assert type(ls.evaluate("y(i) = b(i) - A(i,j) * x(j)", A=sparse, b=torch.ones(5), x=torch.ones(4))) is torch.Tensor


def test_sums_with_temporaries_store_what_has_a_value(sparse: ls.SparseTensor) -> None:
    b = ls.tensor(torch.tensor([0, 0, 1.0, 0, 0]))
    y = ls.evaluate("y(i) = b(i) - A(i,j) * x(j)", A=sparse, b=b, x=torch.ones(4), format="s")
    assert y.indices().tolist() == [[0, 2, 3]]
    assert y.values().tolist() == [-2, 1, -1]
