"""PyG's own layers given an ls.SparseTensor: the results and gradients that they have with edge lists."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import libsparse as ls

gnn = pytest.importorskip("torch_geometric.nn")
from torch_geometric import transforms, utils  # type: ignore[import-untyped]  # noqa: E402
from torch_geometric.data import Data  # type: ignore[import-untyped]  # noqa: E402

drawn = torch.Generator().manual_seed(0)
NODES, WIDTH = 20, 6
A = ls.random((NODES, NODES), 0.15, generator=drawn).map(torch.abs) + ls.diag(torch.arange(NODES) % 3 == 0).float()
PAIRS, WEIGHTS = torch.stack([A.col, A.row]), A.values()
X = torch.randn(NODES, WIDTH, generator=drawn)

WEIGHTED = {
    "GCN": lambda: gnn.GCNConv(WIDTH, 3),
    "GCN, cached": lambda: gnn.GCNConv(WIDTH, 3, cached=True),
    "Cheb": lambda: gnn.ChebConv(WIDTH, 3, K=3),
    "LG": lambda: gnn.LGConv(),
    "APPNP": lambda: gnn.APPNP(3, 0.1),
    "SG": lambda: gnn.SGConv(WIDTH, 3, K=2),
    "TAG": lambda: gnn.TAGConv(WIDTH, 3),
    "Graph, mean": lambda: gnn.GraphConv(WIDTH, 3, aggr="mean"),
    "ARMA, a batch": lambda: gnn.ARMAConv(WIDTH, 3, num_stacks=2),
    "GAT with attributes": lambda: gnn.GATConv(WIDTH, 3, edge_dim=1),
    "GATv2 with attributes": lambda: gnn.GATv2Conv(WIDTH, 3, edge_dim=1),
    "a model": lambda: gnn.GCN(WIDTH, 8, 2, 3),
}
PLAIN = {
    "SAGE": lambda: gnn.SAGEConv(WIDTH, 3),
    "SAGE, max": lambda: gnn.SAGEConv(WIDTH, 3, aggr="max"),
    "SAGE, median": lambda: gnn.SAGEConv(WIDTH, 3, aggr="median"),
    "GIN": lambda: gnn.GINConv(nn.Linear(WIDTH, 3)),
    "GAT": lambda: gnn.GATConv(WIDTH, 3, heads=2),
    "GATv2": lambda: gnn.GATv2Conv(WIDTH, 3, heads=2),
    "Transformer": lambda: gnn.TransformerConv(WIDTH, 3),
    "FiLM": lambda: gnn.FiLMConv(WIDTH, 3),
    "a model": lambda: gnn.GraphSAGE(WIDTH, 8, 2, 3),
}


def results(layer: nn.Module, *graph: Any, **options: Any) -> list[Any]:
    """The result, and the gradients of features and parameters."""
    layer.zero_grad()
    x = X.clone().requires_grad_()
    out = layer(x, *graph, **options)
    (out * torch.arange(1.0, out.shape[1] + 1)).square().sum().backward()
    return [out, x.grad, {name: p.grad.clone() for name, p in layer.named_parameters() if p.grad is not None}]


def alike(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", WEIGHTED)
def test_layers_with_weights(name: str) -> None:
    layer = WEIGHTED[name]()
    extra = {"edge_weight": WEIGHTS} if name == "a model" else {}
    given = WEIGHTS[:, None] if "attributes" in name else WEIGHTS
    expected = results(copy.deepcopy(layer), PAIRS, *([] if extra else [given]), **extra)
    alike(results(layer, A), expected)
    if name != "a model":
        alike(results(copy.deepcopy(layer), edge_index=A.to_format("coo")), expected)


@pytest.mark.parametrize("name", PLAIN)
def test_layers_without_weights(name: str) -> None:
    layer = PLAIN[name]()
    alike(results(layer, A.T.to_format("csr").T), results(layer, PAIRS))


@pytest.mark.parametrize("options", [{}, {"num_bases": 2}, {"num_blocks": 2}, {"aggr": "max"}], ids=str)
def test_relations(options: dict[str, Any]) -> None:
    kind = torch.arange(A.nnz) % 3
    layer = gnn.RGCNConv(WIDTH, 4, 3, **options)
    expected = results(layer, PAIRS, kind)
    alike(results(layer, A.with_values(kind)), expected)
    alike(results(layer, A, kind), expected)
    with pytest.raises(ls.DtypeError, match="numbers of relations"):
        layer(X, A)


def test_light_gcn() -> None:
    model = gnn.LightGCN(NODES, 4, 2)
    alike(model(A), model(PAIRS, edge_weight=WEIGHTS))
    alike(model(A, PAIRS[:, :5]), model(PAIRS, PAIRS[:, :5], WEIGHTS))
    alike(model.predict_link(A, prob=True), model.predict_link(PAIRS, edge_weight=WEIGHTS, prob=True))
    assert torch.equal(model.recommend(A, k=3), model.recommend(PAIRS, WEIGHTS, k=3))


def test_two_kinds_of_nodes_as_in_batches_of_a_loader() -> None:
    seeds, senders = X[:5], X
    batch = A[:5]
    pairs = torch.stack([batch.col, batch.row])
    for layer in (gnn.SAGEConv(WIDTH, 3), gnn.GATConv((WIDTH, WIDTH), 3, add_self_loops=False)):
        alike(layer((senders, seeds), batch), layer((senders, seeds), pairs))
    data = Data(x=X, adj_t=A)
    assert gnn.GCNConv(WIDTH, 3)(data.x, data.adj_t).shape == (NODES, 3)


def test_the_product_runs_on_libsparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is where PyG fuses messages and their sum, and no message is ever made."""
    from libsparse.nn import adjacency

    seen: list[str] = []
    aggregate = adjacency.aggregate
    monkeypatch.setattr(adjacency, "aggregate", lambda A, x, reduce: seen.append(reduce) or aggregate(A, x, reduce))
    layer = gnn.GCNConv(WIDTH, 3)
    monkeypatch.setattr(gnn.GCNConv, "message", None)
    layer(X, A)
    gnn.SAGEConv(WIDTH, 3, aggr="max")(X, A)
    assert seen == ["sum", "max"]


def test_weights_of_attention_and_gradients_of_the_graph() -> None:
    layer = gnn.GATConv(WIDTH, 3, heads=2)
    _, weights = layer(X, A, return_attention_weights=True)
    _, (pairs, expected) = layer(X, PAIRS, return_attention_weights=True)
    assert type(weights) is ls.SparseTensor
    alike(weights.to_dense()[pairs[1], pairs[0]], expected)
    found = []
    for graph in (lambda v: (A.with_values(v),), lambda v: (PAIRS, v)):
        values = WEIGHTS.clone().requires_grad_()
        gnn.LGConv()(X, *graph(values)).square().sum().backward()
        found.append(values.grad)
    alike(*found)


class Own(gnn.MessagePassing):  # type: ignore[misc, name-defined]
    """A user's layer with a fused product of its own."""

    def forward(self, x: Tensor, adj_t: Any) -> Tensor:
        out: Tensor = self.propagate(adj_t, x=x)
        return out

    def message_and_aggregate(self, adj_t: Any, x: Tensor) -> Tensor:
        return adj_t.matmul(x)  # type: ignore[no-any-return]


def test_layers_of_users_and_saved_ones() -> None:
    alike(Own()(X, A), A.with_values(None) @ X)
    layer = gnn.GCNConv(WIDTH, 3, cached=True)
    expected = layer(X, A)
    alike(pickle.loads(pickle.dumps(layer))(X, A), expected)


@pytest.mark.parametrize("reduce", ["sum", "mean", "min", "max"])
def test_products_and_edges_outside_of_layers(reduce: str) -> None:
    csr = A.to_torch()
    alike(utils.spmm(A, X, reduce), utils.spmm(csr, X, reduce))
    alike(utils.spmm(src=A.to_format("csc"), other=X, reduce=reduce), utils.spmm(csr, X, reduce))
    for found, expected in zip(utils.to_edge_index(A), utils.to_edge_index(csr), strict=True):
        alike(found, expected)
    with pytest.raises(ls.ShapeError, match="spmm: src"):
        utils.spmm(A + 1, X)


def test_transforms() -> None:
    data = Data(x=X, adj_t=A)
    by_edges = Data(x=X, edge_index=PAIRS, edge_weight=WEIGHTS)
    found = transforms.GCNNorm()(data).adj_t
    normal = transforms.GCNNorm()(by_edges)
    alike(found.to_dense(), utils.to_dense_adj(normal.edge_index, None, normal.edge_weight)[0].T)
    assert data.adj_t is A
    missing = torch.rand(X.shape) < 0.5
    found = transforms.FeaturePropagation(missing)(data)
    alike(found.x, transforms.FeaturePropagation(missing)(by_edges).x)
    assert type(found.adj_t) is ls.SparseTensor


def test_what_does_not_fit() -> None:
    layer = gnn.SAGEConv(WIDTH, 3)
    with pytest.raises(ls.FormatError, match="stores blocks"):
        layer(X, A.to_format("bsr(2,2)"))
    with pytest.raises(ls.ShapeError, match="0 where nothing is stored"):
        layer(X, A + 1)
    with pytest.raises(ls.ShapeError, match="edge_weight has shape"):
        gnn.GCNConv(WIDTH, 3)(X, A, WEIGHTS[:3])


@pytest.mark.parametrize("first", ["libsparse", "torch_geometric.nn"])
def test_either_may_be_imported_first(first: str) -> None:
    second = "libsparse" if first != "libsparse" else "torch_geometric.nn"
    code = (
        f"import json, sys, torch, {first}; before = 'libsparse.nn' in sys.modules; import {second};"
        "import libsparse as ls, torch_geometric.nn as gnn; watches = [type(f).__name__ for f in sys.meta_path];"
        "out = gnn.SAGEConv(2, 3)(torch.ones(4, 2), ls.eye(4)); geometric = sys.modules['libsparse.nn.geometric'];"
        "geometric.forget(); own = torch.nn.Module.__call__ is gnn.MessagePassing.__call__;"
        "print(json.dumps([before, '_Watch' in watches, list(out.shape), own]))"
    )
    found = subprocess.check_output([sys.executable, "-W", "ignore", "-c", code], text=True)
    assert json.loads(found) == [False, False, [4, 3], True]


@pytest.mark.parametrize("name", ["adj", "adj_t"])
def test_what_data_says_of_its_graph(name: str) -> None:
    """The same as of an edge list."""
    one_way = ls.from_coo([[0, 1], [1, 2]], torch.ones(2), (4, 4))
    for graph in (one_way, one_way + one_way.T, A, A.with_values(None), ls.eye(4)):
        pairs = torch.stack([graph.row, graph.col] if name == "adj" else [graph.col, graph.row])
        listed = Data(edge_index=pairs, edge_attr=graph.values(), num_nodes=len(graph))
        data = Data(**{name: graph}, num_nodes=len(graph))
        for ask in ("is_undirected", "is_directed", "has_self_loops", "has_isolated_nodes"):
            assert getattr(data, ask)() == getattr(listed, ask)(), ask
        assert torch.equal(data._store.edge_index, pairs)
    data._store.edge_index = pairs[:, :1]
    assert data.edge_index.shape == (2, 1)


def test_batches_of_graphs() -> None:
    """Matrices of several graphs stand along the diagonal of one, features below each other, and come apart again."""
    from torch_geometric.data import Batch
    from torch_geometric.loader import DataLoader

    graphs = []
    for seed, nodes in enumerate((5, 7, 4)):
        torch.manual_seed(seed)
        edges = (torch.rand(nodes, nodes) < 0.4).nonzero().T
        A = ls.from_edge_index(edges.flip(0), torch.rand(edges.shape[1]), num_nodes=nodes)
        features = ls.tensor(torch.rand(nodes, 6) * (torch.rand(nodes, 6) < 0.5), format="csr")
        graphs.append(Data(x=features, adj_t=A))
        assert graphs[-1].num_edges == A.nnz
    batch = Batch.from_data_list(graphs)
    assert torch.equal(batch.adj_t.to_dense(), torch.block_diag(*[g.adj_t.to_dense() for g in graphs]))
    assert torch.equal(batch.x.to_dense(), torch.cat([g.x.to_dense() for g in graphs]))
    for graph, again in zip(graphs, batch.to_data_list(), strict=True):
        assert torch.equal(graph.adj_t.to_dense(), again.adj_t.to_dense())
        assert torch.equal(graph.x.to_dense(), again.x.to_dense())
    layer = gnn.GCNConv(6, 3)
    together = torch.cat([layer(g.x.to_dense(), g.adj_t) for g in graphs])
    for loaded in DataLoader(graphs, batch_size=3):
        torch.testing.assert_close(layer(loaded.x.to_dense(), loaded.adj_t), together)


@pytest.mark.parametrize("name", ["adj", "adj_t"])
def test_subgraphs_of_some_nodes(name: str) -> None:
    """As of the edge list; PyG leaves a matrix whole."""
    from torch_geometric.loader import RandomNodeLoader

    numbers = torch.arange(A.nnz)[:, None]
    data = Data(x=X, edge_attr=numbers, **{name: A.to_format("coo")})
    listed = Data(x=X, edge_attr=numbers, edge_index=torch.stack([A.row, A.col]).long())
    for nodes in (torch.tensor([7, 2, 11, 3]), torch.arange(NODES) % 2 == 0):
        part, expected = data.subgraph(nodes), listed.subgraph(nodes)
        assert torch.equal(part.x, expected.x)
        order = expected.edge_index[0].mul(NODES).add(expected.edge_index[1]).argsort()
        found = torch.stack([part[name].row, part[name].col])
        assert torch.equal(found, expected.edge_index[:, order])
        assert torch.equal(part.edge_attr, expected.edge_attr[order])
        assert torch.equal(part[name].values(), A.values()[part.edge_attr[:, 0]])
    assert data[name].shape == (NODES, NODES)
    assert all(part[name].shape == (10, 10) for part in RandomNodeLoader(data, 2))
