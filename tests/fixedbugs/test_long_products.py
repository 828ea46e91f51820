"""Products of more operands than paths are searched for took one loop nest over all of their indices."""

from __future__ import annotations

import string

import pytest
import torch

import libsparse as ls

LETTERS = string.ascii_letters


def chain(count: int) -> str:
    return ",".join(LETTERS[i : i + 2] for i in range(count)) + f"->{LETTERS[0]}{LETTERS[count]}"


@pytest.mark.parametrize("count", [9, 14])
def test_chains_of_matrices_and_their_gradients(count):
    torch.manual_seed(0)
    sparse = [ls.random((20, 20), 0.4, dtype=torch.float64) for _ in range(count // 2)]
    dense = [torch.rand(20, 20, dtype=torch.float64, requires_grad=True) for _ in range(count - len(sparse))]
    values = [A.values().detach().requires_grad_() for A in sparse]
    operands = [A.with_values(v) for A, v in zip(sparse, values, strict=True)]
    operands = [x for pair in zip(operands, dense, strict=False) for x in pair] + dense[len(sparse) :]
    found = ls.einsum(chain(count), *operands)
    wanted = torch.linalg.multi_dot([x.to_dense() if isinstance(x, ls.SparseTensor) else x for x in operands])
    torch.testing.assert_close(found.to_dense() if isinstance(found, ls.SparseTensor) else found, wanted)
    if count > 9:  # each gradient takes kernels of its own
        return
    weight = torch.rand_like(wanted)
    tensors = [*values, *dense]
    expected = torch.autograd.grad((wanted * weight).sum(), tensors)
    found = found.to_dense() if isinstance(found, ls.SparseTensor) else found
    for own, other in zip(torch.autograd.grad((found * weight).sum(), tensors), expected, strict=True):
        torch.testing.assert_close(own, other)


def test_factors_that_share_no_index():
    A, vectors = ls.random((4, 4), 0.6, dtype=torch.float64), [torch.rand(3, dtype=torch.float64) for _ in range(19)]
    found = ls.einsum(",".join(["ab", *LETTERS[2:21]]) + "->a", A, *vectors)
    torch.testing.assert_close(found, A.to_dense().sum(1) * torch.stack([v.sum() for v in vectors]).prod())


def test_samples_of_a_long_product():
    A = ls.random((30, 30), 0.2, dtype=torch.float64)
    factors = [torch.rand(30, 5, dtype=torch.float64), *[torch.rand(5, 5, dtype=torch.float64) for _ in range(9)]]
    last = torch.rand(5, 30, dtype=torch.float64)
    text = ",".join(["az", *[LETTERS[i : i + 2] for i in range(10)], "kz"]) + "->az"
    found = ls.einsum(text, A, *factors, last, format="csr")
    torch.testing.assert_close(found.to_dense(), A.to_dense() * torch.linalg.multi_dot([*factors, last]))
    assert found.nnz == A.nnz


def test_least_of_long_paths():
    matrices = [ls.random((12, 12), 0.3, dtype=torch.float64) for _ in range(10)]
    found = ls.einsum(chain(10), *matrices, reduce="min", combine="add")
    wanted = matrices[0]
    for other in matrices[1:]:
        wanted = ls.einsum("ij,jk->ik", wanted, other, reduce="min", combine="add")
    torch.testing.assert_close(found.to_dense(), wanted.to_dense())
