"""Modules with trained sparse weights: exported, compiled, saved, copied, called with other parameters."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.utils import parametrize

import libsparse as ls

A = ls.random((6, 8), 0.5, generator=torch.Generator().manual_seed(3))
X = torch.rand(8, 3, generator=torch.Generator().manual_seed(4))


class Whole(nn.Module):
    """The weight is a SparseTensor."""

    def __init__(self, A: Any) -> None:
        super().__init__()
        self.weight = nn.Parameter(A.clone())

    def sparse(self) -> Any:
        return self.weight

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(torch.softmax(self.sparse(), 1) @ x) + (self.sparse() * 2) @ x


class Parts(Whole):
    """The weight is the vector of values, beside a pattern."""

    def __init__(self, A: Any) -> None:
        super().__init__(A)
        self.weight, self.pattern = nn.Parameter(A.values().clone()), A.pattern

    def sparse(self) -> Any:
        return ls.SparseTensor(self.pattern, self.weight)


class Buffered(Whole):
    """The weight is the vector of values, beside a buffer that has the pattern."""

    def __init__(self, A: Any) -> None:
        super().__init__(A)
        self.weight = nn.Parameter(A.values().clone())
        self.register_buffer("mask", A.clone())

    def sparse(self) -> Any:
        return self.mask.with_values(self.weight)


KINDS = [(Whole, "csr"), (Whole, "bsr(2,2)"), (Parts, "csr"), (Parts, "bsr(2,2)"), (Buffered, "csr")]


@pytest.fixture(params=KINDS, ids=lambda p: f"{p[0].__name__} {p[1]}")
def layer(request: Any) -> Whole:
    kind, format = request.param
    made: Whole = kind(A.to_format(format))
    return made


def vector(tensor: Any) -> Tensor:
    return tensor.values() if isinstance(tensor, ls.SparseTensor) else tensor


def gradient(function: Any, layer: nn.Module) -> Tensor:
    layer.zero_grad()
    function(X).square().sum().backward()
    (found,) = (parameter.grad for parameter in layer.parameters())
    return vector(found).clone()


def same_as(layer: Whole, other: Any, function: Any = None) -> None:
    """Another module, or a function of its parameters, has the layer's results and gradients."""
    function = other if function is None else function
    expected = layer(X), gradient(layer, layer)
    torch.testing.assert_close(function(X), expected[0])
    torch.testing.assert_close(gradient(function, other), expected[1])


@pytest.mark.parametrize("strict", [False, True])
def test_exported(layer: Whole, strict: bool) -> None:
    program = torch.export.export(layer, (X,), strict=strict)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    for read in (program, torch.export.load(file)):
        same_as(layer, read.module())


def test_compiled(layer: Whole) -> None:
    torch._dynamo.reset()
    compiled: Any = torch.compile(layer, fullgraph=True, backend="aot_eager")
    same_as(layer, layer, compiled)
    before, state = layer(X), copy.deepcopy(layer.state_dict())
    torch.optim.Adam(layer.parameters(), 0.1).step()
    assert not torch.allclose(layer(X), before)
    same_as(layer, layer, compiled)
    layer.load_state_dict(state)
    torch.testing.assert_close(compiled(X), before)


def test_patterns_of_compiled_functions() -> None:
    patterns = [A.pattern, ls.random((6, 8), 0.3).pattern, A.to_format("coo").pattern]

    @torch.compile(fullgraph=True, backend="aot_eager")
    def product(index: int, values: Tensor, x: Tensor) -> Tensor:
        return ls.SparseTensor(patterns[index], values) @ x

    for index, pattern in enumerate(patterns):
        values = torch.rand(pattern.size)
        torch.testing.assert_close(product(index, values, X), ls.SparseTensor(pattern, values) @ X)


def test_states(layer: Whole) -> None:
    kind, start = type(layer), A.to_format(layer.sparse().format) * 3
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    for assign in (False, True):
        file.seek(0)
        other = kind(start)
        other.load_state_dict(torch.load(file, weights_only=True), assign=assign)
        assert isinstance(other.weight, nn.Parameter)
        same_as(layer, other)
    same_as(layer, copy.deepcopy(layer))


def test_called_with_other_parameters(layer: Whole) -> None:
    given = {name: p.detach().clone().requires_grad_() for name, p in layer.named_parameters()}
    torch.testing.assert_close(functional_call(layer, given, (X,)), layer(X))
    functional_call(layer, given, (X,)).square().sum().backward()
    expected = gradient(layer, layer)
    torch.testing.assert_close(vector(given["weight"].grad), expected)

    def loss(parameters: dict[str, Tensor]) -> Tensor:
        return functional_call(layer, parameters, (X,)).square().sum()

    detached = {name: p.detach() for name, p in layer.named_parameters()}
    if isinstance(layer.weight, ls.SparseTensor):
        with pytest.raises(ls.UnsupportedError, match=r"torch.func.grad\(lambda v: f\(A.with_values\(v\)\)"):
            torch.func.grad(loss)(detached)
    else:
        torch.testing.assert_close(torch.func.grad(loss)(detached)["weight"], expected)


class Doubled(nn.Module):
    def forward(self, weight: Any) -> Any:
        return weight * 2

    def right_inverse(self, weight: Any) -> Any:
        return weight / 2


def test_parametrized(layer: Whole) -> None:
    plain = copy.deepcopy(layer)
    parametrize.register_parametrization(layer, "weight", Doubled())
    torch.testing.assert_close(layer(X), plain(X))
    torch.testing.assert_close(gradient(layer, layer), gradient(plain, plain) * 2)
    layer.load_state_dict(layer.state_dict())
    with parametrize.cached():
        torch.testing.assert_close(copy.deepcopy(layer)(X), plain(X))
    parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter)
    same_as(plain, layer)
