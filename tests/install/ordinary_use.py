"""What has to run wherever the package is installed: README, training, a script on torch's tensors.

    python ordinary_use.py [--without-compiler]

It runs in an environment that has only torch and libsparse, and prints what it found.
"""

from __future__ import annotations

import io
import sys
import warnings

import torch

import libsparse as ls


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def readme() -> None:
    """README's first block, on less."""
    A = ls.random((1000, 1000), density=0.01)
    x = torch.rand(1000, 64, requires_grad=True)
    y = A @ x
    y.square().sum().backward()
    close(y, A.to_dense() @ x)
    assert x.grad is not None
    close(x.grad, 2 * A.to_dense().T @ y.detach())
    p = ls.einsum("ik,jk,ij->ij", x, x, A)
    close(p.to_dense(), (x @ x.T) * A.to_dense())


def training() -> None:
    """A graph network whose loss falls."""
    torch.manual_seed(0)
    labels = torch.arange(200) % 2
    edges = (torch.rand(200, 200) < torch.where(labels[:, None] == labels, 0.1, 0.01)).nonzero().T
    graph = ls.from_edge_index(edges, torch.ones(edges.shape[1]), num_nodes=200)
    graph = graph * graph.sum(1).clamp(min=1)[:, None] ** -1
    first, second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 2)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.05)
    x = torch.randn(200, 8) + labels[:, None]
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        out = graph @ second(torch.relu(graph @ first(x)))
        losses.append(torch.nn.functional.cross_entropy(out, labels))
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < losses[0] / 2


def drop_in() -> None:
    """torch's own tensors, with and without libsparse."""
    A = torch.rand(64, 64).relu().sub(0.8).relu().to_sparse_csr()
    x = torch.rand(64, 8)
    expected = torch.sparse.mm(A, x)
    with ls.override():
        close(torch.sparse.mm(A, x), expected)
    q = torch.rand(64, 8)
    with ls.override():
        scores = torch.sparse.sampled_addmm(A, q, x.T, beta=0.0)
    close(scores.to_dense(), (q @ x.T) * (A.to_dense() != 0))


def files() -> None:
    """A file that may hold nothing but tensors."""
    A, file = ls.random((100, 100), density=0.05), io.BytesIO()
    torch.save(A, file)
    file.seek(0)
    close(torch.load(file, weights_only=True).to_dense(), A.to_dense())


def graphs() -> None:
    """Functions compiled by torch, whose gradients are those of eager calls; without gradients first."""
    A, x = ls.random((100, 100), density=0.05), torch.rand(100, 8)
    for function in (lambda A: torch.relu(A @ x), lambda A: A * 2):
        compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=False)
        close(*(f(A).sum().detach() for f in (compiled, function)))
        found, wanted = A.detach().clone().requires_grad_(), A.detach().clone().requires_grad_()
        compiled(found).sum().backward()
        function(wanted).sum().backward()
        close(found.grad.values(), wanted.grad.values())


def transforms() -> None:
    """Gradients by each row of a batch."""
    A, x = ls.random((100, 100), density=0.05), torch.rand(3, 100)
    found = torch.vmap(torch.func.grad(lambda A, x: ls.matmul(A, x).square().sum()), in_dims=(None, 0))(A, x)
    wanted = 2 * (x @ A.to_dense().T)[:, :, None] * x[:, None, :] * (A.to_dense() != 0)
    close(found.to_dense(), wanted)


def main() -> None:
    """Run all of it."""
    warnings.filterwarnings("ignore", message="Sparse (CSR|CSC) tensor support is in beta state")
    warnings.filterwarnings("error", message=".*compiler.*")  # the first parts need none
    kernels_of_any_kind = () if "--without-compiler" in sys.argv else (graphs, transforms)
    for part in (readme, training, drop_in, files, *kernels_of_any_kind):
        part()
        print(f"  {part.__name__}: right")
    report = ls.doctor()
    print("  " + str(report).replace("\n", "\n  "))
    if "--without-compiler" in sys.argv:
        assert not report.ok, "no C compiler was to be found"


main()
