"""PyG's batches of graphs whose matrices are ls.SparseTensors: loaded with `torch_geometric.nn`, as `geometric` is.

PyG puts matrices under names with `adj` along the diagonal of one, which it does for torch's sparse tensors and for
torch_sparse's; others it would put below each other, as features. Its modules ask three functions which of them a value
is, by names that they have imported, and these names are replaced. So is what data says of its graph, such as
`data.is_undirected()`, and the subgraph of some nodes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import collate, data, separate, storage  # type: ignore[import-untyped, unused-ignore]

from libsparse._tensor.sparse_tensor import SparseTensor


def _asked(theirs: Any) -> Any:
    """A function of PyG that asks whether a value is sparse; an ls.SparseTensor is."""

    @functools.wraps(theirs)
    def ask(value: Any) -> bool:
        return isinstance(value, SparseTensor) or theirs(value)

    return ask


def _joined(theirs: Any) -> Any:
    """PyG's `cat`, which knows a pair of dimensions as the diagonal."""

    @functools.wraps(theirs)
    def join(tensors: Sequence[Any], dim: int | tuple[int, int]) -> Any:
        if not isinstance(tensors[0], SparseTensor):
            return theirs(tensors, dim)
        return torch.cat(tuple(tensors), dim) if isinstance(dim, int) else torch.block_diag(*tensors)

    return join


def _separated(theirs: Any) -> Any:
    """PyG's way to take one graph's part out of a batch."""

    @functools.wraps(theirs)
    def take(key: str, values: Any, idx: int, slices: Any, incs: Any, batch: Any, store: Any, decrement: bool) -> Any:
        if not isinstance(values, SparseTensor) or not decrement:
            return theirs(key, values, idx, slices, incs, batch, store, decrement)
        dims = batch.__cat_dim__(str(key), values, store)
        for n, dim in enumerate((dims,) if isinstance(dims, int) else dims):
            start, end = int(slices[idx][n]), int(slices[idx + 1][n])
            values = values.narrow(dim, start, end - start)
        return values

    return take


def _listed(theirs: Any) -> Any:
    """The property `edge_index` of a part of PyG's data, in which a matrix is the list of its entries."""

    def read(self: Any) -> Any:
        graph = None if "edge_index" in self else _graph(self)
        if graph is None:
            return theirs.fget(self)
        name, A = graph
        return torch.stack([A.col, A.row] if name == "adj_t" else [A.row, A.col])

    return property(read, theirs.fset, theirs.fdel, theirs.__doc__)


def _symmetric(theirs: Any) -> Any:
    """PyG's `is_undirected`, which asks matrices themselves."""

    @functools.wraps(theirs)
    def ask(self: Any) -> bool:
        graph = _graph(self)
        return theirs(self) if graph is None or self.is_bipartite() else bool(torch.equal(graph[1], graph[1].T))

    return ask


def _induced(theirs: Any) -> Any:
    """The subgraph of some nodes, in which PyG leaves matrices and attributes of their entries as they are."""

    @functools.wraps(theirs)
    def subgraph(self: Any, subset: Tensor) -> Any:
        graph = None if "edge_index" in self else _graph(self._store)
        part = theirs(self, subset)
        if graph is None:
            return part
        name, A = graph
        rows = A.to_format("csr")
        numbers = rows.with_values(torch.arange(rows.nnz, device="cpu"))[subset][:, subset].to_format("csr")
        edges = numbers.values()
        part[name] = numbers.with_values(None if rows._held is None else rows.values().index_select(0, edges))
        for key, value in self:
            if self.is_edge_attr(key) and isinstance(value, Tensor) and key != name:
                part[key] = value.index_select(self.__cat_dim__(key, value), edges)
        return part

    return subgraph


def _graph(store: Any) -> tuple[str, Any] | None:
    """The matrix of a part of PyG's data and its name, where it is an ls.SparseTensor."""
    found = ((name, store[name]) for name in ("adj", "adj_t") if name in store)
    return next(((name, graph) for name, graph in found if isinstance(graph, SparseTensor)), None)


_PLACES = (
    (storage.EdgeStorage, "edge_index", _listed),
    (storage.EdgeStorage, "is_undirected", _symmetric),
    (data, "is_sparse", _asked),
    (data.Data, "subgraph", _induced),
    (collate, "is_sparse", _asked),
    (collate, "is_torch_sparse_tensor", _asked),
    (storage, "is_torch_sparse_tensor", _asked),
    (collate, "cat", _joined),
    (separate, "_separate", _separated),
)


def accept() -> dict[tuple[Any, str], Any]:
    """Puts the functions in their places; what was there."""
    before = {(module, name): getattr(module, name) for module, name, _ in _PLACES}
    for module, name, make in _PLACES:
        setattr(module, name, make(before[module, name]))
    return before
