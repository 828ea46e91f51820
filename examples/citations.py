"""Three graph networks on a citation graph: GCN, GraphSAGE and GAT.

The task is Planetoid's: predict the field of each paper from its words and its citations, with 20 labelled papers a
field. Cora is read where its files are found (see `make demo`), otherwise a graph like it is generated.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from libsparse.demo.graphs import Graph, find_data, generate, load, names
from options import Plots, run, save

import libsparse as ls

HIDDEN = 16


class Network(torch.nn.Module):
    """Two layers of one kind; words are a sparse matrix, so the first dense layer is a product with it."""

    def __init__(self, first: torch.nn.Module, second: torch.nn.Module, words: int, width: int) -> None:
        super().__init__()
        self.embed = torch.nn.Parameter(torch.nn.init.xavier_uniform_(torch.empty(words, width)))
        self.first, self.second = first, second

    def forward(self, words: ls.SparseTensor, graph: ls.SparseTensor) -> torch.Tensor:
        h = F.dropout(words, 0.5, self.training) @ self.embed
        h = F.dropout(F.elu(self.first(h, graph)), 0.5, self.training)
        return self.second(h, graph)


def networks(words: int, classes: int) -> dict[str, Network]:
    """The three networks, by name."""
    return {
        "GCN": Network(ls.nn.GCNConv(HIDDEN, HIDDEN, normalize=False), ls.nn.GCNConv(HIDDEN, classes), words, HIDDEN),
        "SAGE": Network(ls.nn.SAGEConv(64, HIDDEN), ls.nn.SAGEConv(HIDDEN, classes), words, 64),
        "GAT": Network(ls.nn.GATConv(64, 8, heads=8), ls.nn.GATConv(64, classes), words, 64),
    }


def train(network: Network, task: Graph, epochs: int) -> list[float]:
    """Trains a network and returns its accuracy on the validation papers after each epoch."""
    graph, words = ls.from_torch(task.adjacency), ls.from_torch(task.features)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)
    seen = []
    for _ in range(epochs):
        network.train()
        optimizer.zero_grad()
        F.cross_entropy(network(words, graph)[task.train], task.labels[task.train]).backward()
        optimizer.step()
        seen.append(accuracy(network, words, graph, task.labels, task.validation))
    print(f"  test accuracy {accuracy(network, words, graph, task.labels, task.test):.3f}")
    return seen


@torch.no_grad()
def accuracy(network: Network, words: Any, graph: Any, labels: torch.Tensor, nodes: torch.Tensor) -> float:
    """The share of nodes whose label has the highest score."""
    scores = network.eval()(words, graph)
    return float((scores[nodes].argmax(1) == labels[nodes]).float().mean())


def main(quick: bool = False, plots: Plots = None) -> dict[str, float]:
    torch.manual_seed(0)
    folder = None if quick else find_data(None)
    task = load(folder, "cora") if folder and "cora" in names(folder) else generate(nodes=2000, words=500)
    print(f"{task.source}: {task.labels.numel()} papers, {task.classes} fields")
    curves = {}
    for name, network in networks(task.features.shape[1], task.classes).items():
        print(name)
        curves[name] = train(network, task, epochs=40 if quick else 200)
    if plots:
        from matplotlib.figure import Figure

        axes = (figure := Figure(figsize=(6, 4))).subplots()
        for name, curve in curves.items():
            axes.plot(curve, label=name)
        axes.set(xlabel="epoch", ylabel="validation accuracy", title=task.name)
        axes.legend()
        save(figure, plots, "citations")
    return {name: max(curve) for name, curve in curves.items()}


if __name__ == "__main__":
    run(main, __doc__)
