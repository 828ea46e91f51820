"""Products with a transpose: rows are added to the result as they come until the pattern has been used a few times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from covering import pairs
from libsparse._runtime.first_uses import Settling
from torch import Tensor

import libsparse as ls

pytestmark = pytest.mark.compiler

USES = 3


def matrix(format: str, dtype: torch.dtype, shape: tuple[int, ...] = (900, 700)) -> ls.SparseTensor:
    return ls.random(shape, 0.05, format=format).mul(9).to(dtype)


def variant(A: ls.SparseTensor) -> Any:
    (prepared, _), *_ = A.pattern.calls.values()
    return prepared.variant


def formats(A: ls.SparseTensor) -> list[str]:
    return [name for name in A.pattern.derived if name.startswith("format")]


FORMATS = ["csr", "dcsr", "coo", "sell(8)"]
DTYPES = [torch.float32, torch.float64, torch.int32, torch.bfloat16, torch.complex64]


@pytest.mark.parametrize(("format", "dtype", "columns", "threads"), pairs(FORMATS, DTYPES, [2, 16, 33, 64], [1, 2]))
def test_few_uses_and_many(format: str, dtype: torch.dtype, columns: int, threads: int) -> None:
    A = matrix(format, dtype)
    X = torch.rand(900, columns).mul(9).to(dtype)
    wanted = A.to_dense().T.to(torch.complex128) @ X.to(torch.complex128)
    tolerance = {"rtol": 0.02, "atol": 0.02} if dtype == torch.bfloat16 else {"rtol": 1e-4, "atol": 1e-2}
    with ls.options(num_threads=threads):
        found = [ls.einsum("ij,ik->jk", A, X) for _ in range(USES + 3)]
    for each in found:
        torch.testing.assert_close(each.to(torch.complex128), wanted, **tolerance)
    assert all(torch.equal(each, found[0]) for each in found[:USES])
    assert all(torch.equal(each, found[USES]) for each in found[USES:])


PRODUCTS: list[Callable[[ls.SparseTensor, Tensor], Tensor]] = [
    lambda A, X: A.T @ X,
    lambda A, X: ls.einsum("ij,ik->jk", A, X),
]


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_pattern_is_converted_after_its_first_uses(product: Callable[[ls.SparseTensor, Tensor], Tensor]) -> None:
    for _ in range(6):  # the first uses of later patterns begin by what earlier ones have found
        A, X = matrix("csr", torch.float32), torch.rand(900, 16)
        with ls.options(num_threads=2):
            for _ in range(USES):
                product(A, X)
                assert not formats(A)
            product(A, X)
            assert formats(A)


def test_gradients_of_new_patterns_convert_nothing() -> None:
    for _ in range(3):
        A, x = matrix("csr", torch.float64).requires_grad_(), torch.rand(700, 24, dtype=torch.float64)
        x.requires_grad_()
        with ls.options(num_threads=2):
            (A @ x).square().sum().backward()
        assert not formats(A)
        dense, y = A.detach().to_dense().requires_grad_(), x.detach().requires_grad_()
        (dense @ y).square().sum().backward()
        torch.testing.assert_close(x.grad, y.grad)
        assert A.grad is not None
        assert dense.grad is not None
        torch.testing.assert_close(A.grad.values(), dense.grad[A.indices()[0], A.indices()[1]])


def test_a_pattern_that_is_converted_is_used_so_at_once() -> None:
    A, X = matrix("csr", torch.float32), torch.rand(900, 16)
    A.T.to_format("csr")
    with ls.options(num_threads=2):
        first = ls.einsum("ij,ik->jk", A, X)
        for _ in range(8):
            assert torch.equal(ls.einsum("ij,ik->jk", A, X), first)
            assert variant(A).reads


@pytest.mark.parametrize("setting", [{"num_threads": 3}, {"num_threads": 2, "tune_bitwise": True}])
def test_many_threads_and_equal_bits_convert_at_once(setting: dict[str, Any]) -> None:
    A, X = matrix("csr", torch.float32), torch.rand(900, 16)
    with ls.options(**setting):
        first = ls.einsum("ij,ik->jk", A, X)
        assert formats(A)
        for _ in range(8):
            assert torch.equal(ls.einsum("ij,ik->jk", A, X), first)


def test_modes_of_a_tensor() -> None:
    A = ls.random((60, 50, 40), 0.03, dtype=torch.float64, format="csf")
    B, C = torch.rand(60, 8, dtype=torch.float64), torch.rand(40, 8, dtype=torch.float64)
    wanted = torch.einsum("ijk,il,kl->jl", A.to_dense(), B, C)
    with ls.options(num_threads=2):
        for _ in range(USES + 3):
            torch.testing.assert_close(ls.einsum("ijk,il,kl->jl", A, B, C), wanted)


def test_what_takes_the_place_of_a_call_outlives_it() -> None:
    A, X = matrix("csr", torch.float64), torch.rand(900, 16, dtype=torch.float64)
    found: list[Tensor] = []
    with ls.options(num_threads=2):
        found.extend(ls.einsum("ij,ik->jk", A, X) for _ in range(USES))
        (prepared, _), *_ = A.pattern.calls.values()
        settling = prepared.variant
        assert isinstance(settling, Settling)
        result = ls.einsum("ij,ik->jk", A, X)  # settles
        assert prepared.variant is not settling
        assert settling.kernel is not prepared.variant.kernel
    torch.testing.assert_close(result, found[0])


@pytest.mark.parametrize("how", ["sum", "amax", "amin", "prod"])
@pytest.mark.parametrize(("format", "dim"), [("csr", 0), ("csc", 1)])
def test_first_sums_don_t_convert_a_pattern(format: str, dim: int, how: str) -> None:
    A = matrix(format, torch.float64)
    wanted = getattr(A.to_dense(), how)(dim)
    with ls.options(num_threads=2):
        for _ in range(USES):
            torch.testing.assert_close(getattr(A, how)(dim), wanted)
            assert not formats(A)
        for _ in range(3):
            torch.testing.assert_close(getattr(A, how)(dim), wanted)
