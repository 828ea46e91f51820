"""What a user writes, checked by mypy --strict: constructors, conversions, a GCN, attention, gradients, settings.

The types are those that an editor shows: a product with a dense tensor is a Tensor, a scaled matrix a SparseTensor.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from typing_extensions import assert_type

import libsparse as ls


def constructors() -> ls.SparseTensor:
    """Sparse tensors from what users have."""
    a = ls.tensor([[0.0, 2.0], [1.0, 0.0]], format="csr")
    b = ls.from_coo([[0, 1], [1, 0]], [2.0, 1.0], (2, 2), format="coo")
    c = ls.from_csr([0, 1, 2], [1, 0], torch.ones(2), (2, 2))
    mask = ls.from_mask(torch.eye(2) > 0)
    edges = ls.from_edge_index(torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    assert_type(a + b, ls.SparseTensor)
    assert_type(mask.float(), ls.SparseTensor)
    return a + b + c + mask.float() + edges.float() + ls.eye(2) + ls.random((2, 2), density=0.5)


def conversions(a: ls.SparseTensor) -> None:
    """Other formats, dtypes, libraries, and the parts."""
    assert_type(a.to_format("csc"), ls.SparseTensor)
    assert_type(a.to_dense(), Tensor)
    assert_type(a.to(torch.float64), ls.SparseTensor)
    assert_type(a.values(), Tensor)
    assert_type(a.with_values(torch.ones(a.nnz)), ls.SparseTensor)
    assert_type(a.map(torch.exp), ls.SparseTensor)
    assert_type(a.indices(), Tensor)
    assert_type(a.nnz, int)
    assert_type(a.density, float)
    assert_type(a.format, ls.Format)
    assert_type(a.T, ls.SparseTensor)
    row, col, value = a.coo()
    assert_type(value, Tensor)
    assert_type(ls.from_torch(a.to_torch(torch.sparse_coo)), ls.SparseTensor)
    ls.write("a.mtx", a)
    assert_type(ls.read("a.mtx"), ls.SparseTensor)
    del row, col


def arithmetic(a: ls.SparseTensor, x: Tensor) -> None:
    """Operators."""
    assert_type(a @ x, Tensor)
    assert_type(a @ a, ls.SparseTensor)
    assert_type(a * 2, ls.SparseTensor)
    assert_type(2 * a, ls.SparseTensor)
    assert_type(a / 3.0, ls.SparseTensor)
    assert_type(a - a, ls.SparseTensor)
    assert_type(a * x, ls.SparseTensor)
    assert_type(-a, ls.SparseTensor)
    assert_type(a**2, ls.SparseTensor)
    assert_type(a.sum(1), Tensor)
    assert_type(a.mean(), Tensor)
    assert_type(a.softmax(1), ls.SparseTensor)
    assert_type(a.abs(), ls.SparseTensor)
    assert_type(a.transpose(0, 1), ls.SparseTensor)
    assert_type(x @ a, Tensor)
    assert_type(a + x, Tensor)
    assert_type(x + a, Tensor)
    assert_type(1 - a, ls.SparseTensor)


def functions(a: ls.SparseTensor, x: Tensor) -> None:
    """Methods keep a tensor sparse where its values are; functions of torch are declared by torch, as of Tensors."""
    assert_type(a > 0, ls.SparseTensor)
    assert_type(a == a, ls.SparseTensor)
    assert_type(a < x, Tensor)
    assert_type((a > 0) & (a < 2), ls.SparseTensor)
    assert_type(a.sin().log1p().neg().clamp(0, 1), ls.SparseTensor)
    assert_type(a.add(a), ls.SparseTensor)
    assert_type(a.add(x), Tensor)
    assert_type(a.mul(x), ls.SparseTensor)
    assert_type(a.mm(x), Tensor)
    assert_type(a.mm(a), ls.SparseTensor)
    assert_type(a.diagonal(), ls.SparseTensor)
    assert_type(a.unbind(), tuple[ls.SparseTensor, ...])
    assert_type(a.sparse_mask(a.abs() > 0), ls.SparseTensor)
    assert_type(a.relu(), ls.SparseTensor)
    assert_type(torch.relu(a), Tensor)


def indexing(a: ls.SparseTensor) -> None:
    """Parts are sparse, elements that are named by their places are dense."""
    assert_type(a[0:3], ls.SparseTensor)
    assert_type(a[0], ls.SparseTensor)
    assert_type(a[:, 1:2], ls.SparseTensor)
    assert_type(a[..., 0], ls.SparseTensor)
    assert_type(a[torch.tensor([0, 1])], ls.SparseTensor)
    assert_type(a[0, 1], Tensor)
    assert_type(a[[0, 1], [1, 0]], Tensor)


def normalized(a: ls.SparseTensor) -> ls.SparseTensor:
    """Kipf and Welling's normalisation of an adjacency matrix."""
    a = a + ls.eye(a.shape[0])
    scale = a.sum(1) ** -0.5
    return ls.diag(scale) @ a @ ls.diag(scale)


class GCN(nn.Module):
    """Two graph convolutions."""

    def __init__(self, features: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(features, hidden)
        self.second = nn.Linear(hidden, classes)

    def forward(self, a: ls.SparseTensor, x: Tensor) -> Tensor:
        hidden: Tensor = self.second(torch.relu(a @ self.first(x)))  # modules return Any
        return a @ hidden


def train(a: ls.SparseTensor, x: Tensor, labels: Tensor) -> float:
    """One step."""
    model = GCN(x.shape[1], 16, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loss = nn.functional.cross_entropy(model(normalized(a), x), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def attention(q: Tensor, k: Tensor, v: Tensor, mask: ls.SparseTensor) -> Tensor:
    """Masked attention, at once and by its parts."""
    scores = ls.sddmm(mask, q, k.mT).softmax(-1)
    assert_type(scores, ls.SparseTensor)
    assert_type(scores @ v, Tensor)
    return ls.attention(q, k, v, mask)


def expressions(a: ls.SparseTensor, x: Tensor) -> None:
    """Notation, schedules and settings."""
    y: Tensor = ls.einsum("ij,jk->ik", a, x)
    z: Tensor = ls.evaluate("y(i) = 2 * A(i,j) * x(j)", A=a, x=x[:, 0])
    w: Tensor = ls.matmul(a, x, reduce="max")
    assert_type(ls.einsum("ij,jk->ik", a, x), Tensor | ls.SparseTensor)
    assert_type(ls.evaluate("y(i,j) = 2 * A(i,j)", A=a), Tensor | ls.SparseTensor)
    assert_type(ls.einsum("ij,jk->ik", a, a, format="csr"), ls.SparseTensor)
    assert_type(ls.evaluate("y(i,j) = 2 * A(i,j)", A=a, format="coo"), ls.SparseTensor)
    assert_type(ls.matmul(a, x, format="csc"), ls.SparseTensor)
    assert_type(ls.matmul(a, x), Tensor)
    assert_type(ls.matmul(a, a), ls.SparseTensor)
    assert_type(ls.spgemm(a, a), ls.SparseTensor)
    product = ls.einsum("ij,jk->ik", a, a)
    if isinstance(product, ls.SparseTensor):
        print(product.nnz)
    print(ls.explain("ij,jk->ik", a, x), y, z, w)
    ls.schedule("ij,jk->ik", a, x).split("k", "k0", "k1", 8).parallelize("i").run()
    with ls.options(num_threads=2), ls.override():
        print(ls.cache.path, ls.cache.info().kernels)
    try:
        a @ torch.ones(7)
    except ls.ShapeError as error:
        print(error)


def gradients(a: ls.SparseTensor, x: Tensor) -> Tensor | None:
    """The gradient of a sparse operand has its pattern."""
    weight = a.detach().requires_grad_()
    assert_type(weight, ls.SparseTensor)
    (weight @ x).sum().backward()
    grad = weight.grad
    assert_type(grad, ls.SparseTensor | None)
    return None if grad is None else grad.values()


if __name__ == "__main__":
    torch.manual_seed(0)
    graph, features = ls.tensor([[0.0, 2.0], [1.0, 0.0]]), torch.rand(2, 4)
    constructors()
    arithmetic(graph, torch.rand(2, 2))
    functions(graph, torch.rand(2, 2))
    indexing(graph)
    print(train(graph, features, torch.tensor([0, 1])))
    print(attention(features, features, features, graph.with_values(None)))
    print(gradients(graph, features))
