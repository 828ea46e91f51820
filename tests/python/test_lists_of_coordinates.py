"""Coordinates that are handed over as one array a dimension, and the shapes that messages propose."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch

import libsparse as ls

ROW, COL, VALUES = torch.tensor([2, 0, 1]), torch.tensor([1, 3, 0]), torch.tensor([1.0, 2.0, 3.0])
WANTED = ls.from_coo(torch.stack([ROW, COL]), VALUES, (3, 4)).to_dense()


@pytest.mark.parametrize(
    "indices",
    [
        (ROW, COL),
        [ROW, COL],
        (ROW.int(), COL.int()),
        (ROW.int(), COL),
        (ROW.to(torch.uint8), COL),
        (ROW, COL.tolist()),
        (ROW.tolist(), COL.tolist()),
        (ROW.numpy(), COL.numpy()),
        (torch.stack([ROW, ROW], 1)[:, 0], COL),
    ],
    ids=str,
)
def test_pairs(indices: Any) -> None:
    assert torch.equal(ls.from_coo(indices, VALUES, (3, 4)).to_dense(), WANTED)
    assert torch.equal(ls.from_edge_index(indices, VALUES, 4).to_dense()[:3], WANTED)


def test_where_and_nonzero() -> None:
    x = torch.relu(torch.randn(3, 4, 5)).requires_grad_()
    A = ls.from_coo(torch.where(x > 0), x[x > 0], x.shape)
    assert torch.equal(A.to_dense(), x)
    (gradient,) = torch.autograd.grad(A.sum(), x)
    assert torch.equal(gradient, (x > 0).float())
    array = x.detach().numpy()
    assert torch.equal(ls.from_coo(numpy.nonzero(array), array[array > 0], x.shape).to_dense(), x)
    assert ls.from_coo((torch.tensor([1, 2]),), VALUES[:2], (4,)).to_dense().tolist() == [0, 1, 2, 0]
    assert ls.from_coo((torch.tensor([]), torch.tensor([])), [], (2, 2)).nnz == 0


def test_given_arrays_stay_as_they_are() -> None:
    row, col = ROW.clone(), COL.clone()
    A = ls.from_coo((row, col), VALUES, (3, 4), "coo")
    row.zero_()
    assert torch.equal(A.to_dense(), WANTED)
    assert torch.equal(col, COL)


def test_in_a_graph() -> None:
    compiled = torch.compile(
        lambda row, col, v: ls.from_coo((row, col), v, (3, 4)) @ torch.ones(4, 2), backend="eager", fullgraph=True
    )
    assert torch.equal(compiled(ROW, COL, VALUES), WANTED @ torch.ones(4, 2))


def test_shapes_of_messages() -> None:
    csr, csc = ls.tensor(WANTED, "csr"), ls.tensor(WANTED, "csc")
    bsr = ls.tensor(WANTED, "bsr(1,2)").to_sparse_bsr((1, 2))
    names = {"row": ROW, "col": COL, "crow": csr.crow_indices(), "ccol": csc.ccol_indices()}
    calls = [
        (lambda shape: ls.from_coo((ROW, COL), VALUES, shape), names),
        (lambda shape: ls.from_csr(csr.crow_indices(), csr.col_indices(), csr.values(), shape), names),
        (lambda shape: ls.from_csc(csc.ccol_indices(), csc.row_indices(), csc.values(), shape), names),
        (
            lambda shape: ls.from_bsr(bsr.crow_indices(), bsr.col_indices(), bsr.values(), shape),
            {"crow": bsr.crow_indices(), "col": bsr.col_indices()},
        ),
    ]
    for call, known in calls:
        with pytest.raises(ls.ShapeError) as caught:
            call(None)
        proposed = eval(str(caught.value).partition("shape=")[2], known)
        assert torch.equal(call(proposed).to_dense(), WANTED)
