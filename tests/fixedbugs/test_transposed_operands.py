"""A tensor and its transpose in one computation: they share arrays, but neither other formats nor, for ever, values."""

from __future__ import annotations

import itertools

import pytest
import torch

import libsparse as ls

OPERATIONS = {
    "sum": lambda A, B: A + B,
    "product": lambda A, B: A @ B,
    "elementwise": lambda A, B: A * B,
    "einsum": lambda A, B: ls.einsum("ij,ij->i", A, B),
    "evaluate": lambda A, B: ls.evaluate("y(i) = a(i,j) * b(i,j)", a=A, b=B),
}


def dense(A):
    return A.to_dense() if isinstance(A, ls.SparseTensor) else A


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("format", ["coo", "csr", "csc", "dcsr", "ell"])
def test_both_in_another_format(format, name):
    A, operation = ls.random((30, 30), 0.2, format=format, dtype=torch.float64), OPERATIONS[name]
    B = A.with_values(torch.randn(A.values().shape, dtype=torch.float64)) if format != "ell" else A
    for first, second in ((A, B.T), (A.T, B)):
        wanted = operation(ls.tensor(first.to_dense().contiguous()), ls.tensor(second.to_dense().contiguous()))
        torch.testing.assert_close(dense(operation(first, second)), dense(wanted))


@pytest.mark.parametrize("format", ["coo", "csf", "dss", "sss:1,0,2"])
@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_both_in_another_format_of_three_modes(order, format):
    T = ls.random((9, 9, 9), 0.1, format=format, dtype=torch.float64)
    found = ls.einsum("ijk,ljk->il", T, T.permute(order))
    torch.testing.assert_close(dense(found), torch.einsum("ijk,ljk->il", T.to_dense(), T.to_dense().permute(order)))


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("followed", [False, True])
def test_values_that_were_the_same_in_the_calls_before(name, followed):
    A, operation = ls.random((30, 30), 0.2, dtype=torch.float64), OPERATIONS[name]
    u = A.values().clone().requires_grad_(followed)
    for _ in range(3):
        operation(A.with_values(u), A.with_values(u).T)
    v = torch.randn_like(u).requires_grad_(followed)
    found = dense(operation(A.with_values(u), A.with_values(v).T))
    parts = [ls.tensor(A.with_values(x).to_dense().detach().contiguous()) for x in (u, v)]
    torch.testing.assert_close(found, dense(operation(parts[0], ls.tensor(parts[1].to_dense().T.contiguous()))))
    if followed:
        assert all(g.any() for g in torch.autograd.grad(found.sum(), (u, v)))


def test_values_that_were_those_of_another_pattern_in_the_calls_before():
    A, B = ls.random((30, 30), 0.2), ls.random((30, 30), 0.2)
    count = min(A.nnz, B.nnz)
    A, B = (ls.from_coo(X.indices()[:, :count], X.values()[:count], X.shape) for X in (A, B))
    values = torch.rand(count)
    for _ in range(3):
        A.with_values(values) + B.with_values(values)
    one, other = A.with_values(torch.rand(count)), B.with_values(torch.rand(count))
    torch.testing.assert_close((one + other).to_dense(), one.to_dense() + other.to_dense())
