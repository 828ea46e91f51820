"""Inputs at the edges: functions in semirings, dtypes that torch widens, offsets, text that is nearly a format."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("combine", ["remainder", "hypot"])
def test_functions_of_the_library_combine(combine):
    a, b = torch.tensor([[3.0, -1.0]]), torch.tensor([2.0, 5.0])
    out = ls.einsum("ij,j->i", ls.tensor(a), b, combine=combine)
    torch.testing.assert_close(out, getattr(torch, combine)(a, b.expand(1, 2)).sum(1))


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8])
def test_dense_traces_keep_their_dtype(dtype):
    assert ls.einsum("ii->", torch.ones(2, 2, dtype=dtype)).dtype == dtype


def test_offsets_of_diagonals_are_bounded():
    with pytest.raises(ls.IndexBoundsError, match="offset"):
        ls.from_levels("dia", (2, 4), [None, [2]], [None, [-(2**63), 2**63 - 1]], torch.arange(1.0, 5))


@pytest.mark.parametrize("text", ["bsr(4 4,1)", "bsr(4,,4)", "sell(" + "9" * 5000 + ")", "d s"])
def test_text_that_is_nearly_a_format(text):
    with pytest.raises(ls.FormatError):
        ls.Format(text)


def test_the_gradient_of_an_uncoalesced_tensor_has_each_element_once():
    indices, x = [[0, 0, 1], [1, 1, 2]], torch.arange(6.0).reshape(3, 2)
    grads = []
    for override in (False, True):
        A = torch.sparse_coo_tensor(indices, [1.0, 2.0, 3.0], (2, 3), requires_grad=True)
        if override:
            with ls.override():
                torch.sparse.mm(A, x).sum().backward()
        else:
            torch.sparse.mm(A, x).sum().backward()
        grads.append(A.grad.to_dense())
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("make", [lambda: ls.tensor("abc"), lambda: ls.tensor([[1], [1, 2]]), lambda: ls.eye(-1)])
def test_what_no_tensor_can_be_made_of(make):
    with pytest.raises(ls.LibsparseError):
        make()
