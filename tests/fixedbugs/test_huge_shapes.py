"""What can't fit into memory is refused by name."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

HUGE = 2**40


def test_levels_of_a_format():
    indices, values = [[0, HUGE // 2], [1, HUGE - 1]], [1.0, 2.0]
    with pytest.raises(ls.FormatError, match=r"csr.*dcsr.*coo"):
        ls.from_coo(indices, values, (HUGE, HUGE))
    with pytest.raises(ls.FormatError, match=r"csc.*dcsc.*coo"):
        ls.from_coo(indices, values, (HUGE, HUGE), format="csc")
    A = ls.from_coo(indices, values, (HUGE, HUGE), format="dcsr")
    with pytest.raises(ls.FormatError, match="csr"):
        A.to_format("csr")


def test_dense_results():
    A = ls.from_coo([[0, HUGE // 2], [1, 2]], [1.0, 2.0], (HUGE, 3), format="dcsr")
    for use in (lambda: A @ torch.ones(3, 2), A.to_dense):
        with pytest.raises(ls.FormatError, match="GiB"):
            use()


def test_extents_beyond_64_bits():
    with pytest.raises(ls.ShapeError, match="64 bits"):
        ls.from_coo([[0], [0]], [1.0], (2**70, 2), format="dcsr")


def test_shapes_that_torch_has_no_numbers_for():
    A = ls.from_coo([[0, HUGE // 2], [1, HUGE - 1]], [1.0, 2.0], (HUGE, HUGE), format="dcsr")
    assert A.mean().item() == pytest.approx(3.0 / HUGE**2)
    with pytest.raises(ls.FormatError, match="GiB"):
        A.to_dense()
    with pytest.raises(ls.UnsupportedError, match="no tensors of shape"):
        A.to_torch()


def test_slices_with_more_places_than_32_bits_number():
    """One long row makes its slice of 2^15 rows as wide: the places were counted in the type of the index."""
    row = torch.stack([torch.zeros(2**20, dtype=torch.int64), torch.arange(2**20)])
    with pytest.raises(ls.FormatError, match="GiB"):
        ls.from_coo(row, torch.ones(2**20), (2**20, 2**20), format="sell(32768)")
