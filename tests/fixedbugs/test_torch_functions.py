"""torch's functions on SparseTensors mean what they mean on dense ones, for all arguments."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls


def test_arguments_that_move_zero(dense):
    A = ls.tensor(dense)
    torch.testing.assert_close(F.hardtanh(A, -1.0, 2.0).to_dense(), F.hardtanh(dense, -1.0, 2.0))
    for low, high in ((1.0, 2.0), (-2.0, -1.0)):
        torch.testing.assert_close(F.hardtanh(A, low, high).to_dense(), F.hardtanh(dense, low, high))
    with pytest.raises(ls.UnsupportedError, match="out="):
        torch.abs(A, out=torch.empty(3))


def test_dropout_draws_as_many_numbers_as_there_are_values(dense):
    A = ls.tensor(dense)
    torch.manual_seed(1)
    made = F.dropout(A, 0.5)
    torch.manual_seed(1)
    assert torch.equal(made.values(), F.dropout(A.values(), 0.5))


def test_beta_0_ignores_the_base(dense):
    A, nan = ls.tensor(dense), torch.full((3, 2), math.nan)
    for C in (A, ls.tensor(dense, "coo")):
        assert torch.equal(torch.addmm(nan, C, torch.ones(3, 2), beta=0, alpha=2), 2 * dense @ torch.ones(3, 2))
        assert torch.equal(torch.addmv(nan[:, 0], C, torch.ones(3), beta=0), dense @ torch.ones(3))
    with ls.override():
        assert torch.equal(torch.addmm(nan, dense.to_sparse_csr(), torch.ones(3, 2), beta=0), dense @ torch.ones(3, 2))


def test_a_base_does_not_enlarge_the_product(dense):
    for beta in (0, 1):
        with pytest.raises(ls.ShapeError, match="broadcast"):
            torch.addmm(torch.ones(5, 3, 2), ls.tensor(dense), torch.ones(3, 2), beta=beta)


def test_ranks_are_those_of_torch(dense):
    A = ls.tensor(dense)
    for function, other in ((torch.mv, torch.ones(3, 2)), (torch.mm, torch.ones(3)), (torch.bmm, torch.ones(3, 1))):
        with pytest.raises(ls.ShapeError, match=function.__name__):
            function(A, other)


def test_complex_numbers(dense):
    assert torch.equal((ls.tensor(dense) * 2j).to_dense(), dense * 2j)
    assert torch.equal((ls.tensor(dense) + 2j).to_dense(), dense + 2j)
