"""Calls whose results or errors differed from those of dense torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import libsparse as ls

DENSE = torch.tensor([[0.0, 0.5, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [1.5, 0.0, -1.0, 0.0]])
A = ls.tensor(DENSE)


def dense(result: Any) -> Any:
    return result.to_dense() if isinstance(result, Tensor) else result


SAME: dict[str, Callable[[Any], Any]] = {
    "std_mean of an infinite fill value": lambda A: torch.std_mean(torch.reciprocal(A))[1],
    "var_mean of an infinite fill value": lambda A: torch.var_mean(torch.reciprocal(A), dim=1)[1],
    "a complex number divided": lambda A: (1 + 2j) / A.to(torch.complex64),
    "a real number divided": lambda A: 2 / A,
    "integers divided": lambda A: 2 / A.long(),
    "to a memory format": lambda A: A.to(torch.float64, memory_format=torch.preserve_format),
    "norm of no rows": lambda A: torch.linalg.vector_norm(A[:0], float("inf"), dim=1),
}


@pytest.mark.parametrize("name", SAME)
def test_results(name: str) -> None:
    torch.testing.assert_close(dense(SAME[name](A)), SAME[name](DENSE), equal_nan=True)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "nanmean of integers": lambda A: torch.nanmean(A.long()),
    "nanmean of bools": lambda A: torch.nanmean(A != 0, dim=1),
    "indices of 16 bits": lambda A: A[torch.tensor([0, 1], dtype=torch.int16)],
    "indices of 8 bits": lambda A: A[torch.tensor([0, 1], dtype=torch.int8), 1],
    "clone to a format of images": lambda A: A.clone(memory_format=torch.channels_last),
    "contiguous in a format of images": lambda A: A.contiguous(memory_format=torch.channels_last_3d),
    "double in a format of images": lambda A: A.double(memory_format=torch.channels_last),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors(name: str) -> None:
    with pytest.raises(Exception) as wanted:  # noqa: PT011  # whatever torch raises
        REFUSED[name](DENSE)
    with pytest.raises(type(wanted.value)):
        REFUSED[name](A)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_masks_of_torchs_layouts(layout: torch.layout) -> None:
    q, k, v = torch.rand(3, 5), torch.rand(4, 5), torch.rand(4, 2)
    mask = DENSE.to_sparse(layout=layout)
    torch.testing.assert_close(ls.attention(q, k, v, mask), ls.attention(q, k, v, A))
    torch.testing.assert_close(ls.sddmm(mask, q, k.T).to_dense(), DENSE * (q @ k.T))
    with ls.override():
        assert torch.equal(torch.permute(mask, (1, 0)).to_dense(), DENSE.T)


@pytest.mark.parametrize(
    "move",
    [
        lambda A: A.cuda(),
        lambda A: A.to("cuda"),
        lambda A: A.to(torch.device("cuda:0"), torch.float64),
        lambda A: A.to(device="mps"),
        lambda A: torch.nn.ParameterList([torch.nn.Parameter(A)]).to("cuda"),
    ],
)
def test_the_cpu_only(move: Callable[[Any], Any]) -> None:
    with pytest.raises(ls.UnsupportedError, match="libsparse computes on the CPU only"):
        move(A)


def test_a_sparse_gradient_of_a_dense_result() -> None:
    x = torch.rand(4, 2, requires_grad=True)
    grad = torch.eye(3)[:, :2]
    (found,) = torch.autograd.grad(A @ x, x, grad.to_sparse())
    torch.testing.assert_close(found, DENSE.T @ grad)
