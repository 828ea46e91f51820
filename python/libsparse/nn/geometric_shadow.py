"""PyG's ShaDowKHopSampler of graphs that are ls.SparseTensors: loaded with `torch_geometric.nn`, as `geometric` is.

PyG's own is compiled code of torch_sparse, without which it refuses every graph. Here a batch is drawn at once: a
pair of a root and a node is one number, so that the neighbourhoods of all roots are drawn hop by hop as rows of one
graph, and what lies between the nodes of each is found by a search among these numbers. Edge lists are drawn from in
this way, too, where torch_sparse is not installed.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader
from torch_geometric import typing as pyg  # type: ignore[import-untyped, unused-ignore]
from torch_geometric.data import Batch  # type: ignore[import-untyped, unused-ignore]
from torch_geometric.loader import ShaDowKHopSampler  # type: ignore[import-untyped, unused-ignore]

from libsparse.sampling import draws

from . import geometric_loaders, geometric_samples

_OF_GRAPHS = ("edge_index", "adj", "adj_t", "num_nodes", "batch", "ptr")
"""What a batch has of its own."""


def _made(theirs: Any) -> Any:
    """`ShaDowKHopSampler.__init__`, which keeps the arrays of the graph by receivers."""

    @functools.wraps(theirs)
    def make(
        self: Any,
        data: Any,
        depth: int,
        num_neighbors: int,
        node_idx: Tensor | None = None,
        replace: bool = False,
        **kwargs: Any,
    ) -> None:
        if geometric_loaders.graph_of(data) is None and pyg.WITH_TORCH_SPARSE:
            theirs(self, data, depth, num_neighbors, node_idx, replace, **kwargs)
            return
        self.data, self.depth, self.num_neighbors, self.replace = copy.copy(data), depth, num_neighbors, replace
        self.by_receivers = geometric_loaders.arrays(data)
        if node_idx is None:
            node_idx = torch.arange(data.num_nodes, device="cpu")
        self.node_idx = node_idx.nonzero().view(-1) if node_idx.dtype is torch.bool else node_idx
        DataLoader.__init__(self, self.node_idx.tolist(), collate_fn=self.__collate__, **kwargs)

    return make


def _collated(theirs: Any) -> Any:
    """The batch of some roots."""

    @functools.wraps(theirs)
    def collate(self: Any, n_id: Any) -> Any:
        if "by_receivers" not in vars(self):
            return theirs(self, n_id)
        start, column, places = self.by_receivers
        count = start.numel() - 1
        roots = torch.tensor(n_id, dtype=torch.int64, device="cpu")
        roots += torch.arange(roots.numel(), device="cpu") * count
        pairs = _drawn(self, roots)
        receivers, edges = draws.entries(start, pairs % count, -1, False, 0)
        ends = pairs[receivers] // count * count + column[edges]
        senders = torch.searchsorted(pairs, ends).clamp(max=pairs.numel() - 1)
        inside = pairs[senders] == ends
        receivers, senders, edges = receivers[inside], senders[inside], edges[inside]
        edges = edges if places is None else places[edges]
        batch = Batch(batch=pairs // count)
        batch.ptr = torch.searchsorted(batch.batch, torch.arange(roots.numel() + 1, device="cpu"))
        batch.root_n_id = torch.searchsorted(pairs, roots)
        edges = _connect(self.data, batch, torch.stack([senders, receivers]), edges)
        _describe(self.data, batch, pairs % count, edges)
        return batch

    return collate


def _drawn(sampler: Any, roots: Tensor) -> Tensor:
    """The nodes around each root, ascending; that of root r is `r * count` more than its number."""
    start, column, _ = sampler.by_receivers
    count = start.numel() - 1
    known = added = roots
    for _ in range(sampler.depth):
        seed = int(torch.randint(2**62, (), device="cpu"))
        fanout = min(sampler.num_neighbors, draws.MOST)
        rows, edges = draws.entries(start, added % count, fanout, sampler.replace, seed)
        before = known.numel()
        known, _ = draws.numbered(known, added[rows] // count * count + column[edges])
        added = known[before:]
    return known.sort().values


def _connect(data: Any, batch: Any, ends: Tensor, edges: Tensor) -> Tensor:
    """Gives a batch its graph; the numbers of its edges in their order there."""
    found = geometric_loaders.graph_of(data)
    if found is None:
        batch.edge_index = ends
        return edges
    name, graph = found
    count = batch.batch.numel()
    batch[name], order = geometric_samples.part(
        name, graph, edges, ends if name == "adj" else ends.flip(0), (count, count)
    )
    return edges[order]


def _describe(data: Any, batch: Any, nodes: Tensor, edges: Tensor) -> None:
    """Gives a batch the rows of its nodes and edges, and its roots their labels, as PyG does."""
    for name, value in data:
        if name in _OF_GRAPHS:
            continue
        extent = value.shape[0] if isinstance(value, Tensor) and value.ndim > 0 else None
        if extent == data.num_nodes:
            batch[name] = value.index_select(0, nodes[batch.root_n_id] if name == "y" else nodes)
        else:
            batch[name] = value.index_select(0, edges) if extent == data.num_edges else value


_PLACES = (("__init__", _made), ("__collate__", _collated))


def accept() -> dict[tuple[Any, str], Any]:
    """Puts the methods in their places; what was there."""
    before = {(ShaDowKHopSampler, name): getattr(ShaDowKHopSampler, name) for name, _ in _PLACES}
    for name, make in _PLACES:
        setattr(ShaDowKHopSampler, name, make(before[ShaDowKHopSampler, name]))
    return before
