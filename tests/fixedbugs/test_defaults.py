"""torch's default device is for the tensors of users; each call has the default dtype of its time."""

from __future__ import annotations

import copy
import io
from collections.abc import Iterator

import pytest
import torch

import libsparse as ls

DENSE = torch.rand(6, 6) * (torch.rand(6, 6) > 0.5)
X = torch.rand(6, 3)
ROWS = torch.tensor([2, 0, 0])
FORMATS = ["csr", "csc", "coo", "bsr(2,2)", "sell(2)", "db", "dh"]


@pytest.fixture
def elsewhere() -> Iterator[None]:
    torch.set_default_device("meta")
    yield
    torch.set_default_device(None)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("format", FORMATS)
def test_default_device(format: str) -> None:
    A = ls.tensor(DENSE, format=format).requires_grad_()
    found = [
        A,
        A @ X,
        A @ A,
        A + A.T,
        A.sum(1),
        A.amax(1),
        A[ROWS],
        A[ROWS][:, ROWS],
        A[1],
        A[1:5:2, [0, 3]],
        torch.cat([A, A]),
        torch.stack([A, A]),
        torch.softmax(A, 1),
        torch.exp(A)[ROWS] @ X,
        A.diagonal(),
        A.set_diag(X[:, 0]),
        A.reshape(4, 9),
        A.repeat_interleave(2, 0),
        A.cumsum(1),
        *torch.std_mean(A, 1),
        A.to_torch(),
        A.to_torch(torch.sparse_csr),
        copy.deepcopy(A),
        ls.evaluate("y(i) = A(i(0:4),j([0,2])) + 1", A=A),
        ls.attention(X[None], X[None], X[None], A),
        *torch.autograd.grad((torch.softmax(A, 1) @ X).square().sum(), [A.values()]),
    ]
    assert {tensor.device.type for tensor in found} == {"cpu"}


@pytest.mark.usefixtures("elsewhere")
def test_constructors_and_files_on_a_default_device() -> None:
    file = io.BytesIO()
    torch.save(ls.eye(3), file)
    file.seek(0)
    loaded = torch.load(file)
    for found in (
        ls.eye(3),
        ls.random((5, 5), 0.5),
        ls.tensor([[1.0, 0.0]]),
        ls.from_coo([[0], [1]], [2.0], (2, 2)),
        loaded,
    ):
        assert found.device.type == "cpu"
        assert found.to_dense().isfinite().all()


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_torchs_layouts_on_a_default_device(layout: torch.layout) -> None:
    with ls.override():
        A = DENSE.to_sparse(layout=layout)
        for found in (A @ X, A @ A, A * A, A[ROWS], A.sum()):
            assert found.device.type == "cpu"


def test_default_dtype_of_each_call() -> None:
    A, halved = ls.tensor(torch.tensor([[0, 2], [3, 0]])), ls.compile(lambda A: (A * 2.5).sum(1))
    try:
        for dtype in (torch.float32, torch.float64, torch.float16):
            torch.set_default_dtype(dtype)
            for text in ("y(i) = exp(A(i,j))", "y(i,j) = A(i,j) / 2", "y(i) mean= A(i,j)"):
                assert ls.evaluate(text, A=A).dtype == dtype
            assert torch.exp(A).dtype == (A / A).dtype == halved(A).dtype == ls.eye(2).dtype == dtype
    finally:
        torch.set_default_dtype(torch.float32)
