"""GraphSAGE on a graph of 100,000 nodes, trained on sampled neighbourhoods.

Each step draws 10 neighbours of 1,024 papers and 5 of each of these. The evaluation at the end uses all neighbours of
all papers.
"""

from __future__ import annotations

import time

import torch
import torch.nn.functional as F
from libsparse.demo.graphs import generate
from options import Plots, run, save

import libsparse as ls

FANOUTS = [10, 5]


class SAGE(torch.nn.Module):
    """Two layers over blocks, each block a matrix from the nodes that it needs to the nodes that it computes."""

    def __init__(self, words: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.embed = torch.nn.Parameter(torch.nn.init.xavier_uniform_(torch.empty(words, hidden)))
        self.layers = torch.nn.ModuleList([ls.nn.SAGEConv(hidden, hidden), ls.nn.SAGEConv(hidden, classes)])

    def forward(self, words: ls.SparseTensor, blocks: list[ls.SparseTensor]) -> torch.Tensor:
        h = words @ self.embed
        for layer, block in zip(self.layers, blocks, strict=True):
            h = layer((h, h[: block.shape[0]]), block)
            h = F.relu(h) if layer is not self.layers[-1] else h
        return h


def main(quick: bool = False, plots: Plots = None) -> dict[str, float]:
    torch.manual_seed(0)
    task = generate(nodes=10_000 if quick else 100_000, words=300)
    graph, words = ls.from_torch(task.adjacency), ls.from_torch(task.features)
    train = torch.ones(task.labels.numel(), dtype=torch.bool)
    train[task.validation], train[task.test] = False, False
    seeds = train.nonzero().flatten()
    network = SAGE(words.shape[1], 64, task.classes)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    losses, sampling, start = [], 0.0, time.perf_counter()
    for epoch in range(1 if quick else 3):
        for batch in seeds[torch.randperm(len(seeds))].split(1024):
            before = time.perf_counter()
            nodes, blocks = ls.sampling.neighbors(graph, batch, FANOUTS)
            sampling += time.perf_counter() - before
            optimizer.zero_grad()
            loss = F.cross_entropy(network(words[nodes], blocks), task.labels[batch])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {sum(losses[-20:]) / len(losses[-20:]):.3f}")
    seconds = time.perf_counter() - start
    with torch.no_grad():
        scores = network(words, [graph, graph])
    accuracy = float((scores[task.test].argmax(1) == task.labels[task.test]).float().mean())
    print(
        f"{len(losses)} steps in {seconds:.1f} s, {sampling / seconds:.0%} of it drawing neighbours; "
        f"test accuracy {accuracy:.3f}"
    )
    if plots:
        from matplotlib.figure import Figure

        axes = (figure := Figure(figsize=(6, 4))).subplots()
        axes.plot(losses)
        axes.set(xlabel="step", ylabel="loss", title=f"{task.labels.numel():,} nodes, batches of 1,024")
        save(figure, plots, "large_graph")
    return {"accuracy": accuracy}


if __name__ == "__main__":
    run(main, __doc__)
