"""Products of sparse matrices where another one has entries: gradients of products, triangles."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

DTYPES = [torch.float32, torch.float64, torch.int64, torch.complex64, torch.bfloat16]
FORMATS = [("csr", "csr", "csr"), ("csc", "csr", "coo"), ("dcsr", "csc", "csr"), ("coo", "coo", "csc")]


def drawn(rows: int, columns: int, dtype: torch.dtype, format: str) -> ls.SparseTensor:
    stored = torch.rand(rows, columns) < 0.2
    return ls.tensor(torch.where(stored, torch.randint(-3, 4, (rows, columns)), 0).to(dtype), format=format)


@pytest.mark.parametrize(
    ("formats", "dtype"), [(FORMATS[0], dtype) for dtype in DTYPES] + [(found, torch.float32) for found in FORMATS[1:]]
)
def test_products_are_those_of_dense_tensors(formats: tuple[str, str, str], dtype: torch.dtype) -> None:
    shapes = [(150, 120), (150, 90), (120, 90)]
    operands = [drawn(*shape, dtype, format) for shape, format in zip(shapes, formats, strict=True)]
    wide = torch.complex128 if dtype.is_complex else torch.float64
    dense = [operand.to_dense().to(wide) for operand in operands]
    outputs = ["ij", "jk", "ik", "ji", "i", "k", ""]
    for output in outputs if dtype == torch.float32 else outputs[DTYPES.index(dtype) % 2 :: 2]:
        spec = f"ij,ik,jk->{output}"
        found = ls.einsum(spec, *operands)
        found = found.to_dense() if isinstance(found, ls.SparseTensor) else found
        rounded = {"rtol": 2e-2, "atol": 1.0} if dtype == torch.bfloat16 else {"rtol": 1e-5, "atol": 1e-3}
        torch.testing.assert_close(found.to(wide), torch.einsum(spec, *dense), **rounded)


def test_samples_of_a_product_of_sparse_matrices() -> None:
    A = drawn(90, 90, torch.float32, "csr")
    D = A.to_dense()
    found = ls.sddmm(A, A, A)
    assert isinstance(found, ls.SparseTensor)
    assert found.format == A.format
    assert torch.equal(found.to_dense(), D * (D @ D))
    assert torch.equal(ls.sddmm(A, A + 1, A).to_dense(), D * ((D + 1) @ D))
    with pytest.raises(ls.ShapeError, match="transpose one of them"):
        ls.sddmm(A, A[:, :50], A[:, :50])


@pytest.mark.parametrize("threads", [1, 2])
def test_gradients_of_products_of_sparse_matrices(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        A, B = ls.random((400, 300), 0.05).requires_grad_(), ls.random((300, 350), 0.05).requires_grad_()
        weights = torch.rand(400, 350)
        (A @ B * weights).sum().backward()
        dense = [M.detach().to_dense().requires_grad_() for M in (A, B)]
        (dense[0] @ dense[1] * weights).sum().backward()
        for M, D in zip((A, B), dense, strict=True):
            assert M.grad is not None
            assert D.grad is not None
            torch.testing.assert_close(M.grad.values(), D.grad[tuple(M.indices())])
    finally:
        torch.set_num_threads(before)


def test_what_is_not_stored_multiplies_nothing() -> None:
    infinite = float("inf")
    A = ls.tensor(torch.tensor([[1.0, 1.0], [0, 1.0]]))
    G = ls.tensor(torch.tensor([[1.0, 0, 0], [0, 2.0, 0]]))
    B = ls.tensor(torch.tensor([[infinite, infinite, 0], [0, 1.0, float("nan")]]))
    found = ls.schedule("ij,ik,jk->ij", A, G, B).reorder("i", "j", "k").precompute("A1", "w", at=1, storage="lookup")
    found = found.precompute("A0(i,j) * w(k) * A2(j,k)", "sum", at=1, storage="tile")
    for result in (found.run(), ls.einsum("ij,ik,jk->ij", A, G, B)):
        assert result.to_dense().tolist() == [[infinite, 0.0], [0.0, 2.0]]
