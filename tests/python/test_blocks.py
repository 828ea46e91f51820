"""Products of matrices in blocks, whose rows are computed together: blocks that stand out, and tiles of all widths."""

from __future__ import annotations

import pytest
import torch
from covering import pairs
from libsparse._compiler import target

import libsparse as ls

BLOCKS = ["bsr(4,4)", "bsr(2,2)", "bsr(3,3)", "bsr(8,2)", "bsr(1,8)", "bsr(16,1)"]


@pytest.mark.parametrize(
    ("width", "blocks", "shape"),
    pairs([None, 1, 5, 16, 64, 96, 128, 256, 300], BLOCKS, [(48, 64), (41, 53), (3, 2)]),
)
def test_products(blocks, shape, width):
    torch.manual_seed(0)
    A = ls.random(shape, 0.2).to_format(blocks)
    x = torch.randn(shape[1]) if width is None else torch.randn(shape[1], width)
    torch.testing.assert_close(A @ x, A.to_dense() @ x, rtol=1e-4, atol=1e-4)


DTYPES = [torch.float64, torch.complex64, torch.int64, torch.bfloat16]


@pytest.mark.parametrize(
    ("blocks", "dtype"), [(blocks, dtype) for n, blocks in enumerate(BLOCKS) for dtype in DTYPES[n % 2 :: 2]]
)
def test_other_dtypes(blocks, dtype):
    torch.manual_seed(0)
    A = (ls.random((30, 22), 0.3) * 8).to(dtype).to_format(blocks)
    x = (torch.randn(22, 32) * 8).to(dtype)
    expected = A.to_dense().double() @ x.double() if dtype is torch.bfloat16 else A.to_dense() @ x
    torch.testing.assert_close(A @ x, expected.to(dtype), rtol=2e-2, atol=1e-1 if dtype is torch.bfloat16 else 1e-3)


@pytest.mark.parametrize("blocks", BLOCKS[:4])
def test_gradients_reductions_and_samples(blocks):
    torch.manual_seed(0)
    A = ls.random((30, 22), 0.3, dtype=torch.float64).to_format(blocks)
    D, x, y = A.to_dense(), torch.randn(22, 64, dtype=torch.float64), torch.randn(30, 64, dtype=torch.float64)
    values, dense = A.values().clone().requires_grad_(), x.clone().requires_grad_()
    (A.with_values(values) @ dense).square().sum().backward()
    torch.testing.assert_close(dense.grad, 2 * D.T @ (D @ x))
    torch.testing.assert_close(A.with_values(values.grad).to_dense()[D != 0], (2 * (D @ x) @ x.T)[D != 0])
    torch.testing.assert_close(A.T @ y, D.T @ y)
    torch.testing.assert_close(ls.sddmm(A, y, x.T).to_dense(), (y @ x.T) * D)


def test_rows_of_a_block_are_computed_at_once():
    A, x = ls.random((40, 40), 0.2).to_format("bsr(4,4)"), torch.rand(40, 256)
    text = str(ls.explain("y(i,k) = A(i,j) * x(j,k)", A=A, x=x, stage="schedule"))
    if target.level() == "x86-64-v4":
        assert "unroll(i, 4)" in text
        assert "split(k, k0, k1, 64)" in text or "split(k, k0, k1, 16)" in text
    else:  # narrower vectors: fewer of their registers hold a tile, of one row
        assert f"split(k, k0, k1, {64 if target.level() == 'x86-64-v3' else 32}, tail=" in text


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("rows", [1, 2, 20])
def test_layers(blocks, rows):
    torch.manual_seed(0)
    W = ls.random((41, 53), 0.3).to_format(blocks)
    x = torch.randn(rows, 53)
    torch.testing.assert_close(torch.nn.functional.linear(x, W), x @ W.to_dense().T, rtol=1e-4, atol=1e-4)
