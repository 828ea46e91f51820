"""Results whose extents do not fit 64 bits had negative coordinates, and arrays of such lengths made untyped errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import libsparse as ls

HUGE = 2**62


@pytest.fixture(name="wide", params=["coo", "hh"])
def matrix(request: pytest.FixtureRequest) -> ls.SparseTensor:
    return ls.from_coo([[0, 2, 2], [1, 0, HUGE - 1]], torch.ones(3), (3, HUGE), format=request.param)


@pytest.mark.parametrize(
    "function",
    [
        lambda A: torch.cat([A, A], 1),
        lambda A: torch.hstack([A, A]),
        lambda A: torch.block_diag(A, A),
        lambda A: A.repeat(1, 4),
        lambda A: torch.kron(A, A),
        lambda A: torch.diag_embed(A, HUGE),
    ],
)
def test_extents_fit_64_bits(function: Callable[..., ls.SparseTensor], wide: ls.SparseTensor) -> None:
    with pytest.raises(ls.ShapeError, match="fit 64 bits"):
        function(wide)


def test_results_of_the_greatest_extent(wide: ls.SparseTensor) -> None:
    made = torch.cat([wide, wide[:, :-1]], 1)
    assert made.shape == (3, 2**63 - 1)
    assert made.to_format("coo").indices().tolist() == [[0, 0, 2, 2, 2], [1, HUGE + 1, 0, HUGE - 1, HUGE]]


def test_more_entries_than_memory(wide: ls.SparseTensor) -> None:
    with pytest.raises(ls.FormatError, match="GiB"):
        wide[None].expand(2**40, 3, HUGE)


@pytest.mark.parametrize("rows", [HUGE, 2**63 - 1])
def test_arrays_of_more_bytes_than_64_bits_number(rows: int) -> None:
    A = ls.from_coo([[0, 2, rows - 1], [1, 0, 2]], torch.ones(3), (rows, 3), format="coo")
    with pytest.raises(ls.FormatError, match="GiB"):
        A.to_format("csr")


def test_workspaces_that_do_not_fit_are_told_with_operands(wide: ls.SparseTensor) -> None:
    with pytest.raises(MemoryError, match=r"shape \(3, 4611686018427387904\), format"):
        wide.to_format("bsr(4,4)")
