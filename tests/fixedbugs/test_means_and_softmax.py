"""Means whose terms were counted for another result, or lost their pattern, and softmax of infinite elements."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

DENSE = torch.tensor([[1.0, 2.0], [0.0, 4.0]])


@pytest.mark.parametrize("second", ["ij,jk->ik", "ij,jk->i", "ij,jk->k", "ij,jk->", "ij,jk->jk", "ij,jk->j"])
def test_terms_are_counted_for_each_result(second: str) -> None:
    A, x = ls.tensor(DENSE), torch.tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    for first in ("ij,jk->ik", "ij,jk->i", "ij,jk->k", "ij,jk->", "ij,jk->jk", "ij,jk->j"):
        for spec in (first, second):
            total = torch.einsum(spec, DENSE, x)
            count = torch.einsum(spec, (DENSE != 0).float(), torch.ones_like(x))
            torch.testing.assert_close(ls.einsum(spec, A, x, reduce="mean", format="dense"), total / count)


@pytest.mark.parametrize("spec", ["ij->ij", "ij->ji", "ij,ij->ij", "ij,jk->ijk", "ii->i"])
def test_means_of_single_terms_keep_the_pattern(spec: str) -> None:
    A, x = ls.tensor(DENSE), torch.rand(2, 3)
    operands = {1: [A], 2: [A, A if spec.startswith("ij,ij") else x]}[spec.count(",") + 1]
    total, mean = ls.einsum(spec, *operands), ls.einsum(spec, *operands, reduce="mean")
    assert type(mean) is type(total)
    assert mean.shape == total.shape
    torch.testing.assert_close(mean.to_dense(), total.to_dense())


@pytest.mark.parametrize("row", [[torch.inf, 1.0], [-torch.inf, 1.0], [-torch.inf, -torch.inf], [torch.nan, 1.0]])
def test_softmax_of_infinite_elements(row: list[float]) -> None:
    A = ls.from_csr([0, 2], [0, 1], torch.tensor(row), (1, 2))
    for function in (torch.softmax, torch.log_softmax):
        want = function(torch.tensor([row]), 1)
        torch.testing.assert_close(function(A, 1).to_dense(), want, equal_nan=True)
