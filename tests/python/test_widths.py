"""Products with dense operands of every width: kernels of neighbouring widths share classes, tiles and tails."""

from __future__ import annotations

import pytest
import torch
from libsparse._compiler import target

import libsparse as ls

HALVES = (torch.bfloat16, torch.float16)
WIDTHS = [*range(1, 68), 71, 72, 79, 95, 96, 97, 100, 127, 128, 129, 200]
FEW = [1, 3, 4, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33, 47, 63, 64, 65, 100, 128, 129]
OF_DTYPES = [  # of two dtypes whose vectors have as many elements, one goes by all widths
    (torch.float32, WIDTHS),
    (torch.float64, WIDTHS),
    (torch.bfloat16, WIDTHS),
    (torch.float16, FEW),
    (torch.int64, FEW),
]


def operand(dtype: torch.dtype) -> ls.SparseTensor:
    """A matrix with short rows, empty ones and long ones, which several entries at once are added to."""
    random = torch.Generator().manual_seed(0)
    density = torch.tensor([0.0, 0.05, 0.3, 0.9]).repeat(10)[:, None]
    dense = torch.randn(40, 50, generator=random) * (torch.rand(40, 50, generator=random) < density)
    return ls.tensor(dense.to(dtype))


@pytest.mark.parametrize(("dtype", "widths"), OF_DTYPES)
def test_products(dtype: torch.dtype, widths: list[int]) -> None:
    A = operand(dtype)
    dense = A.to_dense().double()
    for width in widths:
        with ls.options(num_threads=1 + (width % 3 == 1)):
            x = torch.randn(50, width).mul(4).to(dtype)
            close = {"rtol": 2e-2, "atol": 0.5} if dtype in HALVES else {"rtol": 1e-4, "atol": 1e-4}
            torch.testing.assert_close((A @ x).double(), dense @ x.double(), **close)


@pytest.mark.parametrize(("dtype", "widths"), OF_DTYPES)
def test_sums_over_columns(dtype: torch.dtype, widths: list[int]) -> None:
    A = operand(dtype)
    dense, spread = A.to_dense().double(), {"rtol": 2e-2, "atol": 2.0} if dtype in HALVES else {}
    for width in widths:
        with ls.options(num_threads=1 + (width % 3 == 1)):
            q, k = (torch.randn(n, width).mul(4).to(dtype) for n in (40, 50))
            expected = dense * (q.double() @ k.double().T)
            found = ls.sddmm(A, q, k.T.contiguous()).to_dense()
            torch.testing.assert_close(found.double(), expected, **(spread or {"rtol": 1e-4, "atol": 1e-3}))
            if dtype in (torch.float32, torch.int64):
                found = ls.einsum("ij,ik,jk->i", A, q, k).double()
                torch.testing.assert_close(found, expected.sum(1), rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("width", [9, 12, 15, 17, 23, 31, 33, 41, 55, 63])
def test_other_sums(width: int) -> None:
    A = operand(torch.float32)
    dense, x, b = A.to_dense(), torch.randn(50, width, requires_grad=True), torch.randn(width)
    stored = (dense != 0).float()
    torch.testing.assert_close(ls.matmul(A, x, reduce="mean"), dense @ x / stored.sum(1, keepdim=True).clamp(min=1))
    terms = torch.where(stored[..., None] != 0, dense[..., None] * x, -torch.inf).amax(1)
    found = ls.matmul(A, x, reduce="max")
    torch.testing.assert_close(found, torch.where(terms == -torch.inf, 0, terms))
    found = ls.evaluate("Y(i,k) = relu(sum(A(i,j) * X(j,k)) + b(k))", A=A, X=x.detach(), b=b)
    torch.testing.assert_close(found, torch.relu(dense @ x + b))
    upstream = torch.randn(40, width)
    torch.testing.assert_close(*(torch.autograd.grad(y, x, upstream)[0] for y in (A @ x, dense @ x)))
    torch.testing.assert_close(A.T @ upstream, dense.T @ upstream)
    torch.testing.assert_close(upstream.T @ A, upstream.T @ dense)
    q, k = torch.randn(40, width), torch.randn(50, width)
    torch.testing.assert_close(ls.sddmm(A, q, k.T).to_dense(), dense * (q @ k.T))


def test_a_row_is_read_once() -> None:
    A = operand(torch.float32)
    q, k = torch.randn(40, 12), torch.randn(50, 12)
    assert "bound(k, 9, 15)" in ls.explain("ij,ik,jk->ij", A, q, k, stage="schedule")
    for width in (12, 21, 47):
        schedule = ls.explain("ij,jk->ik", A, torch.randn(50, width), stage="schedule")
        narrow = width == 47 and not target.level().startswith("x86-64-v")  # vectors of 16 bytes: 40 sums are too many
        assert f"split(k, k0, k1, {32 if narrow else width // 8 * 8}, tail=8{'' if narrow else ', joined'})" in schedule
    refused = ls.schedule("ij,jk->ik", A, torch.randn(50, 17)).reorder("i", "j", "k")
    refused = refused.split("k", "k0", "k1", 8, tail=8, joined=True).reorder("i", "k0", "j", "k1")
    with pytest.raises(ls.ShapeError, match="does not suit the operands' shapes"):
        refused.precompute("all", "w", at=2, storage="tile").vectorize("k1").run()
