"""PyG's ShaDowKHopSampler of graphs that are ls.SparseTensors, and of edge lists without torch_sparse."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import libsparse as ls

gnn = pytest.importorskip("torch_geometric.nn")
from torch_geometric import typing as pyg  # type: ignore[import-untyped]  # noqa: E402
from torch_geometric.data import Data  # type: ignore[import-untyped]  # noqa: E402
from torch_geometric.loader import ShaDowKHopSampler  # type: ignore[import-untyped]  # noqa: E402

drawn = torch.Generator().manual_seed(0)
NODES, WIDTH = 120, 5
A = ls.random((NODES, NODES), 0.03, generator=drawn).map(torch.abs)
DENSE, X, Y = A.to_dense(), torch.randn(NODES, WIDTH, generator=drawn), torch.arange(NODES)


@pytest.fixture(autouse=True)
def _without_torch_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyg, "WITH_TORCH_SPARSE", False)


def graph(name: str) -> Any:
    """Data whose features end with the numbers of nodes."""
    given = {"adj_t": A.to_format("csc"), "adj": A.T, "edge_index": torch.stack([A.col, A.row]).long()}
    return Data(x=torch.cat([X, Y[:, None]], 1), y=Y, edge_attr=A.values(), constant=7, **{name: given[name]})


def pairs(name: str, batch: Any) -> tuple[Any, Any, Any]:
    """Receivers, senders and values of the edges of a batch."""
    if name == "edge_index":
        return batch.edge_index[1], batch.edge_index[0], batch.edge_attr
    part = batch.adj_t if name == "adj_t" else batch.adj
    assert type(part) is ls.SparseTensor
    assert torch.equal(part.values(), batch.edge_attr) or name == "adj"
    sides = (part.row, part.col) if name == "adj_t" else (part.col, part.row)
    return *sides, part.values()


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", ["adj_t", "adj", "edge_index"])
def test_batches_are_the_graphs_between_drawn_nodes(name: str, workers: int) -> None:
    seeds = torch.arange(NODES) % 2 == 0
    for batch in ShaDowKHopSampler(graph(name), 2, 3, seeds, batch_size=20, num_workers=workers):
        nodes = batch.x[:, -1].long()
        assert torch.equal(nodes[batch.root_n_id], batch.y)
        assert torch.equal(batch.ptr.diff(), torch.bincount(batch.batch))
        assert batch.constant == 7
        receivers, senders, values = pairs(name, batch)
        found = torch.zeros(len(nodes), len(nodes)).index_put((receivers, senders), values)
        between = DENSE[nodes][:, nodes] * (batch.batch[:, None] == batch.batch)
        assert torch.equal(found, between)
        assert bool((batch.ptr.diff() <= 1 + 3 + 9).all())


def test_all_neighbours_are_the_nodes_within_some_steps() -> None:
    near = torch.eye(NODES, dtype=torch.bool)
    for _ in range(3):
        near |= (near.float() @ DENSE) != 0
    (batch,) = ShaDowKHopSampler(graph("adj_t"), 3, -1, torch.tensor([5, 9, 5]), batch_size=3)
    for number, root in enumerate((5, 9, 5)):
        nodes = batch.x[batch.batch == number, -1].long()
        assert torch.equal(nodes, near[root].nonzero().view(-1))
    layer = gnn.SAGEConv(WIDTH, 4)
    whole, part = layer(X, A), layer(batch.x[:, :-1], batch.adj_t)
    torch.testing.assert_close(part[batch.root_n_id], whole[batch.y])


def test_neighbours_are_drawn_alike() -> None:
    star = ls.from_coo(torch.stack([torch.zeros(10, dtype=torch.long), torch.arange(1, 11)]), None, (11, 11))
    data = Data(x=torch.arange(11)[:, None], adj_t=star)
    loader = ShaDowKHopSampler(data, 1, 3, torch.zeros(600, dtype=torch.long), batch_size=600)
    torch.manual_seed(0)
    counts = torch.bincount(next(iter(loader)).x[:, 0], minlength=11)
    assert counts[0] == 600
    assert counts[1:].sum() == 1800
    assert bool(((counts[1:] - 180).abs() < 60).all())  # five standard deviations
    again = next(iter(ShaDowKHopSampler(data, 1, 40, torch.tensor([0]), replace=True)))
    assert 5 < again.num_nodes <= 11
