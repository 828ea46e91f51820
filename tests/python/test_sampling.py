"""Sampled neighbourhoods: what they hold, how they are drawn, and a network that is trained on them."""

import pytest
import torch
from libsparse.sampling import draws

import libsparse as ls

N = 300
A = ls.random((N, N), 0.05)
SEEDS = torch.arange(0, N, 7)


def sampled(seed, *arguments, graph=A, **more):
    return ls.sampling.neighbors(graph, SEEDS, *arguments, generator=torch.Generator().manual_seed(seed), **more)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("fanouts", [[5, 3], [-1], [0, 2], [30, 30], []])
def test_as_the_definition(replace, fanouts, monkeypatch):
    """C and torch's functions draw the same."""
    nodes, blocks = sampled(1, fanouts, replace)
    assert torch.equal(nodes[: len(SEEDS)], SEEDS)
    assert nodes.unique().numel() == nodes.numel()
    shapes = [tuple(block.shape) for block in blocks]
    assert [rows for rows, _ in shapes] == [*(columns for _, columns in shapes[1:]), len(SEEDS)][: len(shapes)]
    assert [nodes.numel(), *shapes[0][1:2]].count(nodes.numel()) == 2 if shapes else nodes.numel() == len(SEEDS)
    monkeypatch.setattr(draws, "in_c", lambda: None)
    others, wanted = sampled(1, fanouts, replace)
    assert torch.equal(nodes, others)
    for block, other in zip(blocks, wanted, strict=True):
        assert torch.equal(block.indices(), other.indices())
        torch.testing.assert_close(block.values(), other.values())


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_entries_are_the_graphs(format):
    dense = A.to_dense()
    nodes, blocks = sampled(2, [4, -1], graph=A.to_format(format))
    for block, fanout in zip(blocks, (-1, 4), strict=True):
        rows, columns = block.shape
        part = dense[nodes[:rows]][:, nodes[:columns]]
        found = block.to_dense()
        assert torch.equal(found[found != 0], part[found != 0])
        degrees = (dense[nodes[:rows]] != 0).sum(1)
        assert torch.equal((found != 0).sum(1), degrees if fanout < 0 else degrees.clamp(max=fanout))


def test_each_entry_is_as_likely():
    count = torch.zeros(N, N)
    for seed in range(300):
        nodes, (block,) = sampled(seed, [4])
        row, col = block.indices()
        count[SEEDS[row], nodes[col]] += 1
    stored = (A.to_dense() != 0)[SEEDS]
    degree = stored.sum(1, keepdim=True).clamp(min=4).expand(stored.shape)[stored]
    wanted = 300 * 4 / degree
    spread = (count[SEEDS][stored] - wanted) ** 2 / (wanted * (1 - 4 / degree)).clamp(min=1)
    assert 0.7 < float(spread[degree > 4].mean()) < 1.3
    assert not count[SEEDS][~stored].any()


def test_draws_again_are_counted():
    ring = ls.from_edge_index([[0, 1, 2], [1, 2, 0]])
    nodes, (block,) = ls.sampling.neighbors(ring, [1], [6], replace=True)
    assert nodes.tolist() == [1, 2]
    assert block.to_dense().tolist() == [[0, 6]]
    nodes, (block,) = ls.sampling.neighbors(ring * 0.5, [1], [6], replace=True)
    assert block.to_dense().tolist() == [[0, 3]]
    assert ls.sampling.neighbors(ring, [1], [6])[1][0].dtype == torch.bool


def test_gradients_reach_the_graph():
    graph = ls.nn.SparseParameter(A)
    _, (block,) = sampled(3, [3], graph=graph)
    (block @ torch.ones(block.shape[1])).sum().backward()
    assert graph.grad.nnz == A.nnz
    assert float(graph.grad.values().sum()) == block.nnz


def test_generators_and_the_default():
    first, second = sampled(5, [3, 3]), sampled(5, [3, 3])
    assert torch.equal(first[0], second[0])
    torch.manual_seed(9)
    third = ls.sampling.neighbors(A, SEEDS, [3, 3])
    torch.manual_seed(9)
    assert torch.equal(third[0], ls.sampling.neighbors(A, SEEDS, [3, 3])[0])
    assert ls.sampling.neighbors(A, [], [3])[1][0].shape == (0, 0)
    assert torch.equal(ls.sampling.subgraph(A, SEEDS).to_dense(), A.to_dense()[SEEDS][:, SEEDS])


@pytest.mark.parametrize(
    ("arguments", "kind", "told"),
    [
        ((A, [0, 0], [2]), ls.FormatError, "comes twice"),
        ((A, [N], [2]), ls.IndexBoundsError, f"node {N} is outside of 0 to {N - 1}"),
        ((A, [-1], [2]), ls.IndexBoundsError, "node -1"),
        ((A, [0.5], [2]), ls.DtypeError, "expected integers"),
        ((A, [[0]], [2]), ls.ShapeError, "expected a vector"),
        ((A, [0], [-2]), ls.FormatError, "fanouts: -2"),
        ((A, [0], [1.5]), ls.FormatError, "fanouts: 1.5"),
        ((A[:3], [0], [2]), ls.ShapeError, "square matrix of a graph"),
        ((A.to_dense(), [0], [2]), ls.DtypeError, "expected an ls.SparseTensor"),
    ],
)
def test_errors(arguments, kind, told):
    with pytest.raises(kind, match=told):
        ls.sampling.neighbors(*arguments)


def test_trains():
    torch.manual_seed(0)
    labels = torch.randint(0, 3, (N,))
    edges = torch.randint(0, N, (2, 6 * N))
    graph = ls.from_edge_index(edges[:, labels[edges[0]] == labels[edges[1]]], num_nodes=N)
    x = torch.nn.functional.one_hot(labels, 3) + torch.randn(N, 3)
    layers = torch.nn.ModuleList([ls.nn.SAGEConv(3, 16), ls.nn.SAGEConv(16, 3)])
    optimizer = torch.optim.Adam(layers.parameters(), lr=0.05)
    losses = []
    for _ in range(15):
        for seeds in torch.randperm(N).split(100):
            nodes, blocks = ls.sampling.neighbors(graph, seeds, [5, 5])
            h = x[nodes]
            for layer, block in zip(layers, blocks, strict=True):
                h = layer((h.relu(), h[: block.shape[0]]), block)
            loss = torch.nn.functional.cross_entropy(h, labels[seeds])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]
