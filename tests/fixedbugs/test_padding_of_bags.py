"""EmbeddingBag with a padding_idx from the end counted that row as any other."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [-1, -10, 3])
def test_rows_that_do_not_count(mode, padding):
    own = ls.nn.EmbeddingBag(10, 4, mode=mode, padding_idx=padding)
    torchs = torch.nn.EmbeddingBag(10, 4, mode=mode, padding_idx=padding)
    torchs.weight.data.normal_()
    own.load_state_dict(torchs.state_dict())
    numbers = torch.tensor([[9, 9, 9], [1, 9, 2], [0, 3, 0], [3, 3, 3], [0, 0, 0]])
    torch.testing.assert_close(own(numbers), torchs(numbers))
    for layer in (own, torchs):
        layer(numbers).square().sum().backward()
    torch.testing.assert_close(own.weight.grad, torchs.weight.grad)


@pytest.mark.parametrize("padding", [10, -11])
def test_no_row(padding):
    with pytest.raises(ls.IndexBoundsError, match="padding_idx is"):
        ls.nn.EmbeddingBag(10, 4, padding_idx=padding)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16])
def test_more_numbers_than_their_dtype_holds(dtype):
    layer = ls.nn.EmbeddingBag(10, 4)
    numbers = torch.arange(40_000, device="cpu").remainder(10).reshape(400, 100)
    torch.testing.assert_close(layer(numbers.to(dtype)), layer(numbers))


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.complex64])
def test_numbers_that_are_not_integers(dtype):
    with pytest.raises(ls.DtypeError, match="EmbeddingBag: input has dtype"):
        ls.nn.EmbeddingBag(10, 4)(torch.ones(2, 2).to(dtype))


def test_no_offsets():
    none = torch.zeros(0, dtype=torch.int64)
    with pytest.raises(ls.ShapeError, match="offsets are empty"):
        ls.nn.EmbeddingBag(10, 4, include_last_offset=True)(none, none)
    assert ls.nn.EmbeddingBag(10, 4)(none, none).shape == (0, 4)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((None,), ls.DtypeError),
        ((torch.tensor([1, 2]), "no tensor"), ls.DtypeError),
        ((torch.tensor([1, 2]), torch.tensor([0, 0.5])), ls.DtypeError),  # half a number was cut off
        ((torch.tensor([1, 2]), torch.tensor(0)), ls.ShapeError),
        ((torch.tensor([1, 2]), torch.tensor([[0]])), ls.ShapeError),
        ((torch.tensor([1, 2]), torch.tensor([0]), "no tensor"), ls.ShapeError),
        ((torch.tensor([1, 2]), torch.tensor([0]), torch.ones(1, 2)), ls.ShapeError),
        ((torch.tensor([1, 2]), torch.tensor([0]), torch.ones(3)), ls.ShapeError),
    ],
)
def test_what_are_no_bags(arguments, error):
    with pytest.raises(error, match="EmbeddingBag: "):
        ls.nn.EmbeddingBag(10, 4, mode="sum")(*arguments)
