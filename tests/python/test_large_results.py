"""Dense results that are larger than the caches are written past them: the same numbers, by the same kernel."""

from __future__ import annotations

import pytest
import torch
from covering import pairs
from libsparse._compiler import kernel, target

import libsparse as ls

ROWS, COLUMNS = 60, 40
EXPRESSIONS = (
    "y(i,k) = A(i,j) * x(j,k)",
    "y(i,k) = relu(sum(A(i,j) * x(j,k)) + b(k))",
    "y(i,k) max= A(i,j) * x(j,k)",
    "y(j,k) = A(i,j) * z(i,k)",
)


@pytest.fixture(params=[True, False], ids=["past the caches", "in the caches"])
def large(request, monkeypatch):
    """Whether results count as large; no call begins from one that was prepared otherwise."""
    monkeypatch.setattr(target, "outgrown", lambda bytes: request.param)
    kernel.prepared.clear()
    yield request.param
    kernel.prepared.clear()


@pytest.mark.parametrize(
    ("width", "expression", "dtype"), pairs([16, 24, 64, 256, 1024], EXPRESSIONS, [torch.float32, torch.float64])
)
def test_the_numbers_are_the_same(large, expression, dtype, width):
    torch.manual_seed(0)
    A = ls.random((ROWS, COLUMNS), 0.3, dtype=dtype)  # no row is empty
    x, z, b = (torch.randn(*shape, dtype=dtype) for shape in ((COLUMNS, width), (ROWS, width), (width,)))
    D = A.to_dense()
    expected = {
        EXPRESSIONS[0]: lambda: D @ x,
        EXPRESSIONS[1]: lambda: (D @ x + b).relu(),
        EXPRESSIONS[2]: lambda: (D[:, :, None] * x).masked_fill(D[:, :, None] == 0, -torch.inf).amax(1),
        EXPRESSIONS[3]: lambda: D.T @ z,
    }[expression]()
    operands = {name: value for name, value in (("A", A), ("x", x), ("z", z), ("b", b)) if f"{name}(" in expression}
    for threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            for _ in range(3):  # the shortest way comes with repeated calls
                torch.testing.assert_close(ls.evaluate(expression, **operands), expected)
        finally:
            torch.set_num_threads(before)


def test_what_decides():
    largest = max(target.caches(), default=0)
    assert not target.outgrown(1)
    assert not largest or target.outgrown(largest)


@pytest.mark.parametrize(
    ("cpu", "last", "least"),
    [
        ("vendor_id: AuthenticAMD; flags: fpu avx512f", 32 << 20, 8 << 20),
        ("vendor_id: GenuineIntel; flags: fpu avx512_fp16", 256 << 20, 16 << 20),
    ],
)
def test_last_caches_that_are_slow_are_not_counted(monkeypatch, cpu, last, least):
    monkeypatch.setattr(target, "cpu", lambda: cpu)
    monkeypatch.setattr(target, "caches", lambda: (2 << 20, last))
    assert target.outgrown(least)
    assert not target.outgrown(least - 1)


def test_results_past_the_caches_are_compiled():
    text = str(ls.explain(EXPRESSIONS[0], A=ls.random((9, 8), 0.5), x=torch.rand(8, 64), stage="c"))
    assert "stream_f32x" in text
    assert "drain()" in text
