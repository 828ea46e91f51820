"""Graph layers beside PyG's, with PyG's parameters: results, gradients, state dicts, training."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import libsparse as ls

gnn = pytest.importorskip("torch_geometric.nn")

drawn = torch.Generator().manual_seed(0)
NODES, SENDERS, WIDTH = 20, 14, 6
A = ls.random((NODES, NODES), 0.15, generator=drawn).map(torch.abs) + ls.diag(torch.arange(NODES) % 3 == 0).float()
B = ls.random((NODES, SENDERS), 0.2, generator=drawn)  # some rows are empty
X, XB = torch.randn(NODES, WIDTH, generator=drawn), torch.randn(SENDERS, 4, generator=drawn)
LABELS = torch.randint(3, (NODES,), generator=drawn)


def edge_index(A: Any) -> Tensor:
    return torch.stack([A.col, A.row])


def both(ours: nn.Module, theirs: nn.Module, mine: tuple[Any, ...], other: tuple[Any, ...], x: list[Tensor]) -> None:
    """The two have the same results and the same gradients of `x` and of parameters; each takes `x` first."""
    assert set(ours.state_dict()) == set(theirs.state_dict())
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    ours.load_state_dict(theirs.state_dict())
    found = []
    for module, rest in ((ours, mine), (theirs, other)):
        leaves = [each.clone().requires_grad_() for each in x]
        given = tuple(leaves) if len(leaves) > 1 else leaves[0] if leaves else None
        out = module(given, *rest)
        (out * torch.arange(1.0, out.shape[1] + 1)).square().sum().backward()
        named = {name: p.grad for name, p in module.named_parameters()}
        found.append(({"result": out, **{f"x{n}": leaf.grad for n, leaf in enumerate(leaves)}}, named))
    torch.testing.assert_close(found[0], found[1], atol=1e-4, rtol=1e-4)


OF_ONE = [
    *[("GCNConv", {"out_channels": width, **o}, True) for width in (3, 20) for o in ({}, {"improved": True})],
    ("GCNConv", {"out_channels": 3, "normalize": False, "bias": False}, True),
    ("GCNConv", {"out_channels": 3, "aggr": "max", "cached": True}, True),
    *[("SAGEConv", {"out_channels": width, "aggr": aggr}, False) for width in (3, 20) for aggr in ("mean", "max")],
    ("SAGEConv", {"out_channels": 3, "aggr": "add", "project": True, "normalize": True}, False),
    ("GATConv", {"out_channels": 3, "heads": 2}, False),
    ("GATConv", {"out_channels": 3, "heads": 2, "concat": False, "add_self_loops": False, "residual": True}, False),
    ("GATv2Conv", {"out_channels": 3, "heads": 2}, False),
    ("GATv2Conv", {"out_channels": 3, "share_weights": True, "concat": False, "residual": True}, False),
]


@pytest.mark.parametrize(("name", "options", "weighted"), OF_ONE, ids=lambda v: str(v))
def test_one_kind_of_nodes(name: str, options: dict[str, Any], weighted: bool) -> None:
    made = [getattr(place, name)(WIDTH, **options) for place in (ls.nn, gnn)]
    both(*made, (A,), (edge_index(A), A.values()) if weighted else (edge_index(A),), [X])


BATCHED = [
    ("GCNConv", (WIDTH, 3), {}),
    *[("SAGEConv", (WIDTH, 3), {"aggr": aggr}) for aggr in ("mean", "max")],
    ("GINConv", (nn.Linear(WIDTH, 3),), {}),
    ("APPNP", (3, 0.1), {}),
]


@pytest.mark.parametrize(("name", "sizes", "options"), BATCHED, ids=str)
def test_batches_of_features(name: str, sizes: Any, options: dict[str, Any]) -> None:
    x = torch.stack([X, 2 * X, X.flip(0)])
    made = [getattr(place, name)(*sizes, **options) for place in (ls.nn, gnn)]
    made[0].load_state_dict(made[1].state_dict())
    leaves = [x.clone().requires_grad_() for _ in made]
    out = [
        layer(leaf, graph)
        for layer, leaf, graph in zip(made, leaves, (A.with_values(None), edge_index(A)), strict=True)
    ]
    for each in out:
        each.square().sum().backward()
    torch.testing.assert_close(*out, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(leaves[0].grad, leaves[1].grad, atol=1e-4, rtol=1e-4)


def test_attention_takes_no_batches_of_features() -> None:
    with pytest.raises(ls.ShapeError, match=r"GATConv: x has shape \(2, 20, 6\)"):
        ls.nn.GATConv(WIDTH, 3)(torch.stack([X, X]), A)


@pytest.mark.parametrize("options", [{}, {"improved": True}, {"add_self_loops": False}], ids=str)
def test_graph_without_values_keeps_its_norm(options: dict[str, Any]) -> None:
    P = ls.from_coo(A.indices(), None, A.shape)
    edges = edge_index(A), torch.ones(A.nnz)  # without weights PyG takes 1 for the 2 of `improved`
    for _ in range(3):  # the third call repeats the steps of the second
        both(ls.nn.GCNConv(WIDTH, 3, **options), gnn.GCNConv(WIDTH, 3, **options), (P,), edges, [X])
    assert [name for name in P.pattern.derived if "norm" in name] == [
        f"symmetric norm torch.float32 {options.get('add_self_loops', True)} {options.get('improved', False)}"
    ]


@pytest.mark.parametrize("name", ["SAGEConv", "GATConv", "GATv2Conv"])
def test_two_kinds_of_nodes(name: str) -> None:
    made = [getattr(place, name)((4, WIDTH), 3) for place in (ls.nn, gnn)]
    other = (edge_index(B), None, (SENDERS, NODES)) if name == "GATConv" else (edge_index(B),)
    both(*made, (B,), other, [XB, X])
    if name != "GATv2Conv":
        alone = made[0]((XB, None), B)
        assert alone.shape == (NODES, 3)


@pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
@pytest.mark.parametrize("fill", ["mean", 0.5])
def test_attributes_of_edges(name: str, fill: Any) -> None:
    attributes = torch.randn(A.nnz, 5, generator=drawn)
    made = [getattr(place, name)(WIDTH, 3, heads=2, edge_dim=5, fill_value=fill) for place in (ls.nn, gnn)]
    both(*made, (A, attributes), (edge_index(A), attributes), [X])


@pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
def test_optimizer_states_load_from_pyg(name: str) -> None:
    options: dict[str, Any] = {"heads": 2, "edge_dim": 5, "residual": True}
    attributes = torch.randn(A.nnz, 5, generator=drawn)
    ours, theirs = (getattr(place, name)(WIDTH, 3, **options) for place in (ls.nn, gnn))
    ours.load_state_dict(theirs.state_dict())
    mine, other = (torch.optim.Adam(module.parameters(), lr=0.01) for module in (ours, theirs))
    for _ in range(2):
        theirs(X, edge_index(A), attributes).square().sum().backward()
        other.step()
    ours.load_state_dict(theirs.state_dict())
    mine.load_state_dict(copy.deepcopy(other.state_dict()))
    for module, optimizer, graph in ((ours, mine, A), (theirs, other, edge_index(A))):
        optimizer.zero_grad()
        module(X, graph, attributes).square().sum().backward()
        optimizer.step()
    torch.testing.assert_close(dict(ours.named_parameters()), dict(theirs.named_parameters()), atol=1e-4, rtol=1e-4)


def test_weights_of_attention() -> None:
    made = [place.GATConv(WIDTH, 3, heads=2) for place in (ls.nn, gnn)]
    made[0].load_state_dict(made[1].state_dict())
    out, weights = made[0](X, A, return_attention_weights=True)
    expected, (pairs, values) = made[1](X, edge_index(A), return_attention_weights=True)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(weights.to_dense()[pairs[1], pairs[0]], values)
    made[0].dropout = 0.5
    dropped = made[0](X, A, return_attention_weights=True)[1]
    assert 0.2 < float((dropped.values() == 0).float().mean()) < 0.8
    made[0].eval()
    torch.testing.assert_close(made[0](X, A), expected)


def test_gin_and_appnp() -> None:
    inner = nn.Sequential(nn.Linear(WIDTH, 8), nn.ReLU(), nn.Linear(8, 3))
    options: dict[str, Any] = {"eps": 0.3, "train_eps": True}
    both(ls.nn.GINConv(copy.deepcopy(inner), **options), gnn.GINConv(inner, **options), (A,), (edge_index(A),), [X])
    both(ls.nn.APPNP(3, 0.1), gnn.APPNP(3, 0.1), (A,), (edge_index(A), A.values()), [X])
    layer = ls.nn.APPNP(3, 0.1, dropout=0.5)
    assert not torch.allclose(layer(X, A), layer(X, A))


@pytest.mark.parametrize("options", [{}, {"aggr": "max"}, {"num_bases": 2}, {"num_blocks": 2}], ids=str)
def test_relations(options: dict[str, Any]) -> None:
    kind = torch.arange(A.nnz) % 3
    made = [place.RGCNConv(WIDTH, 4, num_relations=3, **options) for place in (ls.nn, gnn)]
    both(*made, (A, kind), (edge_index(A), kind), [X])
    expected = made[0](X, A, kind)
    graphs = [ls.from_coo(A.indices()[:, kind == n], None, A.shape) for n in range(3)]
    for given in (graphs, torch.stack([g.float() for g in graphs]), A.with_values(kind)):
        torch.testing.assert_close(made[0](X, given), expected)
    with pytest.raises(ls.DtypeError, match="relation of each"):
        made[0](X, A)
    with pytest.raises(ls.IndexBoundsError, match="0 to 2"):
        made[0](X, A, kind + 1)
    with pytest.raises(ls.ShapeError, match="relations"):
        made[0](X, graphs[:2])


def test_relations_without_features() -> None:
    kind = torch.arange(A.nnz) % 2
    made = [place.RGCNConv(NODES, 4, num_relations=2) for place in (ls.nn, gnn)]
    both(*made, (A, kind), (edge_index(A), kind), [])


def test_light_gcn() -> None:
    ratings = ls.random((8, 12), 0.3, generator=drawn).indices() + torch.tensor([[0], [8]])
    graph = ls.from_edge_index(torch.cat([ratings, ratings.flip(0)], 1), num_nodes=20)
    pairs = edge_index(graph)
    made = [place.LightGCN(20, 8, num_layers=2) for place in (ls.nn, gnn)]
    made[0].load_state_dict(made[1].state_dict())
    found = []
    for model, given in zip(made, (graph, pairs), strict=True):
        rank = model(given, pairs)
        loss = model.recommendation_loss(rank[:10], rank[10:20], lambda_reg=0.1)
        loss.backward()
        best = model.recommend(given, src_index=torch.arange(8), dst_index=torch.arange(8, 20), k=3)
        probable = model.predict_link(given, pairs, prob=True)
        found.append([rank, loss, model.embedding.weight.grad, best, probable])
    torch.testing.assert_close(found[0], found[1])
    torch.testing.assert_close(made[0](graph), made[0](graph, pairs))


@pytest.mark.parametrize("format", ["coo", "csc", "dcsr"])
def test_formats(format: str) -> None:
    for layer in (ls.nn.GCNConv(WIDTH, 3), ls.nn.GATConv(WIDTH, 3, edge_dim=1)):
        torch.testing.assert_close(layer(X, A.to_format(format)), layer(X, A))


def test_lazy_layers_and_sparse_features() -> None:
    for layer in (ls.nn.GCNConv(-1, 3), ls.nn.SAGEConv((-1, -1), 3), ls.nn.GATConv(-1, 3)):
        assert layer(X, A).shape == (NODES, 3)
    sparse = ls.random((NODES, 30), 0.2, generator=drawn)
    layer = ls.nn.GCNConv(30, 3)
    torch.testing.assert_close(layer(sparse, A), layer(sparse.to_dense(), A))


def test_gradients_of_the_graph() -> None:
    values = A.values().double().requires_grad_()
    layer = ls.nn.GCNConv(WIDTH, 3).double()
    assert torch.autograd.gradcheck(lambda v: layer(X.double(), A.with_values(v)), (values,))


def test_kept_norms() -> None:
    layer, graph = ls.nn.GCNConv(WIDTH, 3, cached=True), A.clone()
    plain = ls.nn.GCNConv(WIDTH, 3)
    plain.load_state_dict(layer.state_dict())
    for given in (graph, graph, A * 2):
        torch.testing.assert_close(layer(X, given), plain(X, given))
    layer(X, graph)
    graph.values().mul_(3)
    torch.testing.assert_close(layer(X, graph), plain(X, graph))
    copy.deepcopy(layer)(X, graph)
    followed = graph.clone().requires_grad_()
    for _ in range(2):
        layer(X, followed).sum().backward()


@pytest.mark.parametrize("cached", [False, True])
def test_compiled(cached: bool) -> None:
    torch._dynamo.reset()
    layer = ls.nn.GCNConv(WIDTH, 3, cached=cached)
    expected = layer(X, A)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(X, A), expected)
    compiled(X, A).square().sum().backward()
    found = layer.lin.weight.grad.clone()
    layer.zero_grad()
    layer(X, A).square().sum().backward()
    torch.testing.assert_close(found, layer.lin.weight.grad)


def test_what_does_not_fit() -> None:
    layer = ls.nn.GCNConv(WIDTH, 3)
    with pytest.raises(ls.DtypeError, match=r"from_edge_index.*\.T of an edge list"):
        layer(X, edge_index(A))
    with pytest.raises(ls.ShapeError, match=r"expected shape \(20, 20\)"):
        layer(X, B)
    with pytest.raises(ls.ShapeError, match=r"x is \(x, x\[:5\]\)"):
        ls.nn.SAGEConv(4, 3)(torch.rand(20, 4), ls.random((5, 20), 0.5))
    with pytest.raises(ls.UnsupportedError, match="aggr is 'lstm'"):
        ls.nn.SAGEConv(4, 3, aggr="lstm")
    with pytest.raises(ls.DtypeError, match="edge_dim="):
        ls.nn.GATConv(WIDTH, 3)(X, A, torch.ones(A.nnz))
    with pytest.raises(ls.ShapeError, match="edge_attr has shape"):
        ls.nn.GATConv(WIDTH, 3, edge_dim=2)(X, A, torch.ones(3, 2))
    with pytest.raises(ls.FormatError, match="fill_value"):
        layer(X, A + 1)


LAYERS = {
    "GCNConv": lambda: ls.nn.GCNConv(WIDTH, 3, cached=True),
    "SAGEConv": lambda: ls.nn.SAGEConv(WIDTH, 3, aggr="max"),
    "GATConv": lambda: ls.nn.GATConv(WIDTH, 3, heads=2, concat=False, dropout=0.1),
    "GATv2Conv": lambda: ls.nn.GATv2Conv(WIDTH, 3),
    "GINConv": lambda: ls.nn.GINConv(nn.Linear(WIDTH, 3)),
    "RGCNConv": lambda: ls.nn.RGCNConv(WIDTH, 3, num_relations=1),
}


@pytest.mark.parametrize("name", LAYERS)
def test_trained(name: str) -> None:
    torch.manual_seed(0)
    layer = LAYERS[name]()
    graph = [A] if name == "RGCNConv" else A
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(layer(X, graph), LABELS)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
