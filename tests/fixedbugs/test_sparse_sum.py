"""`torch.sparse.sum` of a SparseTensor has the dtypes and the third argument of torch's, not those of `torch.sum`."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import libsparse as ls

ARGUMENTS: list[tuple[Any, ...]] = [
    (),
    (0,),
    (-1,),
    ((0, 1),),
    ([],),
    ([], torch.float64),
    (1, torch.float64),
    (None, torch.int16),
]


@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.float32])
def test_sums_are_those_of_torch(dtype: torch.dtype, arguments: tuple[Any, ...]) -> None:
    source = torch.tensor([[1, 0, 2], [3, 200, 0]]).to(dtype).to_sparse()
    wanted = torch.sparse.sum(source, *arguments)
    found = torch.sparse.sum(ls.from_torch(source), *arguments)
    assert found.dtype == wanted.dtype
    assert torch.equal(found.to_dense(), wanted.to_dense())


def test_gradients_of_a_sum_over_nothing() -> None:
    A = ls.tensor([[1.0, 0.0], [2.0, 3.0]]).requires_grad_()
    (torch.sparse.sum(A, []) * 2.0).sum().backward()
    assert A.grad.values().tolist() == [2.0, 2.0, 2.0]
