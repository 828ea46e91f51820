"""Sums of products with a tensor whose elements that are not stored have a value, such as `exp(A) @ x`."""

import pytest
import torch
from covering import pairs

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


@pytest.mark.parametrize(
    ("name", "format", "dtype"), pairs(list(PRODUCTS), FORMATS, [torch.float64, torch.int64, torch.complex128])
)
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


A = torch.tensor([[0.0, 2, 0], [1, 0, -3], [0, 0, 0], [4, 5, 6]])
B = torch.tensor([[0.0, 2, 0, 1], [0, 0, -1, 0], [0, 1, 0, 3]])
SPARSE = {
    "one of two": lambda e, a, b: e("ij,jk->ik", 1 - a, b),
    "both": lambda e, a, b: e("ij,jk->ik", 1 - a, b + 2),
    "summed": lambda e, a, b: e("ij,jk->", 1 - a, b + 2),
    "elementwise": lambda e, a, b: e("ij,ij->ij", 1 - a, a + 3),
    "at the entries": lambda e, a, b: e("ij,ij->ij", 1 - a, a),
    "transposed": lambda e, a, b: e("ij->ji", 1 - a),
    "sums of rows": lambda e, a, b: e("ij,ij->i", 1 - a, a + 3),
    "three": lambda e, a, b: e("ij,jk,kl->il", 1 - a, b, 2 - b.T),
}


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("dtype", [torch.float64, torch.int32])
@pytest.mark.filterwarnings("ignore::libsparse.DenseResultWarning")
def test_products_of_sparse_tensors_with_fill_values(name, dtype):
    a, b = A.to(dtype), B.to(dtype)
    want = SPARSE[name](torch.einsum, a, b).to(dtype)  # torch widens integers that it merely sums
    found = SPARSE[name](ls.einsum, ls.tensor(a), ls.tensor(b))
    assert isinstance(found, ls.SparseTensor) == (name in ("elementwise", "at the entries", "transposed"))
    torch.testing.assert_close(found.to_dense() if isinstance(found, ls.SparseTensor) else found, want)
    if want.ndim == 2:
        stored = SPARSE[name](lambda *args: ls.einsum(*args, format="csr"), ls.tensor(a), ls.tensor(b))
        assert stored.format == "csr"
        torch.testing.assert_close(stored.to_dense(), want)


INFINITE = {
    "positive": torch.ones(3, 2),
    "signs that differ": torch.tensor([[1.0, 1], [1, 1], [1, -1]]),
    "negative": -torch.ones(3, 2),
    "a zero": torch.tensor([[1.0, 0], [1, 1], [1, 1]]),
    "NaN and infinity": torch.tensor([[torch.nan, 1], [1, torch.inf], [2, 3]]),
}


@pytest.mark.parametrize("name", INFINITE)
@pytest.mark.parametrize("fill", [torch.inf, -torch.inf, torch.nan])
@pytest.mark.parametrize("format", ["csr", "coo", "ell", "bsr(2,2)"])
def test_infinite_fill_values(name, fill, format):
    plain = torch.where(A != 0, A, fill)
    a = ls.SparseTensor((pattern := ls.tensor(A).pattern), ls.tensor(A).values(), fill).to_format(format)
    assert pattern.nnz == 6
    torch.testing.assert_close(a @ INFINITE[name], plain @ INFINITE[name], equal_nan=True)


def test_infinite_fill_values_of_several():
    log = torch.log(ls.tensor(A.abs()))
    with pytest.warns(ls.DenseResultWarning, match="operand 0 is -inf where it stores nothing"):
        found = ls.einsum("ij,kj->ik", log, log)
    torch.testing.assert_close(found, A.abs().log() @ A.abs().log().T, equal_nan=True)
    one = ls.from_coo([[1], [0]], [2.0], (3, 2))  # elements that are not stored make no terms
    torch.testing.assert_close(
        ls.einsum("ij,jk->ik", log, one, format="dense")[:3, 0],
        torch.tensor([2 * A.log()[0, 1].item(), -torch.inf, -torch.inf]),
    )


def test_truth_values():
    a = ls.tensor(A) == 0
    x = torch.tensor([[True, False], [False, False], [False, True]])
    torch.testing.assert_close(a @ x, ((A == 0).int() @ x.int()) != 0)


@pytest.mark.parametrize(("reduce", "combine"), [("min", "add"), ("max", "mul"), ("prod", "max"), ("mean", "mul")])
def test_semirings(reduce, combine):
    a, b = ls.tensor(A.double()) + 2, ls.tensor(B.double())
    join = {"add": torch.add, "mul": torch.mul, "max": torch.maximum}[combine]
    terms = join(A.double()[:, :, None] + 2, B.double()[None])
    exists = (B != 0).expand_as(terms)
    want = {
        "min": torch.where(exists, terms, torch.inf).amin(1),
        "max": torch.where(exists, terms, -torch.inf).amax(1),
        "prod": torch.where(exists, terms, 1).prod(1),
        "mean": torch.where(exists, terms, 0).sum(1) / exists.sum(1).clamp(min=1),
    }[reduce]
    torch.testing.assert_close(ls.einsum("ij,jk->ik", a, b, reduce=reduce, combine=combine, format="dense"), want)


def test_what_has_no_finite_description_is_refused():
    log = torch.log(ls.tensor(A.abs()))
    with pytest.raises(ls.UnsupportedError, match=r"operand 0.*not stored.*-inf"):
        log @ torch.ones(3, 2, requires_grad=True)  # whose gradient is infinite
    with pytest.raises(ls.FormatError, match="GiB"):
        ls.eye(300_000) @ (1 - ls.eye(300_000))


@pytest.mark.filterwarnings("ignore::libsparse._lang.errors.DenseResultWarning")
def test_fill_values_of_bool_and_small_integers_in_products() -> None:
    stored = torch.tensor([[1.0, 0, 2], [0, 0, 3]])
    x, same = torch.rand(3, 2), torch.testing.assert_close
    absent = ls.tensor(stored) == 0
    same(absent @ x, (stored == 0).float() @ x)
    same(torch.einsum("ij->i", absent).to_dense(), (stored == 0).any(1))
    same(torch.einsum("ij,ij->ij", absent, absent).to_dense(), stored == 0)
    same(torch.einsum("ij,ij->ij", absent, ls.tensor(stored)).to_dense(), torch.zeros(2, 3))
    for dtype in (torch.uint8, torch.int8):
        rest = 2 - ls.tensor(stored.to(dtype))
        same(rest @ x, rest.to_dense().float() @ x)
