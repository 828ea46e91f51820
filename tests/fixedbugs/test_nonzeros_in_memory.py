"""What C reads of dense tensors: their memory holds other numbers than a negated view has, and some have no memory."""

import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

import libsparse as ls


def test_negated_views_are_read_with_their_signs():
    x = torch.tensor([[0.0, 2.0], [-3.0, 0.0]])
    assert ls.tensor(torch._neg_view(x)).values().tolist() == [-2, 3]


def test_zeros_without_memory_have_no_entries():
    assert ls.tensor(torch._efficientzerotensor((2, 3))).nnz == 0
    A = ls.eye(2).with_values(torch._efficientzerotensor((2,)))
    assert A.topk(1, 1).values.tolist() == [[0], [0]]


@pytest.mark.parametrize("make", [ls.tensor, lambda x: ls.from_mask(x != 0)])
def test_matrices_without_elements_may_have_any_extents(make):
    assert make(torch.empty(0, 2**33)).shape == (0, 2**33)
    with pytest.raises(ls.FormatError, match="would take 8192 GiB"):
        make(torch.empty(2**40, 0))


def test_values_of_other_classes_are_ranked():
    values = torch.tensor([2.0, 3.0])
    ranked = ls.eye(2).with_values(TwoTensor(values, values)).topk(1, 1).values
    assert type(ranked) is TwoTensor
    assert ranked.a.tolist() == [[2], [3]]
