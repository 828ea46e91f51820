"""Gradients by tensors whose values are arrays: `torch.autograd.grad` refused them, hooks on them were never called."""

import pytest
import torch

import libsparse as ls


@pytest.fixture(params=[(), (3,), (2, 4)], ids=str)
def A(request):
    where = ls.random((5, 6), density=0.4)
    values = torch.randn(where.nnz, *request.param, dtype=torch.float64)
    return ls.from_coo(where.indices(), values, (5, 6, *request.param)).requires_grad_()


def test_grad_and_backward_agree(A):
    (found,) = torch.autograd.grad((A.to_dense() ** 2).sum(), A, create_graph=True)
    assert found.pattern is A.pattern
    torch.testing.assert_close(found.values(), 2 * A.values())
    (again,) = torch.autograd.grad((found.to_dense() ** 2).sum(), A)
    torch.testing.assert_close(again.values(), 8 * A.values())
    other = torch.ones(3, requires_grad=True)
    torch.autograd.backward((A.to_dense() ** 2).sum() + other.sum(), inputs=[A])
    torch.testing.assert_close(A.grad.values(), 2 * A.values())
    assert other.grad is None


def test_gradients_of_several_outputs_at_once(A):
    total = A.to_dense().sum()
    (found,) = torch.autograd.grad(total, A, torch.tensor([1.0, 2.0]).double(), is_grads_batched=True)
    torch.testing.assert_close(found[1].to_dense(), 2 * found[0].to_dense())


def test_hooks_see_gradients_in_the_shape_of_the_values(A):
    shapes = []

    def double(gradient):
        shapes.append(gradient.shape)
        return 2 * gradient

    A.register_hook(double)
    done = []
    A.register_post_accumulate_grad_hook(done.append)
    A.to_dense().sum().backward()
    assert shapes == [A.values().shape]
    assert done[0] is A
    assert bool((A.grad.values() == 2).all())


def test_retained_gradients(A):
    B = A * 2
    B.retain_grad()
    B.to_dense().sum().backward()
    assert bool((B.grad.values() == 1).all())
    assert B.grad.values().shape == A.values().shape


def test_no_entries():
    E = ls.from_coo(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0, 3), (4, 5, 3)).requires_grad_()
    (found,) = torch.autograd.grad(E.to_dense().sum(), E)
    assert found.nnz == 0
