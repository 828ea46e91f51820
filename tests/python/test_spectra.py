"""Eigenvalues and singular values by Lanczos' methods: against dense torch, with multiplicities and breakdowns."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import libsparse as ls

N = 150
REAL, COMPLEX = [torch.float64, torch.float32], [torch.complex128, torch.complex64]


def drawn(rows: int, columns: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """A dense matrix of which a tenth is not 0."""
    torch.manual_seed(2)
    dense = torch.randn(rows, columns, dtype=dtype)
    return torch.where(torch.rand(rows, columns) < 0.1, dense, 0)


def hermitian(dtype: torch.dtype) -> Tensor:
    dense = drawn(N, N, dtype)
    return dense + dense.mH


def turned(values: Tensor) -> Tensor:
    """A symmetric matrix with these eigenvalues, in no position where an iteration sees them at once."""
    torch.manual_seed(3)
    basis = torch.linalg.qr(torch.randn(len(values), len(values), dtype=values.dtype))[0]
    dense = (basis * values) @ basis.mT
    return (dense + dense.mT) / 2


def check_eigenvalues(dense: Tensor, k: int, largest: bool) -> None:
    A = ls.tensor(dense)
    values, vectors = ls.linalg.eigsh(A, k, largest)
    wanted = torch.linalg.eigvalsh(dense)
    scale = max(float(wanted.abs().max()), 1e-30)
    close = {"rtol": 0, "atol": 100 * torch.finfo(dense.dtype).eps}
    torch.testing.assert_close(values / scale, (wanted[-k:].flip(0) if largest else wanted[:k]) / scale, **close)
    torch.testing.assert_close((A @ vectors) / scale, vectors * values / scale, **close)
    torch.testing.assert_close(vectors.mH @ vectors, torch.eye(k, dtype=dense.dtype), **close)


def check_singular_values(dense: Tensor, k: int) -> None:
    A = ls.tensor(dense)
    U, values, V = ls.linalg.svds(A, k)
    wanted = torch.linalg.svdvals(dense)
    scale = max(float(wanted.max()), 1e-30)
    close = {"rtol": 0, "atol": 100 * torch.finfo(dense.dtype).eps}
    torch.testing.assert_close(values / scale, wanted[:k] / scale, **close)
    torch.testing.assert_close((A @ V) / scale, U * values / scale, **close)
    torch.testing.assert_close((A.mH @ U) / scale, V * values / scale, **close)
    for vectors in (U, V):
        torch.testing.assert_close(vectors.mH @ vectors, torch.eye(k, dtype=dense.dtype), **close)


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
@pytest.mark.parametrize(("k", "largest"), [(1, True), (6, False), (12, True), (60, False), (N, True)])
def test_eigenvalues(dtype: torch.dtype, k: int, largest: bool) -> None:
    check_eigenvalues(hermitian(dtype), k, largest)


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
@pytest.mark.parametrize(("shape", "k"), [((200, N), 1), ((N, 200), 6), ((N, N), 20), ((200, 120), 120)])
def test_singular_values(dtype: torch.dtype, shape: tuple[int, int], k: int) -> None:
    check_singular_values(drawn(*shape, dtype), k)


def repeated() -> Tensor:
    """The largest eigenvalue three times, the next five times, the smallest twice."""
    values = torch.linspace(-5, 9.9, N, dtype=torch.float64)
    values[:3], values[3:8], values[8:10] = 11, 10, -6
    return values


SPECIAL: dict[str, Callable[[], Tensor]] = {
    "zero": lambda: torch.zeros(N, N, dtype=torch.float64),
    "identity": lambda: torch.eye(N, dtype=torch.float64),
    "two values": lambda: torch.diag((torch.arange(N) % 2).double()),
    "copies on the diagonal": lambda: torch.diag(repeated()),
    "copies": lambda: turned(repeated()),
    "negative": lambda: turned(repeated() - 20),
    "low rank": lambda: turned(torch.cat([torch.arange(1.0, 8.0), torch.zeros(N - 7)]).double()),
    "blocks": lambda: torch.block_diag(*[torch.tensor([[1.0, 2.0], [2.0, 1.0]], dtype=torch.float64)] * (N // 2)),
}


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("k", [1, 4, 10])
def test_copies_and_spaces_that_end(name: str, k: int) -> None:
    dense = SPECIAL[name]()
    check_eigenvalues(dense, k, True)
    check_eigenvalues(dense, k, False)
    check_singular_values(dense, k)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("copies", [2, 12, 50])
def test_more_copies_than_a_restart_keeps(copies: int, dtype: torch.dtype) -> None:
    """Each copy arises from rounding errors while others have just converged; mixtures of them did not converge."""
    values = torch.linspace(0, 1, 300, dtype=torch.float64)
    values[-copies:] = 2
    dense = turned(values).to(dtype)
    for k in (2, 8):
        check_eigenvalues(dense, k, True)
        check_singular_values(dense, k)


@pytest.mark.parametrize("dtype", REAL)
def test_small_singular_values_are_as_accurate_as_large_ones(dtype: torch.dtype) -> None:
    torch.manual_seed(4)
    left, right = (torch.linalg.qr(torch.randn(n, N, dtype=torch.float64))[0] for n in (200, N))
    dense = (left * 10.0 ** -torch.linspace(0, 12, N, dtype=torch.float64)) @ right.mT
    check_singular_values(dense.to(dtype), 40)


def test_eigenvalues_of_a_grid() -> None:
    """The Laplacian of a square grid has every other eigenvalue twice."""
    side = 20
    line = (
        torch.diag(torch.full((side,), 2.0))
        - torch.diag(torch.ones(side - 1), 1)
        - torch.diag(torch.ones(side - 1), -1)
    )
    one, line = ls.eye(side, dtype=torch.float64), ls.tensor(line.double())
    A = torch.kron(line, one) + torch.kron(one, line)
    found, _ = ls.linalg.eigsh(A, 8, largest=False)
    angles = torch.arange(1, side + 1, dtype=torch.float64) * torch.pi / (side + 1)
    single = 2 - 2 * angles.cos()
    wanted = (single[:, None] + single).flatten().sort().values[:8]
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_copies_between_values_that_are_near(seed: int) -> None:
    """Single and multiple values one after the other, the last wanted one amidst them, and far from 0."""
    torch.manual_seed(seed)
    steps = torch.rand(6, dtype=torch.float64).cumsum(0) * 10.0**-seed
    copies = torch.tensor([1, 3, 1, 2, 5, 1])
    top = torch.repeat_interleave(steps, copies) + 2
    dense = turned(torch.cat([torch.rand(220, dtype=torch.float64), top]) + 50 * (seed % 2))
    for k in (2, 8):
        check_eigenvalues(dense, k, True)
        check_eigenvalues(-dense, k, False)
        check_singular_values(dense, k)


@pytest.mark.parametrize("dtype", REAL)
def test_laplacian_of_a_graph_of_many_parts(dtype: torch.dtype) -> None:
    """It has the eigenvalue 0 once a part, and those of equal parts as often as there are these."""
    torch.manual_seed(1)
    parts = []
    for size in [1] * 5 + [2] * 20 + [3] * 10 + [30] * 4:
        edges = (torch.rand(size, size) < 0.3).triu(1).to(dtype)
        edges = edges + edges.mT + torch.diag(torch.ones(size - 1, dtype=dtype), 1).mul(2)
        edges = ((edges + edges.mT) > 0).to(dtype)
        parts.append(torch.diag(edges.sum(1)) - edges)
    dense = torch.block_diag(*parts)
    for k in (6, 42):
        check_eigenvalues(dense, k, False)
        check_eigenvalues(dense, k, True)


def test_left_vectors_stay_orthogonal_without_a_pass_for_each() -> None:
    """Of a matrix with a value far above all others, those of the recurrence lose it, and get it back."""
    torch.manual_seed(5)
    dense = torch.randn(700, 160, dtype=torch.float64) + 1e4 * torch.ones(700, 160, dtype=torch.float64)
    check_singular_values(dense, 12)
    check_singular_values(dense.mT.contiguous(), 12)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_gradients(dtype: torch.dtype) -> None:
    weight = torch.arange(1.0, 5.0, dtype=torch.float64)
    for dense, of, reference in (
        (hermitian(dtype), lambda A: ls.linalg.eigsh(A, 4)[0], lambda D: torch.linalg.eigvalsh(D)[-4:].flip(0)),
        (drawn(200, N, dtype), lambda A: ls.linalg.svds(A, 4)[1], lambda D: torch.linalg.svdvals(D)[:4]),
    ):
        A = ls.tensor(dense)
        values, leaf = A.values().clone().requires_grad_(), dense.clone().requires_grad_()
        (found,) = torch.autograd.grad((of(A.with_values(values)) * weight).sum(), values)
        (wanted,) = torch.autograd.grad((reference(leaf) * weight).sum(), leaf)
        torch.testing.assert_close(found, wanted[tuple(A.indices())], rtol=1e-8, atol=1e-10)


def test_seeds_tolerances_and_formats() -> None:
    A = ls.tensor(hermitian(torch.float64))
    for method in (ls.linalg.eigsh, ls.linalg.svds):
        results = []
        for _ in range(6):  # after some calls, products don't change their order of sums any more
            torch.manual_seed(0)
            results.append(method(A, 3))
        assert all(torch.equal(a, b) for a, b in zip(*results[-2:], strict=True))
    exact, singular = ls.linalg.eigsh(A, 3)[0], ls.linalg.svds(A, 3)[1]
    for other in (ls.linalg.eigsh(A, 3, tol=1e-3)[0], ls.linalg.eigsh(A, 3, tol=0)[0]):
        torch.testing.assert_close(other, exact, rtol=1e-3, atol=0)
    for format in ("coo", "csc", "bsr(5,5)"):
        torch.testing.assert_close(ls.linalg.eigsh(A.to_format(format), 3)[0], exact)
        torch.testing.assert_close(ls.linalg.svds(A.to_format(format), 3)[1], singular)


@pytest.mark.parametrize(
    ("call", "kind", "told"),
    [
        (lambda A: ls.linalg.eigsh(A.with_values(A.values() * torch.rand(A.nnz)), 2), ls.FormatError, "not symmetric"),
        (lambda A: ls.linalg.eigsh(A * 1j, 2), ls.FormatError, r"not Hermitian: entries \(\d+, \d+\)"),
        (lambda A: ls.linalg.eigsh(A, 2, niter=1), ls.linalg.ConvergenceError, "of 2 vectors .* niter=1"),
        (lambda A: ls.linalg.svds(A, 2, niter=0), ls.linalg.ConvergenceError, "svds: 0 of 2 vectors"),
        (lambda A: ls.linalg.eigsh(A.half(), 2), ls.DtypeError, "expected float32 or float64, complex64"),
        (lambda A: ls.linalg.svds(A, N + 1), ls.ShapeError, f"from 1 to {N}"),
    ],
)
def test_errors(call: Callable[[ls.SparseTensor], object], kind: type[Exception], told: str) -> None:
    with pytest.raises(kind, match=told):
        call(ls.tensor(hermitian(torch.float64)))
