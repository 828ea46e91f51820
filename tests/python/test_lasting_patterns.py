"""Calls that repeat with a matrix without values: they go on by its transpose, where sums take less time by that."""

from __future__ import annotations

import pytest
import torch
from libsparse._runtime import lasting
from libsparse._runtime.call import Call

import libsparse as ls

CALLS = 200  # more than a trial takes


@pytest.mark.parametrize("transposed", [False, True])
def test_products_with_the_transpose_go_on_by_its_rows(transposed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting, "_PRICE", 0.0)
    P = ls.random((3000, 3000), 0.008).with_values(None)
    A = P.T if transposed else P
    x = torch.linspace(-1, 1, 3000)
    wanted = A.to_dense().double() @ x.double()
    found = [A @ x for _ in range(CALLS)]
    for y in found:
        torch.testing.assert_close(y.double(), wanted, rtol=1e-4, atol=1e-4)
    assert len({tuple(y.tolist()) for y in found}) == (2 if transposed else 1)  # sums in two orders, or in one
    variants = [prepared.variant for prepared, _ in A.pattern.calls.values()]
    assert not transposed or any(isinstance(v, Call) and v.reads for v in variants)
    assert not [name for name in P.pattern.derived if name.startswith("values")]
