"""Tensors put together by `cat`, `stack` and `block_diag`: of every format, with rows or without entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.data import default_collate

import libsparse as ls

MATRICES = ["csr", "csc", "coo", "dcsr", "dcsc", "bsr(2,2)", "ell", "dia"]
JOINS: dict[str, Callable[[list[Any]], Any]] = {
    "cat": torch.cat,
    "cat of columns": lambda a: torch.cat(a, 1),
    "stack": torch.stack,
    "stack of columns": lambda a: torch.stack(a, 2),
    "block_diag": lambda a: torch.block_diag(*a),
}


def _dense(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    values = torch.rand(shape, generator=generator, dtype=torch.float64)
    return torch.where(torch.rand(shape, generator=generator) < 0.4, values, 0)


def _checked(found: Any, want: torch.Tensor) -> None:
    """Values and a pattern that holds what its format promises, which reading it anew checks."""
    assert torch.equal(found.to_dense(), want)
    again = ls.from_coo(found.pattern.coordinates(), found.pattern.entries(found.values()), found.shape)
    if not found.format.padded:
        for kept, built in zip(found.pattern.tensors(), again.to_format(found.format).pattern.tensors(), strict=True):
            assert torch.equal(kept, built)
            assert kept.dtype == built.dtype


@pytest.mark.parametrize("format", MATRICES)
@pytest.mark.parametrize("name", JOINS)
def test_matrices(name: str, format: str) -> None:
    dense = [_dense(6, 4, seed=n) for n in range(3)] + [torch.zeros(6, 4, dtype=torch.float64)]
    dense = dense[::2] + dense[1::2]
    _checked(JOINS[name]([ls.tensor(d).to_format(format) for d in dense]), JOINS[name](dense))


@pytest.mark.parametrize("format", ["csf", "coo", "dds", "dss", "dds:2,0,1", "sds", "ddd"])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_more_dimensions(format: str, dim: int) -> None:
    dense = [_dense(3, 4, 2, seed=n) for n in range(3)]
    want = torch.cat(dense, dim)
    joined = torch.cat([ls.tensor(d).to_format(format) if format != "ddd" else ls.tensor(d) for d in dense], dim)
    _checked(joined, want)


def test_other_extents_and_none() -> None:
    parts = [_dense(0, 4), _dense(5, 4, seed=1), _dense(1, 4, seed=2), _dense(0, 4)]
    _checked(torch.cat([ls.tensor(p) for p in parts]), torch.cat(parts))
    blocks = [_dense(2, 3), _dense(4, 1, seed=1), _dense(0, 2), _dense(1, 4, seed=2)]
    _checked(torch.block_diag(*map(ls.tensor, blocks)), torch.block_diag(*blocks))
    _checked(torch.cat([ls.tensor(_dense(3, 0)), ls.tensor(_dense(2, 0))]), torch.zeros(5, 0, dtype=torch.float64))


def test_formats_and_dtypes_differ() -> None:
    a, b = _dense(3, 4), _dense(2, 4, seed=1)
    found = torch.cat([ls.tensor(a), ls.tensor(b.float()).to_format("coo")])
    assert found.format == "csr"
    assert torch.equal(found.to_dense(), torch.cat([a, b.float()]))
    pattern = ls.tensor(a).with_values(None)
    assert torch.equal(torch.cat([pattern, pattern]).to_dense(), torch.cat([a, a]) != 0)
    assert torch.equal(torch.cat([pattern, ls.tensor(b)]).to_dense(), torch.cat([(a != 0).double(), b]))


@pytest.mark.parametrize("dim", [0, 1])
def test_rows(dim: int) -> None:
    dense = torch.cat([_dense(5, 7), torch.zeros(1, 7, dtype=torch.float64)])
    rows = list(ls.tensor(dense))
    assert all(row.format == "s" for row in rows)
    _checked(torch.stack(rows, dim), dense if dim == 0 else dense.T)
    if dim == 0:
        _checked(default_collate(rows), dense)
        _checked(torch.cat(rows), dense.reshape(-1))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "bsr(2,2)"])
def test_iteration_is_indexing(format: str) -> None:
    dense = _dense(6, 4)
    A = ls.tensor(dense).to_format(format)
    for row, number in zip(A, range(6), strict=True):
        assert torch.equal(row.to_dense(), dense[number])
        assert torch.equal(A[number].to_dense(), dense[number])
    assert torch.equal(A.select(0, 2).to_dense(), dense[2])
    assert torch.equal(A.select(1, 2).to_dense(), dense[:, 2])


def test_gradients() -> None:
    A, B = ls.tensor(_dense(3, 4)), ls.tensor(_dense(2, 4, seed=1))

    def joined(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        both = A.with_values(a), B.with_values(b)
        return torch.cat(both).sum(0) + torch.stack([both[0][1], both[1][0]]).sum() + torch.block_diag(*both).sum()

    given = A.values().clone().requires_grad_(), B.values().clone().requires_grad_()
    assert torch.autograd.gradcheck(joined, given)
    assert torch.autograd.gradgradcheck(lambda a, b: joined(a, b) ** 2, given)


def test_inside_of_inference_mode() -> None:
    a = ls.tensor(_dense(3, 4))
    with torch.inference_mode():
        joined = torch.cat([a, a])
    assert not any(array.is_inference() for array in joined.pattern.tensors())
    assert torch.equal((joined @ torch.ones(4, 1, dtype=torch.float64)).T, torch.cat([_dense(3, 4)] * 2).sum(1)[None])
