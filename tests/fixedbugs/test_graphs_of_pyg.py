"""PyG's layers and functions that take edge lists alone, several graphs or a dict took rows of a matrix for edges."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler
gnn = pytest.importorskip("torch_geometric.nn")
from torch_geometric import utils  # type: ignore[import-untyped]  # noqa: E402

NODES, WIDTH = 12, 4
EDGES = (torch.rand(NODES, NODES, generator=torch.Generator().manual_seed(0)) < 0.3).nonzero().T
A = ls.from_edge_index(EDGES, num_nodes=NODES).T.to_format("csr")
EDGES = torch.stack([A.col, A.row])  # in the order of the matrix
X = torch.randn(NODES, WIDTH)
RELATIONS = torch.arange(A.nnz) % 3
BATCH = torch.zeros(NODES, dtype=torch.long)


def alike(layer, *rest, graphs=(EDGES,), matrices=(A,)):
    """The layer gives the same of matrices as of edge lists, with the same random numbers."""
    torch.manual_seed(0)
    expected = layer(X, *graphs, *rest)
    torch.manual_seed(0)
    torch.testing.assert_close(layer(X, *matrices, *rest), expected)


@pytest.mark.parametrize(
    ("layer", "rest"),
    [
        (lambda: gnn.TopKPooling(WIDTH), ()),
        (lambda: gnn.SAGPooling(WIDTH), ()),
        (lambda: gnn.ASAPooling(WIDTH), ()),
        (lambda: gnn.EdgePooling(WIDTH), (BATCH,)),
        (lambda: gnn.GraphUNet(WIDTH, 8, 3, 2).eval(), ()),
        (lambda: gnn.SimpleConv(combine_root="self_loop"), ()),
        (lambda: gnn.RGATConv(WIDTH, 3, 3), (RELATIONS,)),
    ],
)
def test_layers_that_take_edge_lists(layer, rest):
    alike(layer(), *rest)


def test_relations_of_types_of_nodes():
    kinds, attributes = torch.arange(NODES) % 2, torch.rand(A.nnz, 1)
    alike(gnn.HEATConv(WIDTH, 3, 2, 3, 2, 1, 4), kinds, RELATIONS, attributes)


def test_relations_that_are_values():
    layer = gnn.RGATConv(WIDTH, 3, 3)
    torch.testing.assert_close(layer(X, A.with_values(RELATIONS)), layer(X, EDGES, RELATIONS))


def test_colours_of_nodes():
    colours = torch.arange(NODES) % 3
    assert torch.equal(gnn.WLConv()(colours, A), gnn.WLConv()(colours, EDGES))


def test_two_graphs():
    layer = gnn.SignedConv(WIDTH, 3, first_aggr=True)
    alike(layer, graphs=(EDGES, EDGES.flip(0)), matrices=(A, A.T.to_format("csr")))
    layer = gnn.SignedConv(3, 2, first_aggr=False)
    x = torch.randn(NODES, 6)
    torch.testing.assert_close(layer(x, A, A), layer(x, EDGES, EDGES))


class Tutorial(gnn.MessagePassing):  # type: ignore[misc]
    """The first layer of PyG's tutorial on message passing."""

    def __init__(self) -> None:
        super().__init__(aggr="add")
        self.lin = torch.nn.Linear(WIDTH, 3, bias=False)

    def forward(self, x, edge_index):
        edge_index, _ = utils.add_self_loops(edge_index, num_nodes=x.size(0))
        row, col = edge_index
        scale = utils.degree(col, x.size(0), dtype=x.dtype).pow(-0.5)
        return self.propagate(edge_index, x=self.lin(x), norm=scale[row] * scale[col])

    def message(self, x_j, norm):
        return norm.view(-1, 1) * x_j


def test_layers_of_users_that_are_written_for_edge_lists():
    alike(Tutorial())


@pytest.mark.parametrize("name", ["HGTConv", "HANConv"])
def test_types_of_nodes(name):
    B = ls.from_coo(torch.tensor([[3, 0, 1, 3], [0, 1, 2, 2]]), None, (4, 3))
    kinds = ("a", "to", "b"), ("b", "to", "a")
    matrices = dict(zip(kinds, (B, B.T.to_format("csr")), strict=True))
    lists = {kind: torch.stack([m.col, m.row]) for kind, m in matrices.items()}
    features = {"a": torch.randn(3, WIDTH), "b": torch.randn(4, WIDTH)}
    layer = getattr(gnn, name)(WIDTH, 4, (["a", "b"], list(kinds)), heads=2)
    torch.testing.assert_close(layer(features, matrices), layer(features, lists))


def test_hyperedges_are_pairs():
    layer = gnn.HypergraphConv(WIDTH, 3)
    with pytest.raises(ls.UnsupportedError, match=r"HypergraphConv: hyperedge_index .*torch.stack\(\[A.row, A.col\]\)"):
        layer(X, A)
    assert layer(X, torch.stack([A.row, A.col])).shape == (NODES, 3)


@pytest.mark.parametrize("name", ["remove_self_loops", "contains_self_loops", "to_undirected", "get_laplacian"])
def test_functions_of_edge_lists_refuse_matrices(name):
    with pytest.raises(ls.UnsupportedError, match=rf"{name}: edge_index .*is a matrix; expected an edge list"):
        getattr(utils, name)(A.float())
    getattr(utils, name)(EDGES)


@pytest.mark.parametrize(
    "make",
    [
        lambda: gnn.GINEConv(torch.nn.Linear(WIDTH, 3), edge_dim=1),
        lambda: gnn.GMMConv(WIDTH, 3, 1, 2),
        lambda: gnn.NNConv(WIDTH, 3, torch.nn.Linear(1, 3 * WIDTH)),
        lambda: gnn.CGConv(WIDTH, 1),
        lambda: gnn.GENConv(WIDTH, 3, edge_dim=1, norm="layer"),
        lambda: gnn.GeneralConv(WIDTH, 3, in_edge_channels=1),
    ],
)
def test_values_are_attributes_of_layers_that_take_such(make):
    """As those of GATConv are; GENConv and GeneralConv left them out without a word, the others raised."""
    layer, found = make(), []
    for way in (lambda v: (A.with_values(v),), lambda v: (EDGES, v[:, None]), lambda v: (A, None, v[:, None])):
        layer.zero_grad()
        values = torch.linspace(0.5, 2, A.nnz).requires_grad_()
        graph, *rest = way(values)
        out = layer(X, graph, edge_attr=rest[-1]) if rest else layer(X, graph)
        out.square().sum().backward()
        found.append([out, values.grad, *(p.grad for p in layer.parameters())])
    for others in found[1:]:
        torch.testing.assert_close(found[0], others)


def test_values_are_no_attributes_of_layers_without_such():
    for layer in (gnn.CGConv(WIDTH), gnn.GeneralConv(WIDTH, 3), gnn.GENConv(WIDTH, 3, norm="layer")):
        torch.testing.assert_close(layer(X, A.float()), layer(X, EDGES))


@pytest.mark.parametrize(
    "make",
    [
        lambda: gnn.SimpleConv("mean"),
        lambda: gnn.LGConv(),
        lambda: gnn.GraphConv(WIDTH, 3, aggr="max"),
        lambda: gnn.SAGEConv(WIDTH, 3, project=True),
        lambda: gnn.GatedGraphConv(WIDTH, 2),
        lambda: gnn.ARMAConv(WIDTH, 3),
    ],
)
def test_gradients_of_graphs_without_edges(make):
    """They are zeros; PyG cuts them off where its own kind of matrix is empty, and ARMAConv raised."""
    layer, found = make(), []
    for graph in (ls.from_coo(EDGES[:, :0], None, (NODES, NODES)), EDGES[:, :0]):
        layer.zero_grad()
        x = X.clone().requires_grad_()
        out = layer(x, graph)
        out.sum().backward()
        found.append([out, x.grad, *(p.grad for p in layer.parameters())])
    torch.testing.assert_close(*found)
