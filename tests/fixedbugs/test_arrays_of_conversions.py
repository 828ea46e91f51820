"""Index arrays that conversions hand out were the pattern's own: whoever wrote to them changed the tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import libsparse as ls

FORMATS = ("csr", "csc", "coo", "bsr(2,2)", "bsc(2,2)", "dia", "dcsr")
CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "to_torch": lambda A: A.to_torch(),
    "to_sparse": lambda A: A.to_sparse(),
    "to_sparse_coo": lambda A: A.to_sparse_coo(),
    "to_sparse_csr": lambda A: A.to_sparse_csr(),
    "to_sparse_csc": lambda A: A.to_sparse_csc(),
    "to_sparse_bsr": lambda A: A.to_sparse_bsr((2, 2)),
    "to_sparse_bsc": lambda A: A.to_sparse_bsc((2, 2)),
    "to_scipy": lambda A: A.to_scipy(),
}


def _index_arrays(found: Any) -> list[Any]:
    if not isinstance(found, torch.Tensor):
        names = ("indices", "indptr", "row", "col", "offsets")
        return [getattr(found, name) for name in names if hasattr(found, name)]
    if found.layout is torch.sparse_coo:
        return [found._indices()]
    if found.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [found.crow_indices(), found.col_indices()]
    return [found.ccol_indices(), found.row_indices()]


@pytest.mark.parametrize("name", CONVERSIONS)
@pytest.mark.parametrize("format", FORMATS)
def test_they_are_copies(name: str, format: str) -> None:
    dense = torch.tensor([[0.0, 2.0, 0, 0], [1, 0, 0, 3], [0, 0, 4, 0], [5, 0, 0, 6]])
    A = ls.tensor(dense, format)
    A.indices(), A.to_format("coo"), A.to_format("csr")
    for _ in range(3):
        found = _index_arrays(CONVERSIONS[name](A))
        assert found
        for array in found:
            array[...] = 1
    assert torch.equal(A.to_dense(), dense)
    assert torch.equal(A @ torch.eye(4), dense)
    assert torch.equal(ls.from_torch(A.to_torch()).to_dense(), dense)


def test_batches() -> None:
    dense = torch.eye(3).expand(2, 3, 3).contiguous()
    A = ls.tensor(dense, "dds")
    A.to_sparse_csr().col_indices().fill_(0)
    assert torch.equal(A.to_dense(), dense)


def test_what_was_handed_out_last_is_read_as_the_pattern() -> None:
    A = ls.random((5, 6), density=0.5)
    several = [A.to_torch() for _ in range(3)]
    assert all(ls.from_torch(found).pattern is A.pattern for found in several)
    several[0].col_indices()[0] += 0
    assert ls.from_torch(several[0]).pattern is not A.pattern
