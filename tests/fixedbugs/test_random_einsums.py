"""Einsums that random ones found: rows of pairs in another order, and dense integers with an index of one operand."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("format", ["suq", "uuq", "duc"])
@pytest.mark.parametrize("spec", ["ikj->ijk", "ijk->kji", "ijk->jki"])
def test_rows_of_pairs_in_another_order(format: str, spec: str) -> None:
    dense = torch.arange(24.0).reshape(2, 3, 4) % 3
    found = ls.einsum(spec, ls.tensor(dense, format="dds"), format=format)
    assert torch.equal(found.to_dense(), torch.einsum(spec, dense))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32])
@pytest.mark.parametrize("spec", ["j,ikj->i", "ij,k->", "ij,->i"])
def test_dense_integers_that_are_summed_before_they_are_multiplied(dtype: torch.dtype, spec: str) -> None:
    operands = [torch.arange(3 ** len(t)).reshape([3] * len(t)) for t in spec.split("->")[0].split(",")]
    found = ls.einsum(spec, *(t.to(dtype) for t in operands))
    assert found.dtype == dtype
    assert torch.equal(found, torch.einsum(spec, *operands).to(dtype))
