"""SciPy's methods in place moved values of the tensor that an array was made from, and not its indices."""

import pytest
import torch

import libsparse as ls

pytest.importorskip("scipy")


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(1,1)", "dia", "ell"])
def test_writing_to_an_array_changes_no_tensor(format):
    dense = torch.tensor([[1.0, 2.0, 0.0, 0.0], [3.0, 4.0, 5.0, 0.0], [0.0, 0.0, 0.0, 6.0]])
    A = ls.tensor(dense).to_format(format)
    array = A.to_scipy()
    array.data *= 0
    if hasattr(array, "eliminate_zeros"):
        array.eliminate_zeros()
    assert torch.equal(A.to_dense(), dense)
    assert A.values()._version == 0
