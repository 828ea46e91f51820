"""What first calls within transforms of torch.func, or inference mode, leave behind serves all later calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from libsparse._storage import ordinary
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

import libsparse as ls

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:FutureWarning")  # torch.func.jvp itself

LAYERS: dict[str, Callable[[], Any]] = {
    "GCNConv": lambda: ls.nn.GCNConv(4, 3),
    "GCNConv cached": lambda: ls.nn.GCNConv(4, 3, cached=True),
    "APPNP": lambda: ls.nn.APPNP(2, 0.1),
    "GATConv": lambda: ls.nn.GATConv(4, 3),
    "GATv2Conv": lambda: ls.nn.GATv2Conv(4, 3),
    "SAGEConv": lambda: ls.nn.SAGEConv(4, 3),
}


def _graph(nodes: int) -> ls.SparseTensor:
    return ls.random((nodes, nodes), 0.2).abs()


def _inference(layer: Any, A: ls.SparseTensor, x: Tensor) -> None:
    with torch.inference_mode():
        layer(x, A)


TRANSFORMS: dict[str, Callable[[Any, ls.SparseTensor, Tensor], object]] = {
    "grad": lambda layer, A, x: torch.func.grad(lambda x: layer(x, A).sum())(x),
    "jvp": lambda layer, A, x: torch.func.jvp(lambda x: layer(x, A), (x,), (x,)),
    "vmap": lambda layer, A, x: torch.vmap(lambda x: layer(x, A))(x[None]),
    "inference": _inference,
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", LAYERS)
def test_first_calls_of_layers_in_transforms(name: str, transform: str) -> None:
    # Patterns of self loops are kept by the number of nodes, which no other test has.
    nodes = 211 + 7 * list(LAYERS).index(name) + list(TRANSFORMS).index(transform)
    layer, A, B, x = LAYERS[name](), _graph(nodes), _graph(nodes), torch.randn(nodes, 4)
    TRANSFORMS[transform](layer, A, x)
    for graph in (A, B):
        y = x.clone().requires_grad_()
        result = layer(y, graph)
        result.sum().backward()
        # Another object of the same entries has nothing that was kept.
        fresh = ls.from_coo(graph.indices(), graph.values(), graph.shape)
        torch.testing.assert_close(result, layer(x, fresh))
        wanted = torch.func.grad(lambda x, graph=graph: layer(x, graph).sum())(x)
        torch.testing.assert_close(y.grad, wanted)


@pytest.mark.parametrize("transform", ["grad", "jvp", "vmap"])
def test_cached_norms_follow_values_of_a_transform(transform: str) -> None:
    """A graph whose values a transform follows is normalised anew, and never kept."""
    layer, A, x = ls.nn.GCNConv(4, 3, cached=True), _graph(20), torch.randn(20, 4)

    def scaled(values: Tensor) -> Tensor:
        result: Tensor = layer(x, A.with_values(values))
        return result.square().sum()

    values = A.values()
    leaf = values.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(scaled(leaf), leaf)
    if transform == "grad":
        torch.testing.assert_close(torch.func.grad(scaled)(values), wanted)
    elif transform == "jvp":
        tangent = torch.func.jvp(scaled, (values,), (torch.ones_like(values),))[1]
        torch.testing.assert_close(tangent, wanted.sum(), rtol=1e-4, atol=1e-4)
    else:
        both = torch.vmap(scaled)(torch.stack([values, 2 * values]))
        torch.testing.assert_close(both, torch.stack([scaled(values), scaled(2 * values)]))
    torch.testing.assert_close(layer(x, A), layer(x, ls.from_coo(A.indices(), values, A.shape)))


def test_tensors_made_in_transforms() -> None:
    """Patterns made of a user's arrays have arrays of their own, of arrays made in the transform, too."""
    ends, columns, x = torch.tensor([0, 1, 3]), torch.tensor([1, 0, 1]), torch.randn(2, 3)
    made = []

    def product(x: Tensor) -> Tensor:
        made.append(ls.from_csr(ends, columns, None, (2, 2)))
        made.append(ls.from_csr(torch.arange(3), torch.arange(2), None, (2, 2)))
        made.append(ls.from_coo(torch.arange(2).expand(2, 2), None, (2, 2)))
        made.append(ls.from_levels("ds", (2, 2), [None, ends], [None, columns], torch.ones(3)))
        return sum(((A.float() @ x).sum() for A in made), torch.zeros(()))

    torch.testing.assert_close(torch.func.grad(product)(x), torch.tensor([[4.0] * 3, [6.0] * 3]))
    for A in made:
        assert not any(map(is_functorch_wrapped_tensor, A.pattern.tensors()))
        torch.testing.assert_close(A.float() @ x, A.float().to_dense() @ x)


def test_what_is_kept_is_made_outside_of_transforms() -> None:
    made = ordinary.kept(4)(lambda count: torch.arange(count))
    torch.func.grad(lambda x: (x * made(3)).sum())(torch.ones(3))
    with torch.inference_mode():
        assert not made(4).is_inference()
    assert not is_functorch_wrapped_tensor(made(3))
    assert made(3) is made(3)
