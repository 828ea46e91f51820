"""Derivatives that libsparse can't follow are refused, not dropped."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import forward_ad

import libsparse as ls

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:FutureWarning")  # torch's own, as it starts

PRODUCTS = [
    lambda A, z: A @ z,
    lambda A, z: ls.einsum("ij,jk->ik", A, z),
    lambda A, z: ls.evaluate("C(i,k) = A(i,j) * Z(j,k)", A=A, Z=z),
    lambda A, z: A * z,
]


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("warm", [False, True])
def test_forward_mode(dense, product, warm):
    A, z = ls.tensor(dense), torch.ones(3, 3)
    if warm:
        product(A, z)
    with forward_ad.dual_level(), pytest.raises(ls.UnsupportedError, match="forward-mode"):
        product(A, forward_ad.make_dual(z, z))
    values = A.values()
    with forward_ad.dual_level(), pytest.raises(ls.UnsupportedError, match="forward-mode"):
        product(A.with_values(forward_ad.make_dual(values, values)), z)
    with forward_ad.dual_level():
        product(A, z)


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("warm", [False, True])
def test_functional_transforms(dense, product, warm):
    A, z = ls.tensor(dense), torch.ones(3, 3)
    if warm:
        product(A, z)
        product(A, z.clone().requires_grad_())
    for transformed in (
        lambda: torch.func.grad(lambda x: product(A, x).sum())(z),
        lambda: torch.func.vmap(lambda x: product(A, x))(torch.ones(2, 3, 3)),
        lambda: torch.func.jvp(lambda x: product(A, x), (z,), (z,)),
    ):
        with pytest.raises(ls.UnsupportedError, match=r"torch\.func"):
            transformed()
