"""Full graphs of torch.compile in which patterns are made: indexing, joining, functions of shape, constructors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from libsparse._storage.checks import Names
from libsparse._trace import moves, patterns
from torch import Tensor

import libsparse as ls

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # torch's own
Function = Callable[[Any, Tensor], Any]

ROWS = torch.tensor([3, 1, 4, 1, 20])
EDGES = torch.tensor([[0, 3, 3, 7, 0], [1, 2, 5, 7, 1]])

GROUPS: dict[str, list[Function]] = {
    "rows and columns": [
        lambda A, x: A[ROWS] @ x,
        lambda A, x: A[x[:5, 0].argsort()] @ x,
        lambda A, x: A[ROWS][:, ROWS],
        lambda A, x: A[1:5] @ x,
        lambda A, x: A[::2, 3:30:3],
        lambda A, x: A[-1],
        lambda A, x: A[..., 2],
        lambda A, x: A.T[ROWS],
        lambda A, x: A[:, None, ROWS],
    ],
    "masks": [
        lambda A, x: A[torch.arange(A.shape[0]) % 2 == 0] @ x,
        lambda A, x: A[:, x[:, 0] > 0],
        lambda A, x: A[A.to_dense() > 0.5],
        lambda A, x: A.masked_fill(A > 0.5, 0.0),
    ],
    "elements": [
        lambda A, x: A[ROWS, ROWS],
        lambda A, x: A[-1, 2],
        lambda A, x: torch.take(A, ROWS),
        lambda A, x: A.trace() if A.shape[0] == A.shape[1] else A[0, 0],
        lambda A, x: A.argmax(1).float(),
    ],
    "selected": [
        lambda A, x: torch.index_select(A, 1, ROWS),
        lambda A, x: A.narrow(0, 2, 5),
        lambda A, x: A.select(1, 2),
        lambda A, x: torch.chunk(A, 3)[1],
        lambda A, x: torch.unbind(A[:3])[2],
        lambda A, x: A.tril() @ x,
        lambda A, x: A.triu(1) * A,
        lambda A, x: A.diagonal(),
    ],
    "joined": [
        lambda A, x: torch.cat([A, 2 * A]) @ x,
        lambda A, x: torch.cat([A, A.to_format("coo")], 1),
        lambda A, x: torch.bmm(torch.stack([A, A * A]), torch.stack([x, x])),
        lambda A, x: torch.block_diag(A, A),
        lambda A, x: A[:, : A.shape[0]].set_diag(x[: A.shape[0], 0]),
        lambda A, x: A[:, : A.shape[0]].fill_diag(2.0),
    ],
    "other shapes": [
        lambda A, x: A.reshape(A.shape[1], A.shape[0]),
        lambda A, x: A.flatten(),
        lambda A, x: A.unsqueeze(0).expand(2, *A.shape),
        lambda A, x: A.unsqueeze(1).squeeze(1) @ x,
        lambda A, x: torch.flip(A, [0]),
        lambda A, x: torch.roll(A, 1, 0),
        lambda A, x: A.repeat(2, 1),
    ],
    "constructed": [
        lambda A, x: ls.from_coo(EDGES, x[:5, 0], (8, 9)),
        lambda A, x: ls.from_coo(EDGES, x[:5, 0], (8, 9), reduce="max", format="ell"),
        lambda A, x: ls.from_csr(torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1]), x[:3, 0], (2, 40)) @ x[:40],
        lambda A, x: ls.from_topk(x.topk(3).indices, x.topk(3).values, 8) @ x[:8],
        lambda A, x: ls.from_edge_index(EDGES, num_nodes=40).float() @ x[:40],
        lambda A, x: ls.from_mask(x > 0).float(),
        lambda A, x: ls.tensor(torch.relu(x)),
        lambda A, x: ls.eye(8) * 2,
    ],
    "normalised": [
        lambda A, x: ls.diag(A.sum(1) + 1) @ A @ ls.diag(A.sum(0) + 1) @ x,
        lambda A, x: (A @ A.T + ls.eye(A.shape[0])) @ x[: A.shape[0]],
        lambda A, x: A * (A.abs().sum(1, keepdim=True) + 1) ** -0.5,
        lambda A, x: F.dropout(torch.softmax(A, 1), 0.0, True) @ x,
        lambda A, x: torch.exp(A) + 1,
        lambda A, x: (A @ x) if A.format == "csr" and A.format != "coo" else x,
        lambda A, x: A.row + A.col,
    ],
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


def check(functions: list[Function], A: ls.SparseTensor, x: Tensor, compiled: Any) -> None:
    """The results of a graph are those of eager calls, and so are the gradients of random weights."""
    A, x = A.detach().clone().requires_grad_(), x.clone().requires_grad_()
    expected, found = [f(A, x) for f in functions], compiled(A, x)
    for a, b in zip(found, expected, strict=True):
        assert type(a) is type(b)
        torch.testing.assert_close(dense(a), dense(b))
    weights = [torch.randn(y.shape) for y in expected]
    grads = []
    for results in (expected, found):
        floating = [(dense(y), w) for y, w in zip(results, weights, strict=True) if y.dtype.is_floating_point]
        total = sum((y * w).sum() for y, w in floating)
        grads.append(torch.autograd.grad(total, [A.values(), x], allow_unused=True))
    for a, b in zip(*grads, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("group", GROUPS)
def test_patterns_made_in_a_graph(group: str) -> None:
    functions = GROUPS[group]
    compiled = torch.compile(
        lambda A, x: [f(A, x) for f in functions], backend="aot_eager", fullgraph=True, dynamic=True
    )
    for seed, (rows, columns) in enumerate([(30, 40), (26, 42)]):  # one graph, with symbols for extents
        check(functions, matrix(seed, rows, columns), torch.randn(columns, 8), compiled)


@pytest.mark.parametrize("format", ["coo", "csc", "bsr(2,2)", "ell"])
def test_formats(format: str) -> None:
    functions: list[Function] = [  # extents are numbers here
        lambda A, x: A[ROWS][:, ROWS],
        lambda A, x: torch.cat([A, A]).tril(),
        lambda A, x: A.reshape(40, 30)[2:9],
    ]
    compiled = torch.compile(lambda A, x: [f(A, x) for f in functions], backend="aot_eager", fullgraph=True)
    check(functions, matrix(0).to_format(format), torch.randn(40, 8), compiled)


def test_one_graph_for_all_lengths() -> None:
    compiled = torch.compile(lambda A, rows, x: A[rows] @ x, backend="aot_eager", fullgraph=True, dynamic=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for n in range(2, 5):
            A, rows, x = matrix(n, 30 + n, 40 + n), torch.arange(n), torch.randn(40 + n, 8)
            torch.testing.assert_close(compiled(A, rows, x), A[rows] @ x)


def test_export() -> None:
    class Batch(torch.nn.Module):
        def forward(self, A: Any, rows: Tensor, x: Tensor) -> Tensor:
            B = A[rows] + ls.from_topk(x.topk(2).indices[: rows.shape[0]], x[: rows.shape[0], :2], 40)
            result: Tensor = torch.softmax(B, 1) @ x
            return result

    A, x = matrix(0), torch.randn(40, 8)
    exported = torch.export.export(Batch(), (A, ROWS, x))
    torch.testing.assert_close(exported.module()(A, ROWS + 1, x), Batch()(A, ROWS + 1, x))


def test_patterns_without_values_and_fill_values() -> None:
    def function(A: Any, B: Any) -> tuple[Any, ...]:
        return A[ROWS], torch.cat([A, A])[1:], B[ROWS], B[0, 0], torch.cat([B, B])

    A, B = matrix(0).with_values(None), torch.exp(matrix(1))
    for found, expected in zip(
        torch.compile(function, backend="aot_eager", fullgraph=True)(A, B), function(A, B), strict=True
    ):
        assert found.dtype == expected.dtype
        assert dense(found).equal(dense(expected))


def test_errors_when_a_graph_is_traced_and_when_it_runs() -> None:
    def refused(A: Any) -> Any:
        return torch.tril(torch.exp(A))

    with pytest.raises(Exception, match="UnsupportedError"):
        torch.compile(refused, backend="aot_eager", fullgraph=True)(matrix(0))
    rows = torch.compile(lambda A, rows: A[rows], backend="aot_eager", fullgraph=True)
    with pytest.raises(IndexError, match="index 30 is out of range"):
        rows(matrix(0), torch.tensor([30]))
    coo = torch.compile(lambda i, v: ls.from_coo(i, v, (3, 3)), backend="aot_eager", fullgraph=True)
    with pytest.raises(ls.IndexBoundsError, match=r"indices\[1\]\[0\] is 3"):
        coo(torch.tensor([[0], [3]]), torch.ones(1))
    csr = torch.compile(lambda p, c, v: ls.from_csr(p, c, v, (2, 2)), backend="aot_eager", fullgraph=True)
    with pytest.raises(ls.IndexBoundsError, match="col"):
        csr(torch.tensor([0, 1, 1]), torch.tensor([2]), torch.ones(1))


def calls() -> Iterator[Any]:
    A, ops = matrix(0, 8, 9), torch.ops.libsparse
    own = patterns.taken_apart(A.pattern)
    given = moves.Arguments([(A, (slice(1, 5), torch.tensor([1, 0]))), {}])
    arguments = own.format, own.shape, own.tensors
    yield (
        ops.move,
        (
            *(
                "index",
                given.text,
                [own.format + "?"],
                own.shape,
                own.tensors,
                given.tensors,
                given.numbers,
                "ds",
                [4, 2],
            ),
        ),
    )
    yield ops.assemble, (EDGES, [8, 9], "ds")
    yield ops.checked, (*arguments, True, list(Names("crow", "col")))


@pytest.mark.parametrize("number", range(3))
def test_opcheck(number: int) -> None:
    op, args = list(calls())[number]
    torch.library.opcheck(op, args)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_methods_that_take_functions_or_return_numbers(backend: str, dynamic: bool) -> None:
    A = ls.random((6, 4), 0.5)
    traced = ls.compile(lambda A, x: torch.relu(A @ x + 1))

    def function(A: Any, x: Tensor) -> list[Any]:
        return [
            A.map(torch.exp).sum(1),
            A.map(lambda v: v / A._nnz()) @ x,
            *(piece @ x for piece in A.split(4)),
            traced(A, x),
        ]

    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend, fullgraph=True, dynamic=dynamic)
    for B in (A, ls.random((6, 4), 0.8)):
        torch.testing.assert_close(compiled(B, torch.ones(4, 2)), function(B, torch.ones(4, 2)))


WHOLE: list[Callable[[Any, Tensor], Any]] = [
    lambda A, x: (A * 2).map(torch.exp) @ x,
    lambda A, x: (A * 2).map(lambda v: v.exp() + x[0, 0]) @ x,
    lambda A, x: torch.softmax(A, 1).T.map(fn=torch.sigmoid),
    lambda A, x: (A + A.to_format("csc")).map(torch.sin),
    lambda A, x: ls.SparseTensor(A.pattern, A.values() * 2).sum(1),
    lambda A, x: ls.SparseTensor(A.pattern, A.values().exp()),
    lambda A, x: ls.SparseTensor((A * 2).pattern, values=A.values().exp()) @ x,
    lambda A, x: ls.SparseTensor(A.pattern) @ x * A.pattern.shape[0],
    lambda A, x: ls.SparseTensor(A.T.pattern, A.values(), 1.0).to_dense(),
]


@pytest.mark.parametrize("number", range(len(WHOLE)))
def test_functions_of_values_and_tensors_of_patterns_in_whole_graphs(number: int) -> None:
    function = WHOLE[number]
    for dynamic in (False, True):
        torch._dynamo.reset()
        compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=dynamic)
        for A in (matrix(0), matrix(1, 31, 40))[: 1 + dynamic]:
            gradients = []
            for call in (compiled, function):
                given = A.detach().clone().requires_grad_()
                found = call(given, torch.ones(40, 8).requires_grad_())
                (found.values() if isinstance(found, ls.SparseTensor) else found).sum().backward()
                gradients.append((dense(found), given.grad))
            torch.testing.assert_close(gradients[0][0], gradients[1][0])
            assert (gradients[0][1] is None) == (gradients[1][1] is None)
            if gradients[0][1] is not None:
                torch.testing.assert_close(gradients[0][1].values(), gradients[1][1].values())


@pytest.mark.parametrize("strict", [False, True])
def test_functions_of_values_and_tensors_of_patterns_are_exported(strict: bool) -> None:
    class Model(torch.nn.Module):
        def forward(self, A: Any, x: Tensor) -> list[Tensor]:
            return [dense(function(A, x)) for function in WHOLE]

    A, x = matrix(0), torch.randn(40, 8)
    exported = torch.export.export(Model(), (A, x), strict=strict).module()
    for B in (A, A * 3):
        torch.testing.assert_close(exported(B, x), Model()(B, x))


def test_decompositions_of_exported_programs() -> None:
    class Buffer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("A", matrix(0))

        def forward(self, x: Tensor) -> Tensor:
            return torch.relu(self.A @ x)

    class Parts(torch.nn.Module):
        def forward(self, crow: Tensor, col: Tensor, values: Tensor, x: Tensor) -> Tensor:
            return ls.from_csr(crow, col, values, (30, 40)) @ x

    A, x = matrix(0), torch.randn(40, 8)
    for model, args in ((Buffer(), (x,)), (Parts(), (A.crow_indices(), A.col_indices(), A.values(), x))):
        program = torch.export.export(model, args).run_decompositions()
        torch.testing.assert_close(program.module()(*args), model(*args))


META: list[Callable[[Any, Tensor], Any]] = [
    lambda A, x: A @ x,
    lambda A, x: A.T @ A.T.sum(0),
    lambda A, x: A.to_dense(),
    lambda A, x: torch.softmax(A, 1),
    lambda A, x: torch.exp(A),
    lambda A, x: A.amax(1),
    lambda A, x: A.std(0),
    lambda A, x: A[1:3],
    lambda A, x: torch.cat([A, A]),
]


@pytest.mark.parametrize("number", range(len(META)))
def test_the_device_meta(number: int) -> None:
    A, x = ls.random((6, 4), 0.5), torch.ones(4, 2)
    wanted, found = META[number](A, x), META[number](A.to("meta"), x.to("meta"))
    assert found.device.type == "meta"
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype


def test_devices_are_not_mixed() -> None:
    with pytest.raises(ls.UnsupportedError, match="operand 1 is on meta"):
        ls.random((6, 4), 0.5) @ torch.ones(4, 2, device="meta")


@pytest.mark.parametrize("strict", [False, True])
def test_an_exported_graph_has_no_constants_of_its_tracing(strict: bool) -> None:
    class Attention(torch.nn.Module):
        def forward(self, A: Any, x: Tensor) -> Tensor:
            return torch.softmax(A, 1) @ x + A.to_format("csc") @ x

    A, x = matrix(0), torch.randn(40, 8)
    exported = torch.export.export(Attention(), (A, x), strict=strict)
    assert not exported.constants
    torch.testing.assert_close(exported.module()(A * 2, x), Attention()(A * 2, x))
