"""Entries that no cache keeps are asked for before they are read: the same bits, by another kernel."""

from __future__ import annotations

import pytest
import torch
from libsparse._compiler import kernel, target

import libsparse as ls

ROWS, COLUMNS = 300, 200
EXPRESSIONS = (
    "y(i) = A(i,j) * x(j)",
    "y(j) = A(i,j) * z(i)",
    "y(i) max= A(i,j) * x(j)",
    "y(i,k) = A(i,j) * X(j,k)",
    "y(i,j) = A(i,j) * Z(i,k) * X(j,k)",
)


def evaluated(expression: str, far: bool, monkeypatch: pytest.MonkeyPatch, **operands: object) -> torch.Tensor:
    """The result where operands count as too large for the caches, or as small; no call begins from one before."""
    monkeypatch.setattr(target, "overflows", lambda bytes: far)
    kernel.prepared.clear()
    try:
        found = ls.evaluate(expression, **operands)
    finally:
        kernel.prepared.clear()
    return found.values() if isinstance(found, ls.SparseTensor) else found


@pytest.mark.parametrize(
    ("expression", "format", "dtype"),
    [
        *((text, format, torch.float32) for text in EXPRESSIONS for format in ("csr", "csc", "dcsr", "coo")),
        *((text, "csr", torch.bfloat16) for text in EXPRESSIONS[:3]),
        *((text, "csr", torch.float64) for text in EXPRESSIONS[2:]),
        *((text, "csr", torch.complex64) for text in EXPRESSIONS[1::2]),
    ],
    ids=str,
)
def test_the_bits_are_the_same(expression, format, dtype, monkeypatch):
    torch.manual_seed(0)
    columns = torch.cat([torch.randperm(COLUMNS)[: 20 + row % 21].sort().values for row in range(ROWS)])
    rows = torch.arange(ROWS).repeat_interleave(20 + torch.arange(ROWS) % 21)
    pattern = torch.stack((rows, columns))
    dense = {"x": (COLUMNS,), "z": (ROWS,), "X": (COLUMNS, 16), "Z": (ROWS, 16)}
    operands = {name: torch.randn(shape).to(dtype) for name, shape in dense.items() if f"{name}(" in expression}
    values = torch.randn(len(rows)).to(dtype)
    far, near = (
        evaluated(
            expression, far, monkeypatch, A=ls.from_coo(pattern, values, (ROWS, COLUMNS)).to_format(format), **operands
        )
        for far in (True, False)
    )
    assert torch.equal(far, near)


def test_what_decides(monkeypatch):
    largest = max(target.caches(), default=0)
    assert not target.overflows(1)
    assert not largest or target.overflows(largest)
    A, x, X = ls.random((3000, 3000), 0.005), torch.rand(3000), torch.rand(3000, 16)
    band = torch.arange(3000).repeat_interleave(15)
    beside = (band + torch.arange(15).repeat(3000)).remainder(3000)
    B = ls.from_coo(torch.stack((band, beside)), torch.ones(len(band)), (3000, 3000))

    def asks(spec, *operands):
        return "__builtin_prefetch((const void *)" in str(ls.explain(spec, *operands, stage="c"))

    assert not asks("ij,j->i", A, x)
    monkeypatch.setattr(target, "overflows", lambda bytes: True)
    assert asks("ij,j->i", A, x)
    assert not asks("ij,j->i", B, x), "neighbours, which processors foresee"
    assert not asks("ij->i", A), "no coordinates are read"
    assert not asks("ij,jk->ik", A, X), "rows are too short"
