"""Blocks of many entries, of which kernels wrote out thousands: refused, or a minute of the C compiler."""

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls


@pytest.mark.parametrize(
    ("block", "dtype"), [((64, 64), torch.float64), ((65, 65), torch.float32), ((100, 1), torch.float32)]
)
def test_products_and_sums(block: tuple[int, int], dtype: torch.dtype) -> None:
    dense = torch.randint(-3, 4, (130, 140)).to(dtype)
    A, x = ls.tensor(dense, format=f"bsr({block[0]},{block[1]})"), torch.randint(-3, 4, (3, 140)).to(dtype)
    assert torch.equal(A @ x[0], dense @ x[0])
    assert torch.equal(F.linear(x, A), x @ dense.T)
    assert torch.equal(A.sum(1), dense.sum(1))


def test_products_of_matrices_of_blocks() -> None:
    dense = torch.randint(-3, 4, (70, 70)).float()
    A = ls.tensor(dense, format="bsr(64,64)")
    assert torch.equal((A @ A).to_dense(), dense @ dense)


def test_a_layer_of_large_blocks() -> None:
    linear = torch.nn.Linear(256, 256)
    layer, x = ls.nn.SparseLinear.from_dense(linear, block=(128, 128), density=1.0), torch.randn(5, 256)
    torch.testing.assert_close(layer(x), linear(x))
    torch.testing.assert_close(layer(x[0]), linear(x[0]))
