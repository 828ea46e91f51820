"""Found by torch's samples of operators: gradients at stored zeros, and arguments that broadcast."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls

DENSE = torch.tensor([[1.0, 2.0, 3.0], [0.0, 2.0, 5.0], [0.0, -1.0, 0.0]], dtype=torch.float64)
FORMATS = ["csr", "bsr(2,2)"]
MASK = torch.tensor([[True, True, False], [False, True, True], [True, True, True]])


def stored(format: str, dense: torch.Tensor = DENSE) -> Any:
    """A tensor that stores every element, zeros too."""
    pattern = ls.from_mask(torch.ones(dense.shape) > 0).float().to_format(format).pattern
    return ls.SparseTensor(pattern, pattern.spread(dense[tuple(pattern.coordinates())].clone()))


GRADIENTS = {
    **{f"norm {p}": lambda x, p=p: torch.linalg.vector_norm(x, p, dim=1) for p in (-2.1, 0.9)},
    "prelu": lambda x: F.prelu(x, torch.tensor([0.25], dtype=torch.float64)),
}
PRODUCTS = {
    "of rows": lambda x: x.prod(1),
    "of all": lambda x: x[:2].prod(),
    "of three zeros": lambda x: (x * torch.tensor([[0.0, 0.0, 1.0]], dtype=torch.float64)).prod(1),
    "of complex": lambda x: (x * (1 + 2j)).prod(1).real,
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_at_stored_zeros(name: str, format: str) -> None:
    sparse, dense = stored(format).requires_grad_(), DENSE.clone().requires_grad_()
    for x in (sparse, dense):
        GRADIENTS[name](x).to_dense().sum().backward()
    torch.testing.assert_close(sparse.grad.to_dense(), dense.grad)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_second_gradients_of_products_with_zeros(name: str, format: str) -> None:
    found = []
    for x in (stored(format).requires_grad_(), DENSE.clone().requires_grad_()):
        (first,) = torch.autograd.grad(PRODUCTS[name](x).sum(), x, create_graph=True)
        weights = torch.arange(1.0, 10.0, dtype=torch.float64).reshape(3, 3)
        (second,) = torch.autograd.grad((first.to_dense() * weights).sum(), x)
        found.append((first.to_dense().detach(), second.to_dense()))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("format", FORMATS)
def test_arguments_that_broadcast(format: str) -> None:
    A, v = stored(format), ls.tensor([0.0, 2.0, 0.0])
    same = torch.testing.assert_close
    same(torch.masked_select(A[:, 1:2], MASK), torch.masked_select(DENSE[:, 1:2], MASK))
    same(torch.masked_select(v, MASK), torch.masked_select(v.to_dense(), MASK))
    same(v.masked_select(ls.from_mask(MASK)), v.to_dense().masked_select(MASK))
    for dim in (0, 1):
        for pair in ((A, A), (A, DENSE), (DENSE, A)):
            same(torch.linalg.vecdot(*pair, dim=dim), torch.linalg.vecdot(DENSE, DENSE, dim=dim))
    C = A * 1j
    same(torch.linalg.vecdot(C, C).to_dense(), torch.linalg.vecdot(DENSE * 1j, DENSE * 1j))
    same(F.linear(A, DENSE[0]), F.linear(DENSE, DENSE[0]))
    same(F.linear(DENSE, v.double()), F.linear(DENSE, v.to_dense().double()))
