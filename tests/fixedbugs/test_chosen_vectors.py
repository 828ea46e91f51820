"""A choice between two vectors by a number, of which one is loaded or computed by a function and the other calculated.

C took the two for values of different types, and the kernel was not compiled.
"""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("number", [0.25, 1.0])
def test_arms_of_vectors(number):
    dense = torch.rand(3, 40, generator=torch.Generator().manual_seed(0))
    A, c = ls.tensor(dense).to_format("csr"), torch.tensor(number)
    found = ls.evaluate("y(i,j) = where(lt(0.5, c), tanh(A(i,j)), -2 * A(i,j))", A=A, c=c)
    torch.testing.assert_close(found.to_dense(), torch.tanh(dense) if number > 0.5 else -2 * dense)


@pytest.mark.parametrize("format", ["sell(4)", "ell"])
def test_arms_in_slices(format):
    dense, z = torch.rand(8, 8, generator=torch.Generator().manual_seed(0)), torch.rand(8)
    A, D = ls.tensor(dense).to_format(format), torch.rand(8, 8)
    c = torch.tensor(1.0)
    found = ls.evaluate("y(i) = A(i,j) * where(lt(0.5, c), z(i), 1 - D(i,j))", A=A, D=D, z=z, c=c)
    torch.testing.assert_close(found, dense.sum(1) * z)


def test_exact_roots_and_logarithms():
    x = torch.tensor([27.0] * 40)
    assert ls.evaluate("y(i) = floor(cbrt(x(i)))", x=x).eq(3).all()
    assert ls.evaluate("y(i) = ceil(log10(x(i)))", x=torch.full((40,), 1000.0)).eq(3).all()
