"""Elements without any term hold the identity of the reduction, whatever the density."""

from __future__ import annotations

import math

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("density", [0.02, 0.9])
@pytest.mark.parametrize(("reduce", "identity"), [("max", -math.inf), ("min", math.inf), ("prod", 1.0)])
def test_products_of_sparse_matrices(reduce, identity, density):
    A, B = ls.random((20, 20), density), ls.random((20, 20), density)
    out = ls.einsum("ij,jk->ik", A, B, reduce=reduce)
    terms = (A.to_dense() != 0).float() @ (B.to_dense() != 0).float()
    out = out.to_dense()
    assert bool((out[terms == 0] == identity).all())
    sparse = ls.einsum("ij,jk->ik", A, B, reduce=reduce, format="csr")
    assert sparse.fill_value == identity
    torch.testing.assert_close(sparse.to_dense(), out)


INFINITE = torch.tensor(
    [[1.0, torch.inf, 2.0], [-torch.inf, 3.0, 1.0], [-torch.inf] * 3, [torch.nan, torch.inf, 2.0], [torch.nan] * 3]
)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.amax(1),
        lambda x: x.amin(1),
        lambda x: x.amax(),
        lambda x: x.max(),
        lambda x: x.min(1)[0],
        lambda x: x.aminmax(dim=1)[0],
        lambda x: torch.linalg.vector_norm(x, torch.inf, dim=1),
        lambda x: x[:3].amax(0),
    ],
)
def test_extrema_that_are_infinite_or_nan(function):
    """With a gradient an infinite extremum was NaN; the gradient of one that is NaN is torch's for each function."""
    dense = INFINITE.clone().requires_grad_()
    everywhere = torch.ones_like(dense, dtype=torch.bool).nonzero().T
    matrix = ls.from_coo(everywhere, INFINITE.reshape(-1), dense.shape)
    values = matrix.values().clone().requires_grad_()
    expected, found = function(dense), function(matrix.with_values(values))
    torch.testing.assert_close(found, expected, equal_nan=True)
    expected.sum().backward()
    found.sum().backward()
    torch.testing.assert_close(values.grad.reshape(dense.shape), dense.grad, equal_nan=True)


def test_infinite_elements_that_are_not_stored():
    values = torch.tensor([1.0, torch.inf], requires_grad=True)
    matrix = ls.SparseTensor(ls.from_coo([[0, 1], [0, 1]], [1.0, 1.0], (3, 2)).pattern, values, fill=float("inf"))
    found = matrix.amax(1)
    assert found.tolist() == [torch.inf] * 3
    found.sum().backward()
    assert values.grad.tolist() == [0.0, 0.5]
