"""More elements than 32 bits can number; needs a few GiB, and is left out where they aren't there."""

from __future__ import annotations

import os

import pytest
import torch

import libsparse as ls

_FREE = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(_FREE < 8 << 30, reason="needs 8 GiB of free memory")
def test_a_result_with_more_than_two_to_the_31_elements():
    n = 47_000
    A = ls.from_coo([[0, n - 1], [0, 0]], torch.tensor([3, 5], dtype=torch.uint8), (n, 1))
    x = torch.full((1, n), 2, dtype=torch.uint8)
    out = A @ x
    assert out.numel() > 2**31
    assert out[0, 0] == 6
    assert out[n - 1, n - 1] == 10
    assert int(out[1 : n - 1 : 97].max()) == 0


@pytest.mark.skipif(_FREE < 8 << 30, reason="needs 8 GiB of free memory")
def test_an_operand_with_more_than_two_to_the_31_elements():
    n = 47_000
    x = torch.zeros((n, n), dtype=torch.int8)
    x[n - 1, n - 1] = 7
    A = ls.from_coo([[0, 1], [n - 1, 0]], torch.tensor([2, 1], dtype=torch.int8), (2, n))
    assert ls.einsum("ij,jk->ik", A, x)[0, n - 1] == 14
    assert ls.einsum("ij,kj->ik", A, x)[0, n - 1] == 14
