"""`ls.diag`: values on any diagonal, of dense and of sparse vectors, in any format, against torch.diag."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("offset", [-5, -1, 0, 1, 3])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dia"])
def test_offsets(offset: int, format: str) -> None:
    values = torch.tensor([1.0, 0.0, -2.0], requires_grad=True)
    wanted = torch.diag(values, offset)
    for found in (
        ls.diag(values, offset, format),
        ls.diag(values, offset, format=format),
        ls.diag(values, diagonal=offset).to_format(format),
    ):
        assert found.format == format
        assert torch.equal(found.to_dense(), wanted)
        (gradient,) = torch.autograd.grad((found.to_dense() * wanted.detach()).sum(), values)
        assert torch.equal(gradient, values.detach())
    assert ls.diag(values, offset).nnz == 3  # zeros are stored, too
    assert ls.diag(values, format).format == format  # a format without an offset
    assert ls.diag(values, format=ls.Format("coo")).format == ls.diag(values, ls.Format("coo")).format == "coo"


@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_sparse_vectors(offset: int) -> None:
    A = ls.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 4.0]]).requires_grad_()
    inverse = 1 / A.diagonal()
    found = ls.diag(inverse, offset)
    assert torch.equal(found.to_dense(), torch.diag(1 / A.to_dense().diagonal(), offset))
    assert found.nnz == 3  # infinity, the fill value, is stored
    kept = ls.diag(A.diagonal(), offset, "coo")
    assert kept.format == "coo"
    assert kept.nnz == 2
    assert torch.equal(kept.to_dense(), torch.diag(A.to_dense().diagonal(), offset))
    (gradient,) = torch.autograd.grad(kept.to_dense().sum() + (found.to_dense().nan_to_num(posinf=0)).sum(), A.values())
    assert gradient.tolist() == [1 - 0.25, 0, 0, 1 - 0.0625]


def test_jacobi_preconditioner_and_graphs() -> None:
    A = ls.tensor([[2.0, 1.0], [0.0, 4.0]])
    assert (ls.diag(1 / A.diagonal()) @ A).to_dense().tolist() == [[1.0, 0.5], [0.0, 1.0]]
    for function in (
        lambda A: ls.diag(A.sum(1), 1) @ torch.ones(3, 2),
        lambda A: ls.diag(A.diagonal()) @ A.sum(1),
        lambda A: ls.diag(1 / A.diagonal()) @ A.sum(1),
    ):
        assert torch.equal(torch.compile(function, backend="eager", fullgraph=True)(A), function(A))


@pytest.mark.parametrize("format", ["csr", "csc", "dcsr", "coo", "bsr(2,2)"])
def test_matrices_that_leave_nothing_out(format: str) -> None:
    dense = torch.arange(1.0, 16.0).reshape(3, 5)
    A = ls.tensor(dense, format=format)
    made = A.to_dense()
    assert torch.equal(made, dense)
    assert made.is_contiguous()
    made.zero_()
    assert torch.equal(dense / A, torch.ones(3, 5))
    values = A.values().double().requires_grad_()
    (A.with_values(values).to_dense() * dense).sum().backward()
    assert torch.equal(values.grad.sort().values[-15:], torch.arange(1.0, 16.0).double())
