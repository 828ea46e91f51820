"""Sums that are factors of a derivative counted terms without its index once, and not for each value of the index."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls

pytestmark = pytest.mark.compiler

EXPRESSIONS = {
    "R(i) = square(Z(i,l) - b(i))": lambda A, Z, b, X, c: (Z - b[:, None]).square().sum(1),
    "R(i) = tanh(Z(i,l) + b(i))": lambda A, Z, b, X, c: (Z + b[:, None]).tanh().sum(1),
    "R(i) = gelu(Z(i,l) + b(i))": lambda A, Z, b, X, c: F.gelu(Z + b[:, None]).sum(1),
    "R(i) = tan(Z(i,l) - b(i))": lambda A, Z, b, X, c: (Z - b[:, None]).tan().sum(1),
    "R(i) mean= square(Z(i,l) - b(i))": lambda A, Z, b, X, c: (Z - b[:, None]).square().mean(1),
    "R = sum(square(Z(i,l) - b(i))) / 2": lambda A, Z, b, X, c: (Z - b[:, None]).square().sum() / 2,
    "R(i) = (Z(i,l) - b(i)) * (Z(i,l) - b(i))": lambda A, Z, b, X, c: (Z - b[:, None]).square().sum(1),
    "R(i,k) = (Z(i,l) - b(i)) * (X(l,k) + 1)": lambda A, Z, b, X, c: (Z - b[:, None]) @ (X + 1),
    "R(i,k) = (A(i,l) - b(i)) * (X(l,k) + c)": lambda A, Z, b, X, c: (A - b[:, None]) @ (X + c),
    "R(i) = (4 - A(i,l)) * (A(i,l) + b(i))": lambda A, Z, b, X, c: ((4 - A) * (A + b[:, None])).sum(1),
    "R(i) = square(A(i,l) - Z(i,l) - X(l,k))": lambda A, Z, b, X, c: (
        ((A - Z)[:, :, None] - X[None]).square().sum((1, 2))
    ),
    "R(i,k) = (A(i,l) - b(i)) * X(l,k)": lambda A, Z, b, X, c: (A - b[:, None]) @ X,
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_first_and_second_gradients(expression: str) -> None:
    torch.manual_seed(3)
    A = torch.rand(6, 4).double() * (torch.rand(6, 4) < 0.4)
    dense = [torch.rand(shape, dtype=torch.float64).requires_grad_() for shape in ((6, 4), (6,), (4, 3), ())]
    read = {name: tensor for name, tensor in zip("ZbXc", dense, strict=True) if name in expression}
    stored, whole = ls.tensor(A), A.clone().requires_grad_()
    values = stored.values().clone().requires_grad_()
    given = {"A": stored.with_values(values)} if "A(" in expression else {}
    found, wanted = ls.evaluate(expression, **given, **read), EXPRESSIONS[expression](whole, *dense)
    torch.testing.assert_close(found, wanted)
    weights, tensors = torch.rand(wanted.shape).double(), [*read.values()]
    got = torch.autograd.grad((found * weights).sum(), [*([values] if given else []), *tensors], create_graph=True)
    want = torch.autograd.grad((wanted * weights).sum(), [*([whole] if given else []), *tensors], create_graph=True)
    if given:
        torch.testing.assert_close(stored.with_values(got[0].detach()).to_dense(), want[0] * (A != 0))
    torch.testing.assert_close(got[len(given) :], want[len(given) :])
    again = [
        torch.autograd.grad(sum(g.square().sum() for g in gs[len(given) :]), tensors, materialize_grads=True)
        for gs in (got, want)
    ]
    torch.testing.assert_close(again[0], again[1])
