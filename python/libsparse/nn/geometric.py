"""PyG's layers given an ls.SparseTensor: loaded when `torch_geometric.nn` is, and only then.

PyG knows three kinds of graphs: edge lists, torch's sparse tensors, and the class `SparseTensor` of torch_sparse, for
which it has a stand-in where torch_sparse is not installed. All of its layers ask for that class by `isinstance`, and
compute with its methods and with seven functions of `torch_sparse`: sums and products of `gcn_norm`, diagonals, and
`matmul` in `message_and_aggregate`. So a subclass of it, with these functions, is what PyG itself means by another kind
of sparse matrix. torch's sparse tensors would be the other way, but PyG takes those apart and makes new ones by
functions that no tensor is asked about, and RGCNConv and ChebConv refuse them.

What remains is to put the subclass in the place of an `ls.SparseTensor` at the call of a layer: `Module.__call__` is
shadowed in `MessagePassing`, `LightGCN` and `DirGNNConv`. Functions and transforms that take a graph outside of layers
are replaced by name. `forget` undoes all of it.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric import transforms, utils  # type: ignore[import-untyped, unused-ignore]
from torch_geometric import typing as pyg  # type: ignore[import-untyped, unused-ignore]
from torch_geometric.nn import DirGNNConv, LightGCN, MessagePassing  # type: ignore[import-untyped, unused-ignore]

import libsparse as ls
from libsparse._tensor.sparse_tensor import SparseTensor

from . import adjacency, geometric_batches, geometric_loaders
from .edges import Edges


class Adjacency(pyg.SparseTensor):
    """An ls.SparseTensor whose rows receive, with the methods of torch_sparse's class that PyG calls.

    Args:
        graph: In CSR.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    @property
    def storage(self) -> Adjacency:
        """What PyG asks for `value()` and `rowcount()`."""
        return self

    def value(self) -> Tensor | None:
        """The values, None where there are none."""
        return self.graph.values() if self.has_value() else None

    def rowcount(self) -> Tensor:
        """The number of entries of each row."""
        counts: Tensor = self.csr()[0].diff()
        return counts

    def has_value(self) -> bool:
        """Whether there are values."""
        return self.graph._held is not None

    def set_value(self, value: Tensor | None, layout: str | None = None) -> Adjacency:
        """The same entries with other values (nnz, ...), or none."""
        if value is not None and value.ndim > 1:
            return Adjacency(Edges(self.graph, None).tensor(value))
        return Adjacency(self.graph.with_values(value))

    def fill_value(self, fill_value: float, dtype: torch.dtype | None = None) -> Adjacency:
        """The same entries with one value."""
        return self.set_value(torch.full((self.nnz(),), fill_value, dtype=dtype, device="cpu"))

    def csr(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Positions, columns, values; in int64, since torch's reductions of segments are wrong with int32."""
        pattern = self.graph.pattern
        found: tuple[Tensor, ...] = pattern.derive(
            ("PyG's arrays",), lambda: (self.graph.pos(1).long(), *(c.clone() for c in self.graph.indices()))
        )
        return found[0], found[2], self.value()

    def coo(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Rows, columns, values."""
        self.csr()
        _, row, col = self.graph.pattern.derive(("PyG's arrays",), tuple)
        return row, col, self.value()

    def size(self, dim: int) -> int:
        """An extent."""
        return int(self.graph.shape[dim])

    def sizes(self) -> list[int]:
        """The extents."""
        return list(self.graph.shape)

    sparse_sizes = sizes

    def sparse_size(self, dim: int) -> int:
        """An extent."""
        return self.size(dim)

    def nnz(self) -> int:
        """The number of entries."""
        return int(self.graph.nnz)

    def t(self) -> Adjacency:
        """The transpose."""
        return Adjacency(self.graph.T.to_format("csr"))

    def is_cuda(self) -> bool:
        """False."""
        return False

    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    def dtype(self) -> torch.dtype:
        """Of the values."""
        return self.graph.dtype  # type: ignore[no-any-return]

    def requires_grad(self) -> bool:
        """True, so that `torch_geometric.utils.spmm` calls `torch_sparse.matmul`, and not torch with a copy."""
        return True

    def __matmul__(self, other: Tensor) -> Tensor:
        return _matmul(self, other)

    matmul = spmm = __matmul__


def _matmul(src: Adjacency, other: Tensor, reduce: str = "sum") -> Tensor:
    graph = adjacency.valued(src.graph, other.dtype) if src.has_value() else src.graph
    reduce = adjacency.reduction("torch_sparse.matmul", reduce)
    if other.ndim <= 2:
        product: Tensor = adjacency.aggregate(graph, other, reduce)
        return product
    batch = other.reshape(-1, *other.shape[-2:])  # a product for each of the leading dimensions, as in torch_sparse
    parts = [adjacency.aggregate(graph, each, reduce) for each in batch]
    return torch.stack(parts).reshape(*other.shape[:-2], -1, other.shape[-1])


def _sum(src: Adjacency, dim: int | None = None) -> Tensor:
    graph = src.graph if src.has_value() else src.graph.float()
    total: Tensor = graph.sum() if dim is None else graph.sum(dim)
    return total


def _mul(src: Adjacency, other: Tensor) -> Adjacency:
    return Adjacency(src.graph * other)


def _set_diag(src: Adjacency, values: Tensor | None = None, k: int = 0) -> Adjacency:
    if k != 0:
        raise ls.UnsupportedError(f"torch_sparse.set_diag: k is {k}; expected 0 for an ls.SparseTensor")
    if values is None and not src.has_value():
        return Adjacency(Edges.of(src.graph, True).graph)
    return Adjacency(src.graph.set_diag(1 if values is None else values).to_format("csr"))


def _fill_diag(src: Adjacency, fill_value: float, k: int = 0) -> Adjacency:
    """Self loops for `gcn_norm`: those that are stored keep their values, as those of edge lists do."""
    if k != 0:
        raise ls.UnsupportedError(f"torch_sparse.fill_diag: k is {k}; expected 0 for an ls.SparseTensor")
    return Adjacency(adjacency.with_loops(src.graph, fill_value))


def _masked_select_nnz(src: Adjacency, mask: Tensor, layout: str | None = None) -> Adjacency:
    values = src.value()
    some = None if values is None else values[mask]
    return Adjacency(ls.from_coo(src.graph.indices()[:, mask], some, tuple(src.graph.shape)))


_FUNCTIONS = {
    "matmul": _matmul,
    "sum": _sum,
    "mul": _mul,
    "set_diag": _set_diag,
    "fill_diag": _fill_diag,
    "masked_select_nnz": _masked_select_nnz,
}
_LAYERS = (MessagePassing, LightGCN, DirGNNConv)
"""The classes of layers; the last two are none of the first."""
_replaced: dict[str, Any] = {}
"""The functions of `torch_sparse` as they were."""
_elsewhere: dict[tuple[Any, str], Any] = {}
"""Those of PyG itself as they were, by module or class and name."""


def accept() -> None:
    """Makes PyG's layers take an ls.SparseTensor; does nothing the second time."""
    if _replaced:
        return
    for name, function in _FUNCTIONS.items():
        _replaced[name] = inspect.getattr_static(pyg.torch_sparse, name)
        setattr(pyg.torch_sparse, name, _either(function, getattr(pyg.torch_sparse, name)))
    for layer in _LAYERS:
        layer.__call__ = _call
    for place, name, make in _PLACES:
        _elsewhere[place, name] = getattr(place, name)
        setattr(place, name, make(_elsewhere[place, name]))
    _elsewhere.update(geometric_batches.accept())
    _elsewhere.update(geometric_loaders.accept())


def forget() -> None:
    """Undoes `accept`."""
    while _replaced:
        name, function = _replaced.popitem()
        setattr(pyg.torch_sparse, name, function)
    for layer in _LAYERS:
        if "__call__" in vars(layer):
            del layer.__call__
    while _elsewhere:
        (place, name), function = _elsewhere.popitem()
        setattr(place, name, function)


def _either(ours: Any, theirs: Any) -> Any:
    """Our function for our class, the other one for all else."""

    @functools.wraps(theirs)
    def choose(src: Any, *args: Any, **kwargs: Any) -> Any:
        return (ours if isinstance(src, Adjacency) else theirs)(src, *args, **kwargs)

    _scripted_as(choose, theirs)
    return staticmethod(choose) if inspect.isclass(pyg.torch_sparse) else choose


def _scripted_as(ours: Any, theirs: Any) -> None:
    """Has torch.jit.script compile PyG's own function, whose types are names of PyG's modules."""
    ours.__prepare_scriptable__ = lambda: theirs


def _translated(theirs: Any) -> Any:
    """A function of PyG that takes a graph first, for ls.SparseTensors, too."""
    name = theirs.__name__
    first = next(iter(inspect.signature(theirs).parameters))

    @functools.wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = args[0] if args else kwargs.get(first)
        if not isinstance(given, SparseTensor):
            return theirs(*args, **kwargs)
        graph = Adjacency(adjacency.rows_of_entries(name, _matrix(name, first, given)))
        return theirs(graph, *args[1:], **{key: value for key, value in kwargs.items() if key != first})

    _scripted_as(call, theirs)
    return call


def _transformed(theirs: Any) -> Any:
    """The forward function of a transform, which gets a copy of the data; `gcn_norm` itself has overloads to script."""

    @functools.wraps(theirs)
    def forward(self: Any, data: Any) -> Any:
        if not isinstance(data.get("adj_t"), SparseTensor):
            return theirs(self, data)
        name = type(self).__name__
        data.adj_t = Adjacency(adjacency.rows_of_entries(name, _matrix(name, "adj_t", data.adj_t)))
        data = theirs(self, data)
        data.adj_t = _outward(data.adj_t)
        return data

    return forward


_PLACES = (
    (utils, "spmm", _translated),
    (utils, "to_edge_index", _translated),
    (transforms.GCNNorm, "forward", _transformed),
    (transforms.FeaturePropagation, "forward", _transformed),
)
"""Functions that take a graph outside of layers."""


def _matrix(name: str, argument: str, A: Any) -> Any:
    """A graph whose entries are its edges."""
    if A.ndim != 2 or A.fill_value != 0:
        raise ls.ShapeError(f"{name}: {argument} ({A._facts()}); expected a matrix, and 0 where nothing is stored")
    return A


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The call of a layer, with its graph as PyG knows it."""
    if not any(isinstance(value, SparseTensor) for value in (*args, *kwargs.values())):
        return nn.Module.__call__(self, *args, **kwargs)
    kind: Any = type(self)
    bound = _signature(kind).bind(self, *args, **kwargs)
    given = bound.arguments
    graph = next((name for name in ("edge_index", "adj_t", "adj") if isinstance(given.get(name), SparseTensor)), None)
    if graph is not None:
        given.update(_understood(self, graph, given))
    return _outward(nn.Module.__call__(self, *bound.args[1:], **bound.kwargs))


@functools.cache
def _signature(layer: Any) -> inspect.Signature:
    return inspect.signature(layer.forward)


def _understood(layer: Any, graph: str, given: dict[str, Any]) -> dict[str, Any]:
    """The graph, and what comes with it, as a layer takes them.

    That is an edge list for layers that know no other kind, and where edges have attributes, to which PyG can't add
    self loops in another kind.
    """
    kind: Any = type(layer)
    name, known = kind.__name__, _signature(kind).parameters
    A = adjacency.rows_of_entries(name, _matrix(name, graph, given[graph]))
    for attribute in ("edge_weight", "edge_type", "edge_attr"):
        if isinstance(given.get(attribute), Tensor) and given[attribute].shape[:1] != (A.nnz,):
            raise ls.ShapeError(
                f"{name}: {attribute} has shape {tuple(given[attribute].shape)}; expected one for each of the {A.nnz} "
                f"entries of {graph}, in the order of its CSR form"
            )
    if known[graph].annotation is Tensor or getattr(layer, "edge_dim", None) is not None:
        return {graph: torch.stack([A.col, A.row]), **_described(A, known, given)}
    if isinstance(given.get("edge_weight"), Tensor):
        return {graph: Adjacency(A.with_values(given["edge_weight"])), "edge_weight": None}
    if "edge_type" in known and getattr(layer, "num_relations", 2) > 1:
        relations = given.get("edge_type")
        relations = A.values() if relations is None else relations
        if relations.is_floating_point() or relations.dtype is torch.bool:
            raise ls.DtypeError(
                f"{name}: {graph} ({A._facts()}) has values of {relations.dtype}; expected the numbers of relations as "
                "integers there, or in edge_type"
            )
        return {graph: Adjacency(A.with_values(relations.long())), "edge_type": None}
    if "edge_weight" not in known and not isinstance(layer, LightGCN):
        A = A.with_values(None)
    return {graph: Adjacency(A)}


def _described(A: Any, known: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The values of a graph under the name that a layer has for them, unless it was given others."""
    name = next((name for name in ("edge_weight", "edge_attr") if name in known), None)
    if name is None or given.get(name) is not None or A._held is None:
        return {}
    return {name: A.values().view(-1, 1) if name == "edge_attr" else A.values()}


def _outward(result: Any) -> Any:
    """What a layer returns, with ls.SparseTensors again."""
    if isinstance(result, Adjacency):
        return result.graph
    return tuple(_outward(part) for part in result) if type(result) is tuple else result
