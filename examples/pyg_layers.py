"""PyG's own layers on an ls.SparseTensor: the same numbers, with products where PyG can fuse them.

Needs `pip install torch-geometric`. The matrix takes the place of `edge_index`; its rows receive.
"""

from __future__ import annotations

import time

import torch
import torch.nn.functional as F
from libsparse.demo.graphs import generate
from options import Plots, run, save
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

import libsparse as ls


def layers(width: int) -> dict[str, torch.nn.Module]:
    """A layer of each kind."""
    return {
        "GCNConv": GCNConv(width, width),
        "SAGEConv": SAGEConv(width, width),
        "GINConv": GINConv(torch.nn.Linear(width, width)),
        "GATConv": GATConv(width, width // 4, heads=4),
    }


def timed(layer: torch.nn.Module, x: torch.Tensor, graph: torch.Tensor) -> tuple[torch.Tensor, float]:
    """What a layer computes, and the median time in ms of a pass forward and backward."""
    times = []
    for _ in range(7):
        start = time.perf_counter()
        out = layer(x, graph)
        F.relu(out).sum().backward()
        times.append(1e3 * (time.perf_counter() - start))
    return out.detach(), sorted(times)[3]


def main(quick: bool = False, plots: Plots = None) -> dict[str, float]:
    torch.manual_seed(0)
    task = generate(nodes=2000 if quick else 20_000, words=200)
    A = ls.from_torch(task.adjacency).with_values(None)
    senders_and_receivers = A.indices().flip(0).long()
    x = torch.randn(A.shape[0], 64, requires_grad=True)
    table, apart = {}, 0.0
    for name, layer in layers(64).items():
        theirs, edges_ms = timed(layer, x, senders_and_receivers)
        ours, matrix_ms = timed(layer, x, A)
        apart = max(apart, float((ours - theirs).abs().max()))
        table[name] = edges_ms, matrix_ms
        print(f"{name:9} edge list {edges_ms:7.1f} ms, matrix {matrix_ms:7.1f} ms")
    print(f"results differ by {apart:.1e} at most")
    if plots:
        from matplotlib.figure import Figure

        axes = (figure := Figure(figsize=(6, 4))).subplots()
        places = torch.arange(len(table))
        for shift, label, column in ((-0.2, "edge list", 0), (0.2, "ls.SparseTensor", 1)):
            axes.bar(places + shift, [times[column] for times in table.values()], 0.4, label=label)
        axes.set_xticks(places, table)
        axes.set(ylabel="ms, forward and backward", title=f"{A.shape[0]:,} nodes, {A.nnz:,} edges")
        axes.legend()
        save(figure, plots, "pyg_layers")
    return {"apart": apart}


if __name__ == "__main__":
    run(main, __doc__)
