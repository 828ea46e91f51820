"""Direct solutions: factors that are kept, triangles, and torch's functions of these; values, gradients and errors."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable

import pytest
import scipy.sparse.linalg
import torch
from libsparse._ops import linear_algebra
from torch import Tensor

import libsparse as ls

N = 12


def matrix(dtype: torch.dtype = torch.float64) -> ls.SparseTensor:
    """A matrix of which no triangle is empty, with a pattern of its own."""
    torch.manual_seed(8)
    return ls.random((N, N), 0.3).to(dtype) + 4 * ls.eye(N).to(dtype)


@pytest.fixture
def factored(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has an element for each matrix that is factorised."""
    sizes: list[int] = []
    splu = scipy.sparse.linalg.splu

    def counted(A: scipy.sparse.csc_array, **options: object) -> object:
        sizes.append(A.shape[0])
        return splu(A, **options)

    monkeypatch.setattr(scipy.sparse.linalg, "splu", counted)
    return sizes


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_factors_serve_equal_values(factored: list[int], format: str) -> None:
    A, b = matrix().to_format(format), torch.rand(N, 2).double()
    values = A.values().clone().requires_grad_()
    for _ in range(3):
        x = ls.linalg.solve(A.with_values(values), b, "direct")
        x.sum().backward()
    assert len(factored) == 1
    torch.testing.assert_close(x.detach(), torch.linalg.solve(A.to_dense(), b))
    with torch.no_grad():
        values[3] *= 2  # in place: the same tensor has other values
    x = ls.linalg.solve(A.with_values(values), b, "direct")
    torch.testing.assert_close(x, torch.linalg.solve(A.with_values(values).to_dense(), b))
    assert len(factored) == 2
    assert torch.sparse.spsolve(A.with_values(values).float(), b.float()).dtype == torch.float32
    assert len(factored) == 3


def test_factors_live_as_long_as_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    before = len(linear_algebra._kept)
    several = [matrix() for _ in range(3)]
    for A in several:
        ls.linalg.solve(A, torch.ones(N).double(), "direct")
    assert len(linear_algebra._kept) == before + 3
    monkeypatch.setattr(linear_algebra, "_MOST", 1)
    ls.linalg.solve(several[0] * 2, torch.ones(N).double(), "direct")
    assert len(linear_algebra._kept) == 1  # many numbers are kept of the last matrix alone
    del several, A
    gc.collect()
    assert len(linear_algebra._kept) == 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("of", [torch.tril, torch.triu, lambda A: A])
def test_triangles_and_adjoints(of: Callable[[ls.SparseTensor], ls.SparseTensor], dtype: torch.dtype) -> None:
    A, b = of(matrix(dtype)), torch.rand(N, 2, dtype=dtype).requires_grad_()
    if dtype.is_complex:
        A = A.with_values(A.values() * torch.exp(1j * torch.rand(A.nnz)))
    values = A.values().clone().requires_grad_()

    def solution(values: Tensor, b: Tensor) -> Tensor:
        return ls.linalg.solve(A.with_values(values), b, "direct")

    torch.testing.assert_close(solution(values, b), torch.linalg.solve(A.to_dense(), b))
    assert torch.autograd.gradcheck(solution, (values, b), fast_mode=True)
    assert torch.autograd.gradgradcheck(solution, (values, b), fast_mode=True)


def test_triangles_take_no_pivots() -> None:
    """The elements of the diagonal are the pivots, also where others are much larger."""
    lower = torch.full((N, N), 1e3, dtype=torch.float64).tril() + torch.eye(N) * (1 - 1e3)
    b = torch.rand(N, dtype=torch.float64)
    for dense, upper in ((lower, False), (lower.T.contiguous(), True)):
        wanted = torch.linalg.solve_triangular(dense, b[:, None], upper=upper)[:, 0]
        torch.testing.assert_close(ls.linalg.solve(ls.tensor(dense), b, "direct"), wanted)


@pytest.mark.parametrize(("upper", "left", "unit"), [*itertools.product([True, False], repeat=3)])
def test_solve_triangular(upper: bool, left: bool, unit: bool) -> None:
    A, B = matrix(), torch.rand(N, 3).double()
    B = (B if left else B.mT.contiguous()).requires_grad_()
    dense = A.to_dense().requires_grad_()
    values = A.values().clone().requires_grad_()
    options = {"upper": upper, "left": left, "unitriangular": unit}
    wanted = torch.linalg.solve_triangular(dense, B, **options)
    found = torch.linalg.solve_triangular(A.with_values(values), B, **options)
    torch.testing.assert_close(found, wanted)
    weight = torch.rand_like(wanted)
    ours, others = (
        torch.autograd.grad((x * weight).sum(), leaf) for x, leaf in ((found, (values, B)), (wanted, (dense, B)))
    )
    torch.testing.assert_close(ours[0], others[0][tuple(A.indices())])
    torch.testing.assert_close(ours[1], others[1])
    triangle = torch.triu(A) if upper else torch.tril(A)
    torch.testing.assert_close(torch.linalg.solve_triangular(triangle, B, **options), wanted)


@pytest.mark.filterwarnings("ignore:torch.triangular_solve is deprecated:UserWarning")
@pytest.mark.parametrize(("upper", "transpose", "unit"), [*itertools.product([True, False], repeat=3)])
def test_triangular_solve(upper: bool, transpose: bool, unit: bool) -> None:
    A, B = matrix(), torch.rand(N, 3).double()
    wanted = torch.triangular_solve(B, A.to_dense(), upper, transpose, unit)[0]
    found, same = torch.triangular_solve(B, A, upper, transpose, unit)
    torch.testing.assert_close(found, wanted)
    assert same is A


B = torch.ones(N, 2, dtype=torch.float64)


@pytest.mark.parametrize(
    ("call", "kind", "told"),
    [
        (lambda A: torch.linalg.solve_triangular(A, B[:3], upper=True), ls.ShapeError, r"A .*expected \(n, n\) sparse"),
        (lambda A: torch.linalg.solve_triangular(A, B, upper=True, left=False), ls.ShapeError, r"\(k, n\) dense"),
        (lambda A: torch.linalg.solve_triangular(A[:3], B[:3], upper=True), ls.ShapeError, r"\(n, n\) sparse"),
        (lambda A: torch.linalg.solve_triangular(A, A, upper=True), ls.ShapeError, "dense"),
        (lambda A: torch.linalg.solve_triangular(A.to_dense(), A, upper=True), ls.DtypeError, "A is a Tensor"),
        (lambda A: torch.linalg.solve_triangular(A + 1, B, upper=True), ls.UnsupportedError, "they are 1.0"),
        (lambda A: torch.triangular_solve(B, torch.tril(A) - 4 * ls.eye(N)), ls.ShapeError, "has no inverse"),
        (lambda A: ls.linalg.solve(ls.tensor([[0.0, 1.0], [0.0, 1.0]]), B[:2], "direct"), ls.ShapeError, "no inverse"),
    ],
)
def test_errors(call: Callable[[ls.SparseTensor], object], kind: type[Exception], told: str) -> None:
    with pytest.raises(kind, match=told):
        call(matrix())
