"""SparseParameter and SparseLinear: beside a masked dense layer, rewired while training, saved, compiled."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import prune
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import libsparse as ls

OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, 0.05),
    "AdamW": lambda p: torch.optim.AdamW(p, 0.05, weight_decay=0.1),
}


class MaskedLinear(nn.Module):
    """The reference: a dense weight times a mask."""

    def __init__(self, layer: ls.nn.SparseLinear) -> None:
        super().__init__()
        self.weight = nn.Parameter(layer.weight.detach().to_dense())
        self.bias = nn.Parameter(layer.bias.detach().clone())
        self.mask = layer.weight.detach().with_values(None).to_dense()

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.weight * self.mask, self.bias)


def drawn(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def made(density: float = 0.3) -> ls.nn.SparseLinear:
    return ls.nn.SparseLinear(12, 10, density=density, generator=drawn())


X, Y = torch.randn(20, 12, generator=drawn(1)), torch.randn(20, 10, generator=drawn(2))


def test_parameter():
    A = ls.random((6, 8), 0.4, generator=drawn())
    weight = ls.nn.SparseParameter(A)
    assert isinstance(weight, ls.nn.SparseParameter)
    assert isinstance(weight, nn.Parameter)
    assert weight.requires_grad
    assert not isinstance(A, ls.nn.SparseParameter)
    assert not isinstance(nn.Parameter(X), ls.nn.SparseParameter)
    with torch.no_grad():
        weight.values().zero_()
    assert A.values().abs().min() > 0, "the parameter has values of its own"
    assert type(torch.zeros_like(weight)) is ls.SparseTensor
    assert not ls.nn.SparseParameter(A, requires_grad=False).requires_grad
    for wrong in (torch.ones(2, 2), A.with_values(None)):
        with pytest.raises(ls.DtypeError):
            ls.nn.SparseParameter(wrong)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_trained_as_a_masked_dense_layer(name: str):
    layer = made()
    dense = MaskedLinear(layer)
    losses = []
    for model in (layer, dense):
        optimizer, scaler = OPTIMIZERS[name](model.parameters()), torch.amp.GradScaler("cpu")
        averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
        found = []
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(X), Y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()
            averaged.update_parameters(model)
            found.append(torch.stack([loss.detach(), norm]))
        losses.append(torch.stack([*found, nn.functional.mse_loss(averaged(X), Y).detach().expand(2)]))
    torch.testing.assert_close(losses[0], losses[1])
    assert losses[0][-2, 0] < losses[0][0, 0]
    mask = dense.mask
    torch.testing.assert_close(layer.weight.detach().to_dense(), dense.weight.detach() * mask)


def test_states():
    layer, other = made(), made()
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    assert list(state) == ["weight", "bias"]
    other.reset_parameters()
    other.load_state_dict(state)
    torch.testing.assert_close(other(X), layer(X))
    torch.testing.assert_close(copy.deepcopy(layer)(X), layer(X))

    elsewhere = ls.nn.SparseLinear(12, 10, density=0.3, generator=drawn(5))
    with pytest.raises(ls.FormatError, match=r"weight: the state has .* mask=state\['weight'\]"):
        elsewhere.load_state_dict(state)
    with pytest.raises(ls.FormatError, match="from_dense"):
        elsewhere.load_state_dict(nn.Linear(12, 10).state_dict())
    elsewhere.load_state_dict(state, assign=True)
    torch.testing.assert_close(elsewhere(X), layer(X))
    same = ls.nn.SparseLinear(12, 10, mask=state["weight"])
    same.load_state_dict(state)
    torch.testing.assert_close(same(X), layer(X))


def test_compiled():
    layer = made()
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(X), layer(X))
    compiled(X).square().sum().backward()
    found = layer.weight.grad.values().clone()
    layer.zero_grad()
    layer(X).square().sum().backward()
    torch.testing.assert_close(found, layer.weight.grad.values())
    layer.prune(0.5)
    torch.testing.assert_close(compiled(X), layer(X))


def test_from_dense():
    dense = nn.Linear(12, 10)
    weight = dense.weight.detach()
    make = ls.nn.SparseLinear.from_dense
    tenth = make(dense, density=0.25)
    kept = tenth.weight.detach().to_dense()
    assert tenth.weight.nnz == 30
    assert weight[kept == 0].abs().max() <= tenth.weight.values().abs().min()
    assert torch.equal(kept[kept != 0], weight[kept != 0])

    mask = torch.rand(10, 12) < 0.4
    for given in (mask, ls.from_mask(mask), ls.tensor(mask.float()), ls.from_mask(mask).pattern):
        assert torch.equal(make(dense, mask=given).weight.detach().to_dense(), weight * mask)

    groups = make(dense, n_m=(1, 4)).weight.detach().to_dense().view(10, 3, 4)
    assert torch.equal((groups != 0).sum(2), torch.ones(10, 3, dtype=torch.long))
    assert torch.equal(groups.abs().amax(2), weight.view(10, 3, 4).abs().amax(2))

    prune.l1_unstructured(dense, "weight", amount=90)
    assert make(dense).weight.nnz == 30
    torch.testing.assert_close(make(dense)(X), dense(X))


def test_blocks_of_a_dense_layer():
    dense = nn.Linear(10, 9)
    layer = ls.nn.SparseLinear.from_dense(dense, block=(4, 4), density=0.5)
    kept = layer.weight.detach().to_dense()
    assert layer.weight.format == "bsr(4,4)"
    assert torch.equal(kept[kept != 0], dense.weight.detach()[kept != 0])
    torch.testing.assert_close(layer(X[:, :10]), X[:, :10] @ kept.T + dense.bias)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1, momentum=0.9)
    with layer.watch():
        layer(X[:, :10]).square().sum().backward()
    optimizer.step()
    assert layer.prune(0.5, optimizer) == 2
    assert layer.grow(4, optimizer) == 4
    layer(X[:, :10]).square().sum().backward()
    optimizer.step()
    dense = layer.weight.detach().to_dense()
    torch.testing.assert_close(layer(X[:, :10]), X[:, :10] @ dense.T + layer.bias)


def test_arguments_that_do_not_fit():
    dense = nn.Linear(12, 10)
    with pytest.raises(ls.DtypeError, match="mask= or density="):
        ls.nn.SparseLinear(12, 10)
    with pytest.raises(ls.ShapeError, match=r"mask has shape \(12, 10\)"):
        ls.nn.SparseLinear(12, 10, mask=torch.ones(12, 10, dtype=torch.bool))
    with pytest.raises(ls.DtypeError, match="one of"):
        ls.nn.SparseLinear.from_dense(dense, density=0.1, n_m=(2, 4))
    with pytest.raises(ls.ShapeError, match="divide"):
        ls.nn.SparseLinear.from_dense(dense, n_m=(2, 5))
    with pytest.raises(ls.ShapeError, match="fraction"):
        made().prune(1.5)
    with pytest.raises(ls.ShapeError, match="count"):
        made().grow(-1)


def test_pruned_and_grown_at_random():
    layer = made()
    before = layer.weight.detach().to_dense()
    least = layer.weight.detach().values().abs().sort().values
    assert layer.prune(0.25) == 9
    after = layer.weight.detach().to_dense()
    assert torch.equal(after, before * (before.abs() > least[8]))
    assert layer.grow(9, generator=drawn()) == 9
    assert layer.weight.nnz == 36
    assert torch.equal(layer.weight.detach().to_dense(), after)
    assert layer.grow(1000) == 84
    assert layer.weight.nnz == 120

    apart = made()
    values = apart.weight.detach().values()
    positive, negative = int((values > 0).sum()), int((values < 0).sum())
    apart.prune(0.5, signs_apart=True)
    left = apart.weight.detach().values()
    assert int((left > 0).sum()) == positive - int(positive / 2 + 0.5)
    assert int((left < 0).sum()) == negative - int(negative / 2 + 0.5)


def test_grown_where_gradients_are_largest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("libsparse.nn.rewiring._CHUNK", 24)  # two rows of the dense gradient at a time
    layer = made()
    dense = MaskedLinear(layer)
    dense.mask.fill_(True)
    nn.functional.mse_loss(dense(X), Y).backward()
    stored = layer.weight.detach().with_values(None).to_dense()
    expected = (dense.weight.grad.abs() * ~stored).view(-1).topk(7).indices
    with layer.watch():
        nn.functional.mse_loss(layer(X), Y).backward()
    assert layer.grow(7) == 7
    grown = layer.weight.detach().with_values(None).to_dense() & ~stored
    assert sorted(grown.view(-1).nonzero()[:, 0].tolist()) == sorted(expected.tolist())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_keep_what_belongs_to_weights_that_stay(name: str):
    layer = made()
    optimizer = OPTIMIZERS[name](layer.parameters())

    def step() -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(layer(X), Y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def moments() -> dict[str, Tensor]:
        state: dict[str, Any] = optimizer.state[layer.weight]
        known = {n: layer.weight.detach().with_values(v).to_dense() for n, v in state.items() if v.numel() > 1}
        assert known
        return known

    first = step()
    before, weight = moments(), layer.weight
    grown = layer.grow(layer.prune(0.3, optimizer), optimizer, generator=drawn(3))
    assert grown == 11
    assert layer.weight is weight
    assert weight.grad is None
    stayed = layer.weight.detach().to_dense() != 0
    for title, value in moments().items():
        assert torch.equal(value, before[title] * stayed), title
    for _ in range(20):
        last = step()
    assert last < first


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_that_have_made_a_step_need_not_be_passed(name: str):
    layers = [made(), made()]
    layers[1].load_state_dict(layers[0].state_dict())
    optimizers = [OPTIMIZERS[name](layer.parameters()) for layer in layers]
    for number in range(6):
        for layer, optimizer, given in zip(layers, optimizers, ([optimizers[0]], []), strict=True):
            optimizer.zero_grad()
            nn.functional.mse_loss(layer(X), Y).backward()
            optimizer.step()
            if number == 1:
                layer.prune(0.2, *given)
            if number == 3:
                layer.grow(layer.prune(0.3, *given) + 2, *given, generator=drawn(3))
    assert torch.equal(layers[0].weight.detach().to_dense(), layers[1].weight.detach().to_dense())
    for title, value in optimizers[0].state[layers[0].weight].items():
        assert not isinstance(value, Tensor) or torch.equal(value, optimizers[1].state[layers[1].weight][title])


def test_loaded_state_is_passed():
    layer = made()
    first = torch.optim.Adam(layer.parameters())
    nn.functional.mse_loss(layer(X), Y).backward()
    first.step()
    second = torch.optim.Adam(layer.parameters())
    second.load_state_dict(first.state_dict())
    layer.prune(0.5, second)
    for optimizer in (first, second):  # the first has made a step
        assert optimizer.state[layer.weight]["exp_avg"].shape == (layer.weight.nnz,)
        nn.functional.mse_loss(layer(X), Y).backward()
        optimizer.step()


def test_a_step_that_failed_leaves_state_that_follows():
    layer = made()
    optimizer = torch.optim.SGD(layer.parameters(), 0.1, momentum=0.9)
    nn.functional.mse_loss(layer(X), Y).backward()
    optimizer.step()

    def closure() -> float:
        raise ValueError("no data")

    with pytest.raises(ValueError, match="no data"):
        optimizer.step(closure)
    layer.prune(0.5)
    assert optimizer.state[layer.weight]["momentum_buffer"].shape == (layer.weight.nnz,)


@pytest.mark.parametrize("format", ["csr", "coo", "bsr(4,4)"])
def test_weights_of_dense_matrices(format: str):
    weight = ls.nn.SparseParameter(ls.random((32, 64), 0.1, format=format))
    stored = weight.detach().to_dense() != 0
    with pytest.raises(ls.DtypeError, match=r"A\.copy_\(x\.sparse_mask\(A\)\)"):
        nn.init.orthogonal_(weight)
    x = nn.init.orthogonal_(torch.empty(weight.shape))
    with torch.no_grad():
        weight.copy_(x.sparse_mask(weight))
    assert torch.equal(weight.detach().to_dense()[stored], x[stored])
    with torch.no_grad():
        weight.copy_(torch.eye(*weight.shape).sparse_mask(weight))
    assert torch.equal(weight.detach().to_dense()[stored], torch.eye(32, 64)[stored])
