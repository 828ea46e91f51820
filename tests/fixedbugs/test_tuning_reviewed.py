"""`ls.tune` changed parameters of modules, and arguments in other containers than lists, and took any seed."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict, UserDict, defaultdict, namedtuple
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import libsparse as ls

# Copies ------------------------------------------------------------------------------------------------------------


class _Written(nn.Module):
    """Writes to its parameters and buffers as it computes."""

    def __init__(self):
        super().__init__()
        self.weight, self.scale = nn.Parameter(torch.full((8,), 3.0)), nn.Parameter(torch.ones(8))
        self.same = self.scale
        self.nodes = nn.Embedding(30, 8, max_norm=0.1)
        self.sparse = ls.nn.SparseParameter(ls.eye(40))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, A, index):
        assert isinstance(self.weight, nn.Parameter)
        assert isinstance(self.sparse, ls.nn.SparseParameter)
        with torch.no_grad():
            self.weight.clamp_(max=1)
            self.sparse.values().mul_(2)
        self.scale.data = self.scale.data * 2
        self.calls += 1
        result = self.sparse @ (A @ self.nodes(index)) * self.weight * self.same
        result.sum().backward(retain_graph=True)
        return result


def test_parameters_stay_as_they_are():
    module, A = _Written(), ls.random((40, 30), 0.2)
    values, pattern = module.sparse.values(), module.sparse.pattern
    tensors = [*module.state_dict(keep_vars=True).values(), values]
    kept = [t.detach().to_dense().clone() for t in tensors]
    ls.tune(module, A, torch.arange(30), budget=1)
    for tensor, before in zip(tensors, kept, strict=True):
        assert torch.equal(tensor.detach().to_dense(), before)
        assert tensor.grad is None
    assert [id(t) for t in tensors[:-1]] == [id(t) for t in module.state_dict(keep_vars=True).values()]
    assert module.sparse.pattern is pattern


def test_modules_that_make_their_parameters_in_the_first_call():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.LazyLinear(4)

        def forward(self, A, x):
            return self.linear(A @ x)

    layer, A, x = Layer(), ls.random((40, 30), 0.2), torch.rand(30, 8)
    ls.tune(layer, A, x, budget=1)
    assert type(layer.linear) is nn.Linear
    assert layer(A, x).shape == (40, 4)


Pair = namedtuple("Pair", "A x")


@dataclasses.dataclass
class Record:
    x: Any


class Other:
    def __init__(self, x):
        self.x = x


class List(list):
    pass


def _by_name(kind):
    return lambda x: kind(x=x)


CONTAINERS = {
    "namedtuple": (lambda x: Pair(None, x), lambda c: c.x),
    "OrderedDict": (_by_name(OrderedDict), lambda c: c["x"]),
    "defaultdict": (lambda x: defaultdict(list, x=x), lambda c: c["x"]),
    "UserDict": (_by_name(UserDict), lambda c: c["x"]),
    "dataclass": (Record, lambda c: c.x),
    "object": (Other, lambda c: c.x),
    "list": (lambda x: [[x]], lambda c: c[0][0]),
    "beside a lock": (lambda x: List([threading.Lock(), x]), lambda c: c[1]),
    "pair with a lock": (lambda x: Pair(threading.Lock(), x), lambda c: c.x),
    "dictionary with a lock": (lambda x: OrderedDict(lock=threading.Lock(), x=x), lambda c: c["x"]),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_arguments_in_containers_stay_as_they_are(name):
    make, get = CONTAINERS[name]
    A, leaf = ls.random((40, 30), 0.2), torch.rand(30, 8, requires_grad=True)
    pattern = A.pattern
    for x in (leaf.detach(), leaf, leaf * 2, leaf.detach().numpy()):
        kept, argument = torch.as_tensor(x).detach().clone(), make(x)
        kind = type(argument)

        def work(A, given):
            assert A.pattern is pattern
            assert type(given) is kind  # noqa: B023
            x = get(given)
            with torch.no_grad():
                x += 1
            return A @ torch.as_tensor(x)

        assert ls.tune(work, A, argument, budget=1)
        assert torch.equal(torch.as_tensor(x).detach(), kept)


def test_arguments_that_share_a_tensor_share_its_copy():
    A, x = ls.random((40, 30), 0.2), torch.rand(30, 8)
    sparse = A * 2

    def work(first, second, third, objects):
        assert first is second.x is third["x"]
        assert objects.x.pattern is sparse.pattern
        assert objects.x is not sparse
        return objects.x @ first

    assert ls.tune(work, x, Pair(A, x), {"x": x}, objects=Other(sparse), budget=1)


def test_steps_of_training_are_taken_on_copies():
    A, x, model = ls.random((40, 30), 0.2), torch.rand(30, 8), nn.Linear(8, 8)
    kept = model.weight.detach().clone()

    def step(model, optimizer):
        optimizer.zero_grad()
        result = A @ model(x)
        result.sum().backward(retain_graph=True)
        optimizer.step()
        assert not torch.equal(model.weight, kept)
        return A @ x

    assert ls.tune(step, model, torch.optim.SGD(model.parameters(), lr=1.0), budget=1)
    assert torch.equal(model.weight, kept)
    assert model.weight.grad is None


# Settings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [np.int64(3), np.uint8(3), np.array(3), torch.tensor(3), 2**63 - 1], ids=repr)
def test_integers_are_seeds(seed):
    assert ls.tune("ij,j->i", ls.eye(3), torch.ones(3), budget=1, seed=seed)


@pytest.mark.parametrize(
    "seed",
    ["1", 1.0, True, None, -1, 2**63, torch.tensor(1.0), torch.tensor([1]), torch.tensor(True), np.bool_(True)],
    ids=repr,
)
def test_anything_else_is_no_seed(seed):
    with pytest.raises(ls.FormatError, match="seed"):
        ls.tune("ij,j->i", ls.eye(3), torch.ones(3), budget=1, seed=seed)


@pytest.mark.parametrize("name", ["seed", "seconds", "budget"])
@pytest.mark.parametrize("digits", [400, 5000])
def test_numbers_out_of_range(name, digits):
    with pytest.raises(ls.FormatError, match=name):
        ls.tune("ij,j->i", ls.eye(3), torch.ones(3), **{name: (-1 if name == "budget" else 1) * 10**digits})
