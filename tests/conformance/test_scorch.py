"""What Scorch's tests do in Python: conversions to exact arrays, mode orders, and products that are not torch's.

Their expressions and formats are rows of scorch_test.go.
"""

from __future__ import annotations

import itertools

import pytest
import torch

import libsparse as ls

A5 = [[1, 2, 3, 4, 5], [2, 2, 0, 0, 0], [3, 0, 3, 0, 0], [0, 0, 0, 0, 0], [5, 0, 0, 0, 5]]
B5 = [[1, 0, 0, 0, 0], [0, 2, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 3, 1]]
DIAGONAL = torch.diag(torch.arange(1.0, 6))


def cube() -> torch.Tensor:
    """A tensor with an empty slice."""
    out = torch.zeros(3, 3, 3)
    for n, at in enumerate([(0, 0, 0), (0, 1, 2), (0, 2, 0), (2, 0, 1), (2, 1, 0), (2, 1, 1)]):
        out[at] = n + 1
    return out


def same(A: ls.SparseTensor, B: ls.SparseTensor) -> bool:
    """Whether two tensors are stored alike, level by level."""
    levels = [(A.pos(n), B.pos(n)) for n in range(A.ndim)] + [(A.crd(n), B.crd(n)) for n in range(A.ndim)]
    arrays = all((x is None and y is None) or torch.equal(x, y) for x, y in levels)
    return A.format == B.format and arrays and torch.equal(A.values(), B.values())


def test_zeros_of_a_dense_tensor_are_dropped():
    rows, columns = [0, 1, 2, 2, 3, 4], [0, 1, 2, 3, 3, 4]
    A = ls.from_coo(torch.tensor([rows, columns]), torch.tensor([1, 2, 3, 4, 0, 5]), (5, 5), format="coo")
    assert A.dtype == torch.int64
    dense = A.to_dense()
    B = ls.tensor(dense, "ss")
    assert [B.pos(0).tolist(), B.crd(0).tolist()] == [[0, 4], [0, 1, 2, 4]]
    assert [B.pos(1).tolist(), B.crd(1).tolist()] == [[0, 1, 2, 4, 5], [0, 1, 2, 3, 4]]
    assert B.values().tolist() == [1, 2, 3, 4, 5]
    C = ls.tensor(dense, "ds")
    assert [C.pos(1).tolist(), C.crd(1).tolist()] == [[0, 1, 2, 4, 4, 5], [0, 1, 2, 3, 4]]
    assert C.values().tolist() == [1, 2, 3, 4, 5]
    for format in ("ss", "ds"):
        assert torch.equal(A.to_format(format).to_dense(), dense)


def test_coordinates_to_rows():
    rows, columns = [0, 1, 1, 2, 2, 3, 3, 5, 5, 6, 9], [6, 0, 9, 2, 9, 0, 6, 0, 7, 1, 5]
    A = ls.from_coo(torch.tensor([rows, columns]), torch.ones(11), (10, 10), format="coo").to_format("ds")
    assert A.pos(1).tolist() == [0, 1, 3, 5, 7, 7, 9, 10, 10, 10, 11]
    assert A.crd(1).tolist() == columns


@pytest.mark.parametrize("format", ["ds", "coo", "ss"])
def test_mode_orders_of_matrices(format):
    dense = torch.tensor(A5, dtype=torch.float32)
    levels = "uq" if format == "coo" else format
    A = ls.tensor(dense, format)
    there = A.to_format(f"{levels}:1,0")
    assert same(there, ls.tensor(dense, f"{levels}:1,0"))
    assert same(there.to_format(levels), A)


def test_mode_orders_of_tensors():
    A = ls.tensor(cube(), "sss")
    assert A.pos(1).tolist() == [0, 3, 5]
    assert A.crd(2).tolist() == [0, 2, 0, 1, 0, 1]
    B = A
    for order in itertools.permutations("012"):
        B = B.to_format("sss:" + ",".join(order))
        assert same(B, ls.tensor(cube(), B.format))
    assert same(B.to_format("sss"), A)
    assert same(ls.tensor(cube(), "dss").to_format("dss:2,1,0"), ls.tensor(cube(), "dss:2,1,0"))


FORMATS = ["csr", "csc", "coo", "uq:1,0"]


@pytest.mark.parametrize(
    ("first", "second", "format"),
    [(first, FORMATS[(m + n) % 2], format) for m, first in enumerate(FORMATS) for n, format in enumerate(FORMATS)],
)
def test_results_in_the_order_that_is_asked_for(first, second, format):
    a, b = torch.tensor(A5, dtype=torch.float32), torch.tensor(B5, dtype=torch.float32)
    A, B = ls.tensor(a, first), ls.tensor(b, second)
    assert same(ls.einsum("ik,kj->ij", A, B, format=format), ls.tensor(a @ b, format))
    assert same(ls.evaluate("C(i,j) = A(i,j) + B(i,j)", A=A, B=B, format=format), ls.tensor(a + b, format))


@pytest.mark.parametrize("format", ["csr", "ss", "coo"])
def test_products_with_the_diagonal(format):
    n5 = torch.tensor([[1.0, 2, 3, 4, 5], [2, 2, 0, 0, 0], [3, 0, 3, 0, 0], [4, 0, 0, 4, 0], [5, 0, 0, 0, 5]])
    A, B = ls.tensor(DIAGONAL, format), ls.tensor(n5, format)
    assert same(ls.matmul(A, B, format="csr"), ls.tensor(DIAGONAL @ n5, "csr"))
    assert same(ls.einsum("ij,ij->ij", A, B, format=format), ls.tensor(DIAGONAL * n5, format))


@pytest.mark.parametrize("formats", [("csr", None), ("csr", "csr"), ("coo", None)])
def test_products_are_not_those_of_torch(formats, monkeypatch):
    a, b = (torch.rand(32, 32) * (torch.rand(32, 32) < 0.1) for _ in range(2))
    expected = a @ b
    A, B = (x if f is None else ls.tensor(x, f) for x, f in zip((a, b), formats, strict=True))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("torch computed the product")

    monkeypatch.setattr(torch, "matmul", refuse)
    for _ in range(2):  # compiled, and known
        product = ls.matmul(A, B, format="dd")
        torch.testing.assert_close(product, expected, rtol=1e-3, atol=1e-3)


def test_sampled_products_have_the_pattern_of_the_mask():
    mask = (torch.rand(257, 257) < 0.01) * torch.rand(257, 257)
    a, b = torch.rand(257, 16), torch.rand(16, 257)
    C = ls.einsum("ij,ik,kj->ij", ls.from_torch(mask.to_sparse_csr()), a, b)
    assert C.format == "csr"
    assert C.nnz == int(mask.count_nonzero())
    torch.testing.assert_close(C.to_dense(), mask * (a @ b))
