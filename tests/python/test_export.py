"""torch.export: SparseTensors as results of a graph, with static and dynamic shapes, saved and differentiated."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.skipif(torch.__version__ < "2.7", reason="torch exports no classes of tensors")

A = ls.random((6, 6), 0.4, generator=torch.Generator().manual_seed(3))
X = torch.rand(6, 3, generator=torch.Generator().manual_seed(4))


class Module(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def same(found: Any, expected: Any) -> None:
    """Checks that two results are equal, format, fill value and dtype included."""
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    assert type(found) is type(expected)
    if isinstance(expected, ls.SparseTensor):
        assert (found.format, found.fill_value) == (expected.format, expected.fill_value)
        found, expected = found.to_dense(), expected.to_dense()
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda A, x: torch.relu(A),
        lambda A, x: (A * 2, A @ x),
        lambda A, x: torch.exp(A),
        lambda A, x: ls.einsum("ij,jk->ik", A, A, reduce="min", combine="add"),
        lambda A, x: ls.sddmm(A, torch.stack([x, x]), torch.stack([x, x]).mT),
        lambda A, x: A.to_format("bsr(2,2)") + A.T,
        lambda A, x: A > 0,
        lambda A, x: A.with_values(A.values() * x.sum()),
    ],
    ids=["same pattern", "several", "fill", "infinite fill", "batched", "block", "bool", "values"],
)
def test_sparse_results(function: Any, strict: bool) -> None:
    exported = torch.export.export(Module(function), (A, X), strict=strict)
    file = io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    for program in (exported, torch.export.load(file)):
        for args in ((A, X), (A * 3, X + 1)):
            same(program.module()(*args), function(*args))


def test_dynamic_shapes() -> None:
    exported = torch.export.export(
        Module(lambda A, x: ls.sddmm(A, x, x.T)), (A, X), dynamic_shapes={"args": ({}, {1: torch.export.Dim("width")})}
    )
    for width in (3, 5):
        x = torch.rand(6, width)
        same(exported.module()(A, x), ls.sddmm(A, x, x.T))


def test_a_buffer_times_an_input() -> None:
    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("A", A)

        def forward(self, x: torch.Tensor) -> Any:
            return self.A * x

    dense = torch.rand(6, 6)
    same(torch.export.export(Scaled(), (dense,)).module()(dense), A * dense)


def test_gradients_of_a_sparse_result() -> None:
    def loss(function: Any) -> torch.Tensor:
        x = X.clone().requires_grad_()
        function(A, x).values().square().sum().backward()
        assert x.grad is not None
        return x.grad

    def sampled(A: Any, x: torch.Tensor) -> Any:
        return ls.sddmm(A, x, x.T)

    exported = torch.export.export(Module(sampled), (A, X)).module()
    torch.testing.assert_close(loss(exported), loss(sampled))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("share", [lambda A: A.with_values(A.values() + 1), lambda A: A.T], ids=["pattern", "values"])
def test_inputs_that_shared_arrays_are_of_different_patterns_later(share: Any, strict: bool) -> None:
    def function(A: Any, B: Any) -> Any:
        return A + B, A @ B

    program = torch.export.export(Module(function), (A, share(A)), strict=strict).module()
    others = [ls.random((6, 6), density) for density in (0.2, A.nnz / 36)]
    others = [B.to_format("csc") if share(A).format == "csc" else B for B in others]
    for args in [(A, share(A)), *((A, B) for B in others)]:
        same(program(*args), function(*args))


@pytest.mark.parametrize("dynamic", [None, True])
def test_the_pattern_of_a_result_in_a_graph(dynamic: bool | None) -> None:
    def function(A: Any, x: torch.Tensor) -> Any:
        return ls.SparseTensor((A * 2).pattern, A.values() + 1) @ x

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for given in (A, ls.random((6, 6), 0.7)):
        torch.testing.assert_close(compiled(given, X), function(given, X))
