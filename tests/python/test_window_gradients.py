"""Gradients through windows, of what is read and of what is written, once and twice."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import libsparse as ls


@pytest.mark.parametrize(
    "text",
    [
        "C(i,j) = A(i(0:3),j) * 2",
        "C(i,j) = A(i(0:6:2),j) * B(i,j) * B(i,j)",
        "c(i) = A(i(0:6:2),j) * D(i(1:4),j)",
        "A(i(0:3),j) = B(i,j) * 2",
        "A(i(0:6:2),j) += B(i,j) * 2",
        "A(i(0:6:2),j) min= B(i,j) * 2",
        "A(i(0:6:2),j) *= D(i(0:3),j)",
        "A(i(1:4),j) = D(i(1:4),j) * 2",
        "D(i(0:6:2),j) += B(i,j) * B(i,j)",
        "D(i(0:6:2),j) = B(i,j) * 2",
        "A(i,j) *= B(k,j) * D(i,k(0:3))",
    ],
)
def test_windows(text):
    torch.manual_seed(5)
    sparse = {"A": ls.random((6, 7), 0.4), "B": ls.random((3, 7), 0.5)}
    given = {name: torch.rand(made.nnz, dtype=torch.float64) + 0.5 for name, made in sparse.items()}
    given["D"] = torch.rand(6, 7, dtype=torch.float64) + 0.5
    names = [name for name in given if f"{name}(" in text]

    def function(*values):
        known = {n: sparse[n].with_values(v) if n in sparse else v for n, v in zip(names, values, strict=True)}
        out = ls.evaluate(text, **known)
        return out.values() if isinstance(out, ls.SparseTensor) else out

    inputs = tuple(given[name].requires_grad_() for name in names)
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)
