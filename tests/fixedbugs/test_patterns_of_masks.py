"""The pattern of the true elements of a sparse mask, which knows where its entries are among those of the mask."""

import pytest
import torch
from libsparse._storage import packing

import libsparse as ls

FORMATS = ["csr", "csc", "coo", "dcsr", "bsr(2,2)", "ell", "dia"]


def many():
    return ls.from_coo(torch.randint(0, 400, (2, 50_000)), torch.randn(50_000).double(), (400, 400))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("wanted", ["csr", "coo", "dcsc", "ell"])
def test_entries_above_a_threshold(format, wanted):
    A = many().to_format(format).requires_grad_()
    mask = ls.from_mask(A.detach().abs() > 0.5, format=wanted)
    assert mask.format == wanted
    found = A.sparse_mask(mask)
    dense = A.to_dense()
    kept = torch.where(dense.abs() > 0.5, dense, 0.0)
    assert torch.equal(found.to_dense(), kept)
    (gradient,) = torch.autograd.grad((found * found).sum(), A)
    torch.testing.assert_close(gradient.to_dense(), 2 * kept.detach() * (gradient.to_dense() != 0))
    torch.testing.assert_close((A * mask).to_dense(), kept)
    other = many().to_format(format)
    assert torch.equal(other.sparse_mask(mask).to_dense(), torch.where(dense.abs() > 0.5, other.to_dense(), 0.0))


def test_in_inference_mode_and_again_outside_of_it():
    A = many()
    with torch.inference_mode():
        mask = ls.from_mask(A > 0)
    B = A.clone().requires_grad_()
    B.sparse_mask(mask).sum().backward()
    assert torch.equal(B.grad.to_dense(), (A.to_dense() > 0).double())


def test_all_and_none_are_true():
    A = many()
    assert ls.from_mask(A.with_values(A.values() == A.values())).pattern is A.pattern
    empty = ls.from_mask(A > 100)
    assert empty.nnz == 0
    assert A.sparse_mask(empty).to_dense().count_nonzero() == 0


def test_tensors_of_order_3():
    T = ls.from_coo(torch.randint(0, 40, (3, 50_000)), torch.randn(50_000), (40, 40, 40))
    mask = ls.from_mask(T > 0)
    assert torch.equal(T.sparse_mask(mask).to_dense(), T.to_dense().clamp(min=0))
    other = ls.from_coo(torch.randint(0, 40, (3, 50_000)), torch.randn(50_000), (40, 40, 40))
    assert torch.equal(other.sparse_mask(mask).to_dense(), torch.where(T.to_dense() > 0, other.to_dense(), 0.0))


def test_elements_that_are_not_stored_may_not_be_true():
    with pytest.raises(ls.UnsupportedError, match="from_mask"):
        ls.from_mask(many() <= 0)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("extents", [(1_000_000,), (900, 1000), (90, 100, 110)])
def test_coordinates_are_found_among_others(extents, threads):
    def some(count):
        coords = torch.stack([torch.randint(0, n, (count,)) for n in extents])
        return [c.contiguous() for c in torch.unique(coords, dim=1)]

    def keys(coords):
        return sum(c * 1024**mode for mode, c in enumerate(coords))

    there, wanted, before = some(70_000), some(200_000), torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        numbers, found = packing.locate(wanted, there, extents)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found, torch.isin(keys(wanted), keys(there)))
    assert torch.equal(keys(there)[numbers[found]], keys(wanted)[found])


def test_bools_of_other_bytes_are_true():
    raw = torch.full((600,), 255, dtype=torch.uint8)
    raw[0] = 0
    A = ls.from_csr(torch.tensor([0, 600]), torch.arange(600), torch.ones(600), (1, 600))
    assert ls.from_mask(A.with_values(raw.view(torch.bool))).nnz == 599


def test_masks_in_transforms():
    A = many()
    mask, values = A > 0, A.values()

    def total(values):
        return A.with_values(values).sparse_mask(ls.from_mask(mask)).values().sum()

    assert torch.equal(torch.func.grad(total)(values), (values > 0).double())
    found, slope = torch.func.jvp(total, (values,), (torch.ones_like(values),))
    torch.testing.assert_close(found, values[values > 0].sum())
    assert slope == (values > 0).sum()
    with pytest.raises(ls.UnsupportedError, match="vmap"):
        torch.vmap(lambda v: ls.from_mask(A.with_values(v) > 0).values())(torch.stack([values, values]))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::torch.jit.TracerWarning")
def test_graphs_of_jit_are_refused():
    A = ls.tensor(torch.randn(6, 7))
    with pytest.raises(ls.UnsupportedError, match=r"torch\.jit\.trace"):
        torch.jit.trace(lambda v: ls.from_mask(A.with_values(v > 0)).nnz * torch.ones(1), A.values())


@pytest.mark.parametrize("step", [3, 11, 2**31, 2**32, 2**40, 2**62])
def test_steps_beyond_the_dtype_of_coordinates(step):
    dense = torch.arange(1.0, 21).reshape(2, 10)
    assert torch.equal(ls.tensor(dense)[:, ::step].to_dense(), dense[:, ::step])
