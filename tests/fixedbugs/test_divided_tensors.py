"""A dense tensor over a sparse one was multiplied by reciprocals, which are of the dtype of the sparse one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8])
@pytest.mark.parametrize("of", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64])
def test_precision_and_dtypes(of: torch.dtype, dtype: torch.dtype) -> None:
    divisor = torch.tensor([[3, 0], [7, 49]]).to(dtype)
    numbers = torch.tensor([[1, 2], [5, 1]]).to(of)
    sparse = ls.tensor(divisor)
    for found in (numbers / sparse, torch.div(numbers, sparse)):
        torch.testing.assert_close(found, numbers / divisor, equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize("tiny", [torch.full((2, 2), 1e-5, dtype=torch.float16), torch.full((2, 2), 1e-39)])
def test_reciprocals_that_overflow(tiny: torch.Tensor) -> None:
    assert torch.equal(tiny / ls.tensor(tiny), torch.ones_like(tiny))


def test_arrays_of_numpy() -> None:
    divisor = torch.tensor([[3.0, 1], [7, 49]])
    numbers = np.ones((2, 2))
    assert np.array_equal(np.asarray(numbers / ls.tensor(divisor)), numbers / divisor.double().numpy())


def test_gradients() -> None:
    numbers = torch.rand(2, 2, requires_grad=True)
    dense = torch.tensor([[3.0, 1], [7, 49]], requires_grad=True)
    sparse = ls.tensor(dense.detach()).requires_grad_()
    wanted = torch.autograd.grad((numbers / dense).square().sum(), (numbers, dense))
    found = torch.autograd.grad((numbers / sparse).square().sum(), (numbers, sparse))
    torch.testing.assert_close(found[0], wanted[0])
    torch.testing.assert_close(found[1].to_dense(), wanted[1])
