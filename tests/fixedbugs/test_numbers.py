"""Python numbers are weakly typed, as in torch, and as precise as the result."""

from __future__ import annotations

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
