"""A tensor that is only a pattern has no padding that would count."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("format", ["sd", "sd:1,0"])
def test_formats_that_pad_are_refused(dense, format):
    mask = dense != 0
    for make in (
        lambda: ls.from_mask(mask, format=format),
        lambda: ls.from_mask(mask).to_format(format),
        lambda: ls.from_coo(mask.nonzero().T, None, (3, 3), format=format),
        lambda: ls.tensor(dense, format).with_values(None),
    ):
        with pytest.raises(ls.FormatError, match=r"dcs[rc].*coo"):
            make()


@pytest.mark.parametrize("format", ["csr", "csc", "dcsr", "coo"])
def test_others_are_right(dense, format):
    assert torch.equal(ls.from_mask(dense != 0, format=format).to_dense(), dense != 0)


def test_a_dense_level_above_a_sparse_one_pads_nothing():
    mask = torch.rand(3, 4, 5) < 0.3
    for format in ("sds", "dds", "dss"):
        assert torch.equal(ls.from_mask(mask, format=format).to_dense(), mask)


@pytest.mark.parametrize("name", ["bitwise_or", "bitwise_and", "maximum", "minimum", "add", "mul"])
@pytest.mark.parametrize("filled", [0, 1])
def test_patterns_beside_those_that_are_true_elsewhere(name, filled):
    function, masks = getattr(torch, name), [torch.rand(6, 7) > 0.5 for _ in range(2)]
    matrices = [ls.from_mask(mask) for mask in masks]
    matrices[filled] = torch.logical_not(matrices[filled]).with_values(None)
    assert matrices[filled].fill_value
    expected = function(*[matrix.to_dense() for matrix in matrices])
    torch.testing.assert_close(function(*matrices).to_dense(), expected)
