"""What shares a kernel: classes of sizes, and how few kernels a thousand mini-batches need."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest
import torch
from libsparse._compiler import kernel, native, size_classes

import libsparse as ls


@pytest.mark.parametrize(
    ("n", "want"),
    [(0, 0), (7, 7), (8, 8), (15, 9), (16, 16), (63, 57), (64, 64), (65, 65), (128, 128), (192, 129), (1024, 1025)],
)
def test_widths(n, want):
    assert size_classes.width(n) == want
    assert size_classes.width(want) == want


@pytest.mark.parametrize(
    ("n", "want"), [(0, 10), (8, 10), (63, 10), (64, 257), (1023, 257), (1024, 4097), (16383, 4097), (16384, 65537)]
)
def test_extents(n, want):
    assert size_classes.extent(n) == want
    assert size_classes.extent(want) == want


@pytest.mark.parametrize(
    ("n", "rows", "want"), [(0, 0, 30), (100, 100, 771), (799, 100, 771), (800, 100, 6168), (30, 100, 85), (9, 100, 10)]
)
def test_numbers_of_entries(n, rows, want):
    assert size_classes.entries(n, rows) == want


@pytest.mark.parametrize(
    ("n", "rows", "want"),
    [(0, 0, 60), (100, 100, 1542), (1599, 100, 1542), (1600, 100, 12336), (12799, 100, 12336), (9, 100, 10)],
)
def test_numbers_of_entries_of_one_operand(n, rows, want):
    assert size_classes.entries_alone(n, rows) == want


@pytest.mark.parametrize(
    ("n", "rows", "want"),
    [(0, 0, 60), (99, 100, 85), (100, 100, 771), (599, 100, 771), (600, 100, 1542), (1600, 100, 12336), (9, 100, 10)],
)
def test_numbers_of_entries_that_are_summed(n, rows, want):
    assert size_classes.entries_summed(n, rows) == want


@pytest.mark.parametrize(
    ("n", "want"), [(0, 10), (15, 10), (16, 26), (31, 26), (63, 50), (1024, 1537), (2047, 1537), (2048, 3073)]
)
def test_octaves(n, want):
    assert size_classes.finely(n) == want
    assert size_classes.finely(want) == want
    assert not size_classes.is_small_width(want) or n < 16


@pytest.mark.parametrize("rows", [1, 20, 1000, 99999])
@pytest.mark.parametrize("mean", [0.001, 0.3, 0.99, 1, 1.5, 7, 300])
def test_octaves_of_entries(mean, rows):
    n = max(1, int(mean * rows))
    found = size_classes.finely_entries(n, rows) / size_classes.finely(rows) * rows / n
    assert 0.45 < found < 2.1


def test_powers_of_two():
    assert [size_classes.ratio(x) for x in (0.0, 1.0, 1.4, 1.5, 3.0, 300.0)] == [1, 1, 1, 2, 4, 256]
    assert size_classes.ratio(0.03, 1024) == 32


def batch(numbers: random.Random) -> ls.SparseTensor:
    """The adjacency of a sampled subgraph: some nodes, their sampled neighbours, skewed degrees."""
    rows, columns, count = numbers.randint(500, 5000), numbers.randint(500, 5000), numbers.randint(500, 30000)
    of = (torch.rand(count) ** numbers.choice([1.0, 3.0]) * rows).long()
    edges = torch.stack([of, torch.randint(columns, (count,))])
    return ls.from_coo(edges, torch.rand(count), (rows, columns))


def layer(a: ls.SparseTensor) -> None:
    """A layer of a graph network and its gradients."""
    weighted = a.detach().requires_grad_()
    x = torch.rand(a.shape[1], 16, requires_grad=True)
    (weighted @ x).sum().backward()
    assert x.grad is not None


def attention(a: ls.SparseTensor) -> None:
    """Scores at the edges, and their gradients."""
    q, k = torch.rand(a.shape[0], 16, requires_grad=True), torch.rand(a.shape[1], 16, requires_grad=True)
    ls.einsum("ij,ik,jk->ij", a, q, k).values().sum().backward()


def neighbours(a: ls.SparseTensor) -> None:
    """A product of sparse matrices and a sum."""
    ls.einsum("ij,kj->ik", a, a)
    a + a.with_values(a.values() * 2)


@pytest.fixture
def one_thread():
    """On a busy machine teams of threads wait for each other, torch's as well as ours."""
    number = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(number)


@pytest.mark.compiler
@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("work", "count"), [(layer, 1000), (attention, 200), (neighbours, 60)])
def test_mini_batches_share_kernels(work, count, monkeypatch):
    asked: defaultdict[str, int] = defaultdict(int)
    compile_request = native.compile_request

    def counting(request):
        asked[request.get("spec") or request.get("expr")] += 1
        return compile_request(request)

    monkeypatch.setattr(native, "compile_request", counting)
    kernel.forget()
    numbers = random.Random(0)
    for _ in range(count):
        work(batch(numbers))
    assert asked
    # Even the questions are few, so that all other batches find their kernels in a dictionary.
    assert max(asked.values()) <= 20, dict(asked)  # scattered entries are a class of their own
    sources = defaultdict(set)
    for request, made in kernel.known():
        sources[request.text].add(made.source)
    assert max(len(s) for s in sources.values()) <= 12
