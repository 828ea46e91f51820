"""Functions of torch that are composed of others, where elements, extents or arguments are unusual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

NAN, INF = torch.nan, torch.inf
DENSE = torch.tensor([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [3.0, 0.0, 1.0]])
HUGE = 1 << 40


def test_distances_of_rows_with_nan_and_infinities() -> None:
    dense = torch.tensor([[1.0, 0.0, INF], [0.0, 1.0, 0.0], [NAN, 0.0, 1.0]])
    found = torch.cdist(ls.tensor(dense), ls.tensor(torch.tensor([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])))
    assert torch.equal(found[1], torch.tensor([0.0, 1.0]))
    assert bool((found[0] == INF).all())
    assert bool(found[2].isnan().all())


def test_covariances_of_rows_with_nan_and_infinities() -> None:
    dense = torch.tensor([[1.0, 0.0, INF], [0.0, 1.0, 0.0], [2.0, 0.0, 1.0], [0.0, NAN, 1.0]])
    torch.testing.assert_close(torch.cov(ls.tensor(dense)), torch.cov(dense), equal_nan=True)


@pytest.mark.filterwarnings("ignore:cov")
@pytest.mark.parametrize("shape", [(0,), (3, 0), (1, 1)])
def test_covariances_of_few_elements(shape: tuple[int, ...]) -> None:
    dense = torch.ones(shape)
    A = ls.tensor(dense)
    torch.testing.assert_close(torch.cov(A), torch.cov(dense), equal_nan=True)
    torch.testing.assert_close(torch.corrcoef(A), torch.corrcoef(dense), equal_nan=True)


def test_weights_of_covariances_promote() -> None:
    weights, dense = torch.tensor([1.0, 2.0, 3.0]), DENSE.half()
    found, wanted = (torch.cov(a, aweights=weights) for a in (ls.tensor(dense), dense))
    assert found.dtype == wanted.dtype == torch.float32
    torch.testing.assert_close(found, wanted, rtol=1e-2, atol=1e-2)


def test_covariances_of_long_rows() -> None:
    A = ls.from_coo([[0, 0, 1], [3, HUGE - 1, 7]], torch.tensor([1.0, 2.0, 3.0]), (2, HUGE), format="coo")
    assert torch.allclose(torch.cov(A) * (HUGE - 1), torch.tensor([[5.0, 0.0], [0.0, 9.0]]), atol=1e-4)


def test_elements_that_are_too_many_to_count() -> None:
    A = ls.from_coo([[0, HUGE - 1], [3, 7]], torch.tensor([1.0, 2.0]), (HUGE, HUGE), format="coo")
    assert torch.unique(A).tolist() == [0, 1, 2]
    assert torch.histc(A, 2, 0, 4)[0] == float(HUGE) ** 2
    with pytest.raises(ls.UnsupportedError, match="can't be counted"):
        torch.unique(A, return_counts=True)
    with pytest.raises(ls.FormatError, match="a mask of dimension 0"):
        A.index_fill(0, torch.tensor([0]), 0)
    with pytest.raises(ls.FormatError, match="ask for fewer"):
        A.gather(0, torch.tensor([[0]]).expand(1, HUGE))


def test_margins_that_only_cut_need_no_fill_value() -> None:
    A = ls.tensor(DENSE) + 2
    for counts in ((-1, 0), (0, 0), ()):
        assert torch.equal(torch.nn.functional.pad(A, counts).to_dense(), torch.nn.functional.pad(DENSE + 2, counts))


def test_margins_of_nan() -> None:
    A = ls.tensor(DENSE) + NAN
    found = torch.nn.functional.pad(A, (1, 1), value=NAN)
    assert found.shape == (4, 5)
    assert bool(found.to_dense().isnan().all())


@pytest.mark.parametrize(("dtype", "alpha"), [(torch.bool, 2), (torch.int64, 2.0), (torch.uint8, 3), (torch.half, 0.5)])
def test_factors_of_slices_keep_the_dtype(dtype: torch.dtype, alpha: float) -> None:
    dense, index = DENSE.to(dtype), torch.tensor([3, 0, 0])
    found = ls.tensor(dense).index_add(0, index, ls.tensor(dense[:3]), alpha=alpha)
    wanted = dense.index_add(0, index, dense[:3], alpha=alpha)
    assert found.dtype == dtype
    assert torch.equal(found.to_dense(), wanted)


def test_median_of_nothing() -> None:
    assert bool(ls.tensor(torch.zeros(0, 3)).median().isnan())
    assert bool(ls.tensor(torch.zeros(0, 3)).nanmedian().isnan())


IN_TRANSFORMS: list[Callable[[Any], Any]] = [
    lambda a: a.median(1).values,
    lambda a: a.median(),
    lambda a: a.nanmedian(0).values,
    lambda a: a.quantile(0.3, 0),
    lambda a: a.nanquantile(torch.tensor([0.3, 0.9])),
]


@pytest.mark.parametrize("function", IN_TRANSFORMS, ids=range(len(IN_TRANSFORMS)))
def test_ranks_in_vmap(function: Callable[[Any], Any]) -> None:
    A = ls.tensor(DENSE)
    values = torch.stack([A.values(), -2 * A.values(), torch.where(A.values() == 2, NAN, A.values())])
    found = torch.func.vmap(lambda v: function(A.with_values(v)))(values)
    wanted = torch.stack([function(A.with_values(v).to_dense()) for v in values])
    torch.testing.assert_close(found, wanted, equal_nan=True)


@pytest.mark.parametrize(
    "function",
    [
        IN_TRANSFORMS[0],
        lambda a: torch.nn.functional.pad(a, (1, 2)),
        lambda a: a.index_add(0, torch.tensor([3, 0, 3]), a[:3]),
    ],
    ids=["median", "pad", "index_add"],
)
def test_graphs(function: Callable[[Any], Any]) -> None:
    A = ls.tensor(DENSE)
    found, wanted = torch.compile(function, backend="eager", fullgraph=True)(A), function(DENSE)
    assert torch.equal(found.to_dense() if isinstance(found, ls.SparseTensor) else found, wanted)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda A: A.index_add(0, torch.tensor([0]), A[:1] + 2), ls.UnsupportedError, "source .* are 2.0"),
        (lambda A: A.index_add(0, torch.tensor([0]), A[:1].double()), ls.DtypeError, "source is torch.float64"),
        (lambda A: A.index_add(0, torch.tensor([0]), 3), ls.DtypeError, "source is int"),
        (lambda A: A.long().index_add(0, torch.tensor([0]), A[:1].long(), alpha=2.5), ls.DtypeError, "alpha is 2.5"),
        (lambda A: A.renorm(-1, 0, 1.0), ls.ShapeError, "p is -1"),
        (lambda A: A.renorm(1, 0, -1.0), ls.ShapeError, "maxnorm -1.0"),
        (lambda A: torch.cov(A, aweights=torch.tensor([1.0, -1.0, 1.0])), ls.DtypeError, "aweights has values below"),
        (lambda A: torch.cov(A, fweights=torch.ones(3)), ls.DtypeError, "fweights is torch.float32; .* ints"),
        (lambda A: torch.cov(A, aweights=torch.ones(3, dtype=torch.int64)), ls.DtypeError, "expected .* floats"),
        (lambda A: torch.pca_lowrank(A, 1.5), ls.ShapeError, "q is 1.5"),
        (lambda A: torch.pca_lowrank(A.half(), 1), ls.DtypeError, "of torch.float16"),
        (lambda A: torch.cdist(A, [[1, 2, 3]]), ls.DtypeError, "cdist of SparseTensor and list"),
        (lambda A: torch.histc(A.long()), ls.DtypeError, "histc of torch.int64"),
        (lambda A: torch.histc(A, 0), ls.ShapeError, "bins is 0"),
        (lambda A: torch.histc(A, 2, 3, 1), ls.ShapeError, "from 3 to 1"),
        (lambda A: torch.histc(A * NAN), ls.ShapeError, "from nan"),
        (lambda A: torch.unique(A.to(torch.complex64)), ls.DtypeError, "no order"),
        (lambda A: torch.isin(A.to(torch.complex64), 1), ls.DtypeError, "no order"),
        (lambda A: torch.isin(A != 0, A != 0), ls.DtypeError, "torch.bool"),
    ],
)
def test_errors(call: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(ls.tensor(DENSE))


def test_arguments_as_torch_has_them() -> None:
    A = ls.tensor(DENSE)
    assert torch.equal(A.diff(np.int64(2)).to_dense(), DENSE.diff(2))
    assert torch.equal(torch.isin(elements=A, test_element=1).to_dense(), torch.isin(elements=DENSE, test_element=1))
    assert torch.isin(element=3, test_elements=A)
