"""Formats of operands, and checks, of tests of `evaluate`; the fixture `data` has the numbers."""

from __future__ import annotations

import torch

import libsparse as ls

N, M = 6, 5
FORMATS = ["csr", "csc", "dcsr", "coo", "dense"]


def as_format(dense: torch.Tensor, format: str):
    return dense if format == "dense" else ls.tensor(dense, format=format if dense.ndim > 1 else "s")


def plain(made):
    return made.to_dense() if isinstance(made, ls.SparseTensor) else made


def check(made, want):
    torch.testing.assert_close(plain(made), want)
