"""PageRank, shortest paths, breadth-first search and triangles as products in semirings, checked with SciPy.

The graph is a grid of streets with some roads far across. Each algorithm is a product of its matrix with a vector, in
which `+` and `*` are other operations.
"""

from __future__ import annotations

import torch
from options import Plots, run, save
from scipy.sparse import csgraph

import libsparse as ls


def streets(side: int, across: int) -> ls.SparseTensor:
    """Lengths of streets between neighbours of a grid, some of them diagonal, and of roads between places far apart."""
    place = torch.arange(side * side).view(side, side)
    pairs = [(place[:, :-1], place[:, 1:]), (place[:-1], place[1:]), (place[:-1, :-1], place[1:, 1:])]
    near = torch.cat([torch.stack([a.flatten(), b.flatten()]) for a, b in pairs], 1)
    near = near[:, torch.rand(near.shape[1]) < 0.7]  # some are closed
    far = torch.randint(side * side, (2, across))
    far = far[:, far[0] != far[1]]
    ends = torch.cat([near, far], 1)
    lengths = torch.cat([torch.rand(near.shape[1]) + 0.5, 5 + 5 * torch.rand(far.shape[1])])
    both = torch.cat([ends, ends.flip(0)], 1)
    return ls.from_coo(both, lengths.repeat(2), (side**2, side**2), reduce="min")


def pagerank(links: ls.SparseTensor, damping: float = 0.85, steps: int = 60) -> torch.Tensor:
    """The share of time that a walker spends at each place: who receives is a row."""
    n = links.shape[0]
    onward = links / links.sum(0).clamp(min=1)
    rank = torch.full((n,), 1 / n)
    for _ in range(steps):
        lost = rank[links.sum(0) == 0].sum()  # of places that no street leaves
        rank = damping * (onward @ rank + lost / n) + (1 - damping) / n
    return rank


def distances(graph: ls.SparseTensor, start: int) -> torch.Tensor:
    """Lengths of the shortest ways (Bellman, Ford): products with `min` for `+`, `+` for `*`, until nothing changes."""
    known = torch.full((graph.shape[0],), torch.inf)
    known[start] = 0
    while True:
        further = torch.minimum(known, ls.einsum("ij,j->i", graph, known, reduce="min", combine="add"))
        if torch.equal(further, known):
            return known
        known = further


def hops(links: ls.SparseTensor, start: int) -> torch.Tensor:
    """How many streets lie between: products with `or` for `+` and `and` for `*`."""
    level = torch.full((links.shape[0],), -1)
    level[start] = 0
    front, number = level == 0, 0
    while front.any():
        number += 1
        front = ls.einsum("ij,j->i", links, front, reduce="any", combine="and") & (level < 0)
        level[front] = number
    return level


def triangles(links: ls.SparseTensor) -> int:
    """Ways of length two between ends of a street, counted only there; each triangle has six."""
    ways = ls.evaluate("c(i,j) = E(i,j) * A(i,k) * B(k,j)", E=links, A=links, B=links)
    return int(ways.sum()) // 6


def main(quick: bool = False, plots: Plots = None) -> dict[str, float]:
    torch.manual_seed(0)
    side = 40 if quick else 300
    graph = streets(side, across=4 * side)
    links = graph.with_values(torch.ones(graph.nnz))
    print(f"{side * side:,} places, {graph.nnz // 2:,} streets")
    rank, way, level = pagerank(links), distances(graph, 0), hops(graph.with_values(None), 0)
    count = triangles(links)
    far = way[way.isfinite()].max()
    print(f"rank of the busiest place {rank.max():.2e}; the furthest is {far:.1f} away, {level.max()} streets")
    print(f"{count} triangles")
    matrix = graph.to_scipy()
    torch.testing.assert_close(way, torch.from_numpy(csgraph.dijkstra(matrix, indices=0)).float())
    steps = csgraph.dijkstra(matrix, indices=0, unweighted=True)
    assert torch.equal(level, torch.from_numpy(steps).nan_to_num(posinf=-1).long())
    print("SciPy's Dijkstra finds the same distances")
    if plots:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(12, 3.6))
        for axes, (title, values) in zip(
            figure.subplots(1, 3), {"PageRank": rank, "distance": way, "streets between": level}.items(), strict=True
        ):
            figure.colorbar(axes.imshow(values.view(side, side).numpy()), ax=axes)
            axes.set_title(title)
        save(figure, plots, "graph_algorithms")
    return {"sum": float(rank.sum()), "triangles": count}


if __name__ == "__main__":
    run(main, __doc__)
