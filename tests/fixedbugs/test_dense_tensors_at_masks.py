"""x[mask] and x[mask] = y of a dense x and a sparse mask were refused as if x were sparse."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

drawn = torch.Generator().manual_seed(0)
X = torch.randn(5, 4, 3, generator=drawn)
MASK = torch.rand(5, 4, generator=drawn) < 0.4


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,2)"])
def test_elements_are_read_and_written(format):
    mask = ls.tensor(MASK, format=format)
    x, y = X[..., 0].clone(), X[..., 0].clone()
    assert torch.equal(x[mask], y[MASK])
    x[mask], y[MASK] = -torch.inf, -torch.inf
    assert torch.equal(x, y)
    x[mask] = torch.arange(float(MASK.sum()))
    y[MASK] = torch.arange(float(MASK.sum()))
    assert torch.equal(x, y)


def test_gradients():
    def without(x, mask):
        y = x * 1
        y[mask] = 0
        return y

    x = X.clone().requires_grad_()
    for function in (lambda x, mask: x[mask], without):
        found, expected = (function(x, mask).square().sum() for mask in (ls.tensor(MASK), MASK))
        torch.testing.assert_close(torch.autograd.grad(found, x), torch.autograd.grad(expected, x))


def test_masks_beside_other_keys():
    mask, row = ls.tensor(MASK), ls.tensor(MASK[:, 0])
    assert torch.equal(X[mask, 1:], X[MASK, 1:])
    assert torch.equal(X[row, ..., 1], X[MASK[:, 0], ..., 1])
    assert torch.equal(X[None, mask], X[None, MASK])
    assert torch.equal(X.permute(2, 0, 1)[..., mask], X.permute(2, 0, 1)[..., MASK])
    assert torch.equal(X[mask.with_values(None)], X[MASK])  # a pattern is true where it stores


def test_what_does_not_fit():
    x, A = X[..., 0].clone(), ls.random((5, 4), 0.5)
    with pytest.raises(ls.IndexBoundsError, match=r"mask \(shape \(4, 4\).*dimensions of shape \(5, 4\)"):
        x[ls.tensor(MASK[1:])]
    with pytest.raises(ls.DtypeError, match=r"x\[A\]: A \(shape \(5, 4\).*expected a mask of dtype bool"):
        x[A]
    with pytest.raises(ls.UnsupportedError, match=r"x\[...\] = A: A \(shape \(5, 4\).*use A.to_dense\(\)"):
        x[:] = A
    with pytest.raises(ls.UnsupportedError, match=r"index_select: the first argument \(shape \(5, 4\).*is dense"):
        torch.index_select(x, 0, A)
