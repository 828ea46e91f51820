"""Long arrays that threads divide: values in another order, copies of index arrays and of transposed operands."""

from __future__ import annotations

import pytest
import torch
from libsparse._storage.conversion import taken

import libsparse as ls

COUNT = 300_000


@pytest.fixture(autouse=True)
def three_threads():
    with ls.options(num_threads=3):
        yield


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.bfloat16, torch.float32, torch.int64, torch.complex64, torch.complex128]
)
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_values_are_those_of_torch(dtype, index) -> None:
    values = torch.randint(2, (COUNT,)).to(dtype)
    source = torch.randint(COUNT, (COUNT - 5,), dtype=index)
    assert torch.equal(taken(values, source), values[source.long()])
    assert torch.equal(
        taken(values[1::2], source // 2 - (source > 2).to(index)),
        values[1::2][source.long() // 2 - (source > 2).long()],
    )


def test_a_place_that_is_not_there_is_an_error() -> None:
    for wrong in (COUNT, -1):
        source = torch.arange(COUNT, dtype=torch.int32)
        source[COUNT // 2] = wrong
        with pytest.raises((IndexError, RuntimeError)):
            taken(torch.rand(COUNT), source)


def test_gradients_and_transforms_see_it() -> None:
    values = torch.rand(COUNT, requires_grad=True)
    source = torch.randperm(COUNT)
    taken(values, source).square().sum().backward()
    torch.testing.assert_close(values.grad, 2 * values.detach())
    both = torch.stack([values.detach(), -values.detach()])
    assert torch.equal(torch.func.vmap(lambda v: taken(v, source))(both), both[:, source])


@pytest.mark.compiler
def test_conversions_of_a_transpose_are_shared() -> None:
    A = ls.random((300, 200), density=0.1)
    there = A.to_format("csc")
    back = A.T.to_format("csr")
    assert there.pattern.crd[1] is back.pattern.crd[1]
    torch.testing.assert_close(back.to_dense(), A.to_dense().T)
    alone = ls.random((300, 200), density=0.1).T  # of a matrix that is gone
    torch.testing.assert_close(alone.to_format("csr").to_dense(), alone.to_dense())


def test_wrong_index_arrays_are_found_by_any_thread() -> None:
    rows = COUNT // 10
    crow = torch.arange(0, COUNT + 1, 10, dtype=torch.int32)
    col = torch.arange(COUNT, dtype=torch.int32) % 10
    values = torch.ones(COUNT)
    ls.from_csr(crow, col, values, (rows, 10))
    for at in (3, COUNT // 2 + 1, COUNT - 1):
        for wrong in (10, -1, 0):
            changed = col.clone()
            changed[at] = wrong
            with pytest.raises(ls.LibsparseError):
                ls.from_csr(crow, changed, values, (rows, 10))
    for at in (0, rows // 2, rows):
        changed = crow.clone()
        changed[at] += 11 if at < rows else 1
        with pytest.raises(ls.LibsparseError):
            ls.from_csr(changed, col, values, (rows, 10))
