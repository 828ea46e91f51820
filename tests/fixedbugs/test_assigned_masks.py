"""`A[mask] = number`, which torch writes where it says how tensors differ."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

DENSE = torch.tensor([[1.0, 0, 2], [0, 0, 3]])
OTHER = torch.tensor([[1.0, 4, 2.5], [0, 0, -3]])


@pytest.mark.parametrize("formats", [("csr", "csr"), ("coo", "csc"), ("ell", "bsr(2,2)"), (None, "csr")])
@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.bool, torch.complex64])
def test_differences_are_told_as_those_of_dense_tensors(formats, dtype):
    left, right = (d.to(dtype) for d in (DENSE, OTHER))
    with pytest.raises(AssertionError) as expected:
        torch.testing.assert_close(left, right)
    operands = [d if f is None else ls.tensor(d, format=f) for d, f in zip((left, right), formats, strict=True)]
    with pytest.raises(AssertionError) as found:
        torch.testing.assert_close(*operands)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("of_rows", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_masks_and_their_gradients(of_rows, sparse):
    mask = torch.tensor([True, False]) if of_rows else DENSE > 1
    leaves = ls.tensor(DENSE).requires_grad_(), DENSE.clone().requires_grad_()
    for leaf in leaves:
        changed = leaf * 2
        changed[ls.from_mask(mask) if sparse and leaf is leaves[0] else mask] = 0
        changed.square().sum().backward()
    assert torch.equal(leaves[0].grad.to_dense(), leaves[1].grad * (DENSE != 0))


def test_other_masks_are_refused():
    A = ls.tensor(DENSE)
    for mask in (torch.ones(3, dtype=torch.bool), torch.ones(2, 3, 1, dtype=torch.bool)):
        with pytest.raises(IndexError, match="expected a mask of the shape of A, or of its first dimensions"):
            A[mask] = 0
    with pytest.raises(NotImplementedError, match="don't change in place"):
        A[DENSE > 1] = torch.ones(2)


@pytest.mark.parametrize("shape", [(2, 3, 1), (6, 1), (2, 3, 1, 1)])
def test_new_last_dimensions_of_tensors_without_values(shape):
    A = ls.from_mask(DENSE != 0)
    assert torch.equal(A.reshape(shape).to_dense(), (DENSE != 0).reshape(shape))
    assert torch.equal(A.unsqueeze(-1).to_dense(), (DENSE != 0).unsqueeze(-1))
