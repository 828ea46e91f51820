"""Gradients of gradients of eigenvalues and singular values were 0 where vectors change; power_iteration changed x0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

import libsparse as ls

pytestmark = pytest.mark.compiler

Case = tuple[ls.SparseTensor, Callable[[Any], Tensor], Callable[[Tensor], Tensor]]


def dominant(dense: Tensor) -> Tensor:
    values = torch.linalg.eigvals(dense)
    return values[values.abs().argmax()].real


def made(n: int, k: int, format: str) -> dict[str, Case]:
    drawn = torch.Generator().manual_seed(2)

    def entries(rows: int, columns: int, density: float = 0.3) -> Tensor:
        dense = torch.rand(rows, columns, generator=drawn, dtype=torch.float64)
        return dense * (torch.rand(rows, columns, generator=drawn) < density)

    half = entries(n, n) - entries(n, n)
    symmetric, tall = ls.tensor(half + half.T, format=format), ls.tensor(entries(n + 3, n), format=format)
    positive = ls.tensor(entries(n, n, 0.7) + torch.eye(n, dtype=torch.float64), format=format)

    def values(dense: Tensor) -> Tensor:
        return torch.linalg.eigvalsh((dense + dense.T) / 2)

    return {
        "largest": (symmetric, lambda A: ls.linalg.eigsh(A, k)[0], lambda D: values(D).flip(0)[:k]),
        "smallest": (symmetric, lambda A: ls.linalg.eigsh(A, k, False)[0], lambda D: values(D)[:k]),
        "singular": (tall, lambda A: ls.linalg.svds(A, k)[1], lambda D: torch.linalg.svdvals(D)[:k]),
        "wide": (tall, lambda A: ls.linalg.svds(A.T, k)[1], lambda D: torch.linalg.svdvals(D)[:k]),
        "dominant": (positive, lambda A: ls.linalg.power_iteration(A, rtol=1e-13)[0], dominant),
    }


NAMES = ["largest", "smallest", "singular", "wide", "dominant"]


def of_values(case: Case) -> tuple[Tensor, Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    """The values of the matrix, and the function of them, of ours and of dense matrices; padding counts for neither."""
    A, ours, dense = case
    places = A.pattern.linear()

    def theirs(values: Tensor) -> Tensor:
        flat = values.new_zeros(A.shape.numel()).scatter(0, places, A.pattern.entries(values))
        return dense(flat.reshape(A.shape))

    return A.values().detach(), lambda values: ours(A.with_values(values)), theirs


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "k", "format"), [(12, 1, "csr"), (12, 12, "coo"), (12, 3, "bsr(4,4)"), (130, 3, "csc")])
def test_gradients_of_gradients(name: str, n: int, k: int, format: str) -> None:
    values, *functions = of_values(made(n, k, format)[name])
    found = []
    for function in functions:
        leaf = values.clone().requires_grad_()
        result = function(leaf)
        weights = torch.arange(1.0, 1 + result.numel(), dtype=torch.float64).reshape(result.shape).requires_grad_()
        (first,) = torch.autograd.grad((result * weights).sum(), leaf, create_graph=True)
        along = torch.linspace(-1, 1, len(values), dtype=torch.float64)
        found.append((result, first, *torch.autograd.grad((first * along).sum(), (leaf, weights))))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-9)


def loss(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda values: function(values).square().sum()


TRANSFORMS = {
    "jvp": lambda f, v: jvp(f, (v,), (v.cos(),))[1],
    "hessian": lambda f, v: hessian(loss(f))(v),
    "reverse over forward": lambda f, v: jacrev(jacfwd(loss(f)))(v),
    "forward over forward": lambda f, v: jacfwd(jacfwd(loss(f)))(v),
    "reverse over reverse": lambda f, v: jacrev(jacrev(loss(f)))(v),
    "batched": lambda f, v: torch.autograd.functional.hessian(loss(f), v, vectorize=True),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms(name: str, transform: str) -> None:
    values, ours, theirs = of_values(made(5, 2, "csr")[name])
    apply = TRANSFORMS[transform]
    torch.testing.assert_close(apply(ours, values), apply(theirs, values), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", NAMES[:-1])
def test_batches_of_matrices(name: str) -> None:
    values, ours, theirs = of_values(made(5, 2, "csr")[name])
    several = torch.stack([values, values * 2])
    for compared in (lambda f: vmap(f)(several), lambda f: vmap(grad(loss(f)))(several)):
        torch.testing.assert_close(compared(ours), compared(theirs))


def test_complex_matrices() -> None:
    torch.manual_seed(0)
    dense = torch.randn(4, 4, dtype=torch.complex128) * (torch.rand(4, 4) < 0.6)
    A = ls.tensor(dense)
    values = A.values().requires_grad_()

    def hermitian(v: Tensor) -> Tensor:
        matrix: Any = A.with_values(v)
        return ls.linalg.eigsh(matrix + matrix.mH, 2)[0]

    for function in (
        hermitian,
        lambda v: ls.linalg.svds(A.with_values(v), 2)[1],
        lambda v: ls.linalg.power_iteration(A.with_values(v * 0.3) + ls.eye(4) * 9, rtol=1e-13)[0],
    ):
        assert torch.autograd.gradcheck(function, (values,), fast_mode=True)
        assert torch.autograd.gradgradcheck(function, (values,), fast_mode=True)


def test_values_that_are_equal() -> None:
    values = torch.tensor([3.0, 1.0, 1.0, 0.5], dtype=torch.float64)
    ones = ls.diag(values) + ls.diag(torch.zeros(3, dtype=torch.float64), 1)
    ones = ones + ones.T
    leaf = ones.values().detach().requires_grad_()
    for k in (2, 3):  # the second is not simple, and takes no part
        (first,) = torch.autograd.grad(ls.linalg.eigsh(ones.with_values(leaf), k)[0][0], leaf, create_graph=True)
        assert torch.autograd.grad(first.square().sum(), leaf)[0].isfinite().all()


def test_third_derivatives_are_refused() -> None:
    A = made(12, 2, "csr")["largest"][0]
    leaf = A.values().detach().requires_grad_()
    (first,) = torch.autograd.grad(ls.linalg.eigsh(A.with_values(leaf), 2)[0].sum(), leaf, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), leaf, create_graph=True)
    with pytest.raises(ls.UnsupportedError, match="eigsh: third derivatives"):
        torch.autograd.grad(second.sum(), leaf)


def test_where_to_start_is_not_changed() -> None:
    start = torch.tensor([3.0, 4.0])
    ls.linalg.power_iteration(ls.tensor([[2.0, 1.0], [1.0, 2.0]]), start)
    assert start.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("method", ["cg", "gmres", "bicgstab", "direct"])
def test_batches_of_gradients_of_solutions(method: str) -> None:
    dense = torch.eye(5, dtype=torch.float64) * 3
    dense[0, 2] = dense[2, 0] = 0.5
    A, b = ls.tensor(dense), torch.linspace(-1, 1, 5, dtype=torch.float64).requires_grad_()
    values = A.values().detach().requires_grad_()
    solution = ls.linalg.solve(A.with_values(values), b, method, rtol=1e-13)
    inputs, units = (values, b), torch.eye(5, dtype=torch.float64)
    batch = torch.autograd.grad(solution, inputs, units, is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(solution, inputs, unit, retain_graph=True) for unit in units]
    for found, wanted in zip(batch, zip(*each, strict=True), strict=True):
        torch.testing.assert_close(found, torch.stack(wanted))
    for strategy in ("reverse-mode", "forward-mode"):
        found = torch.autograd.functional.jacobian(
            lambda v, b: ls.linalg.solve(A.with_values(v), b, method, rtol=1e-13),
            (values.detach(), b.detach()),
            vectorize=True,
            strategy=strategy,
        )
        torch.testing.assert_close(found, batch)
