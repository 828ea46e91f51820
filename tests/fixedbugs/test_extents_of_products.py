"""Products of vectors, and sums with products, in which an extent is 1 and the other is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import libsparse as ls

ONE, TWO, THREE = torch.ones(1), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0, 3.0])
Product = Callable[[Any, Any], Any]


@pytest.mark.parametrize("product", [torch.dot, torch.vdot, torch.inner, torch.linalg.vecdot])
@pytest.mark.parametrize(("first", "second"), [(ONE, THREE), (THREE, ONE), (TWO, THREE)])
def test_vectors_of_different_lengths(product: Product, first: Tensor, second: Tensor) -> None:
    for a, b in ((ls.tensor(first), second), (first, ls.tensor(second)), (ls.tensor(first), ls.tensor(second))):
        with pytest.raises(ls.ShapeError, match="expected last dimensions of the same extent"):
            product(a, b)


@pytest.mark.compiler
@pytest.mark.parametrize(("a", "b"), [(TWO[:, None], THREE[:, None]), (THREE[None], TWO[None])])
def test_tensordot_repeats_extents_of_one(a: Tensor, b: Tensor) -> None:
    wanted = torch.tensordot(a, b, 1)
    assert torch.equal(torch.tensordot(ls.tensor(a), b, 1), wanted)
    assert torch.equal(torch.tensordot(ls.tensor(a), ls.tensor(b), 1).to_dense(), wanted)


@pytest.mark.compiler
@pytest.mark.parametrize("shape", [(3, 3), (2, 1, 3), (2, 1)])
def test_sums_have_the_shape_of_the_product(shape: tuple[int, ...]) -> None:
    with pytest.raises(ls.ShapeError, match=r"addr: input .* does not broadcast to the product's shape \(1, 3\)"):
        torch.addr(torch.zeros(shape), ls.tensor(ONE), THREE)
    with pytest.raises(ls.ShapeError, match=r"addbmm: input .* does not broadcast to the product's shape \(1, 3\)"):
        torch.addbmm(torch.zeros(shape), ls.tensor(torch.ones(2, 1, 2)), torch.ones(2, 2, 3))
