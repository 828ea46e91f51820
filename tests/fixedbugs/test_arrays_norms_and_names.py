"""Arrays of NumPy, norms without gradients, functions that became dense, and what an expression has no function for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import libsparse as ls

A = ls.tensor([[0.0, 2.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 3.0]])


def test_arrays() -> None:
    assert np.asarray(A).tolist() == A.tolist()
    assert np.asarray(A, dtype=np.float64).dtype == np.float64
    assert np.asarray(torch.exp(A))[0, 0] == 1
    with pytest.raises(ls.FormatError, match="keep it sparse"):
        np.asarray(ls.eye(10**7))
    with pytest.raises(RuntimeError, match=r"requires grad.*A.detach\(\)"):
        np.asarray(A.clone().requires_grad_())
    with pytest.raises(ValueError, match="is a copy"):
        A.__array__(copy=False)


NORMS = {
    "vector_norm": lambda x: torch.linalg.vector_norm(x, ord=0),
    "of rows": lambda x: torch.linalg.norm(x, ord=0, dim=1),
    "of columns, kept": lambda x: torch.norm(x, p=0, dim=0, keepdim=True),
    "with a fill value": lambda x: torch.exp(x).norm(0),
    "power": lambda x: torch.linalg.matrix_power(x, 0),
    "complex": lambda x: (x * 1j).norm(0),
}


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("format", ["csr", "bsr(2,2)"])
def test_gradients_that_are_zero(name: str, format: str) -> None:
    sparse, dense = A.to_format(format).clone().requires_grad_(), A.to_dense().requires_grad_()
    found, expected = NORMS[name](sparse), NORMS[name](dense)
    assert found.requires_grad
    torch.testing.assert_close(found.to_dense() if isinstance(found, ls.SparseTensor) else found, expected)
    found.sum().backward()
    assert sparse.grad is not None
    assert not sparse.grad.values().any()


@pytest.mark.parametrize(
    "weight", [torch.tensor([0.5]), torch.tensor([0.5, 0.25, 0.1]), ls.tensor([0.5, 0.0, 0.1]), ls.tensor([0.5])]
)
def test_prelu(weight: Any) -> None:
    dense = weight.to_dense()
    found = F.prelu(A, weight)
    assert isinstance(found, ls.SparseTensor)
    torch.testing.assert_close(found.to_dense(), F.prelu(A.to_dense(), dense))
    torch.testing.assert_close(F.prelu(A.to_dense(), weight), F.prelu(A.to_dense(), dense))


def test_names_of_numpy() -> None:
    torch.testing.assert_close(A.sum(axis=1, keepdims=True), A.to_dense().sum(1, keepdim=True))  # type: ignore[call-overload]
    assert torch.cat([A, A], axis=1).shape == (3, 6)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="axis"):
        A.sum(axis=1, dim=0)  # type: ignore[call-overload]


@pytest.mark.parametrize("text", ["softmax(A(i,j))", "2 * log_softmax(A(i,j))", "normalize(A(i,j))"])
def test_functions_of_many_elements(text: str) -> None:
    with pytest.raises(ls.FormatError, match=r"functions take single elements.* or several statements") as e:
        ls.evaluate(f"y(i,j) = {text}", A=A)
    remedy = str(e.value).partition("as ")[2]
    torch.testing.assert_close(ls.evaluate(remedy, A=A).to_dense(), torch.softmax(A, 1).to_dense())
