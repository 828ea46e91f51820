"""torch's functions on SparseTensors mean what they mean on dense ones, for all arguments."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import libsparse as ls


def test_arguments_that_move_zero(dense):
    A = ls.tensor(dense)
    torch.testing.assert_close(F.hardtanh(A, -1.0, 2.0).to_dense(), F.hardtanh(dense, -1.0, 2.0))
    for low, high in ((1.0, 2.0), (-2.0, -1.0)):
        torch.testing.assert_close(F.hardtanh(A, low, high).to_dense(), F.hardtanh(dense, low, high))


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


@pytest.mark.parametrize("shape", [(6, 8), (8, 6)])
def test_traces_of_matrices_that_are_not_square(shape):
    dense = torch.rand(shape, dtype=torch.float64)
    torch.testing.assert_close(torch.trace(ls.tensor(dense)), torch.trace(dense))


def test_slopes_of_prelu_for_each_channel():
    for shape in ((4, 3), (2, 3, 5)):
        dense = torch.randn(shape, dtype=torch.float64)
        slopes = torch.rand(3, dtype=torch.float64)
        torch.testing.assert_close(F.prelu(ls.tensor(dense), slopes).to_dense(), F.prelu(dense, slopes))
    with pytest.raises(ls.ShapeError, match=r"prelu: weight has shape \(2,\); expected one element, or one for each"):
        F.prelu(ls.tensor(torch.randn(4, 3)), torch.rand(2))


@pytest.mark.parametrize("format", [None, "dense", "dd:1,0", "csr"])
def test_quotients_of_nothing_are_undefined_in_every_format(format):
    a = torch.tensor([[1.0, 0.0, 0.0], [0.0, 2.0, 3.0]])
    b = torch.tensor([[0.0, 0.0, 4.0], [0.0, 5.0, 0.0]])
    found = ls.evaluate("y(i,j) = A(i,j) / B(i,j)", A=ls.tensor(a), B=ls.tensor(b), format=format)
    torch.testing.assert_close(found.to_dense(), a / b, equal_nan=True)


def test_tensors_of_which_the_rest_is_undefined_are_joined():
    a = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    quotient = ls.tensor(a) / ls.tensor(a)
    torch.testing.assert_close(torch.cat([quotient, quotient]).to_dense(), torch.cat([a / a, a / a]), equal_nan=True)
    torch.testing.assert_close(
        torch.stack([quotient, quotient]).to_dense(), torch.stack([a / a, a / a]), equal_nan=True
    )


def test_arrays_of_numpy_in_compiled_functions(dense):
    A, x = ls.tensor(dense), torch.rand(dense.shape[1], 3, dtype=dense.dtype)
    torch.testing.assert_close(ls.compile(lambda a, b: torch.relu(a @ b.numpy()))(A, x), torch.relu(dense @ x))
    torch.testing.assert_close(ls.compile(lambda a, b: b.T.numpy() @ a.T)(A, x), x.T @ dense.T)


def test_out_takes_dense_results(dense):
    A, x = ls.tensor(dense), torch.rand(dense.shape[1], 2)
    for out in (torch.empty(dense.shape[0], 2), torch.empty(0), torch.empty(dense.shape[0], 2, dtype=torch.float64)):
        assert torch.mm(A, x, out=out) is out
        torch.testing.assert_close(out, (dense @ x).to(out.dtype))
    with pytest.raises(ls.UnsupportedError, match="out="):
        torch.mul(A, 2, out=A)
    torch.testing.assert_close(A.to_dense(), dense)


@pytest.mark.parametrize("number", [np.float32(2), np.int64(2), np.float16(2), np.float64(2), np.bool_(True)])
def test_numbers_of_numpy_are_numbers(dense, number):
    A = ls.tensor(dense)
    for compute in (lambda t: t * number, lambda t: number * t, lambda t: t + number, lambda t: torch.mul(t, number)):
        torch.testing.assert_close(compute(A).to_dense(), compute(dense))


def test_to_sparse_makes_no_dense_blocks(dense):
    A = ls.tensor(dense)
    assert A.to_sparse(2).sparse_dim() == 2
    with pytest.raises(ls.UnsupportedError, match="sparse_dim is 1"):
        A.to_sparse(1)
