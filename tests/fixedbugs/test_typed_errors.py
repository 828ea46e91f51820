"""What users hand over by mistake gets an error of libsparse."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: ls.from_levels("csr", (2, 2), None, None, [1.0]), ls.ShapeError),
        (lambda: ls.from_csr([0, 1, 1], [0], ["a"], (2, 2)), ls.DtypeError),
        (lambda: ls.from_csr([0, 1, 1], ["x"], [1.0], (2, 2)), ls.DtypeError),
        (lambda: ls.from_coo(None, None, (2, 2)), ls.DtypeError),
    ],
)
def test_constructors(make, error):
    with pytest.raises(error):
        make()


def test_lists_for_topk():
    assert ls.from_topk([[0, 2]], [[1.0, 2.0]], 3).to_dense().tolist() == [[1, 0, 2]]


def test_dtypes_that_nothing_promotes_to(dense):
    x = torch.ones(3, 2, dtype=torch.float8_e5m2)
    with pytest.raises(ls.UnsupportedError, match="float8"):
        ls.tensor(dense) @ x
