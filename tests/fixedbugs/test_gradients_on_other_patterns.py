"""Gradients of a kind, which at some sizes the compiler leaves on another pattern than the operand has."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

N = 4097


def drawn(count, format="csr"):
    key = torch.unique(torch.randint(0, N * N, (count,)))
    values = torch.randint(1, 5, (len(key),)).double()
    return ls.from_coo(torch.stack([key // N, key % N]), values, (N, N)).to_format(format)


@pytest.mark.parametrize("format", ["csr", "ell"])
def test_values_are_those_of_the_operand(format):
    sizes = [(20485, 1366, 8194), (1366, 1366, 24582), (1, 8194, 8194), (1366, 8194, 20485), (20485, 8194, 20485)]
    for a, b, c in [*sizes, (20485, 20485, 24582)]:
        A, B, C = drawn(a), drawn(b, format), drawn(c)
        B = B.with_values(B.values().requires_grad_())
        result = ls.evaluate("y(i) = A(i,j) * B(k,j) * C(k,l)", A=A, B=B, C=C)
        (found,) = torch.autograd.grad((2 * result).sum(), B.values())
        rows, columns = B.pattern.coordinates()
        wanted = 2 * A.sum(0)[columns] * C.sum(1)[rows]
        assert torch.equal(B.pattern.entries(found), wanted)
