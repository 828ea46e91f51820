"""torch.compile, torch.export and torch.library: graphs compute what eager calls compute, gradients included."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from libsparse._runtime.problem import Einsum
from libsparse._storage.pattern import Pattern
from libsparse._trace import encoding, patterns
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounter
from torch._subclasses.fake_tensor import FakeTensorMode

import libsparse as ls

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # torch's own
Function = Callable[[Any, Any], Any]

FUNCTIONS: dict[str, Function] = {
    "relu of a product": lambda A, x: torch.relu(A @ x),
    "torch.sparse.mm": lambda A, x: torch.sparse.mm(A, x, reduce="mean"),
    "vector": lambda A, x: torch.mv(A, x[:, 0]),
    "transposed": lambda A, x: A.T @ (A @ x),
    "dense on the left": lambda A, x: x.T @ A.mT,
    "addmm": lambda A, x: torch.addmm(torch.ones(8), A, x),
    "linear": lambda A, x: F.linear(x.T, A),
    "torch.einsum": lambda A, x: torch.einsum("ij,jk->ik", A, x),
    "ls.einsum": lambda A, x: ls.einsum("ij,jk->ik", A, x, reduce="max"),
    "ls.evaluate": lambda A, x: ls.evaluate("y(i,k) = A(i,j) * sin(x(j,k))", A=A, x=x),
    "three factors": lambda A, x: ls.einsum("ij,jk,jl->kl", A, x, x) / 100,
    "attention": lambda A, x: torch.softmax(ls.sddmm(A, A @ x, x.T) / 8, -1) @ x,
    "elementwise": lambda A, x: torch.sigmoid(torch.clamp(A * 2, -1, 1)).to_dense(),
    "sum of two": lambda A, x: (A + A * A) @ x,
    "scaled rows": lambda A, x: (A / (A.abs().sum(1, keepdim=True) + 1)) @ x,
    "values": lambda A, x: A.with_values(A.values().exp()) @ x,
    "indices": lambda A, x: A.values() * x[A.indices()[1], 0],
    "sparse result": lambda A, x: torch.tanh(A) * 3,
    "new pattern": lambda A, x: A @ A.T,
    "converted": lambda A, x: A.to_format("csc") @ x,
    "attributes": lambda A, x: (A @ x) * A.shape[0] + A.nnz + A.ndim + int(A.fill_value),
}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def matrix(seed: int, rows: int = 30, columns: int = 40, **options: Any) -> ls.SparseTensor:
    return ls.random((rows, columns), 0.2, generator=torch.Generator().manual_seed(seed), **options)


def dense(value: Any) -> Tensor:
    return value.to_dense() if isinstance(value, ls.SparseTensor) else value


def same(compiled: Function, eager: Function, A: ls.SparseTensor, x: Tensor) -> None:
    """The results are equal, and so are the gradients of random weights."""
    A, x = A.detach().clone().requires_grad_(), x.clone().requires_grad_()
    expected, found = eager(A, x), compiled(A, x)
    assert type(found) is type(expected)
    torch.testing.assert_close(dense(found), dense(expected))
    weights = torch.randn(expected.shape)
    wanted, got = (
        torch.autograd.grad((dense(y) * weights).sum(), [A.values(), x], allow_unused=True) for y in (expected, found)
    )
    for a, b in zip(got, wanted, strict=True):
        if b is None:
            assert a is None or not a.any()
        else:
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_functions(name: str) -> None:
    compiled = torch.compile(FUNCTIONS[name], backend="aot_eager", fullgraph=True)
    for seed, (rows, columns) in enumerate([(30, 40), (25, 41)]):  # the second time with symbols for extents
        A, x = matrix(seed, rows, columns), torch.randn(columns, 8)
        if seed == 0:
            torch.testing.assert_close(dense(compiled(A, x)), dense(FUNCTIONS[name](A, x)))
        same(compiled, FUNCTIONS[name], A, x)


@pytest.mark.parametrize("name", ["attention", "new pattern", "elementwise"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_dynamic_shapes_need_one_graph(name: str, backend: str) -> None:
    compiled = torch.compile(FUNCTIONS[name], backend=backend, fullgraph=True, dynamic=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for n in range(3):
            A = matrix(n, 30 + n, 40 + n)
            x = torch.randn(40 + n, 8)
            torch.testing.assert_close(dense(compiled(A, x)), dense(FUNCTIONS[name](A, x)))


def test_patterns_that_vary_need_two_graphs() -> None:
    counter = CompileCounter()
    compiled = torch.compile(FUNCTIONS["relu of a product"], backend=counter, fullgraph=True)
    for n in range(5):
        compiled(matrix(n, 30 + n), torch.randn(40, 8))
    assert counter.frame_count == 2


FORMATS = ["coo", "csc", "bsr(2,2)", "ell", "dia", "db"]


@pytest.mark.parametrize("format", FORMATS)
def test_compiled_formats(format: str) -> None:
    def function(A: Any, x: Tensor) -> Tensor:
        return dense(torch.softmax(A * 2, 1) @ x + (A + A.to_format("csr")) @ x)

    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    same(compiled, function, matrix(0).to_format(format), torch.randn(40, 8))


def test_inductor() -> None:
    function = FUNCTIONS["attention"]
    compiled = torch.compile(function, fullgraph=True)
    with torch._inductor.config.patch(compile_threads=1):  # others would be processes that import torch
        same(compiled, function, matrix(0), torch.randn(40, 8))


def test_operators_find_patterns_by_their_arrays() -> None:
    """Patterns that share arrays are told apart by format and shape, and leave nothing when they go."""
    rows, columns = torch.tensor([0, 1, 2], dtype=torch.int32), torch.tensor([2, 0], dtype=torch.int32)
    before = len(patterns._alive)
    made = [Pattern(ls.Format("csr"), shape, [None, rows], [None, columns]) for shape in ((2, 3), (2, 5))]
    made.append(Pattern(ls.Format("csc"), (3, 2), [None, rows], [None, columns]))
    apart = [patterns.taken_apart(pattern) for pattern in made]
    assert all(patterns.put_together(arrays) is pattern for arrays, pattern in zip(apart, made, strict=True))
    copies = patterns.copied(made[1], torch.int64)
    assert patterns.put_together(patterns.Arrays("ds", [2, 5], copies)) is made[1]
    copies[1][0] = 4  # the compiler may write to what an operator returns
    assert patterns.put_together(patterns.Arrays("ds", [2, 5], copies)) is not made[1]
    del made, copies
    gc.collect()
    assert len(patterns._alive) == before


class Network(nn.Module):
    def __init__(self, A: ls.SparseTensor, *, buffer: bool) -> None:
        super().__init__()
        if buffer:
            self.register_buffer("A", A)
        else:
            self.A = A
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.A @ self.second(torch.relu(self.A @ self.first(x)))
        return result


@pytest.mark.parametrize("buffer", [False, True])
def test_modules(buffer: bool, tmp_path: Path) -> None:
    network, x = Network(matrix(0, 30, 30), buffer=buffer), torch.randn(30, 8)
    expected = network(x)
    expected.square().sum().backward()
    wanted = [p.grad for p in network.parameters()]
    network.zero_grad()
    out = torch.compile(network, backend="aot_eager", fullgraph=True)(x)
    torch.testing.assert_close(out, expected)
    out.square().sum().backward()
    for p, grad in zip(network.parameters(), wanted, strict=True):
        torch.testing.assert_close(p.grad, grad)
    exported = torch.export.export(network, (x,))
    torch.testing.assert_close(exported.module()(x), expected)
    torch.export.save(exported, tmp_path / "network.pt2")
    torch.testing.assert_close(torch.export.load(tmp_path / "network.pt2").module()(x), expected)


class Product(nn.Module):
    def forward(self, A: Any, x: Tensor) -> Tensor:
        return torch.relu(A @ x)


@pytest.mark.parametrize("strict", [False, True])
def test_export_takes_sparse_inputs(strict: bool) -> None:
    A, x = matrix(0), torch.randn(40, 8)
    shapes = ({}, {1: torch.export.Dim("width")})
    exported = torch.export.export(Product(), (A, x), dynamic_shapes=shapes, strict=strict)
    for width in (8, 5):
        x = torch.randn(40, width)
        torch.testing.assert_close(exported.module()(A, x), torch.relu(A @ x))


def test_training_with_values_as_leaves() -> None:
    A, x = matrix(0).requires_grad_(), torch.randn(40, 8)
    optimizer = torch.optim.SGD([A.values()], 0.1)
    compiled = torch.compile(FUNCTIONS["relu of a product"], backend="aot_eager", fullgraph=True)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = compiled(A, x).square().mean()
        loss.backward()
        assert A.grad is not None
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[2] < losses[0]


def test_gradients_go_through_several_graphs_and_eager_code() -> None:
    def double(A: Any) -> Any:
        return A * 2

    first = torch.compile(double, backend="aot_eager", fullgraph=True)
    second = torch.compile(lambda A, x: A @ x, backend="aot_eager", fullgraph=True)
    values, x = matrix(0).values().requires_grad_(), torch.randn(40, 8)

    def total(double: Any, product: Any) -> Tensor:
        B = double(matrix(0).with_values(values * 3))
        result: Tensor = product(double(B), x).sum() + (B @ x).square().sum() + B.sum()
        return result

    (found,) = torch.autograd.grad(total(first, second), values)
    (expected,) = torch.autograd.grad(total(double, lambda A, x: A @ x), values)
    torch.testing.assert_close(found, expected)


def test_fake_tensors_flow_through() -> None:
    A = matrix(0)
    with FakeTensorMode() as mode:
        x = torch.empty(40, 8)
        assert (A @ x).shape == (30, 8)
        assert (mode.from_tensor(A) @ x).shape == (30, 8)


@pytest.mark.filterwarnings("ignore")
def test_enable_leaves_graphs_of_torch_alone() -> None:
    S, x = torch.randn(30, 30).relu().to_sparse_csr(), torch.randn(30, 8)
    expected = torch.relu(S @ x)
    with ls.override():
        for function in (lambda S, x: torch.relu(S @ x), lambda S, x: torch.relu(torch.sparse.mm(S, x))):
            torch.testing.assert_close(torch.compile(function, backend="eager")(S, x), expected)
        torch.testing.assert_close(
            torch.compile(lambda a, b: torch.mm(a, b), backend="eager", fullgraph=True)(x.T, x), x.T @ x
        )


# The operators themselves --------------------------------------------------------------------------------------


def problem(inputs: str, output: str, format: str, reduce: str = "sum") -> str:
    terms = tuple(tuple(term) for term in inputs.split(","))
    einsum = Einsum(terms, tuple(output), ls.Format(format), reduce, dtype=torch.float64)
    return encoding.to_text(einsum.problem())


def calls() -> Iterator[Any]:
    A, B = matrix(0, 8, 9, dtype=torch.float64), matrix(1, 8, 9)
    first, second = patterns.taken_apart(A.pattern), patterns.taken_apart(B.pattern)
    ops = torch.ops.libsparse
    yield ops.coordinates, tuple(first)
    yield ops.coordinates, tuple(patterns.taken_apart(A.to_format("ell").pattern))
    for text in ("csc", "dcsr", "coo", "ell", "bsr(2,2)"):
        yield ops.convert, (*first, ls.Format(text).resolve(2).text)
    yield ops.locate, (*first, second.format, second.tensors)
    yield ops.diagonal, (*patterns.taken_apart(matrix(2, 8, 8).pattern), [0, 0])
    values, x = A.values().clone().requires_grad_(), torch.randn(9, 3, dtype=torch.float64, requires_grad=True)
    for reduce in ("sum", "max"):
        args = [first.format, ""], first.shape, first.tensors, [values, x]
        yield ops.compute, (problem("ij,jk", "ik", "dd", reduce), *args)
    args = [first.format] * 2, first.shape * 2, first.tensors * 2, [values, values.detach().clone()]
    yield ops.compute, (problem("ij,kj", "ik", "ds"), *args)


@pytest.mark.parametrize("number", range(len(list(calls()))))
def test_opcheck(number: int) -> None:
    op, args = list(calls())[number]
    torch.library.opcheck(op, args)


def test_problems_survive_their_text() -> None:
    A = matrix(0)
    text = "y(i) = A(i(1:9:2),j) * f(x(j))"
    ls.register("f(a)", "a * a")
    try:
        compiled = torch.compile(lambda A, x: ls.evaluate(text, A=A, x=x), backend="aot_eager", fullgraph=True)
        x = torch.randn(40)
        torch.testing.assert_close(compiled(A, x), ls.evaluate(text, A=A, x=x))
    finally:
        ls.unregister("f")
