"""Products of a transpose with a vector, which go on in the order of its rows where values last."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from libsparse._runtime import lasting
from torch import Tensor

import libsparse as ls

CALLS = 200  # more than a copy and a trial take


@pytest.fixture(autouse=True)
def _copies_win(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which way is faster, and whether a kernel has been compiled, is no matter of these tests."""
    monkeypatch.setattr(lasting, "_GAIN", 0.0)
    monkeypatch.setattr(lasting, "_PRICE", 0.0)


def matrix(dtype: torch.dtype = torch.float32) -> ls.SparseTensor:
    """A matrix with enough entries, in short rows."""
    return ls.random((3000, 2000), 0.008, dtype=dtype)


def ones(A: ls.SparseTensor, mode: int) -> Tensor:
    return torch.linspace(-1, 1, A.shape[mode], dtype=A.dtype)


TURNED: dict[str, Callable[[ls.SparseTensor], Tensor]] = {
    "product": lambda A: A.T @ ones(A, 0),
    "evaluated": lambda A: ls.evaluate("y(j) = A(i,j) * x(i) * z(j)", A=A, x=ones(A, 0), z=ones(A, 1)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize(("threads", "native"), [(1, True), (2, True), (2, False)])
def test_sums_over_columns_go_on_in_the_order_of_rows_of_the_transpose_whatever_the_clock_says(
    threads: int,
    native: bool,
    dtype: torch.dtype,
    without_c: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not native:
        without_c()
    A = matrix().to(dtype) if dtype.is_floating_point else ls.SparseTensor(matrix().pattern).to(dtype)
    x, runs = ones(A, 0), []
    wanted = (A.double().to_dense().T @ x.double()).to(dtype)
    with ls.options(num_threads=threads):
        for gain in (1.0, 1.0, 0.0, 1e9):  # the first patterns are prepared for in another way
            monkeypatch.setattr(lasting, "_GAIN", gain)
            B = ls.SparseTensor(ls.from_coo(A.indices(), None, A.shape).pattern, A.values())
            runs.append([B.T @ x for _ in range(CALLS)])
            assert "values csr" in B.T.pattern.derived
        turned = A.T.to_format("csr")
        assert torch.equal(runs[0][-1], turned @ x)
    for one, other in zip(*runs[2:], strict=True):
        assert torch.equal(one, other)
        torch.testing.assert_close(one, wanted)


def test_sums_keep_their_order_where_that_is_wanted() -> None:
    A = matrix()
    first = TURNED["product"](A)
    with ls.options(tune_bitwise=True):
        for _ in range(CALLS):
            assert torch.equal(TURNED["product"](A), first)


@pytest.mark.parametrize("work", TURNED.values())
def test_results_follow_what_is_written(
    work: Callable[[ls.SparseTensor], Tensor], follows_writes: Callable[..., None]
) -> None:
    A = matrix()
    for _ in range(CALLS):
        work(A)
    assert any(name.startswith("values") for name in [*A.pattern.derived, *A.T.pattern.derived])
    follows_writes(A, work)
