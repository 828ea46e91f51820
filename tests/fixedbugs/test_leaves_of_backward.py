"""`backward(inputs=)` and `torch.autograd.backward` refused tensors of this package; blocks of results stayed fixed."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


def test_inputs_and_several_tensors() -> None:
    A, x = ls.random((6, 5), density=0.5).requires_grad_(), torch.randn(5, 2, requires_grad=True)
    dense = A.detach().to_dense().requires_grad_()
    (A @ x).sum().backward(inputs=[A])
    (dense @ x).sum().backward(inputs=[dense])
    assert x.grad is None
    wanted = torch.where(dense != 0, dense.grad, 0)
    torch.testing.assert_close(A.grad.to_dense(), wanted)
    torch.autograd.backward((A @ x).sum(), inputs=A)
    torch.testing.assert_close(A.grad.to_dense(), 2 * wanted)
    A.grad = None
    torch.autograd.backward([A * 2, (A @ x).sum()], [A.detach(), None])
    torch.testing.assert_close(A.grad.to_dense(), 2 * dense.detach() + wanted)
    assert x.grad is not None


def test_gradients_that_do_not_fit() -> None:
    A = ls.random((6, 5), density=0.5).requires_grad_()
    with pytest.raises(ls.ShapeError, match=r"grad_tensors\[0\] has shape \(6, 5\)"):
        torch.autograd.backward([A * 2], [torch.ones(6, 5)])


def test_results_after_one_was_an_array() -> None:
    A, x = ls.random((4096, 256), density=0.02), torch.randn(256, 128)
    for _ in range(4):
        y = A @ x
        y.resize_(8192, 128)
        del y
        assert (A @ x).numpy().shape == (4096, 128)  # numpy() forbids to resize the memory
