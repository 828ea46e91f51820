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
