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


@pytest.mark.parametrize("convert", [torch.Tensor.to_sparse, torch.Tensor.to_sparse_csr])
def test_the_other_operand_is_a_sparse_tensor_of_torch(convert):
    right = torch.tensor([[1.0, 2.0], [0.0, 3.0]])
    assert torch.equal((ls.tensor(torch.eye(2)) @ convert(right)).to_dense(), right)


def test_extents_near_the_largest_integer():
    A = ls.from_coo(torch.tensor([[1], [2**62 - 1]]), torch.ones(1), (3, 2**62))
    assert ls.einsum("ij->i", A).tolist() == [0, 1, 0]


@pytest.mark.parametrize("format", ["csf", "dds", "ddh"])
def test_nothing_is_multiplied_with_an_empty_sum(format):
    torch.manual_seed(0)
    tensor = (torch.rand(20, 30, 40) < 0.02) * 1.0
    factor = torch.ones(20, 30).masked_fill(tensor.sum(2) == 0, float("nan"))
    made = ls.einsum("ijk,ij,kr,jr->ir", ls.tensor(tensor, format=format), factor, torch.ones(40, 8), torch.ones(30, 8))
    assert torch.allclose(made, tensor.sum((1, 2))[:, None].expand(20, 8))


def test_blocks_have_a_largest_size():
    with pytest.raises(ls.FormatError, match="at most"):
        ls.Format("bsr(65536,65536)")
