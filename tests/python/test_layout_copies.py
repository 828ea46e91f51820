"""Copies of dense operands in another order of dimensions, against torch's."""

from __future__ import annotations

import itertools

import pytest
import torch
from libsparse._runtime import layout

import libsparse as ls


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16, torch.float32, torch.float64, torch.complex128])
@pytest.mark.parametrize("shape", [(65, 130), (256, 512), (5, 33, 70), (3, 4, 5, 90), (1, 100, 100), (0, 7), (7,)])
def test_every_order(shape: tuple[int, ...], dtype: torch.dtype, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not native:
        monkeypatch.setattr(layout, "_native", None)
    whole = torch.randn(2, *shape).mul(50).to(dtype)
    for tensor in (whole[0], whole.transpose(0, -1)[..., 0]):  # the second has gaps between its elements
        for order in itertools.permutations(range(tensor.ndim)):
            found = layout.contiguous(tensor, order)
            assert found.is_contiguous()
            assert torch.equal(found, tensor.permute(order))


@pytest.mark.parametrize("batch", [3, 40, 256])
def test_products_with_operands_on_the_left(batch: int) -> None:
    A = ls.random((200, 300), density=0.1)
    A = A.with_values(torch.randn(A.nnz)).requires_grad_()
    x = torch.randn(batch, 300, requires_grad=True)
    dense = A.to_dense().detach().requires_grad_()
    for _ in range(4):  # the later ones are repeated calls
        upstream = torch.randn(batch, 200)
        found, wanted = torch.nn.functional.linear(x, A), torch.nn.functional.linear(x, dense)
        torch.testing.assert_close(found, wanted)
        one, other = (torch.autograd.grad(out, x, upstream)[0] for out in (found, wanted))
        torch.testing.assert_close(one, other)
