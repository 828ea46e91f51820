"""Functions of torch that are composed of others, or of values without places, against dense torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import gradcheck

import libsparse as ls

pytestmark = pytest.mark.compiler


def pair(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> tuple[ls.SparseTensor, torch.Tensor]:
    """A sparse tensor that requires gradients, and the dense one."""
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randn(shape, generator=generator, dtype=torch.float64).mul(4).round().div(4).to(dtype)
    dense = torch.where(torch.rand(shape, generator=generator) < 0.5, dense, 0)
    sparse = ls.tensor(dense)
    assert isinstance(sparse, ls.SparseTensor)
    return sparse.requires_grad_(), dense.clone().requires_grad_()


SHAPES_AND_CALLS: list[tuple[tuple[int, ...], Callable[[Any], Any]]] = [
    ((6, 5), lambda a: torch.diff(a)),
    ((6, 5), lambda a: a.diff(2, 0)),
    ((6, 5), lambda a: torch.diff(a, 7, 1)),
    ((6, 5), lambda a: torch.diff(a, 0, 1)),
    ((3, 4, 5), lambda a: torch.diff(a, dim=1, prepend=a[:, :1], append=a[:, 2:])),
    ((6, 5), lambda a: torch.nn.functional.pad(a, (1, 2))),
    ((6, 5), lambda a: torch.nn.functional.pad(a, (-1, 2, 3, -4), value=0.0)),
    ((6, 5), lambda a: torch.nn.functional.pad(a, (0, 0, -3, -3))),
    ((3, 4, 5), lambda a: torch.nn.functional.pad(a, (0, 0, 1, 0, 0, 2), "constant")),
    ((6, 5), lambda a: a.index_add(0, torch.tensor([3, 0, 3]), a[1:4])),
    ((6, 5), lambda a: torch.index_add(a, -1, torch.tensor([4]), a[:, 2:3], alpha=-2)),
    ((6, 5), lambda a: a.index_add(0, torch.tensor([5]), torch.ones(1, 5, dtype=torch.float64)).square()),
    ((6, 5), lambda a: torch.ones(6, 5, dtype=torch.float64).index_add(0, torch.tensor([1, 1]), a[:2])),
    ((6, 5), lambda a: a.index_fill(0, torch.tensor([1, 1, 4]), 0)),
    ((3, 4, 5), lambda a: torch.index_fill(a, -2, torch.tensor([-1, 0]), 0)),
    ((6, 5), lambda a: torch.nn.functional.pairwise_distance(a, a.roll(1, 0))),
    ((6, 5), lambda a: torch.nn.PairwiseDistance(1, keepdim=True)(a, 2 * a)),
    ((6, 5), lambda a: torch.renorm(a, 2, 0, 1.0)),
    ((6, 5), lambda a: a.renorm(1, 1, 0.5)),
    ((3, 4, 5), lambda a: a.renorm(2, 1, 1.0)),
    ((6, 5), lambda a: torch.cov(a)),
    ((6, 5), lambda a: a.cov(correction=0)),
    ((1, 5), lambda a: torch.cov(a)),
    ((9,), lambda a: torch.cov(a)),
    ((6, 5), lambda a: torch.cov(a, fweights=torch.tensor([1, 2, 1, 3, 1]))),
    ((6, 5), lambda a: torch.cov(a, aweights=torch.tensor([0.5, 2.0, 1.0, 3.0, 1.0], dtype=torch.float64))),
    ((6, 20), lambda a: torch.corrcoef(a)),
    ((6, 5), lambda a: torch.cdist(a, a)),
    ((6, 5), lambda a: torch.cdist(a[:4], a[2:])),
    ((6, 5), lambda a: torch.cdist(torch.ones(3, 5, dtype=torch.float64), a)),
    ((6, 5), lambda a: torch.gather(a, 1, torch.tensor([[0, 4], [3, 3], [1, 0]]))),
    ((6, 5), lambda a: a.gather(0, torch.tensor([[0, 4, 1], [3, 3, 5]]))),
    ((3, 4, 5), lambda a: a.gather(-2, torch.zeros(3, 2, 5, dtype=torch.int64))),
    ((6, 5), lambda a: torch.take_along_dim(a, torch.tensor([[1], [2]]), 0)),
    ((1, 5), lambda a: torch.take_along_dim(a, torch.tensor([[1, 2], [3, 4]]), 1)),
    ((6, 5), lambda a: torch.take_along_dim(a, torch.tensor([7, 29]))),
]


@pytest.mark.parametrize(("shape", "function"), SHAPES_AND_CALLS, ids=range(len(SHAPES_AND_CALLS)))
def test_results_and_gradients(shape: tuple[int, ...], function: Callable[[Any], Any]) -> None:
    sparse, dense = pair(*shape)
    stored = dense.detach() != 0
    found, wanted = function(sparse), function(dense)
    found = found.to_dense() if isinstance(found, ls.SparseTensor) else found
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    torch.testing.assert_close(found, wanted, equal_nan=True)
    if not wanted.numel() or bool(wanted.isnan().any()):
        return
    weights = torch.linspace(1, 2, wanted.numel(), dtype=torch.float64).reshape(wanted.shape)
    (found * weights).sum().backward()
    (wanted * weights).sum().backward()
    assert sparse.grad is not None
    assert dense.grad is not None
    torch.testing.assert_close(sparse.grad.to_dense(), dense.grad * stored)


@pytest.mark.parametrize("fill", [0, 2])
@pytest.mark.parametrize("shape", [(6, 5), (7,), (2, 3, 4)])
def test_values_without_places(shape: tuple[int, ...], fill: int) -> None:
    sparse, dense = pair(*shape)
    sparse, dense = (sparse + fill, dense + fill) if fill else (sparse, dense)
    assert torch.equal(torch.unique(sparse), torch.unique(dense))
    for found, wanted in zip(
        torch.unique(sparse, return_counts=True), torch.unique(dense, return_counts=True), strict=True
    ):
        assert torch.equal(found, wanted)
    some = torch.tensor([0, 0.25, 2], dtype=torch.float64)
    for invert in (False, True):
        found = torch.isin(sparse, some, invert=invert)
        assert torch.equal(found.to_dense(), torch.isin(dense, some, invert=invert))
        assert torch.equal(torch.isin(some, sparse, invert=invert), torch.isin(some, dense, invert=invert))
    for arguments in ((5,), (4, -1.0, 1.0), (3, 1.0, 1.5)):
        assert torch.equal(sparse.detach().histc(*arguments), dense.detach().histc(*arguments))


def test_bools_and_numbers_of_covariances() -> None:
    dense = torch.tensor([[0, 3, 1, 0], [2, 0, 0, 5]])
    assert torch.allclose(torch.cov(ls.tensor(dense)), torch.cov(dense))
    mask = torch.tensor([[True, False, True], [False, False, True]])
    assert torch.equal(torch.diff(ls.tensor(mask)).to_dense(), torch.diff(mask))
    values = torch.randn(2, 3, dtype=torch.complex128)
    assert torch.allclose(torch.cov(ls.tensor(values)), torch.cov(values))
    assert torch.allclose(torch.corrcoef(ls.tensor(values)), torch.corrcoef(values))


def test_distances_of_equal_rows_have_gradients() -> None:
    row = torch.tensor([[0.1, 0.0, 0.7]], dtype=torch.float64)
    A = ls.tensor(torch.cat([row, row]), format="csr").requires_grad_()
    found = torch.cdist(A, A)
    assert torch.equal(found, torch.zeros(2, 2, dtype=torch.float64))
    found.sum().backward()
    assert A.grad is not None
    assert torch.equal(A.grad.values(), torch.zeros(4, dtype=torch.float64))


def test_second_gradients() -> None:
    sparse, _ = pair(4, 5, seed=3)
    values = sparse.values().detach().requires_grad_()
    indices = torch.tensor([[0, 4], [3, 3], [1, 0]])
    assert gradcheck(lambda v: torch.cov(sparse.detach().with_values(v)), [values])
    assert gradcheck(lambda v: sparse.detach().with_values(v).gather(1, indices), [values])


@pytest.mark.parametrize("center", [True, False])
def test_principal_components(center: bool) -> None:
    torch.manual_seed(0)
    A = ls.random((60, 40), 0.2, dtype=torch.float64)
    dense = A.to_dense() - (A.to_dense().mean(0) if center else 0)
    U, S, V = torch.pca_lowrank(A, 40, center=center, niter=3)
    assert U.shape == (60, 40)
    assert V.shape == (40, 40)
    assert torch.allclose(S, torch.linalg.svdvals(dense))
    assert torch.allclose(U @ torch.diag(S) @ V.T, dense)
    U, S, V = torch.pca_lowrank(A.T, 3, center=center)
    assert (U.shape, S.shape, V.shape) == ((40, 3), (3,), (60, 3))


@pytest.mark.parametrize("replacement", [True, False])
def test_draws(replacement: bool) -> None:
    weights = torch.tensor([[0.0, 1.0, 3.0, 0.0], [2.0, 0.0, 0.0, 2.0], [1e-30, 0.0, 3e-30, 0.0]])
    A = ls.tensor(weights)
    torch.manual_seed(0)
    drawn = torch.cat([torch.multinomial(A, 2, replacement) for _ in range(2000)], 1)
    assert drawn.shape == (3, 4000)
    assert drawn.dtype == torch.int64
    shares = torch.stack([torch.bincount(row, minlength=4) / 4000 for row in drawn])
    expected = weights / weights.sum(1, keepdim=True) if replacement else (weights > 0) / 2
    assert torch.allclose(shares, expected, atol=0.04)
    first = A.multinomial(1, generator=torch.Generator().manual_seed(1))
    assert torch.equal(first, A.multinomial(1, generator=torch.Generator().manual_seed(1)))
    assert ls.tensor(torch.tensor([0.0, 5.0, 0.0])).multinomial(3, replacement=True).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda A: A.gather(0, torch.tensor([1])), ls.ShapeError, "index has shape"),
        (lambda A: A.gather(0, torch.tensor([[7]])), ls.IndexBoundsError, "7 is out of range"),
        (lambda A: A.gather(0, torch.tensor([[1.0]])), ls.DtypeError, "int64"),
        (lambda A: torch.take_along_dim(A, torch.zeros(3, 2, dtype=torch.int64), 1), ls.ShapeError, "broadcast"),
        (lambda A: torch.cdist(A, A, p=1), ls.UnsupportedError, "expected 2"),
        (lambda A: torch.cdist(A, A.T), ls.ShapeError, "as many columns"),
        (lambda A: torch.unique(A, return_inverse=True), ls.UnsupportedError, "return_inverse"),
        (lambda A: A.multinomial(5), ls.ShapeError, "weights above 0"),
        (lambda A: (-A).multinomial(1), ls.ShapeError, "below 0"),
        (lambda A: torch.pca_lowrank(A, 9), ls.ShapeError, "q is 9"),
        (lambda A: torch.diff(A, -1), ls.ShapeError, "n is -1"),
        (lambda A: torch.nn.functional.pad(A, (1, 1), value=2.0), ls.UnsupportedError, "its fill value 0"),
        (lambda A: torch.nn.functional.pad(A, (1, 1), "reflect"), ls.UnsupportedError, "expected 'constant'"),
        (lambda A: torch.nn.functional.pad(A, (-2, -2)), ls.ShapeError, "makes the shape"),
        (lambda A: torch.nn.functional.pad(A, (1,)), ls.ShapeError, "two for each"),
        (lambda A: A.index_add(0, torch.tensor([9]), A[:1]), ls.IndexBoundsError, "9 is out of range"),
        (lambda A: A.index_add(0, torch.tensor([1]), A), ls.ShapeError, "source"),
        (lambda A: torch.cov(A, fweights=torch.ones(2, dtype=torch.int64)), ls.ShapeError, "fweights"),
    ],
)
def test_errors(call: Callable[[ls.SparseTensor], Any], error: type[Exception], text: str) -> None:
    A = ls.tensor(torch.tensor([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [3.0, 0.0, 1.0]]))
    with pytest.raises(error, match=text):
        call(A)


REPEATED: list[Callable[[Any], Any]] = [
    lambda a: a.median(1).values,
    lambda a: a.nanmedian(),
    lambda a: a.quantile(0.3, 1),
    lambda a: a.gather(1, torch.tensor([[0, 5], [1, 2]])),
    lambda a: a.index_add(0, torch.tensor([3, 0, 3]), a[:3]),
    lambda a: a.diff(),
    lambda a: torch.unique(a.detach(), return_counts=True)[1],
    lambda a: torch.isin(a.detach(), torch.tensor([0.0, 1.0], dtype=torch.float64)),
    lambda a: torch.cov(a),
    lambda a: torch.cdist(a, a),
    lambda a: a.detach().histc(5),
]


@pytest.mark.parametrize("function", REPEATED, ids=range(len(REPEATED)))
def test_other_values_of_a_pattern(function: Callable[[Any], Any]) -> None:
    generator = torch.Generator().manual_seed(0)
    A = ls.random((7, 6), 0.5, dtype=torch.float64)
    for number in range(6):
        values = torch.randn(A.nnz, generator=generator, dtype=torch.float64)
        values = values.round() if number == 3 else values
        sparse = A.with_values(values)
        found, wanted = function(sparse), function(sparse.to_dense())
        found = found.to_dense() if isinstance(found, ls.SparseTensor) else found
        torch.testing.assert_close(found, wanted)


def test_gradients_of_the_median_of_equal_elements() -> None:
    values = torch.tensor([1.0, 2.0, 2.0, 0.0, 5.0], dtype=torch.float64).requires_grad_()
    A = ls.from_coo([[0, 0, 1, 1, 1], [0, 1, 0, 1, 2]], values, (2, 3))
    dense = A.to_dense().detach().requires_grad_()
    (A * 1).median().backward()
    dense.median().backward()
    assert dense.grad is not None
    assert torch.equal(values.grad, dense.grad[[0, 0, 1, 1, 1], [0, 1, 0, 1, 2]])
