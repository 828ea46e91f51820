"""The graphs that models run on: from the data folder by name, else generated with as many nodes and edges."""

from __future__ import annotations

import torch
from data import files, generated
from libsparse.demo.graphs import normalised_adjacency
from method.operands import Matrix

_SIZES = {"cora": (2708, 10_556), "pubmed": (19_717, 88_651), "tolokers": (11_758, 1_038_000)}
_WORDS = {"cora": (1433, 18), "pubmed": (500, 50)}  # columns of the features, and entries a row


def adjacency(data: str | None, name: str) -> Matrix:
    """The edges of a graph, symmetric, with normalised values and self loops."""
    found = files.named(data, f"{name}_adj")
    if found is None:
        nodes, count = _SIZES[name]
        random = torch.Generator().manual_seed(nodes)
        source = torch.randint(nodes, (count // 2,), generator=random)
        target = (nodes * torch.rand(count // 2, generator=random).square()).long()
        pairs, title = torch.stack([source, target]), f"{name}-like"
    else:
        nodes, pairs, title = found.shape[0], torch.stack([found.rows, found.col.long()]), name
    return normalised(title, pairs, nodes)


def normalised(name: str, pairs: torch.Tensor, nodes: int) -> Matrix:
    """The normalised adjacency of these edges."""
    A = normalised_adjacency(pairs, nodes)
    return Matrix(name, "models", A.crow_indices().int(), A.col_indices().int(), A.values(), (nodes, nodes))


def features(data: str | None, name: str) -> Matrix:
    """The sparse features of a graph's nodes, rows summing to one."""
    found = files.named(data, f"{name}_feat")
    if found is None:
        nodes, (columns, words) = _SIZES[name][0], _WORDS[name]
        found = generated.bipartite(nodes, columns, words * nodes)
    return found.with_values(1 / found.crow.diff().clamp(min=1)[found.rows].float())


def ratings(data: str | None) -> Matrix:
    """Users by items."""
    return files.named(data, "gowalla-test") or generated.bipartite(30_000, 41_000, 217_000)
