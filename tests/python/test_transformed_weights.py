"""Transforms of torch.func by SparseTensors themselves: parameters of modules, operands of the package's functions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.func import functional_call, grad, grad_and_value, vjp, vmap

import libsparse as ls

GENERATOR = torch.Generator().manual_seed(11)
X = torch.rand(3, 5, generator=GENERATOR, dtype=torch.float64)


@pytest.fixture(params=["csr", "csc", "bsr(2,1)"])
def layer(request: Any) -> Any:
    """A layer with a weight of that format."""
    layer = ls.nn.SparseLinear(5, 6, density=0.4, dtype=torch.float64, generator=GENERATOR)
    layer.weight = ls.nn.SparseParameter(layer.weight.detach().to_format(request.param))
    return layer


def loss_of(layer: Any, x: Any = X) -> Any:
    """A function of the parameters of a layer."""
    return lambda params: functional_call(layer, params, x).exp().sum()


def eager(layer: Any, x: Any = X) -> dict[str, Any]:
    """The gradients by parameter."""
    layer.zero_grad()
    loss_of(layer, x)(dict(layer.named_parameters())).backward()
    return {name: p.grad for name, p in layer.named_parameters()}


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Gradients are those of eager calls, of the weight on its pattern."""
    assert found.keys() == expected.keys()
    assert isinstance(found["weight"], ls.SparseTensor)
    assert found["weight"].pattern is expected["weight"].pattern
    torch.testing.assert_close(found["weight"].values(), expected["weight"].values(), check_stride=False)
    torch.testing.assert_close(found["bias"], expected["bias"])


@pytest.mark.parametrize("detached", [False, True])
def test_gradients_by_parameters(layer: Any, detached: bool) -> None:
    params = {name: p.detach() if detached else p for name, p in layer.named_parameters()}
    found, value = grad_and_value(loss_of(layer))(params)
    assert torch.equal(value, loss_of(layer)(params))
    same({n: g.detach() for n, g in found.items()}, eager(layer))
    assert found["weight"].requires_grad is not detached  # autograd follows what was a parameter
    out, pull = vjp(lambda p: functional_call(layer, p, X), params)
    same({n: g.detach() for n, g in pull(out.exp())[0].items()}, eager(layer))


def test_gradients_of_gradients(layer: Any) -> None:
    params = {name: p.detach() for name, p in layer.named_parameters()}

    def norm(found: dict[str, Any]) -> Any:
        return ls.evaluate("s() = G(i,j) * G(i,j)", G=found["weight"]) + found["bias"].square().sum()

    found = grad(lambda p: norm(grad(loss_of(layer))(p)))(params)
    leaves = dict(layer.named_parameters())
    first = torch.autograd.grad(loss_of(layer)(leaves), [leaves["weight"].values(), leaves["bias"]], create_graph=True)
    total = sum(g.square().sum() for g in first)
    weight, bias = torch.autograd.grad(total, [leaves["weight"].values(), leaves["bias"]])
    same(found, {"weight": layer.weight.detach().with_values(weight), "bias": bias})


def test_gradients_by_sample(layer: Any) -> None:
    params = {name: p.detach() for name, p in layer.named_parameters()}
    found = vmap(grad(lambda p, x: loss_of(layer, x)(p)), in_dims=(None, 0))(params, X)
    for number, x in enumerate(X):
        expected = eager(layer, x)
        torch.testing.assert_close(found["weight"][number].to_dense(), expected["weight"].to_dense())
        torch.testing.assert_close(found["bias"][number], expected["bias"])


def test_functions_of_the_package() -> None:
    A = ls.random((4, 5), 0.5, generator=GENERATOR).double().detach()
    dense = A.to_dense()
    for call, expected in {
        lambda A: ls.matmul(A, X.T).exp().sum(): lambda A: (A @ X.T).exp().sum(),
        lambda A: ls.einsum("ij,kj->ik", A, X).exp().sum(): lambda A: (A @ X.T).exp().sum(),
        lambda A: ls.evaluate("s() = A(i,j) * A(i,j)", A=A): lambda A: A.square().sum(),
    }.items():
        found = grad(call)(A)
        assert found.pattern is A.pattern
        torch.testing.assert_close(found.values(), grad(expected)(dense)[A.row, A.col])


def test_what_has_no_meaning_says_what_to_do() -> None:
    layer = ls.nn.SparseLinear(5, 6, density=0.4, dtype=torch.float64)
    with pytest.raises(ls.UnsupportedError, match=r"ls\.matmul\(A, x\) for A @ x.*A\.with_values\(v\)"):
        grad(lambda A: (A @ X.T).sum())(layer.weight)
    both = {"weight": torch.stack([layer.weight.detach()] * 2)}
    with pytest.raises(ls.UnsupportedError, match=r"torch\.vmap over a dimension of an ls\.SparseTensor.*with_values"):
        vmap(lambda p: functional_call(layer, p, X))(both)

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(A: Any) -> Any:
            return A.values()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    with pytest.raises(ls.UnsupportedError, match=r"on an ls\.SparseTensor \(shape"):
        grad(lambda x: (Own.apply(layer.weight) * x).sum())(torch.ones(()))


def test_parameters_that_the_loss_does_not_use():
    torch.manual_seed(0)
    model = torch.nn.ModuleList([ls.nn.SparseLinear(6, 5, density=0.4), ls.nn.SparseLinear(6, 5, density=0.4)])
    x = torch.randn(3, 6)

    def loss(parameters):
        first = {name[2:]: value for name, value in parameters.items() if name.startswith("0.")}
        return torch.func.functional_call(model[0], first, (x,)).square().sum()

    parameters = dict(model.named_parameters())
    found = torch.func.grad(loss)(parameters)
    assert found["0.weight"].values().count_nonzero() > 0
    assert torch.equal(found["1.weight"].indices(), parameters["1.weight"].indices())
    assert not found["1.weight"].values().any()
    assert not found["1.bias"].any()
