"""Zeros by `masked_fill` or `where`, where a dense mask is true: results were dense, without a warning."""

import pytest
import torch

import libsparse as ls

MASKS = {
    "rows": torch.rand(50, 1) > 0.5,
    "columns": torch.rand(60) > 0.5,
    "elements": torch.rand(50, 60) > 0.5,
    "all": torch.tensor(True),
    "none": torch.tensor(False),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.int32, torch.bool])
@pytest.mark.parametrize("mask", MASKS)
def test_zeros_keep_a_tensor_sparse(mask, dtype):
    A = (ls.random((50, 60), density=0.1) * 10).to(dtype)
    for zero in (0, 0.0, False):
        found = A.masked_fill(MASKS[mask], zero)
        assert isinstance(found, ls.SparseTensor)
        wanted = A.to_dense().masked_fill(MASKS[mask], zero)
        assert found.dtype == wanted.dtype
        assert torch.equal(found.to_dense(), wanted)
        found, wanted = torch.where(MASKS[mask], zero, A), torch.where(MASKS[mask], zero, A.to_dense())
        assert isinstance(found, ls.SparseTensor)
        assert found.dtype == wanted.dtype
        assert torch.equal(found.to_dense(), wanted)


def test_gradients_reach_what_is_left():
    A = ls.random((50, 60), density=0.1).double().requires_grad_()
    (A.masked_fill(MASKS["rows"], 0.0) * 3).sum().backward()
    wanted = torch.where(MASKS["rows"], 0.0, 3 * (A.to_dense() != 0))
    assert torch.equal(A.grad.to_dense(), wanted.double().detach())


def test_rows_of_a_system_are_set_to_those_of_the_identity():
    K, fixed = ls.random((40, 40), density=0.2).double(), torch.rand(40) > 0.7
    found = K.masked_fill(fixed[:, None], 0.0) + ls.diag(fixed.double())
    wanted = torch.where(fixed[:, None], torch.eye(40, dtype=torch.float64), K.to_dense())
    torch.testing.assert_close(found.to_dense(), wanted)


def test_a_mask_that_is_not_bool_is_refused_as_by_torch():
    A = ls.random((5, 6), density=0.5)
    with pytest.raises(ls.DtypeError, match=r"mask is torch\.uint8; expected a bool one"):
        A.masked_fill(torch.ones(5, 6, dtype=torch.uint8), 0)
