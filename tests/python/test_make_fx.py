"""make_fx on functions of SparseTensors: the graph computes on other tensors than those it was traced with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

import libsparse as ls

FUNCTIONS: dict[str, Callable[[Any, Tensor], Any]] = {
    "product": lambda A, x: A @ x,
    "transposed": lambda A, x: A.T @ x,
    "scaled": lambda A, x: A * 2,
    "sum": lambda A, x: torch.relu(A + A).sum(1),
    "softmax": lambda A, x: torch.softmax(A, 1) @ x,
    "values": lambda A, x: A.with_values(A.values() * 2) @ x,
    "sddmm": lambda A, x: ls.sddmm(A, x, x.T),
    "joined": lambda A, x: torch.cat([A, A]) @ x,
    "rows": lambda A, x: A[1:4],
    "sparse product": lambda A, x: A @ A,
}
ENTRIES = {"joined", "rows", "sparse product"}  # results have entries of their own


def dense(result: Any) -> Tensor:
    return result.to_dense() if isinstance(result, ls.SparseTensor) else result


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_graphs_take_other_tensors(name: str, mode: str) -> None:
    A, x = ls.random((6, 6), 0.4, generator=torch.Generator().manual_seed(0)), torch.rand(6, 3)
    if mode == "real" and name in ENTRIES:
        with pytest.raises(RuntimeError):
            make_fx(FUNCTIONS[name], tracing_mode=mode)(A, x)
        return
    graph = make_fx(FUNCTIONS[name], tracing_mode=mode)(A, x)
    for B in (A, A.with_values(A.values() * 3 + 1)):
        wanted, found = FUNCTIONS[name](B, x + 1), graph(B, x + 1)
        assert type(found) is type(wanted)
        torch.testing.assert_close(dense(found), dense(wanted))
