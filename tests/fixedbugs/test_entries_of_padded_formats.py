"""Entries of formats with padding: where they are and what they are is said in the order of the values."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

PADDED = ["bsr(2,2)", "bsr(3,2)", "ell", "sell(2)", "dia", "db", "csc", "bsr(2,2):1,0"]


def made(format: str, rows: int = 6, columns: int = 8) -> ls.SparseTensor:
    seed = torch.Generator().manual_seed(0)
    A = ls.random((rows, columns), 0.4, generator=seed, dtype=torch.float64)
    return A.T.to_format(format.removesuffix(":1,0")).T if format.endswith(":1,0") else A.to_format(format)


@pytest.mark.parametrize("format", PADDED)
@pytest.mark.parametrize("shape", [(6, 8), (7, 9)])
def test_indices_are_in_the_order_of_values(format: str, shape: tuple[int, int]) -> None:
    A = made(format, *shape)
    places = A.pattern.entries(torch.arange(A.pattern.size))
    assert (places.diff() > 0).all()
    held = A.values().reshape(-1)[places]
    assert torch.equal(A.to_dense()[tuple(A.indices())], held)
    assert torch.equal(A.pattern.entries(A.values().reshape(-1)), held)
    assert torch.equal(A.pattern.entries(A.pattern.spread(held)), held)


def test_blocks_without_padding_are_not_copied() -> None:
    A = made("bsr(3,2)")
    values = A.values().reshape(-1)
    assert A.nnz == values.numel()
    assert A.pattern.entries(values) is values
    assert A.pattern.spread(values) is values


@pytest.mark.parametrize("format", PADDED)
@pytest.mark.parametrize("shape", [(6, 8), (7, 9)])
def test_results_are_those_of_dense_tensors(format: str, shape: tuple[int, int]) -> None:
    A = made(format, *shape)
    values = A.values().detach().clone().requires_grad_()
    dense = A.to_dense().requires_grad_()
    stored = torch.zeros(shape, dtype=torch.bool)
    stored[tuple(A.indices())] = True
    compared = [
        (lambda T: torch.relu(T).sum(1), None),
        (lambda T: T.sum(), None),
        (lambda T: T.sum(0), None),
        (lambda T: T.amax(1), None),
        (lambda T: (T * torch.arange(shape[1])).mean(1), None),
        (lambda T: T.softmax(1).sum(0), lambda T: T.masked_fill(~stored, -torch.inf).softmax(1).nan_to_num().sum(0)),
        (lambda T: torch.cat([T, T]).sum(1), None),
        (lambda T: T[torch.tensor([2, 0, 2])].sum(0), None),
    ]
    for of_sparse, of_dense in compared:
        ours, theirs = of_sparse(A.with_values(values)), (of_dense or of_sparse)(dense)
        torch.testing.assert_close(ours, theirs)
        weights = torch.arange(1.0, 1 + ours.numel(), dtype=torch.float64).reshape(ours.shape)
        found = torch.autograd.grad((ours * weights).sum(), values)[0]
        expected = torch.autograd.grad((theirs * weights).sum(), dense)[0]
        torch.testing.assert_close(A.pattern.entries(found.reshape(-1)), expected[tuple(A.indices())])


@pytest.mark.parametrize("format", PADDED)
@pytest.mark.parametrize("graph", [False, True])
def test_functions_of_the_stored_values_see_no_padding(format: str, graph: bool) -> None:
    A = made(format, 7, 9)
    values = A.values().detach().abs().requires_grad_()
    functions = [torch.sqrt, lambda v: v - v.mean(), lambda v: v.softmax(0), lambda v: v > 0.3]
    for function in functions[: 2 if graph else None]:
        torch._dynamo.reset()

        def mapped(A, function=function):
            return A.map(function)

        run = torch.compile(mapped, backend="aot_eager", fullgraph=True) if graph else mapped
        found = run(A.with_values(values))
        wanted = function(A.pattern.entries(values))
        assert torch.equal(A.pattern.entries(found.values()), wanted)
        assert torch.equal(A.pattern.spread(wanted), found.values())
        if wanted.is_floating_point():
            weights = torch.arange(1.0, 1 + wanted.numel(), dtype=torch.float64)
            ours = torch.autograd.grad((A.pattern.entries(found.values()) * weights).sum(), values)[0]
            expected = torch.autograd.grad((wanted * weights).sum(), values)[0]
            torch.testing.assert_close(ours, expected)
            dense = torch.autograd.grad(run(A.with_values(values)).to_dense().sum(), values)[0]
            assert not dense.isnan().any()


@pytest.mark.parametrize("format", ["csr", "ell", "sell(2)"])
def test_functions_that_return_no_tensor_are_refused(format: str) -> None:
    with pytest.raises(ls.DtypeError):
        ls.tensor(torch.eye(3), format=format).map(lambda v: v.numpy())
