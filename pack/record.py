"""Writes requests.jsonl.gz: what the pack is made of, one request a line. Run it when calls or requests change.

    .venv/bin/python pack/record.py

Each call is made once on typical operands; its gradients, and those conversions that it needs, come with it.
"""

from __future__ import annotations

import functools
import gzip
import itertools
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from libsparse._compiler import kernel, request
from torch import Tensor

import libsparse as ls

FORMATS = ("csr", "csc", "coo")
COPIES = ("sell(8)", "sell(8,4096)", "dn")  # that products with vectors go on with when they repeat
KINDS = (*((format, torch.float32) for format in FORMATS), ("csr", torch.float64))
ROWS, COLUMNS, ENTRIES = 3000, 2000, 50_000  # sizes of which no index is of a class that kernels are made for exactly
# Those that kernels are made for exactly and that are common, and any other; fewer where operands are less usual.
WIDTHS, FEW = (1, 2, 3, 4, 5, 6, 7, 8, 10, 16, 20, 32, 40, 47, 64, 100), (1, 16, 64, 100)


def matrix(rows: int, columns: int, format: str, dtype: torch.dtype) -> ls.SparseTensor:
    """A matrix with entries at random places."""
    places = torch.randperm(rows * columns)[:ENTRIES].sort().values
    coordinates = torch.stack([places // columns, places % columns])
    made = ls.from_coo(coordinates, torch.rand(ENTRIES, dtype=dtype), (rows, columns))
    return made.to_format(format).requires_grad_()


def products(A: Callable[[], ls.SparseTensor]) -> Iterator[Tensor]:
    """A matrix, or its transpose, with dense operands; A() is the same one each time, or a new one."""
    dtype, format = A().dtype, A().format.text

    def dense(*shape: int) -> Tensor:
        return torch.rand(shape, dtype=dtype, requires_grad=True)

    yield A() @ dense(COLUMNS)
    yield A().T @ dense(ROWS)
    for width in WIDTHS:
        widely = dtype == torch.float32 and format in ("ds", "uq")  # CSR and COO, as models have them
        if widely or width in FEW:
            yield A() @ dense(COLUMNS, width)
            yield A().T @ dense(ROWS, width)
        if width in FEW or (widely and format == "ds"):
            yield dense(width, ROWS) @ A()
            yield dense(width, COLUMNS) @ A().T
            yield ls.sddmm(A(), dense(ROWS, width), dense(width, COLUMNS))
            yield ls.sddmm(A(), dense(ROWS, width), dense(COLUMNS, width).T)


def others(A: ls.SparseTensor, B: ls.SparseTensor, C: ls.SparseTensor) -> Iterator[object]:
    """Operations of one or two matrices; B has the shape of A, and C that of its transpose."""
    yield from (A + B, A - B, A * B, A + A, A * A, A @ C, A @ A.T)
    yield from (A.sum(), A.sum(0), A.sum(1), A.mean(1), A.amax(1), A.amin(1), A.norm())
    yield from (torch.softmax(A, 1), torch.relu(A), A * 2, A.to_dense(), torch.maximum(A, B), A == B)
    yield A * torch.rand(ROWS, 1, dtype=A.dtype)
    yield A * torch.rand(1, COLUMNS, dtype=A.dtype)
    yield from (A.detach().to_format(format) for format in FORMATS)
    if A.format == "csr":
        yield from (A.detach().to_format(format) @ torch.rand(COLUMNS, dtype=A.dtype) for format in COPIES)


def first_sums(A: Callable[[], ls.SparseTensor]) -> Iterator[Tensor]:
    """Sums over either dimension of matrices that are new, which are not converted."""
    yield from (reduce(dim) for dim in (0, 1) for reduce in (A().sum, A().amax, A().amin))


def models(A: ls.SparseTensor) -> Iterator[object]:
    """Layers of graph, pruned and attention networks, factorisations, and algorithms on graphs; A is square."""
    n, pattern = A.shape[0], A.detach().with_values(None)
    one, other = (torch.rand(n, requires_grad=True) for _ in range(2))
    yield from (A @ A, ls.einsum("ij->i", A), ls.evaluate("N(i,j) = A(i,j) / d(i)", A=A, d=one))
    yield A * A.sum(1)[:, None] ** -0.5 * A.sum(0) ** -0.5
    yield from (ls.einsum("ij,j->i", A, one, reduce=r, combine=c) for r, c in (("min", "add"), ("max", "mul")))
    yield ls.einsum("ij,j->i", pattern, one > 0.5, reduce="any", combine="and")
    yield ls.evaluate("y(i) = A(i,j) * x(j) + b(i)", A=A, x=one, b=other)
    for heads in (1, 2, 4, 8):
        q = [torch.rand(heads, n, 16, requires_grad=True) for _ in range(3)]
        yield ls.attention(*q, pattern)
    for width in FEW[1:]:
        x, y = (torch.rand(n, width, requires_grad=True) for _ in range(2))
        yield from (ls.spmm(A, x, reduce=reduce) for reduce in ("mean", "max", "min"))
        yield from (F.linear(x.T, A), F.linear(x.T, A, one), ls.attention(x, y, x, pattern))
        yield ls.einsum("ik,jk,ij->ij", x, x, A)
        yield ls.evaluate("y(i,k) = relu(A(i,j) * x(j,k) + b(k))", A=A, x=x, b=y[0])
        scores = ls.evaluate("E(i,j) = stored(A(i,j)) * (s(i) + t(j))", A=A, s=one, t=other)
        yield torch.softmax(F.leaky_relu(scores, 0.2), 1) @ x
    T = ls.tensor(torch.rand(60, 50, 40) * (torch.rand(60, 50, 40) > 0.9)).requires_grad_()
    for rank in FEW[1:]:
        a, b, c = (torch.rand(extent, rank, requires_grad=True) for extent in T.shape)
        yield from (ls.einsum("ijk,jr,kr->ir", T, b, c), ls.einsum("ijk,ir,kr->jr", T, a, c))
        yield ls.einsum("ijk,ir,jr->kr", T, a, b)


def drop_in(A: ls.SparseTensor) -> Iterator[object]:
    """What else torch's functions come to on its own tensors."""
    S = A.detach().to_torch()
    with ls.override():
        yield S @ S
        for width in WIDTHS:
            x = torch.rand(A.shape[0], width)
            yield torch.sparse.sampled_addmm(S, x, x.T, beta=0.0)


def backward(result: object) -> None:
    """The gradients of a result's values."""
    values = result.values() if isinstance(result, ls.SparseTensor) else result
    if isinstance(values, Tensor) and values.requires_grad:
        values.sum().backward(retain_graph=True)  # with a gradient that has no memory of its own
        values.backward(torch.rand_like(values))


def record() -> dict[str, dict[str, object]]:
    """The requests of all calls by their text: patterns are new, and convert nothing yet, or used often."""
    often = functools.partial(ls.options, tune_bitwise=True)  # converts with the first use
    with tempfile.TemporaryDirectory() as folder, ls.options(cache_dir=folder, num_threads=2):
        for format, dtype in KINDS:
            new = functools.partial(matrix, ROWS, COLUMNS, format, dtype)
            A, B, C = new(), new(), matrix(COLUMNS, ROWS, format, dtype)
            with often():
                for result in itertools.chain(products(lambda A=A: A), others(A, B, C)):
                    backward(result)
            for result in itertools.chain(products(new), first_sums(new)):
                backward(result)
        A = matrix(ROWS, ROWS, "csr", torch.float32)
        for result in models(A):
            backward(result)
        with often():
            for result in itertools.chain(models(A), drop_in(A)):
                backward(result)
        found = [wanted for wanted, _ in kernel.known()]
    return {request.text(request.widened(wanted)): wanted.describe() for wanted in found}


if __name__ == "__main__":
    torch.manual_seed(0)
    requests = record()
    lines = [json.dumps({**described, "request_key": text}) for text, described in sorted(requests.items())]
    with gzip.GzipFile(Path(__file__).with_name("requests.jsonl.gz"), "wb", mtime=0) as file:
        file.write("\n".join(lines).encode())
    print(len(lines), "requests")
