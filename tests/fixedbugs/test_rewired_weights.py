"""Weights that are rewired in half precision, under autocast, and complex ones; arguments that are no numbers."""

from typing import Any

import numpy as np
import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_growth_by_gradients_under_autocast(dtype: torch.dtype) -> None:
    layer = ls.nn.SparseLinear(3, 2, mask=torch.tensor([[True, False, False], [True, False, False]]))
    with layer.watch(), torch.autocast("cpu", dtype=dtype):
        layer(torch.tensor([[1.0, 0.5, 2.0]])).float().sum().backward()
    assert layer.grow(2) == 2
    assert layer.weight.col.tolist() == [0, 2, 0, 2]


@pytest.mark.parametrize("block", [None, (1, 2)])
def test_small_weights_in_half_precision(block: tuple[int, int] | None) -> None:
    linear = torch.nn.Linear(4, 1, bias=False).half()
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[2e-5, 2e-5, 1e-4, 1e-4]]))
    layer = ls.nn.SparseLinear.from_dense(linear, block=block)
    assert layer.weight.nnz == 4
    layer.prune(0.5)
    assert layer.weight.to_dense().nonzero()[:, 1].tolist() == [2, 3]


def test_large_weights_in_half_precision() -> None:
    linear = torch.nn.Linear(4, 1, bias=False).half()
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[300.0, 500.0, 400.0, 600.0]]))
    layer = ls.nn.SparseLinear.from_dense(linear)
    layer.prune(0.5)
    assert layer.weight.to_dense().tolist() == [[0, 500, 0, 600]]


def test_complex_weights() -> None:
    layer = ls.nn.SparseLinear(3, 1, mask=torch.tensor([[True, True, False]]), bias=False, dtype=torch.complex64)
    with torch.no_grad():
        layer.weight.values().copy_(torch.tensor([3j, 1 + 1j]))
    with pytest.raises(ls.UnsupportedError, match="needs signs"):
        layer.prune(0.5, signs_apart=True)
    assert layer.prune(0.5) == 1
    assert layer.weight.to_dense().tolist() == [[3j, 0, 0]]
    with layer.watch():
        layer(torch.tensor([[1, 1j, 2j]])).abs().sum().backward()
    assert layer.grow(1) == 1
    assert layer.weight.col.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"block": 2}, ls.DtypeError),
        ({"block": (2,)}, ls.DtypeError),
        ({"block": (2.0, 2)}, ls.DtypeError),
        ({"block": (0, 2)}, ls.ShapeError),
        ({"block": (-1, 2)}, ls.ShapeError),
        ({"n_m": 2}, ls.DtypeError),
        ({"n_m": (2.0, 4)}, ls.DtypeError),
        ({"density": "a"}, ls.DtypeError),
    ],
)
def test_what_is_kept(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(arguments))):
        ls.nn.SparseLinear.from_dense(torch.nn.Linear(8, 4), **arguments)


def test_fractions_that_are_no_numbers() -> None:
    with pytest.raises(ls.DtypeError, match="fraction is a str"):
        ls.nn.SparseLinear(8, 4, density=0.5).prune("a")  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [np.int64(2), torch.tensor(2)])
def test_budgets_of_numpy_and_torch(number: Any) -> None:
    A = ls.tensor(torch.ones(4, 4).tril())
    assert len(ls.tune("ij,j->i", A, torch.ones(4), budget=number, seconds=np.float32(60))[0].trials) <= 2


def test_moments_go_with_their_weights_after_a_step_that_raised() -> None:
    layer = ls.nn.SparseLinear(12, 10, density=0.3)
    optimizer = torch.optim.Adam(layer.parameters())
    layer(torch.rand(4, 12)).square().sum().backward()
    optimizer.step()
    before = layer.weight.detach().with_values(optimizer.state[layer.weight]["exp_avg"].clone()).to_dense()
    optimizer.param_groups[0]["betas"] = None
    with pytest.raises(TypeError):
        optimizer.step()
    optimizer.param_groups[0]["betas"] = (0.9, 0.999)
    kept = layer.prune(0.5, optimizer)
    layer.grow(kept, optimizer, generator=torch.Generator().manual_seed(0))
    after = layer.weight.detach().with_values(optimizer.state[layer.weight]["exp_avg"]).to_dense()
    assert after.count_nonzero() == layer.weight.nnz - kept
    assert torch.equal(after, torch.where(after != 0, before, 0))
