"""EmbeddingBag, FactorizationMachine, CP and Tucker beside dense references, fitted and trained."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import libsparse as ls

drawn = torch.Generator().manual_seed(0)


def minimised(parameters: Any, loss: Any, steps: int = 60, lr: float = 0.05) -> tuple[float, float]:
    """The loss before and after some steps of Adam."""
    optimizer, losses = torch.optim.Adam(parameters, lr=lr), []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses[0], losses[-1]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 3])
def test_bags_of_numbers(mode: str, padding: int | None) -> None:
    ours = ls.nn.EmbeddingBag(9, 4, mode=mode, padding_idx=padding)
    theirs = nn.EmbeddingBag(9, 4, mode=mode, padding_idx=padding)
    ours.load_state_dict(theirs.state_dict())
    numbers, offsets = torch.tensor([3, 1, 1, 5, 0, 3, 8]), torch.tensor([0, 3, 3, 6])
    square = torch.randint(9, (4, 5), generator=drawn)
    for given in ((numbers, offsets), (square,)):
        found = []
        for layer in (ours, theirs):
            layer.zero_grad()
            out = layer(*given)
            out.square().sum().backward()
            found.append((out, layer.weight.grad))
        torch.testing.assert_close(found[0], found[1])
    last = ls.nn.EmbeddingBag(9, 4, mode=mode, padding_idx=padding, include_last_offset=True)
    last.load_state_dict(theirs.state_dict())
    torch.testing.assert_close(last(numbers, torch.cat([offsets, torch.tensor([7])])), theirs(numbers, offsets))


def test_bags_of_a_matrix() -> None:
    bags = ls.random((6, 9), 0.3, generator=drawn)
    factors = bags.values().clone().requires_grad_()
    layer = ls.nn.EmbeddingBag(9, 4, mode="sum")
    layer(bags.with_values(factors)).square().sum().backward()
    theirs = nn.EmbeddingBag(9, 4, mode="sum", _weight=layer.weight.detach().clone())
    given = bags.values().clone().requires_grad_()
    theirs(bags.col, bags.crow_indices()[:-1].long(), given).square().sum().backward()
    torch.testing.assert_close((factors.grad, layer.weight.grad), (given.grad, theirs.weight.grad))
    torch.testing.assert_close(layer(bags.col, bags.crow_indices()[:-1], given), layer(bags.with_values(given)))
    target = torch.randn(6, 4, generator=drawn)
    before, after = minimised(layer.parameters(), lambda: nn.functional.mse_loss(layer(bags), target))
    assert after < 0.7 * before
    with pytest.raises(ls.ShapeError, match=r"expected shape \(bags, 9\)"):
        layer(ls.eye(3))
    with pytest.raises(ls.IndexBoundsError, match="offsets are from 1"):
        layer(bags.col, torch.tensor([1, 3]))
    with pytest.raises(ls.IndexBoundsError, match="offsets are empty; expected"):
        layer(bags.col, torch.tensor([], dtype=torch.int64))
    for padding in (None, 2):
        layer = ls.nn.EmbeddingBag(9, 4, padding_idx=padding)
        for wrong in ([1, 3], [0, 4, 2], [0, -1], [0, 1 << 40]):
            with pytest.raises(ls.IndexBoundsError, match="expected to begin at 0, to ascend"):
                layer(torch.tensor([1, 2, 3, 4]), torch.tensor(wrong))
    for number in (9, -1, 1 << 40):
        with pytest.raises(ls.IndexBoundsError, match=f"numbers from {number} .* 0 <= number < 9"):
            layer(torch.tensor([[number]]))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_without_numbers_and_many_of_one(mode: str, dtype: torch.dtype) -> None:
    ours, theirs = ls.nn.EmbeddingBag(9, 4, mode=mode), nn.EmbeddingBag(9, 4, mode=mode)
    ours.load_state_dict(theirs.state_dict())
    empty = torch.empty(0, dtype=dtype)
    cases = [
        (empty, empty),
        (empty, torch.tensor([0, 0], dtype=dtype)),
        (torch.empty(0, 3, dtype=dtype),),
        (torch.full((30_000,), 7, dtype=dtype), torch.tensor([0, 1, 1, 20_000], dtype=dtype)),
        (torch.randint(9, (9_000, 3), generator=drawn).to(dtype),),
    ]
    for case in cases:
        torch.testing.assert_close(ours(*case), theirs(*case), rtol=1e-4, atol=1e-4)


def test_factors_of_numbers_have_gradients() -> None:
    ours, theirs = ls.nn.EmbeddingBag(9, 4, mode="sum"), nn.EmbeddingBag(9, 4, mode="sum")
    ours.load_state_dict(theirs.state_dict())
    numbers, factors = torch.tensor([[1, 2], [3, 3]]), torch.rand(2, 2, generator=drawn).requires_grad_()
    found = [
        torch.autograd.grad(layer(numbers, per_sample_weights=factors).square().sum(), factors)
        for layer in (ours, theirs)
    ]
    torch.testing.assert_close(found[0], found[1])


def test_factorization_machine() -> None:
    model = ls.nn.FactorizationMachine(12, 3).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(generator=drawn)
    x = ls.random((7, 12), 0.4, generator=drawn, dtype=torch.float64)

    def reference(x: Tensor) -> Tensor:
        pairs = (model.factors @ model.factors.T).triu(1)
        return model.bias + x @ model.linear + torch.einsum("ni,ij,nj->n", x, pairs, x)

    found = []
    for out in (model(x), model(x.to_dense()), reference(x.to_dense())):
        model.zero_grad()
        out.square().sum().backward()
        found.append((out, [p.grad.clone() for p in model.parameters()]))
    torch.testing.assert_close(found[0], found[2])
    torch.testing.assert_close(found[1], found[2])
    target = torch.randn(7, generator=drawn).double()
    before, after = minimised(model.parameters(), lambda: nn.functional.mse_loss(model(x), target))
    assert after < 0.2 * before
    with pytest.raises(ls.ShapeError, match=r"expected \(samples, 12\)"):
        model(x.T)


def dense_of(model: Any) -> Tensor:
    """All elements of a decomposition."""
    everywhere = torch.cartesian_prod(*(torch.arange(n) for n in model.shape)).T
    return model(everywhere).view(model.shape)


SHAPE = (5, 6, 7)
FULL = torch.einsum(
    "ir,jr,kr->ijk", *(torch.rand(n, 2, generator=drawn) * (torch.rand(n, 2, generator=drawn) < 0.7) for n in SHAPE)
)
T = ls.tensor(FULL)


@pytest.mark.parametrize(
    "make", [lambda: ls.nn.CP(SHAPE, 2), lambda: ls.nn.Tucker(SHAPE, (2, 2, 2))], ids=["CP", "Tucker"]
)
def test_decompositions(make: Any) -> None:
    torch.manual_seed(1)
    model = make()
    found = []
    for loss in (model.loss(T), (FULL - dense_of(model)).square().sum()):
        model.zero_grad()
        loss.backward()
        found.append((loss, [p.grad.clone() for p in model.parameters()]))
    torch.testing.assert_close(found[0], found[1], atol=1e-4, rtol=1e-4)
    before, after = minimised(model.parameters(), lambda: model.loss(T), steps=80)
    assert after < 0.5 * before
    model.reset_parameters()
    error = model.fit(T, tolerance=1e-7)
    assert error < 0.02
    assert abs(error - float((FULL - dense_of(model).detach()).norm() / FULL.norm())) < 2e-3


def test_tucker_of_a_matrix_is_its_truncated_svd() -> None:
    A = ls.random((9, 8), 0.5, generator=drawn, dtype=torch.float64)
    model = ls.nn.Tucker(A.shape, (3, 3), dtype=torch.float64)
    model.fit(A, sweeps=300, tolerance=1e-12)
    u, s, v = torch.linalg.svd(A.to_dense())
    torch.testing.assert_close(dense_of(model).detach(), u[:, :3] * s[:3] @ v[:3], atol=1e-4, rtol=1e-3)


def test_arguments_that_do_not_fit() -> None:
    with pytest.raises(ls.ShapeError, match="the rank of mode 0 is 5"):
        ls.nn.Tucker((8, 8), (5, 3))
    with pytest.raises(ls.ShapeError, match="expected shape"):
        ls.nn.CP((3, 4), 2).fit(ls.eye(3))
    with pytest.raises(ls.DtypeError, match="expected an ls"):
        ls.nn.CP((3, 4), 2).loss(torch.ones(3, 4))
    with pytest.raises(ls.ShapeError, match=r"expected \(2, n\)"):
        ls.nn.CP((3, 4), 2)(torch.zeros(3, 1))
