"""Sums of products with a tensor whose elements that are not stored have a value, such as `exp(A) @ x`."""

import pytest
import torch

import libsparse as ls

FORMATS = ["csr", "csc", "coo", "dcsr", "bsr(2,2)", "ell"]
X, Y, Z = torch.randn(8, 3).mul(3), torch.randn(8).mul(3), torch.randn(2, 6).mul(3)
PRODUCTS = {
    "matrix": lambda einsum, a: a @ X.to(a.dtype),
    "vector": lambda einsum, a: a @ Y.to(a.dtype),
    "on the left": lambda einsum, a: Z.to(a.dtype) @ a,
    "transposed": lambda einsum, a: a.T @ torch.ones(6, 2, dtype=a.dtype),
    "addmm": lambda einsum, a: torch.addmm(torch.ones(6, 3, dtype=a.dtype), a, X.to(a.dtype)),
    "kept apart": lambda einsum, a: einsum("ij,k->ikj", a, Y.to(a.dtype)),
    "summed": lambda einsum, a: einsum("ij,jk->k", a, X.to(a.dtype)),
    "alone": lambda einsum, a: einsum("ij->j", a),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.complex128])
def test_the_fill_value_makes_terms(name, format, dtype):
    stored = torch.randn(6, 8).mul(3) * (torch.rand(6, 8) < 0.3)
    a = 2 - ls.tensor(stored.to(dtype), format=format)
    assert a.fill_value == 2
    found = PRODUCTS[name](ls.einsum, a)
    expected = PRODUCTS[name](torch.einsum, a.to_dense())
    assert not isinstance(found, ls.SparseTensor)
    torch.testing.assert_close(found, expected)


def test_gradients():
    where = torch.tensor([[0, 1, 2, 2], [1, 0, 0, 3]])
    values = torch.rand(4, dtype=torch.float64, requires_grad=True)
    x = torch.rand(4, 2, dtype=torch.float64, requires_grad=True)

    def product(values, x):
        return torch.exp(ls.from_coo(where, values, (3, 4))) @ x

    assert torch.autograd.gradcheck(product, (values, x))
    assert torch.autograd.gradgradcheck(product, (values, x))


@pytest.mark.parametrize(
    "product",
    [
        lambda a: torch.log(a) @ torch.ones(4, 2),  # infinite
        lambda a: (1 - a) @ a,  # a dense result of sparse operands
        lambda a: ls.einsum("ij,jk->ik", 1 - a, torch.ones(4, 2), format="csr"),
        lambda a: (a == 0) @ torch.ones(4, 2, dtype=torch.bool),
    ],
)
def test_others_are_refused_before_anything_is_computed(product):
    with pytest.raises(ls.UnsupportedError, match=r"operand \d.*not stored.*shape \(4, 4\), format csr"):
        product(ls.tensor(torch.eye(4), format="csr"))
