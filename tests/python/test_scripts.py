"""Scripts that use torch.sparse run with `ls.enable()` as the one line that is added, and end with the same numbers."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import libsparse as ls

NODES, FEATURES, CLASSES, STEPS = 60, 12, 4, 6


def edges(nodes=NODES, count=240):
    """The edges of an undirected graph, sorted, each in both directions."""
    one_way = torch.randint(0, nodes, (2, count), generator=torch.Generator().manual_seed(0))
    return torch.unique(torch.cat([one_way, one_way.flip(0)], 1), dim=1)


def adjacency(layout, values=None):
    """A graph as a matrix in one of torch's layouts."""
    where = edges()
    values = torch.ones(where.shape[1]) if values is None else values
    coo = torch.sparse_coo_tensor(where, values, (NODES, NODES)).coalesce()
    return {"coo": lambda: coo, "csr": coo.to_sparse_csr, "csc": coo.to_sparse_csc}[layout]()


def fit(parameters, loss_of):
    """The loss of the last of a few steps, and the sizes of its gradients."""
    parameters = list(parameters)
    optimizer = torch.optim.Adam(parameters, 0.01, weight_decay=5e-4)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
    return [loss.item(), *(parameter.grad.norm().item() for parameter in parameters if parameter.grad is not None)]


def gcn(layout):
    """Two graph convolutions by torch.spmm, after Kipf & Welling."""
    where = edges()
    degree = torch.sparse.sum(adjacency("coo"), 1).to_dense()
    matrix = adjacency(layout, 1 / degree[where[0]])
    x, y = torch.randn(NODES, FEATURES), torch.randint(0, CLASSES, (NODES,))
    first, second = nn.Linear(FEATURES, 8, bias=False), nn.Linear(8, CLASSES, bias=False)

    def loss():
        hidden = F.dropout(F.relu(torch.spmm(matrix, first(x))), 0.5)
        return F.nll_loss(F.log_softmax(torch.spmm(matrix, second(hidden)), 1), y)

    return fit([*first.parameters(), *second.parameters()], loss)


def gat():
    """Attention over the edges of a graph by torch.sparse.softmax, after Velickovic et al."""
    (row, column), y = edges(), torch.randint(0, CLASSES, (NODES,))
    x, weight = torch.randn(NODES, FEATURES), nn.Parameter(torch.randn(FEATURES, CLASSES) * 0.1)
    left, right = nn.Parameter(torch.randn(CLASSES) * 0.1), nn.Parameter(torch.randn(CLASSES) * 0.1)

    def loss():
        h = x @ weight
        scores = F.leaky_relu((h @ left)[row] + (h @ right)[column], 0.2)
        attention = torch.sparse.softmax(adjacency("coo", scores), dim=1)
        return F.cross_entropy(torch.sparse.mm(attention, h), y)

    return fit([weight, left, right], loss)


def light_gcn():
    """Propagation of embeddings over a normalized graph, and a ranking loss, after He et al."""
    where = edges()
    scale = torch.sparse.sum(adjacency("coo"), 1).to_dense().pow(-0.5)
    scale[torch.isinf(scale)] = 0
    matrix = adjacency("coo", scale[where[0]] * scale[where[1]])
    embedding = nn.Parameter(torch.randn(NODES, 8) * 0.1)
    other = torch.randint(0, NODES, (where.shape[1],))

    def loss():
        layers = [embedding]
        for _ in range(3):
            layers.append(torch.sparse.mm(matrix, layers[-1]))
        z = torch.stack(layers).mean(0)
        liked, ignored = (z[where[0]] * z[where[1]]).sum(1), (z[where[0]] * z[other]).sum(1)
        return F.softplus(ignored - liked).mean() + 1e-4 * embedding.norm()

    return fit([embedding], loss)


def sampled():
    """Scores at the edges by torch.sparse.sampled_addmm."""
    q, k = torch.randn(NODES, 5), torch.randn(5, NODES)
    return torch.sparse.sampled_addmm(adjacency("csr"), q, k, beta=0.0).values().sum().item()


def pyg(layer, layout, **options):
    """A layer of PyG, which takes its matrix transposed."""
    from torch_geometric import nn as gnn  # slow to import: only these tests pay for it

    x, y = torch.randn(NODES, FEATURES), torch.randint(0, CLASSES, (NODES,))
    size = (nn.Linear(FEATURES, CLASSES),) if layer == "GINConv" else (FEATURES, CLASSES)
    net, graph = getattr(gnn, layer)(*size, **options), edges() if layout is None else adjacency(layout)
    return fit(net.parameters(), lambda: F.cross_entropy(net(x, graph), y))


def appnp():
    """A linear layer and PyG's propagation by personalized PageRank."""
    from torch_geometric import nn as gnn

    x, y, matrix = torch.randn(NODES, FEATURES), torch.randint(0, CLASSES, (NODES,)), adjacency("csr")
    linear, propagate = nn.Linear(FEATURES, CLASSES), gnn.APPNP(K=3, alpha=0.1)
    return fit(linear.parameters(), lambda: F.cross_entropy(propagate(linear(x), matrix), y))


def learned_weights():
    """A graph convolution with the matrix as a leaf, which is also read as a dense one."""
    matrix = adjacency("csr").requires_grad_()
    x, y = torch.randn(NODES, FEATURES), torch.randint(0, CLASSES, (NODES,))
    first, second = nn.Linear(FEATURES, 8), nn.Linear(8, CLASSES)
    hidden = F.relu(matrix @ first(x)) + matrix.to_dense().t() @ first(x)
    loss = F.cross_entropy(second(hidden), y)
    loss.backward()
    stored = matrix.detach().to_dense() != 0
    return [loss.item(), (matrix.grad.to_dense() * stored).norm().item()]


SCRIPTS = {
    "gcn, coo": lambda: gcn("coo"),
    "gcn, csr": lambda: gcn("csr"),
    "gat": gat,
    "light_gcn": light_gcn,
    "sampled_addmm": sampled,
    "GCNConv, csr": lambda: pyg("GCNConv", "csr"),
    "GCNConv, coo": lambda: pyg("GCNConv", "coo"),
    "SAGEConv, csr": lambda: pyg("SAGEConv", "csr"),
    "SAGEConv, max": lambda: pyg("SAGEConv", "csc", aggr="max"),
    "GINConv": lambda: pyg("GINConv", "csr"),
    "GATConv": lambda: pyg("GATConv", "csr"),
    "GATConv, heads": lambda: pyg("GATConv", "csr", heads=2, concat=False),
    "GATv2Conv": lambda: pyg("GATv2Conv", "csr", heads=2, concat=False),
    "TransformerConv": lambda: pyg("TransformerConv", "csr"),
    "GraphConv": lambda: pyg("GraphConv", "csr", aggr="mean"),
    "SGConv": lambda: pyg("SGConv", "csr", K=2),
    "APPNP": appnp,
    "ChebConv, which takes edges only": lambda: pyg("ChebConv", None, K=2),
    "learned weights": learned_weights,
}


@pytest.mark.filterwarnings("ignore:Sparse CS. tensor support is in beta:UserWarning")
@pytest.mark.filterwarnings("ignore:Converting sparse tensor to CSR:UserWarning")
@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:FutureWarning")
@pytest.mark.parametrize("name", SCRIPTS)
def test_one_line_changes_no_number(name):
    ends = []
    for enabled in (False, True):
        torch.manual_seed(0)
        if enabled:
            ls.enable()
        try:
            ends.append(SCRIPTS[name]())
        finally:
            ls.disable()
    assert ends[1] == pytest.approx(ends[0], rel=1e-5)
