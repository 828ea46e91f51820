"""from_levels looks at every level, whatever is below it."""

from __future__ import annotations

import pickle

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize(
    ("format", "shape", "pos", "crd", "match"),
    [
        ("dcsr", (3, 3), [[0, 2], [0, 1, 2]], [[1, 1], [0, 2]], r"crd\[0\].*entry 1.*twice"),
        ("dcsr", (3, 3), [[0, 2], [0, 0, 1]], [[2, 1], [0]], r"crd\[0\].*entry 1.*comes after 2"),
        ("dcsr", (3, 3), [[0, 2], [0, 2, 3]], [[0, 1], [1, 0, 0]], r"crd\[1\].*entry 1.*comes after 1"),
        ("csf", (2, 2, 2), [[0, 1], [0, 2], [0, 1, 2]], [[0], [1, 1], [0, 1]], r"crd\[1\].*twice"),
        ("coo", (3, 3), [[0, 2], None], [[2, 1], [0, 0]], r"crd\[0\].*comes after 2"),
        ("coo", (3, 3), [[0, 2], None], [[1, 1], [2, 0]], r"crd\[1\].*comes after 2"),
        ("coo", (3, 3), [[0, 2], None], [[1, 1], [2, 2]], r"crd\[1\].*twice"),
        ("sd", (3, 2), [[0, 2], None], [[1, 0], None], r"crd\[0\].*comes after 1"),
    ],
)
def test_order(format, shape, pos, crd, match):
    values = torch.ones(4 if format == "sd" else len(crd[-1]))
    with pytest.raises(ls.FormatError, match=match):
        ls.from_levels(format, shape, pos, crd, values)
    odd = ls.from_levels(format, shape, pos, crd, values, check=False)
    with pytest.raises(ls.FormatError, match=match):
        pickle.loads(pickle.dumps(odd))


@pytest.mark.parametrize("format", ["csr", "csc", "dcsr", "dcsc", "coo", "uq:1,0", "sd"])
def test_what_is_right_is_taken(format):
    A = ls.random((7, 6), 0.4, format=format)
    again = ls.from_levels(A.format, A.shape, A.pattern.pos, A.pattern.crd, A.values())
    assert torch.equal(again.to_dense(), A.to_dense())
