"""In a graph of torch.compile, in-place operators that bring other entries left the caller's tensor as it was.

Where the graph broke at one, torch.compile took pieces of the package for graphs, with the same result.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import libsparse as ls

Change = Callable[[ls.SparseTensor, ls.SparseTensor], Any]
CHANGES: dict[str, Change] = {
    "add_": lambda A, B: A.add_(B),
    "mul_": lambda A, B: A.mul_(B),
    "tril_": lambda A, B: A.tril_(),
    "masked_fill_": lambda A, B: A.masked_fill_(B > 0, 2.0),
    "addmm_": lambda A, B: A.addmm_(A, B),
}
KEEPING: dict[str, Change] = {
    "numbers": lambda A, B: A.mul_(2),
    "zeros": lambda A, B: A.zero_(),
    "copies": lambda A, B: A.copy_(A * 2),
    "values": lambda A, B: A.values().mul_(2),
}


def changed(change: Change, compile: Callable[[Any], Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """A product with a tensor that has been changed, and the tensor afterwards."""
    torch.manual_seed(0)
    A, B, x = ls.random((6, 6), density=0.5), ls.random((6, 6), density=0.4), torch.randn(6, 2)

    def function(A: ls.SparseTensor, B: ls.SparseTensor, x: torch.Tensor) -> torch.Tensor:
        change(A, B)
        return A @ x

    return compile(function)(A, B, x), A.to_dense()


@pytest.fixture(autouse=True)
def anew():
    """Graphs of other tests are forgotten, and so are warnings of graphs that break."""
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", [*CHANGES, *KEEPING])
def test_where_graphs_may_break(name: str) -> None:
    change = {**CHANGES, **KEEPING}[name]
    found = changed(change, lambda function: torch.compile(function, backend="aot_eager"))
    torch.testing.assert_close(found, changed(change, lambda function: function))


@pytest.mark.parametrize("name", KEEPING)
def test_changes_that_keep_entries(name: str) -> None:
    found = changed(KEEPING[name], lambda function: torch.compile(function, backend="aot_eager", fullgraph=True))
    torch.testing.assert_close(found, changed(KEEPING[name], lambda function: function))


@pytest.mark.parametrize("name", CHANGES)
def test_changes_of_entries(name: str) -> None:
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"in a compiled graph|depends on input Tensor data"):
        changed(CHANGES[name], lambda function: torch.compile(function, backend="aot_eager", fullgraph=True))
