"""Python numbers are weakly typed, as in torch, and as precise as the result."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import libsparse as ls


def test_a_number_has_the_precision_of_the_result():
    x = torch.ones(3, dtype=torch.float64)
    want = x * 0.1
    assert torch.equal(ls.evaluate("z(i) = alpha * x(i)", x=x, alpha=0.1), want)
    assert torch.equal(ls.einsum(",i->i", 0.1, x), want)
    assert torch.equal(ls.evaluate("z(i) = alpha * x(i)", x=x.clone().requires_grad_(), alpha=0.1).detach(), want)


@pytest.mark.parametrize("number", [True, 2, 2.5])
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.int64, torch.float32, torch.float64])
def test_numbers_promote_as_in_torch(dtype, number):
    x = torch.tensor([0, 1, 1], dtype=dtype)
    want = x * number
    for made in (
        ls.einsum(",i->i", number, x),
        ls.evaluate("z(i) = a * x(i)", x=x, a=number),
        *([] if number is True else [ls.evaluate(f"z(i) = {number} * x(i)", x=x)]),
    ):
        assert made.dtype == want.dtype
        assert torch.equal(made, want)


def test_division_and_functions_make_floats_of_integers(dense):
    x = torch.arange(1, 4)
    torch.testing.assert_close(ls.evaluate("z(i) = x(i) / 2", x=x), x / 2)
    torch.testing.assert_close(ls.evaluate("z(i) = exp(x(i))", x=x), torch.exp(x))
    A = ls.tensor(dense.long())
    torch.testing.assert_close(ls.evaluate("z(i) = 2.5 * A(i,j)", A=A), 2.5 * dense.sum(1))


def test_numbers_give_a_pattern_their_type(dense):
    M = ls.from_mask(dense != 0)
    torch.testing.assert_close(ls.evaluate("z(i) = 2.5 * M(i,j)", M=M), 2.5 * (dense != 0).sum(1))


def test_numbers_that_do_not_fit():
    x = torch.ones(3, dtype=torch.uint8)
    for text, operands in (("300 * x(i)", {}), ("a * x(i)", {"a": 300}), ("a * x(i)", {"a": 2**70})):
        with pytest.raises(ls.DtypeError, match="does not fit"):
            ls.evaluate(f"z(i) = {text}", x=x, **operands)
    assert torch.equal(ls.evaluate("z(i) = a * x(i)", x=x, a=2j), x * 2j)
    assert ls.evaluate("z(i) = 9999999999999999999999 * x(i)", x=x)[0] == 1e22


@pytest.mark.parametrize("alpha", [3, 3.0, torch.tensor(3.0), np.float32(3), np.int64(3)])
def test_factors_that_are_numbers_of_numpy_or_tensors(alpha):
    A, D = ls.eye(3), torch.eye(3)
    for one in (A, D):
        for name, wanted in (("add", 4.0), ("sub", -2.0)):
            found = getattr(torch, name)(one, A, alpha=alpha)
            assert (found.to_dense() if isinstance(found, ls.SparseTensor) else found)[0, 0] == wanted
    assert torch.addmm(D, A, D, alpha=alpha, beta=alpha)[0, 0] == 6


def test_a_factor_of_zero_after_calls_with_others():
    base, A, x = torch.full((3, 2), torch.nan), ls.eye(3), torch.ones(3, 2)
    for _ in range(3):
        torch.addmm(base, A, x, beta=torch.tensor(1.0))
    assert torch.equal(torch.addmm(base, A, x, beta=torch.tensor(0.0)), x)
    for beta in (2.0, 3.0, 0.0):
        assert torch.equal(torch.addmm(x, A, x, beta=torch.tensor(beta)), (1 + beta) * x)


def test_compiled_products_with_a_diagonal_of_one_element():
    D, A, x = ls.diag(torch.rand(1)).requires_grad_(), ls.tensor(torch.rand(1, 1)).requires_grad_(), torch.rand(1, 3)
    function = ls.compile(lambda D, A, x: D @ A @ x)
    for _ in range(5):
        found = torch.autograd.grad(function(D, A, x).sum(), (D.values(), A.values()))
        torch.testing.assert_close(found[0], A.values().detach() * x.sum())
