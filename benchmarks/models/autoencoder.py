"""A pruned autoencoder, 784-1024-512-1024-784, on batches of 256: sparse weights that are trained."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from data import generated
from method.operands import Matrix
from peers.torch_expert import Transposed, csr, multiply
from torch import Tensor, nn

import libsparse as ls

from .workload import Model, Workload

_SIZES, _BATCH = (784, 1024, 512, 1024, 784), 256


class Autoencoder(nn.Module):
    """Layers that `layers` makes of the pruned weights."""

    def __init__(self, x: Tensor, weights: list[Matrix], layer: Any) -> None:
        super().__init__()
        self.x = x
        self.layers = nn.ModuleList(layer(m.with_values(m.values / m.shape[1] ** 0.5)) for m in weights)
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(m.shape[0])) for m in weights)

    def forward(self) -> Tensor:
        """The batch, reconstructed."""
        h = self.x
        for number, (layer, bias) in enumerate(zip(self.layers, self.biases, strict=True)):
            h = layer(h) + bias
            h = F.relu(h) if number < len(self.layers) - 1 else h
        return h


def _on_libsparse(m: Matrix) -> nn.Module:
    """A layer with a sparse weight."""
    weight = ls.from_csr(m.crow, m.col, m.values, m.shape)
    layer = ls.nn.SparseLinear(m.shape[1], m.shape[0], mask=weight, bias=False)
    with torch.no_grad():
        layer.weight.copy_(weight)
    return layer


class Expert(nn.Module):
    """torch.sparse with the transpose's order computed once."""

    def __init__(self, m: Matrix) -> None:
        super().__init__()
        self.values, self.pair = nn.Parameter(m.values), Transposed(m)

    def forward(self, x: Tensor) -> Tensor:
        """X W.T."""
        return multiply(self.values, x.t(), self.pair).t()


class Masked(nn.Module):
    """A dense weight and its mask."""

    def __init__(self, m: Matrix) -> None:
        super().__init__()
        self.mask = (csr(m, torch.ones_like(m.values)).to_dense() > 0).float()
        self.weight = nn.Parameter(csr(m).to_dense())

    def forward(self, x: Tensor) -> Tensor:
        """X W.T."""
        return F.linear(x, self.weight * self.mask)


_LAYERS = {"libsparse": _on_libsparse, "expert torch": Expert, "torch, masked dense": Masked}


def workloads(options: argparse.Namespace) -> Iterator[Workload]:
    """70, 90 and 95 percent of the weights pruned."""
    x = torch.rand(_BATCH, _SIZES[0], generator=torch.Generator().manual_seed(0))
    for percent in (90,) if options.quick else (70, 90, 95):
        shapes = zip(_SIZES[1:], _SIZES[:-1], strict=True)
        weights = [generated.pruned(*shape, 1 - percent / 100, seed=n) for n, shape in enumerate(shapes)]

        def build(layer: Any, weights: list[Matrix] = weights) -> Model:
            return Model(Autoencoder(x, weights, layer), lambda y: F.mse_loss(y, x))

        yield Workload(
            f"autoencoder {percent} %",
            "generated",
            {title: (lambda layer=layer, b=build: b(layer)) for title, layer in _LAYERS.items()},
        )
