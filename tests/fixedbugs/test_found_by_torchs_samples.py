"""Differences from dense torch on the samples of torch's own tests."""

import pytest
import torch
from torch.nn import functional as F

import libsparse as ls

D = torch.tensor([[1.0, 0, 2], [0, 0, 0], [3, 4, 5]])


@pytest.mark.parametrize("p", [-1, -2.5, -float("inf")])
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_norms_of_negative_order_count_zeros(p, dim):
    torch.testing.assert_close(torch.linalg.vector_norm(ls.tensor(D), p, dim), torch.linalg.vector_norm(D, p, dim))


@pytest.mark.parametrize("dim", [-2, 0, 2])
def test_similarities_broadcast(dim):
    a, b = torch.arange(6.0).reshape(1, 2, 3), torch.arange(1.0, 7).reshape(2, 1, 3)
    found = F.cosine_similarity(ls.tensor(a, format="coo"), b, dim=dim)
    torch.testing.assert_close(found, F.cosine_similarity(a, b, dim=dim))


@pytest.mark.parametrize("name", ["addmm", "addmv", "addbmm", "baddbmm"])
def test_integers_cut_off_the_fraction_of_factors(name):
    whole = D.long()
    operands = {
        "addmm": (whole, whole, whole),
        "addmv": (whole[0], whole, whole[0]),
        "addbmm": (whole, whole[None], whole[None]),
        "baddbmm": (whole[None], whole[None], whole[None]),
    }[name]
    expected = getattr(torch, name)(*operands, beta=1.2, alpha=2.6)
    found = getattr(torch, name)(operands[0], ls.tensor(operands[1]), operands[2], beta=1.2, alpha=2.6)
    assert torch.equal(found, expected)


def test_addr_refuses_fractions_of_integers():
    with pytest.raises(ls.DtypeError, match=r"addr: beta is 0.5 .* expected integers"):
        torch.addr(ls.tensor(D.long()), D[0].long(), D[2].long(), beta=0.5)


def test_bags_are_sparse_and_weights_dense():
    with pytest.raises(ls.DtypeError, match=r"embedding_bag: .*expected a sparse input, a bag a row,"):
        F.embedding_bag(torch.tensor([[0, 2]]), ls.tensor(D))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("p", [2, 3, 6, -2])
def test_norms_of_halves_do_not_overflow(dtype, p):
    halves = (D * 100).to(dtype)
    found = torch.linalg.vector_norm(ls.tensor(halves), p, dim=1)
    torch.testing.assert_close(found, torch.linalg.vector_norm(halves, p, dim=1))


def test_norms_of_matrices_without_rows_or_columns():
    for shape in ((5, 0), (0, 5), (0, 0)):
        for order in (1, float("inf")):
            empty = torch.zeros(shape)
            for keepdim in (False, True):
                found = torch.linalg.norm(ls.tensor(empty), order, keepdim=keepdim)
                torch.testing.assert_close(found, torch.linalg.norm(empty, order, keepdim=keepdim))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64, torch.float16])
def test_traces_of_integers_are_sums_in_int64(dtype):
    for dense in (torch.full((3, 3), 100).to(dtype), torch.ones(5, 1).to(dtype)):
        torch.testing.assert_close(torch.trace(ls.tensor(dense)), torch.trace(dense))


def test_prelu_with_sparse_weights():
    for dense, weight in ((torch.tensor(-2.0), [0.5]), (D - 2, [0.5]), (D - 2, [0.5, 0, 2])):
        found = F.prelu(dense, ls.tensor(weight))
        torch.testing.assert_close(found, F.prelu(dense, torch.tensor(weight)))


def test_conversions_take_memory_formats():
    images = ls.tensor(torch.ones(2, 2, 2, 2))
    assert images.to(torch.float64, memory_format=torch.channels_last).dtype == torch.float64
    assert images.to(images, memory_format=torch.preserve_format) is images
    with pytest.raises(ls.ShapeError, match="channels_last is of 4 dimensions"):
        ls.tensor(D).to(torch.float64, memory_format=torch.channels_last)


@pytest.mark.parametrize("divisor", [2.0, D + 1, ls.tensor(D + 1)], ids=["number", "dense", "sparse"])
def test_quotients_rounded_down_have_gradients(divisor):
    A = ls.tensor(D).requires_grad_()
    (A.values() * 0 + torch.div(A, divisor, rounding_mode="floor").to_dense().sum()).sum().backward()
    assert not A.grad.to_dense().any()
    found = torch.div(A, other=divisor, rounding_mode="floor")
    torch.testing.assert_close(found, torch.div(A, divisor, rounding_mode="floor"))


def test_tensors_without_entries_are_followed():
    A, B = (ls.tensor(torch.zeros(2, 3)).requires_grad_() for _ in range(2))
    for function in (torch.fmin, torch.maximum, torch.sub):
        assert function(A, B).requires_grad
        assert function(A, ls.tensor(D[:2])).requires_grad
