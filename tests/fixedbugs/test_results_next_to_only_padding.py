"""Results of functions of shape don't take the operand's format where next to all of it would be padding."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

N = 3000


def _band() -> ls.SparseTensor:
    rows = torch.arange(N).repeat_interleave(5)
    columns = (rows + torch.arange(5).repeat(N) - 2).clamp(0, N - 1)
    return ls.from_coo(torch.stack([rows, columns]), torch.rand(5 * N), (N, N))


def _one_long_row() -> ls.SparseTensor:
    rows = torch.cat([torch.arange(N), torch.zeros(N, dtype=torch.int64)])
    return ls.from_coo(torch.stack([rows, torch.arange(2 * N) % N]), torch.rand(2 * N), (N, N))


def _far_rows() -> ls.SparseTensor:
    places = torch.arange(3000)
    return ls.from_coo(torch.stack([places * 32 + 5, places % 7]), torch.rand(3000), (96000, 7))


@pytest.mark.parametrize(
    ("make", "format", "function", "wanted"),
    [
        (_band, "dia", lambda A: A[10:2000, 5:], "dia"),
        (_band, "dia", lambda A: A.flip(0), "csr"),
        (_band, "dia", lambda A: A[::3], "csr"),
        (_band, "dia", lambda A: A[:, torch.arange(N) * 7 % N], "csr"),
        (lambda: ls.eye(N), "bsr(30,30)", lambda A: A[torch.arange(N) * 97 % N], "csr"),
        (_band, "bsr(16,16)", lambda A: A.roll(1, 0), "bsr(16,16)"),
        (_one_long_row, "ell", lambda A: A.flip(0), "csr"),
        (_band, "ell", lambda A: A.flip(0), "ell"),
        (_one_long_row, "sell(8)", lambda A: A.flip(0), "sell(8)"),
        (_far_rows, "sell(32)", lambda A: A.flip(0), "csr"),
        (_far_rows, "sell(8)", lambda A: A.flip(0), "sell(8)"),
    ],
)
def test_formats(
    make: Callable[[], ls.SparseTensor],
    format: str,
    function: Callable[[ls.SparseTensor], ls.SparseTensor],
    wanted: str,
) -> None:
    A = make()
    found = function(A.to_format(format))
    assert found.format == wanted
    assert torch.equal(found.to_dense(), function(A).to_dense())
