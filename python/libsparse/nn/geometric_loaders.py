"""PyG's NeighborLoader and LinkNeighborLoader of graphs that are ls.SparseTensors: loaded with `torch_geometric.nn`.

A loader asks three things of a graph: its arrays by receivers, from which it draws (`to_csc`); the part of it that was
drawn, for a batch (`filter_edge_store_`); and, between layers, the part that later layers need (`trim_adj`). They are
functions of PyG that know edge lists and torch_sparse's class by name, and are replaced under the names by which PyG's
modules call them. What PyG draws with is compiled code of pyg-lib or torch_sparse. Where pyg-lib is not installed,
SparseTensors are drawn from by the code of `ls.sampling`, which takes a tenth of the time of torch_sparse's and gives
each neighbour the same chance; so are edge lists where torch_sparse is not installed either.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch_geometric.loader.utils as loading  # type: ignore[import-untyped, unused-ignore]
import torch_geometric.sampler.neighbor_sampler as drawing  # type: ignore[import-untyped, unused-ignore]
import torch_geometric.sampler.utils as reading  # type: ignore[import-untyped, unused-ignore]
import torch_geometric.utils._trim_to_layer as trimming  # type: ignore[import-untyped, unused-ignore]
from torch import Tensor
from torch_geometric import typing as pyg  # type: ignore[import-untyped, unused-ignore]
from torch_geometric.loader import ClusterData, GraphSAINTSampler  # type: ignore[import-untyped, unused-ignore]
from torch_geometric.sampler import NeighborSampler  # type: ignore[import-untyped, unused-ignore]
from torch_geometric.sampler.base import SubgraphType  # type: ignore[import-untyped, unused-ignore]

import libsparse as ls
from libsparse._tensor.sparse_tensor import SparseTensor

from . import adjacency, geometric_samples


def graph_of(store: Any) -> tuple[str, Any] | None:
    """The graph of a part of PyG's data and its name, where it is an ls.SparseTensor."""
    found = ((name, store[name]) for name in ("adj", "adj_t") if name in store)
    name, graph = next(found, ("", None))
    if not isinstance(graph, SparseTensor):
        return None
    if graph.ndim != 2 or graph.fill_value != 0:
        raise ls.ShapeError(f"{name} ({graph._facts()}); expected a matrix, and 0 where nothing is stored")
    return name, graph


def _arrays(theirs: Any) -> Any:
    """The graph by receivers, or by senders where it is transposed: where rows start, columns, places of the edges."""

    @functools.wraps(theirs)
    def read(
        data: Any,
        device: Any = None,
        share_memory: bool = False,
        is_sorted: bool = False,
        src_node_time: Tensor | None = None,
        edge_time: Tensor | None = None,
        to_transpose: bool = False,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        found = graph_of(data)
        if found is None:
            return theirs(data, device, share_memory, is_sorted, src_node_time, edge_time, to_transpose)  # type: ignore[no-any-return]
        name, graph = found
        if src_node_time is not None or edge_time is not None:
            raise ls.UnsupportedError(
                f"{name} ({graph._facts()}): neighbours are not drawn by time of a SparseTensor, whose rows are "
                "sorted by column; expected an edge_index where there is a time_attr"
            )
        rows, places = adjacency.rows_of_entries(name, graph), None
        if (name == "adj") != to_transpose:
            turned = rows.with_values(torch.arange(rows.nnz, device="cpu")).T.to_format("csr")
            rows, places = turned, turned.values()
        start, column = rows.pos(1).long(), rows.crd(1).long()
        for array in (start, column, places) if share_memory else ():
            if array is not None:
                array.share_memory_()
        return start, column, places

    return read


def _nodes(theirs: Any) -> Any:
    """The features of drawn nodes, and their number where nothing but the graph told it."""

    @functools.wraps(theirs)
    def select(store: Any, out_store: Any, index: Tensor) -> None:
        theirs(store, out_store, index)
        if graph_of(store) is not None and out_store.num_nodes != index.numel():
            out_store.num_nodes = index.numel()

    return select


def _rows(theirs: Any) -> Any:
    """Features of some nodes, which may be sparse."""

    @functools.wraps(theirs)
    def select(value: Any, index: Tensor, dim: int = 0) -> Any:
        if isinstance(value, SparseTensor):
            return value.index_select(dim, index.long())
        return theirs(value, index, dim)

    return select


def _edges(theirs: Any) -> Any:
    """The drawn edges as a graph of the batch, with their attributes and numbers in the order of its rows."""

    @functools.wraps(theirs)
    def select(
        store: Any, out_store: Any, row: Tensor, col: Tensor, index: Tensor | None, perm: Tensor | None = None
    ) -> None:
        found = graph_of(store)
        if found is None:
            theirs(store, out_store, row, col, index, perm)
            return
        name, graph = found
        chosen = index if index is None or perm is None else perm[index]
        senders, receivers = out_store.size()
        sides, shape = ((row, col), (senders, receivers)) if name == "adj" else ((col, row), (receivers, senders))
        out_store[name], order = geometric_samples.part(name, graph, chosen, torch.stack(sides), shape)
        edges = None if chosen is None else chosen[order]
        for key in store.edge_attrs():
            if key == "edge_index":
                out_store[key] = torch.stack([row[order], col[order]])
            elif key != name:
                dim = store._parent().__cat_dim__(key, store[key], store)
                out_store[key] = None if edges is None else loading.index_select(store[key], edges, dim)
        out_store.e_id = edges

    return select


def _trimmed(theirs: Any) -> Any:
    """The rows of nodes that later layers compute, and as many empty ones as nodes that they only read."""

    @functools.wraps(theirs)
    def trim(edge_index: Any, layer: int, senders: list[int], receivers: list[int], edges: list[int]) -> Any:
        if not isinstance(edge_index, SparseTensor):
            return theirs(edge_index, layer, senders, receivers, edges)
        if layer <= 0:
            return edge_index
        rows, columns = edge_index.shape[0] - receivers[-layer], edge_index.shape[1] - senders[-layer]
        graph: Any = edge_index.to_format("csr")
        computed = rows - receivers[-(layer + 1)]
        start = graph.pos(1)[: rows + 1].clone()
        start[computed:] = start[computed]
        count = int(start[-1])
        values = None if graph._held is None else graph.values()[:count]
        return ls.from_csr(start, graph.crd(1)[:count].clone(), values, (rows, columns))

    return trim


def _made(theirs: Any) -> Any:
    """`NeighborSampler.__init__`, noting whether the graph is an ls.SparseTensor."""

    @functools.wraps(theirs)
    def make(self: Any, data: Any, *args: Any, **kwargs: Any) -> None:
        theirs(self, data, *args, **kwargs)
        self.of_sparse_tensors = any(graph_of(store) is not None for store in getattr(data, "edge_stores", ()))

    return make


def _sampled(theirs: Any) -> Any:
    """`NeighborSampler._sample`, which knows two libraries, and raises where neither is there."""

    @functools.wraps(theirs)
    def sample(self: Any, seed: Any, seed_time: Any = None, **kwargs: Any) -> Any:
        by_pyg_lib = pyg.WITH_PYG_LIB and self.subgraph_type != SubgraphType.induced
        if by_pyg_lib or (pyg.WITH_TORCH_SPARSE and not self.of_sparse_tensors):
            return theirs(self, seed, seed_time, **kwargs)
        return geometric_samples.sample(self, seed)

    return sample


def _of_lists(theirs: Any) -> Any:
    """The making of a loader whose samples are compiled code of other libraries, on edge lists."""

    @functools.wraps(theirs)
    def make(self: Any, data: Any, *args: Any, **kwargs: Any) -> None:
        found = graph_of(data)
        if found is not None and "edge_index" not in data:
            name, graph = found
            pairs = "[A.col, A.row]" if name == "adj_t" else "[A.row, A.col]"
            raise ls.UnsupportedError(
                f"{type(self).__name__}: {name} ({graph._facts()}) is a matrix; expected data with an edge_index, "
                f"torch.stack({pairs}), and torch_sparse or pyg-lib; NeighborLoader, LinkNeighborLoader, "
                "ShaDowKHopSampler and RandomNodeLoader take the matrix, and need neither"
            )
        theirs(self, data, *args, **kwargs)

    return make


def arrays(data: Any) -> tuple[Tensor, Tensor, Tensor | None]:
    """The graph of data by receivers: where their edges start, senders, and places of the edges where they differ."""
    return drawing.to_csc(data, device="cpu")  # type: ignore[no-any-return]


_PLACES = (
    (drawing, "to_csc", _arrays),
    (reading, "to_csc", _arrays),
    (loading, "index_select", _rows),
    (loading, "filter_node_store_", _nodes),
    (loading, "filter_edge_store_", _edges),
    (trimming, "trim_adj", _trimmed),
    (NeighborSampler, "__init__", _made),
    (NeighborSampler, "_sample", _sampled),
    (ClusterData, "__init__", _of_lists),
    (GraphSAINTSampler, "__init__", _of_lists),
)


def accept() -> dict[tuple[Any, str], Any]:
    """Puts the functions in their places; what was there."""
    before = {(place, name): getattr(place, name) for place, name, _ in _PLACES}
    for place, name, make in _PLACES:
        setattr(place, name, make(before[place, name]))
    return before
