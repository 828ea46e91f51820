"""Forms of torch's calls that gave another result than with dense tensors, or failed."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls

D = torch.tensor([[1.0, 0, 2], [0, 0, 0], [3, 4, 5], [0, 6, 0]])
T = torch.stack([D, D.flip(0) - 1, D * 2])
ROW = torch.tensor([2.0, 0, 3, 1])
CALLS = {
    "cat by names": lambda a, t: torch.cat(dim=-1, tensors=[a, a]),
    "index_select by names": lambda a, t: torch.index_select(input=a, dim=-1, index=torch.tensor([2, 0])),
    "reshape by names": lambda a, t: torch.reshape(input=a, shape=(6, 2)),
    "lists of a list": lambda a, t: a[[[0, 2], [1, 2]]],
    "tuples of a list": lambda a, t: a[[(0, 2), (1, 2)]],
    "tensors of a list": lambda a, t: a[[torch.tensor([0, 2]), torch.tensor([1, 2])]],
    "matrix_norm of a batch": lambda a, t: torch.linalg.matrix_norm(t),
    "matrix_norm over other dimensions": lambda a, t: torch.linalg.matrix_norm(t, 1, dim=(0, -1), keepdim=True),
    "norm of all": lambda a, t: torch.linalg.norm(t),
    "kron of more": lambda a, t: torch.kron(a, t),
    "kron of fewer": lambda a, t: torch.kron(t, a[0]),
    "any of each": lambda a, t: torch.any(a, dim=()),
    "all of each": lambda a, t: a.all(dim=[]),
    "linalg.diagonal": lambda a, t: torch.linalg.diagonal(t, offset=1),
    "diagflat": lambda a, t: torch.diagflat(a, -1),
    "sum_to_size": lambda a, t: t.sum_to_size(4, 1),
    "sum_to_size of as many": lambda a, t: a.sum_to_size((4, 3)),
}


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("format", ["csr", "coo", "bsr(2,2)"])
@pytest.mark.parametrize("name", CALLS)
def test_as_of_dense_tensors(name: str, format: str) -> None:
    found = CALLS[name](ls.tensor(D, format=format), ls.tensor(T, format="csf" if format != "coo" else format))
    torch.testing.assert_close(found.to_dense(), CALLS[name](D, T))


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.linalg.norm(ls.tensor(T), 1),
        lambda: torch.linalg.norm(ls.tensor(T), "fro", dim=(0, 1, 2)),
        lambda: torch.linalg.norm(ls.tensor(D), "fro", dim=0),
        lambda: F.linear(D, ls.tensor(D), ROW[:3]),
        lambda: F.linear(D, ls.tensor(D), ROW.expand(2, 4, 4)),
        lambda: ls.tensor(D).sum_to_size(2, 3),
    ],
)
def test_refused_as_by_torch(call) -> None:
    with pytest.raises(ls.ShapeError, match=r"expected|does not broadcast"):
        call()


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_values_that_are_arrays_stay_arrays_in_torchs_layouts() -> None:
    values = torch.arange(1.0, 13).reshape(4, 3)
    csr = torch.sparse_csr_tensor(torch.tensor([0, 2, 3, 3, 4]), torch.tensor([1, 4, 2, 0]), values, (4, 5, 3))
    coo = torch.sparse_coo_tensor(torch.tensor([[0, 0, 1, 3], [1, 4, 2, 0]]), values, (4, 5, 3)).coalesce()
    for tensor in (csr, coo):
        found = ls.from_torch(tensor)
        for written in (found.to_torch(), found.to_torch(tensor.layout), found.to_sparse(2)):
            assert written.dense_dim() == 1
            assert torch.equal(written.values(), values)
        assert found.to_torch().layout is tensor.layout
    written = (ls.from_torch(coo).requires_grad_() * 2).to_torch()
    assert written.dense_dim() == 1
    assert torch.equal(written.to_dense(), coo.to_dense() * 2)
