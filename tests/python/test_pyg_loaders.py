"""PyG's NeighborLoader of graphs that are ls.SparseTensors: what its batches hold, and networks trained on them."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
import torch
from torch import nn

import libsparse as ls

gnn = pytest.importorskip("torch_geometric.nn")
from torch_geometric import typing as pyg  # noqa: E402
from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.loader import (  # noqa: E402
    ClusterData,
    GraphSAINTRandomWalkSampler,
    LinkNeighborLoader,
    NeighborLoader,
)

pytestmark = pytest.mark.filterwarnings("ignore:Using 'NeighborSampler' without:UserWarning")

drawn = torch.Generator().manual_seed(0)
NODES, WIDTH = 200, 8
A = ls.random((NODES, NODES), 0.03, generator=drawn).map(torch.abs)
X = torch.randn(NODES, WIDTH, generator=drawn)
Y = torch.randint(3, (NODES,), generator=drawn)
NUMBERS = torch.arange(A.nnz)


def graph(**more: Any) -> Any:
    return Data(x=X, y=Y, adj_t=A, edge_attr=NUMBERS[:, None], **more)


@pytest.fixture(autouse=True)
def _without_other_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours are drawn by libsparse."""
    for name in ("WITH_PYG_LIB", "WITH_TORCH_SPARSE"):
        monkeypatch.setattr(pyg, name, False)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["directional", "induced"])
@pytest.mark.parametrize("format", ["csr", "coo", "csc"])
def test_batches_are_parts_of_the_graph(format: str, kind: str, workers: int) -> None:
    data, dense = graph(), A.to_dense()
    data.adj_t = A.to_format(format)
    options = {"batch_size": 64, "num_workers": workers, "shuffle": True}
    for batch in NeighborLoader(data, [4, 3], subgraph_type=kind, **options):
        part = batch.adj_t
        assert type(part) is ls.SparseTensor
        assert part.shape == (batch.num_nodes, batch.num_nodes)
        assert torch.equal(batch.x, X[batch.n_id])
        row, col = part.indices()
        assert torch.equal(dense[batch.n_id[row], batch.n_id[col]], part.values())
        assert torch.equal(A.values()[batch.e_id], part.values())
        assert torch.equal(batch.edge_attr[:, 0], batch.e_id)
        if kind == "induced":
            assert torch.equal(part.to_dense(), dense[batch.n_id][:, batch.n_id])
        else:
            counts = A.with_values(None).float().sum(1).to_dense()[batch.n_id].clamp(max=4)
            assert torch.equal(part.pos(1).diff()[: batch.batch_size], counts[: batch.batch_size].int())


@pytest.mark.parametrize("options", [{"adj": True}, {"subgraph_type": "bidirectional"}, {"replace": True}], ids=str)
def test_other_ways_to_draw(options: dict[str, Any]) -> None:
    options, data, dense = dict(options), graph(), A.to_dense()
    if options.pop("adj", False):
        data, dense = Data(x=X, adj=A), dense.T
    for batch in NeighborLoader(data, [4, 3], batch_size=64, **options):
        part = batch.get("adj_t", batch.get("adj"))
        row, col = part.indices() if "adj_t" in batch else part.indices().flip(0)
        ends = batch.n_id[row], batch.n_id[col]
        if "subgraph_type" in options:
            assert bool(((dense[ends] != 0) | (dense[ends[::-1]] != 0)).all())
        elif "replace" in options:
            times = part.values() / dense[ends]
            torch.testing.assert_close(times, times.round())
            assert int(times.max()) > 1
        else:
            assert torch.equal(dense[ends], part.values())


def test_seeds_that_come_twice_are_drawn_for_twice() -> None:
    seeds = torch.tensor([5, 7, 5, 9, 9, 3])
    (batch,) = NeighborLoader(Data(adj_t=A), [-1, 2], input_nodes=seeds, batch_size=6)
    assert torch.equal(batch.n_id[:6], seeds)
    assert batch.num_nodes == batch.n_id.numel()
    row, col = batch.adj_t.indices()
    assert torch.equal(A.to_dense()[batch.n_id[row], batch.n_id[col]], batch.adj_t.values())
    assert torch.equal(batch.adj_t.pos(1).diff()[:6], A.pos(1).diff()[seeds])


@pytest.mark.parametrize("make", [gnn.GCN, gnn.GraphSAGE, gnn.GIN, gnn.GAT])
def test_training_as_with_edge_lists(make: Any) -> None:
    torch.manual_seed(0)
    ours = make(WIDTH, 16, 2, 3)
    theirs = copy.deepcopy(ours)
    optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (ours, theirs)]
    for batch in NeighborLoader(graph(), [5, 3], batch_size=50, shuffle=True):
        edge_index = batch.adj_t.indices().flip(0)
        losses = []
        for net, optimizer, edges in zip((ours, theirs), optimizers, (batch.adj_t, edge_index), strict=True):
            optimizer.zero_grad()
            weights = {"edge_weight": batch.adj_t.values()} if edges is edge_index and make is gnn.GCN else {}
            out = net(batch.x, edges, **weights)[: batch.batch_size]
            losses.append(nn.functional.cross_entropy(out, batch.y[: batch.batch_size]))
            losses[-1].backward()
            optimizer.step()
        torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict(), rtol=1e-3, atol=1e-4)


def test_all_neighbours_give_the_numbers_of_the_graph_also_trimmed() -> None:
    net = gnn.GraphSAGE(WIDTH, 16, 3, 3)
    expected = net(X, A)
    for batch in NeighborLoader(graph(), [-1, -1, -1], batch_size=10, input_nodes=torch.arange(0, NODES, 9)):
        whole = net(batch.x, batch.adj_t)
        torch.testing.assert_close(whole[: batch.batch_size], expected[batch.n_id[: batch.batch_size]])
        hops = {f"num_sampled_{kind}_per_hop": batch[f"num_sampled_{kind}"] for kind in ("nodes", "edges")}
        trimmed = net(batch.x, batch.adj_t, **hops)
        torch.testing.assert_close(trimmed[: batch.batch_size], expected[batch.n_id[: batch.batch_size]])


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = gnn.SAGEConv((-1, -1), 8), gnn.SAGEConv((-1, -1), 3)

    def forward(self, x: Any, adj_t: Any) -> Any:
        return self.second(self.first(x, adj_t).relu(), adj_t)


@pytest.mark.parametrize("fanouts", [[4, 2], {("user", "rates", "item"): [4, 0], ("item", "by", "user"): [3, 2]}])
def test_several_types_of_nodes(fanouts: Any) -> None:
    data = HeteroData()
    data["user"].x, data["item"].x = torch.randn(60, WIDTH), torch.randn(40, WIDTH)
    rates = ls.random((40, 60), 0.1)
    data["user", "rates", "item"].adj_t = rates
    data["item", "by", "user"].adj_t = rates.T.to_format("csr")
    net = gnn.to_hetero(Network(), data.metadata())
    for batch in NeighborLoader(data, fanouts, input_nodes="item", batch_size=16):
        users, items = batch["user"].n_id, batch["item"].n_id
        part = batch["user", "rates", "item"].adj_t
        assert part.shape == (items.numel(), users.numel())
        row, col = part.indices()
        assert torch.equal(part.values(), rates.to_dense()[items[row], users[col]])
        out = net(batch.x_dict, batch.adj_t_dict)
        edges = {kind: graph.indices().flip(0) for kind, graph in batch.adj_t_dict.items()}
        torch.testing.assert_close(out, net(batch.x_dict, edges))


def test_links() -> None:
    pairs = torch.stack([A.col, A.row])[:, ::7]
    for batch in LinkNeighborLoader(graph(), [4, 2], edge_label_index=pairs, batch_size=32, neg_sampling="binary"):
        positive = batch.edge_label_index[:, batch.edge_label == 1]
        assert torch.equal(batch.n_id[positive], pairs[:, batch.input_id])
        assert type(batch.adj_t) is ls.SparseTensor


def test_features_may_be_sparse() -> None:
    features = ls.random((NODES, 30), 0.1)
    for batch in NeighborLoader(Data(x=features, adj_t=A), [3], batch_size=100, num_workers=1):
        assert torch.equal(batch.x.to_dense(), features.to_dense()[batch.n_id])


def test_entries_are_drawn_alike() -> None:
    """Each of ten neighbours, three at a time, comes in three of ten batches."""
    one = ls.from_coo(torch.stack([torch.zeros(10, dtype=torch.long), torch.arange(1, 11)]), None, (11, 11))
    loader = NeighborLoader(Data(adj_t=one), [3], input_nodes=torch.tensor([0]), batch_size=1)
    torch.manual_seed(0)
    counts = torch.zeros(11)
    for _ in range(600):
        counts[next(iter(loader)).n_id[1:]] += 1
    assert counts.sum() == 1800
    assert bool(((counts[1:] - 180).abs() < 60).all())  # five standard deviations


def test_edge_lists_are_left_to_torch_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    from libsparse.nn import geometric_samples

    seen: list[Any] = []
    sample = geometric_samples.sample
    monkeypatch.setattr(geometric_samples, "sample", lambda *given: seen.append(given) or sample(*given))
    edges = Data(x=X, edge_index=torch.stack([A.col, A.row]).long())
    (batch,) = NeighborLoader(edges, [-1], input_nodes=torch.arange(9), batch_size=9)
    assert batch.edge_index.shape[1] == int(A.pos(1)[9])
    assert len(seen) == 1
    monkeypatch.setattr(pyg, "WITH_TORCH_SPARSE", True)
    next(iter(NeighborLoader(graph(), [3])))
    assert len(seen) == 2
    with contextlib.suppress(AttributeError, RuntimeError):  # where it is not there in truth
        next(iter(NeighborLoader(edges, [3])))
    assert len(seen) == 2


def test_what_is_refused() -> None:
    with pytest.raises(ls.UnsupportedError, match="pyg-lib"):
        next(iter(NeighborLoader(graph(), [3], disjoint=True)))
    with pytest.raises(ls.UnsupportedError, match="expected an edge_index"):
        NeighborLoader(graph(time=torch.arange(NODES)), [3], time_attr="time")
    with pytest.raises(ls.ShapeError, match=r"adj_t .*; expected a matrix, and 0"):
        NeighborLoader(Data(x=X, adj_t=A + 1), [3])
    for make in (lambda: ClusterData(graph(), 4), lambda: GraphSAINTRandomWalkSampler(graph(), 20, 2)):
        with pytest.raises(ls.UnsupportedError, match=r"(ClusterData|GraphSAINT\w+): adj_t .*ShaDowKHopSampler"):
            make()
    with pytest.raises(ls.FormatError, match="stores blocks"):
        NeighborLoader(Data(x=X, adj_t=A.to_format("bsr(4,4)")), [3])
