"""Training a sparse parameter is training the dense vector of its stored values: optimizers and what goes with them."""

from __future__ import annotations

import copy
import inspect
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim
from torch.optim.swa_utils import (
    AveragedModel,
    get_ema_avg_fn,
    get_ema_multi_avg_fn,
    get_swa_avg_fn,
    get_swa_multi_avg_fn,
)

import libsparse as ls

generator = torch.Generator().manual_seed(0)
A = ls.random((6, 8), 0.5, generator=generator)
X, Y = torch.randn(8, 3, generator=generator), torch.randn(6, 3, generator=generator)

OPTIMIZERS = {
    name: kind
    for name, kind in sorted(vars(optim).items())
    if inspect.isclass(kind) and issubclass(kind, optim.Optimizer) and kind is not optim.Optimizer
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"foreach": True},
    {"foreach": True, "weight_decay": 0.1, "maximize": True},
    {"foreach": False, "weight_decay": 0.1},
    {"fused": True},
    {"maximize": True},
    {"amsgrad": True},
    {"amsgrad": True, "foreach": True},
    {"momentum": 0.9, "nesterov": True},
    {"momentum": 0.9, "centered": True},
    {"decoupled_weight_decay": True, "weight_decay": 0.1},
    {"initial_accumulator_value": 0.5},
    {"lr": torch.tensor(0.01)},
    {"line_search_fn": "strong_wolfe"},
    {"differentiable": True},
]
REFUSED = {"Muon": "makes a dense update", "SparseAdam": "does not support dense gradients"}


class Layer(nn.Module):
    """A product with a weight: a SparseTensor, or the vector of its values."""

    def __init__(self, sparse: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(A.clone() if sparse else A.values().clone())
        self.bias = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight if isinstance(self.weight, ls.SparseTensor) else ls.SparseTensor(A.pattern, self.weight)
        return weight @ x + self.bias

    def loss(self) -> Tensor:
        return (self(X.to(self.bias.dtype)) - Y).square().sum()

    def vector(self) -> Tensor:
        weight: Any = self.weight
        return (weight.values() if isinstance(weight, ls.SparseTensor) else weight).detach()


def fit(layer: Layer, optimizer: Any, steps: int = 3, between: Callable[[], Any] = lambda: None) -> Layer:
    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = layer.loss()
        loss.backward()
        between()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return layer


def same(run: Callable[[bool], Layer]) -> None:
    """A run with a sparse parameter comes to the same numbers as one with the vector of its values."""
    sparse, vector = run(True), run(False)
    assert torch.equal(sparse.vector(), vector.vector())
    assert torch.equal(sparse.bias, vector.bias)
    assert not torch.equal(sparse.vector(), A.values())
    assert sparse.weight.pattern is A.pattern


@pytest.mark.parametrize(
    ("name", "options"),
    [(n, o) for n, kind in OPTIMIZERS.items() for o in OPTIONS if {*o} <= {*inspect.signature(kind).parameters}],
)
def test_optimizers(name: str, options: dict[str, Any]) -> None:
    def run(sparse: bool) -> Layer:
        layer = Layer(sparse)
        return fit(layer, OPTIMIZERS[name]([layer.weight], **{"lr": 0.01, **options}))

    if name in REFUSED:
        with pytest.raises((ls.UnsupportedError, RuntimeError), match=REFUSED[name]):
            run(sparse=True)
    elif options.get("differentiable"):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            run(sparse=True)
    else:
        sparse, vector = run(sparse=True), run(sparse=False)
        assert torch.equal(sparse.vector(), vector.vector())
        assert not torch.equal(sparse.vector(), A.values())


def test_an_optimizer_keeps_the_tensors_that_it_got() -> None:
    layer = Layer(sparse=True)
    optimizer = optim.Adagrad(layer.parameters(), lr=0.1)
    fit(layer, optimizer)
    assert optimizer.param_groups[0]["params"][0] is layer.weight
    assert optimizer.state[layer.weight]["sum"].shape == (A.nnz,)

    def fails() -> float:
        raise KeyError("stop")

    with pytest.raises(KeyError):
        optimizer.step(fails)
    fit(layer, optimizer)
    assert optimizer.param_groups[0]["params"][0] is layer.weight
    assert len(optimizer.state) == 2


@pytest.mark.parametrize("name", sorted(OPTIMIZERS.keys() & {"Adam", "Adagrad", "Adafactor", "LBFGS"}))
def test_training_goes_on_from_a_file(name: str) -> None:
    layer, other = Layer(sparse=True), Layer(sparse=True)
    optimizer, resumed = (OPTIMIZERS[name]([each.weight], lr=0.01) for each in (layer, other))
    fit(layer, optimizer)
    file = io.BytesIO()
    torch.save((layer.state_dict(), optimizer.state_dict()), file)
    file.seek(0)
    for target, state in zip((other, resumed), torch.load(file, weights_only=True), strict=True):
        target.load_state_dict(state)
    assert torch.equal(fit(layer, optimizer).vector(), fit(other, resumed).vector())


CLIPS: dict[str, Callable[[Any], Any]] = {
    "norm": lambda p: nn.utils.clip_grad_norm_(p, 1.0),
    "norm, foreach": lambda p: nn.utils.clip_grad_norm_(p, 1.0, foreach=True),
    "largest": lambda p: nn.utils.clip_grad_norm_(p, 1.0, norm_type=float("inf")),
    "value": lambda p: nn.utils.clip_grad_value_(p, 0.1),
    "value, foreach": lambda p: nn.utils.clip_grad_value_(p, 0.1, foreach=True),
    "total": lambda p: nn.utils.clip_grads_with_norm_(p, 1.0, nn.utils.get_total_norm([q.grad for q in p])),
}


@pytest.mark.parametrize("name", [n for n in CLIPS if n != "total" or hasattr(nn.utils, "clip_grads_with_norm_")])
def test_gradients_are_clipped(name: str) -> None:
    def run(sparse: bool) -> Layer:
        layer = Layer(sparse)
        return fit(layer, optim.SGD(layer.parameters(), 0.01), between=lambda: CLIPS[name](list(layer.parameters())))

    same(run)


@pytest.mark.parametrize("fused", [False, True])
def test_gradients_are_scaled(fused: bool) -> None:
    def run(sparse: bool) -> Layer:
        layer, scaler = Layer(sparse), torch.amp.GradScaler("cpu")
        optimizer = optim.Adam(layer.parameters(), 0.01, fused=fused)
        for step in range(4):
            optimizer.zero_grad()
            scaler.scale(layer.loss() * (float("inf") if step == 1 else 1)).backward()
            scaler.step(optimizer)
            scaler.update()
        assert scaler.get_scale() == 2**15  # halved once
        return layer

    same(run)


@pytest.mark.parametrize(
    "schedule",
    [
        lambda o: optim.lr_scheduler.StepLR(o, 1, 0.5),
        lambda o: optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=10),
        lambda o: optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 2),
    ],
)
def test_schedules(schedule: Any) -> None:
    def run(sparse: bool) -> Layer:
        layer = Layer(sparse)
        optimizer = optim.AdamW(layer.parameters(), 0.01)
        steps = schedule(optimizer)
        for _ in range(3):
            fit(layer, optimizer, 1)
            steps.step()
        return layer

    same(run)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_buffers": True},
        {"avg_fn": get_swa_avg_fn()},
        {"avg_fn": get_ema_avg_fn(0.9)},
        {"multi_avg_fn": get_swa_multi_avg_fn()},
        {"multi_avg_fn": get_ema_multi_avg_fn(0.9)},
    ],
)
def test_averaged_models(options: dict[str, Any]) -> None:
    def run(sparse: bool) -> Layer:
        layer = Layer(sparse)
        averaged, optimizer = AveragedModel(layer, **options), optim.SGD(layer.parameters(), 0.01)
        for _ in range(3):
            averaged.update_parameters(fit(layer, optimizer, 1))
        return averaged.module  # type: ignore[return-value]

    same(run)


def test_steps_in_the_backward_pass() -> None:
    def run(sparse: bool) -> Layer:
        layer = Layer(sparse)
        optimizers = {p: optim.Adam([p], 0.01) for p in layer.parameters()}

        def step(parameter: Any) -> None:
            optimizers[parameter].step()
            optimizers[parameter].zero_grad()

        for parameter in layer.parameters():
            parameter.register_post_accumulate_grad_hook(step)
        for _ in range(3):
            layer.loss().backward()
        return layer

    same(run)


@pytest.mark.skipif(torch.__version__ < "2.7", reason="torch takes no tensor as the rate of a differentiable step")
def test_gradients_through_a_step() -> None:
    rate = torch.tensor(0.1, requires_grad=True)
    gradients = []
    for start in (A.clone().requires_grad_(), A.values().clone().requires_grad_()):
        leaf: Any = start * 1.0
        leaf.retain_grad()
        optimizer = optim.SGD([leaf], lr=rate, differentiable=True)
        for _ in range(2):
            weight = leaf if isinstance(leaf, ls.SparseTensor) else ls.SparseTensor(A.pattern, leaf)
            (weight @ X).square().sum().backward(retain_graph=True)
            optimizer.step() if rate.grad is None else None
        gradients.append(rate.grad)
        rate.grad = None
    assert gradients[0] is not None
    assert torch.equal(*gradients)


def test_modules_convert_their_parameters() -> None:
    def run(sparse: bool) -> Layer:
        layer = Layer(sparse)
        optimizer, weight = optim.SGD(layer.parameters(), 0.01), layer.weight
        fit(layer, optimizer).double()
        assert layer.weight is weight
        assert layer.weight.grad.dtype == torch.float64  # type: ignore[union-attr]
        return fit(layer, optimizer)

    same(run)
    assert Layer(sparse=True).half().weight.dtype == torch.half


def test_copies_are_parameters() -> None:
    layer = Layer(sparse=True)
    layer.loss().backward()
    file = io.BytesIO()
    torch.save(layer.weight, file)
    file.seek(0)
    for weight in (copy.deepcopy(layer).weight, torch.load(file, weights_only=True)):
        assert isinstance(weight, nn.Parameter)
        assert weight.requires_grad
        assert torch.equal(weight.values(), layer.weight.values())
        assert weight.values().data_ptr() != layer.weight.values().data_ptr()
    assert torch.equal(copy.deepcopy(layer).weight.grad, layer.weight.grad)  # type: ignore[arg-type]


def test_parameters_as_vectors() -> None:
    weight, bias = nn.Parameter(A.clone()), nn.Parameter(torch.ones(3))
    vector = nn.utils.parameters_to_vector([weight, weight])
    assert torch.equal(vector.to_dense(), weight.to_dense().flatten().repeat(2))
    values = weight.values()
    nn.utils.vector_to_parameters(vector * 2, [weight, weight])
    assert torch.equal(weight.values(), A.values() * 2)
    assert weight.values() is values
    with pytest.raises(ls.UnsupportedError, match=r"values\(\), where only stored entries are meant"):
        nn.utils.parameters_to_vector([weight, bias])
    both = [weight.values(), bias]
    nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(both) / 2, both)
    assert torch.equal(weight.values(), A.values())


def test_data_of_a_parameter() -> None:
    weight, other = nn.Parameter(A.clone()), ls.eye(8)[:6]
    values = weight.values()
    weight.data = A * 3
    assert weight.values() is values
    assert torch.equal(values, A.values() * 3)
    weight.data = other
    assert torch.equal(weight.to_dense(), other.to_dense())
    assert weight.requires_grad
    assert weight.is_leaf
    for wrong, error in ((A.to_dense(), "x is dense"), (A.double(), "x is torch.float64"), (A.T, "another shape")):
        with pytest.raises(ls.LibsparseError, match=error):
            weight.data = wrong


EACH: dict[str, tuple[Any, ...]] = {
    "abs": (),
    "add": ([A, A],),
    "mul": (2.0,),
    "div": ([2.0, 3.0],),
    "lerp": ([A * 2, A * 3], 0.5),
    "addcmul": ([A, A], [A, A], 0.5),
    "addcdiv": ([A, A], [X[:6].sum(), X.sum()], [0.5, 0.25]),
    "maximum": (0.0,),
    "minimum": ([A, A],),
    "norm": (2,),
    "sqrt": (),
}


@pytest.mark.parametrize("name", EACH)
def test_functions_of_lists(name: str) -> None:
    dense = [[t.to_dense() for t in a] if isinstance(a, list) and hasattr(a[0], "to_dense") else a for a in EACH[name]]
    tensors = [A.clone(), A * -2]
    expected = getattr(torch, f"_foreach_{name}")([t.to_dense() for t in tensors], *dense)
    found = getattr(torch, f"_foreach_{name}")(tensors, *EACH[name])
    assert isinstance(found, tuple)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine.to_dense(), theirs, equal_nan=True)
    in_place = getattr(torch, f"_foreach_{name}_", None)
    if in_place is not None:
        in_place(tensors, *EACH[name])
        torch.testing.assert_close(tensors[1].to_dense(), expected[1], equal_nan=True)
    with pytest.raises(ls.ShapeError, match="lists have 2, 1 items"):
        torch._foreach_add(tensors, [A])
