"""`A.type(dtype)` cut the gradient off, and `stack`, `vstack` and `block_diag` left out vectors without elements."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("dtype", [torch.float64, "torch.DoubleTensor", torch.DoubleTensor])
def test_type_is_followed_by_autograd(dtype: object, dense: Tensor) -> None:
    a = ls.tensor(dense).requires_grad_()
    converted = a.type(dtype)
    assert converted.dtype == torch.float64
    converted.square().sum().backward()
    torch.testing.assert_close(a.grad.to_dense(), 2 * dense)
    assert a.type() == "torch.FloatTensor"
    assert (a.detach() + 2.5).type(torch.int32).fill_value == 2
    with pytest.raises(ls.DtypeError, match="type: invalid type"):
        a.type("matrix")


@pytest.mark.parametrize("dim", [0, 1])
def test_stacks_of_vectors_without_elements(dim: int) -> None:
    empty = torch.zeros(0)
    assert torch.stack([ls.tensor(empty)] * 2, dim).shape == torch.stack([empty] * 2, dim).shape
    for others in ([empty, ls.tensor(empty)], [ls.tensor(empty), empty]):
        for function in (torch.vstack, torch.stack, lambda tensors: torch.block_diag(*tensors)):
            with pytest.raises(ls.UnsupportedError, match="is dense"):
                function(others)
    with pytest.raises(ls.ShapeError, match="differ in shape"):
        torch.stack([ls.tensor(torch.eye(2)), ls.tensor(empty)], dim)


@pytest.mark.parametrize("shape", [(2,), (2, 2)])
def test_cat_leaves_vectors_without_elements_out(shape: tuple[int, ...]) -> None:
    dense, empty = torch.ones(shape), torch.zeros(0, dtype=torch.float64)
    for vector in (empty, ls.tensor(empty)):
        for tensors in ([ls.tensor(dense), vector], [vector, ls.tensor(dense)]):
            assert torch.equal(torch.cat(tensors).to_dense(), torch.cat([dense, empty]))
            assert torch.cat(tensors).dtype == torch.float64
