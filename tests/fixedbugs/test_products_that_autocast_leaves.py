"""mv, addmv, dot, outer, bilinear had autocast's dtype, which torch gives products of matrices; addbmm, vecdot not."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls

pytestmark = pytest.mark.compiler
D = torch.randn(6, 6) * (torch.rand(6, 6) < 0.5)
V, W = torch.randn(6), torch.randn(2, 6, 6)
PRODUCTS = {
    "mv": lambda A: torch.mv(A, V),
    "addmv": lambda A: torch.addmv(V, A, V),
    "dot": lambda A: torch.dot(A[0], V),
    "vdot": lambda A: torch.vdot(A[0], V),
    "vecdot": lambda A: torch.linalg.vecdot(A, D),
    "vecdot of a dense tensor": lambda A: torch.linalg.vecdot(V, A, dim=0),
    "outer": lambda A: torch.outer(A[0], V),
    "bilinear": lambda A: F.bilinear(A, A, W),
    "addbmm": lambda A: torch.addbmm(D, A[None], A[None]),
    "matmul": lambda A: A @ V,
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_dtypes_are_those_of_dense_tensors(name, dtype):
    A = ls.tensor(D).requires_grad_()
    for _ in range(3):  # later calls have short ways
        with torch.autocast("cpu", dtype=dtype):
            found, expected = PRODUCTS[name](A), PRODUCTS[name](D)
        assert found.dtype == expected.dtype
    found.sum().backward()
    assert A.grad.dtype == torch.float32
    assert PRODUCTS[name](A).dtype == torch.float32
