"""PyG's layers given an ls.SparseTensor: loaded when `torch_geometric.nn` is, and only then.

PyG knows three kinds of graphs: edge lists, torch's sparse tensors, and the class `SparseTensor` of torch_sparse, for
which it has a stand-in where torch_sparse is not installed. All of its layers ask for that class by `isinstance`, and
compute with its methods and with seven functions of `torch_sparse`: sums and products of `gcn_norm`, diagonals, and
`matmul` in `message_and_aggregate`. So a subclass of it, with these functions, is what PyG itself means by another kind
of sparse matrix. torch's sparse tensors would be the other way, but PyG takes those apart and makes new ones by
functions that no tensor is asked about, and RGCNConv and ChebConv refuse them.

What remains is to put the subclass in the place of an `ls.SparseTensor` at the call of a layer: `Module.__call__` is
shadowed in `MessagePassing` and in the layers that are none of it, such as poolings. Functions and transforms that
take a graph outside of layers are replaced by name, those of edge lists to refuse it, and so is the product within
layers. `forget` undoes all of it.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric import nn as gnn  # type: ignore[import-untyped, unused-ignore]
from torch_geometric import transforms, utils  # type: ignore[import-untyped, unused-ignore]
from torch_geometric import typing as pyg  # type: ignore[import-untyped, unused-ignore]
from torch_geometric.nn import LightGCN, MessagePassing  # type: ignore[import-untyped, unused-ignore]

import libsparse as ls
from libsparse._tensor.sparse_tensor import SparseTensor

from . import adjacency, geometric_batches, geometric_loaders, geometric_shadow
from .geometric_adjacency import FUNCTIONS, Adjacency

_LISTS: tuple[Any, ...] = (Tensor, Tensor | None)
"""How PyG annotates graphs that have to be edge lists."""


@functools.cache
def _signature(layer: Any) -> inspect.Signature:
    return inspect.signature(layer.forward)


def _is_graph(name: str) -> bool:
    """Whether PyG gives an argument of a layer this name where it is a graph."""
    return name.endswith("edge_index") or name in ("adj_t", "adj")


def _takes_lists(layer: Any) -> bool:
    """Whether a class is a layer that takes edge lists alone, and no `MessagePassing`."""
    if not (inspect.isclass(layer) and issubclass(layer, nn.Module)) or issubclass(layer, MessagePassing):
        return False
    kind: Any = layer
    parameters = _signature(kind).parameters.values()
    return any(given.name.endswith("edge_index") and given.annotation in _LISTS for given in parameters)


_LAYERS = (MessagePassing, LightGCN, gnn.WLConv, *filter(_takes_lists, vars(gnn).values()))
"""The classes of layers; the others are none of the first."""
_OF_ATTRIBUTES = (gnn.GINEConv, gnn.GMMConv, gnn.NNConv, gnn.SplineConv)
"""Those that have to be given attributes of edges."""
_replaced: dict[str, Any] = {}
"""The functions of `torch_sparse` as they were."""
_elsewhere: dict[tuple[Any, str], Any] = {}
"""Those of PyG itself as they were, by module or class and name."""


def accept() -> None:
    """Makes PyG's layers take an ls.SparseTensor; does nothing the second time."""
    if _replaced:
        return
    for name, function in FUNCTIONS.items():
        _replaced[name] = inspect.getattr_static(pyg.torch_sparse, name)
        setattr(pyg.torch_sparse, name, _either(function, getattr(pyg.torch_sparse, name)))
    for layer in _LAYERS:
        layer.__call__ = _call
    for place, name, make in _PLACES:
        _elsewhere[place, name] = getattr(place, name)
        setattr(place, name, make(_elsewhere[place, name]))
    _elsewhere.update(geometric_batches.accept())
    _elsewhere.update(geometric_loaders.accept())
    _elsewhere.update(geometric_shadow.accept())


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
    overloads = torch.jit._script._get_overloads(theirs)  # torch_sparse's, for which torch asks before it prepares
    if overloads is not None:
        torch.jit._state._set_jit_overload_cache(choose, overloads)
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


def _multiplied(theirs: Any) -> Any:
    """PyG's `spmm`, which cuts the gradients of a graph without entries, and takes no batch of features for one."""

    @functools.wraps(theirs)
    def spmm(src: Any, other: Tensor, reduce: str = "sum") -> Any:
        if isinstance(src, SparseTensor):
            src = Adjacency(adjacency.rows_of_entries("spmm", _matrix("spmm", "src", src)))
        multiply: Any = FUNCTIONS["matmul"] if isinstance(src, Adjacency) else theirs
        return multiply(src, other, reduce)

    _scripted_as(spmm, theirs)
    return spmm


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


def _refusing(theirs: Any) -> Any:
    """A function of PyG that takes an edge list first, and would take a matrix for one."""
    name = theirs.__name__

    @functools.wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = args[0] if args else kwargs.get("edge_index")
        if isinstance(given, SparseTensor):
            raise ls.UnsupportedError(
                f"{name}: edge_index ({given._facts()}) is a matrix; expected an edge list: torch.stack([A.col, A.row])"
                ", where rows of A receive"
            )
        return theirs(*args, **kwargs)

    _scripted_as(call, theirs)
    return call


def _takes_a_list_first(function: Any) -> bool:
    """Whether this is a function of PyG whose first argument is an edge list."""
    return inspect.isfunction(function) and next(iter(inspect.signature(function).parameters), "") == "edge_index"


_LISTED = [(utils, name, _refusing) for name, function in vars(utils).items() if _takes_a_list_first(function)]
_PRODUCTS = [
    (module, "spmm", _multiplied)
    for name, module in tuple(sys.modules.items())
    if name.startswith("torch_geometric.nn.") and getattr(module, "spmm", None) is utils.spmm
]
_PLACES = (
    *_LISTED,
    *_PRODUCTS,
    (utils, "spmm", _multiplied),
    (utils, "to_edge_index", _translated),
    (transforms.GCNNorm, "forward", _transformed),
    (transforms.FeaturePropagation, "forward", _transformed),
)
"""Functions that take a graph outside of layers, and the product, in each module that has its name."""


def _matrix(name: str, argument: str, A: Any) -> Any:
    """A graph whose entries are its edges."""
    if A.ndim != 2 or A.fill_value != 0:
        raise ls.ShapeError(f"{name}: {argument} ({A._facts()}); expected a matrix, and 0 where nothing is stored")
    return A


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The call of a layer, with its graphs as PyG knows them."""
    if not any(isinstance(value, (SparseTensor, dict)) for value in (*args, *kwargs.values())):
        return nn.Module.__call__(self, *args, **kwargs)
    kind: Any = type(self)
    bound = _signature(kind).bind(self, *args, **kwargs)
    given = bound.arguments
    for name, value in tuple(given.items()):
        if _is_graph(name) and isinstance(value, SparseTensor):
            given.update(_understood(self, name, given))
        elif name == "edge_index_dict" and isinstance(value, dict):
            given[name] = {key: _listed(kind.__name__, f"{name}[{key}]", graph) for key, graph in value.items()}
    return _outward(nn.Module.__call__(self, *bound.args[1:], **bound.kwargs))


def _listed(layer: str, name: str, graph: Any) -> Any:
    """The edge list of a matrix; other graphs as they are."""
    if not isinstance(graph, SparseTensor):
        return graph
    A = adjacency.rows_of_entries(layer, _matrix(layer, name, graph))
    return torch.stack([A.col, A.row])


def _understood(layer: Any, graph: str, given: dict[str, Any]) -> dict[str, Any]:
    """The graph, and what comes with it, as a layer takes them.

    That is an edge list for layers that know no other kind, as those of users that sum up no messages by themselves,
    where edges have attributes, which are columns, and to which PyG can't add self loops in another kind, and where
    loops are added to those that are stored, which PyG replaces in another kind.
    """
    kind: Any = type(layer)
    name, known = kind.__name__, _signature(kind).parameters
    A = adjacency.rows_of_entries(name, _matrix(name, graph, given[graph]))
    if graph == "hyperedge_index":
        raise ls.UnsupportedError(
            f"{name}: {graph} ({A._facts()}) is a matrix; expected pairs of nodes and hyperedges: "
            "torch.stack([A.row, A.col]), where nodes are its rows"
        )
    for attribute in ("edge_weight", "edge_type", "edge_attr"):
        if isinstance(given.get(attribute), Tensor) and given[attribute].shape[:1] != (A.nnz,):
            raise ls.ShapeError(
                f"{name}: {attribute} has shape {tuple(given[attribute].shape)}; expected one for each of the {A.nnz} "
                f"entries of {graph}, in the order of its CSR form"
            )
    # PyG annotates its own layers, and its tutorials write those of users for edge lists.
    written = known[graph].annotation is inspect.Parameter.empty and not getattr(layer, "fuse", True)
    replaced = getattr(layer, "combine_root", None) == "self_loop"
    if known[graph].annotation in _LISTS or _has_attributes(layer) or replaced or written:
        return {graph: torch.stack([A.col, A.row]), **_described(A, known, given)}
    if isinstance(given.get("edge_weight"), Tensor):
        return {graph: Adjacency(A.with_values(given["edge_weight"])), "edge_weight": None}
    if "edge_type" in known and getattr(layer, "num_relations", 2) > 1:
        return _related(layer, graph, A, given)
    if "edge_weight" not in known and not isinstance(layer, LightGCN):
        A = A.with_values(None)
    return {graph: Adjacency(A)}


def _has_attributes(layer: Any) -> bool:
    """Whether edges have attributes for a layer, which are the values of a graph where it is given no others."""
    if any(getattr(layer, name, None) is not None for name in ("edge_dim", "lin_edge")):
        return True
    return isinstance(layer, _OF_ATTRIBUTES) or (isinstance(layer, gnn.CGConv) and layer.dim > 0)


def _related(layer: Any, graph: str, A: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The graph of a layer with relations, whose numbers RGCNConv reads from the values of a matrix."""
    relations = given.get("edge_type")
    relations = A.values() if relations is None else relations
    if relations.is_floating_point() or relations.dtype is torch.bool:
        raise ls.DtypeError(
            f"{type(layer).__name__}: {graph} ({A._facts()}) has values of {relations.dtype}; expected the numbers of "
            "relations as integers there, or in edge_type"
        )
    if isinstance(layer, gnn.RGCNConv):
        return {graph: Adjacency(A.with_values(relations.long())), "edge_type": None}
    return {graph: torch.stack([A.col, A.row]), "edge_type": relations.long()}


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
