"""Threads divide work by what rows hold; rows that own what they write have the same bits for any number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import processes
import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

COUNT = 60_000  # entries, more than one thread is given


def skewed(kind: str, rows: int, columns: int) -> ls.SparseTensor:
    """A matrix with most of its entries in few rows, or none in many."""
    at = {
        "even": torch.rand(COUNT),
        "hubs first": torch.rand(COUNT) ** 6,
        "hubs last": 1 - torch.rand(COUNT) ** 6,
        "one row": torch.where(torch.rand(COUNT) < 0.7, 0.4, torch.rand(COUNT)),
        "empty rows": torch.where(torch.rand(COUNT) < 0.5, 0.001, 0.999),
    }[kind]
    edges = torch.stack([(at * rows).long().clamp(max=rows - 1), torch.randint(columns, (COUNT,))])
    return ls.from_coo(edges, torch.rand(COUNT, dtype=torch.float64), (rows, columns))


def with_threads(number: int, compute):
    """What `compute` returns, as a dense tensor, with a number of threads."""
    with ls.options(num_threads=number):
        out = compute()
    return out.to_dense() if isinstance(out, ls.SparseTensor) else out


@pytest.mark.parametrize(
    ("kind", "format"),
    [
        ("even", "csr"),
        ("hubs first", "csr"),
        ("hubs last", "csr"),
        ("one row", "csr"),
        ("empty rows", "csr"),
        ("one row", "dcsr"),
        ("empty rows", "dcsr"),
        ("hubs first", "coo"),
        ("hubs first", "bsr(2,2)"),
        ("hubs last", "sell(4)"),
    ],
)
def test_rows_are_divided_by_their_entries(kind, format):
    rows, columns = 1500, 900
    a = skewed(kind, rows, columns).to_format(format)
    dense, x, y = a.to_dense(), torch.rand(columns, dtype=torch.float64), torch.rand(columns, 3, dtype=torch.float64)
    for compute, want in (
        (lambda: a @ x, dense @ x),
        (lambda: a @ y, dense @ y),
        (lambda: x @ a.T, dense @ x),
        (lambda: ls.einsum("ij,jk,ik->ij", a, y, torch.ones(rows, 3, dtype=torch.float64)), dense * y.sum(1)),
    ):
        one = with_threads(1, compute)
        torch.testing.assert_close(one, want)
        for number in (2, 3):
            assert torch.equal(with_threads(number, compute), one)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int32])
@pytest.mark.parametrize("kind", ["even", "hubs first", "one row", "empty rows"])
def test_results_of_their_own(kind, dtype):
    a = (1000 * skewed(kind, 1500, 900)).to(dtype)
    dense = a.to_dense()
    for compute, want in (
        (lambda: a.T @ torch.ones(1500, dtype=dtype), dense.sum(0)),
        (lambda: a.to_format("csc") @ torch.ones(900, dtype=dtype), dense.sum(1)),
        (
            lambda: a.amax(0) if dtype.is_floating_point else a.sum(0),
            dense.amax(0) if dtype.is_floating_point else dense.sum(0),
        ),
    ):
        assert "results of their own" in ls.explain("ij,i->j", a, torch.ones(1500, dtype=dtype))
        for number in (1, 2, 3, 16):
            found = with_threads(number, compute)
            torch.testing.assert_close(found.to(want.dtype), want)
            assert torch.equal(with_threads(number, compute), found)


@pytest.mark.parametrize("kind", ["hubs first", "one row", "empty rows"])
def test_sparse_results(kind):
    a, b = skewed(kind, 1200, 700), skewed("hubs last", 1200, 700)
    for compute, want in (
        (lambda: a + b, a.to_dense() + b.to_dense()),
        (lambda: a * b, a.to_dense() * b.to_dense()),
        (lambda: a.T @ b, a.to_dense().T @ b.to_dense()),
    ):
        one = with_threads(1, compute)
        torch.testing.assert_close(one, want)
        for number in (2, 3):
            assert torch.equal(with_threads(number, compute), one)


def test_rows_of_slices():
    at = torch.stack([torch.rand(COUNT) ** 5 * 40, torch.rand(COUNT) * 50, torch.rand(COUNT) ** 3 * 60]).long()
    t = ls.from_coo(at, torch.rand(COUNT, dtype=torch.float64), (40, 50, 60))
    b, c = torch.rand(50, 8, dtype=torch.float64), torch.rand(60, 8, dtype=torch.float64)
    want = torch.einsum("ijk,jr,kr->ir", t.to_dense(), b, c)
    for number in (1, 3):
        torch.testing.assert_close(with_threads(number, lambda: ls.mttkrp(t, [None, b, c], 0)), want)


def test_copies_of_the_result_are_summed_in_order():
    a = skewed("hubs first", 1500, 300)
    x = torch.rand(1500, dtype=torch.float64)
    scattered = ls.schedule("ij,i->j", a, x).reorder("i", "j").parallelize("i", race="temporary")
    want = a.to_dense().T @ x
    for number in (1, 3):
        with ls.options(num_threads=number):
            first, second = scattered.run(), scattered.run()
        torch.testing.assert_close(first, want)
        assert torch.equal(first, second)


@pytest.mark.parametrize("kind", ["hubs first", "one row"])
def test_lists_that_hold_the_whole_result(kind):
    a, b = skewed(kind, 900, 700), skewed("hubs last", 700, 800)
    product = ls.schedule("ij,jk->ik", a.to_format("csc"), b, format="dcsr").reorder("j", "i", "k")
    for outermost, compute, want in (
        ("j", product, a.to_dense() @ b.to_dense()),
        ("i", ls.schedule("ij->ij", a, format="dcsc"), a.to_dense()),
    ):
        listed = compute.precompute("all", "w", 0, "list")
        one = with_threads(1, listed.run)
        torch.testing.assert_close(one, want)
        for number in (1, 2, 3):
            assert torch.equal(with_threads(number, listed.parallelize(outermost).run), one)


@pytest.mark.parametrize("width", [130, 192, 300])
def test_strips_of_what_is_reused(width):
    a = ls.random((2000, 2000), 0.04)
    b = torch.rand(2000, width)
    one = with_threads(1, lambda: a @ b)
    torch.testing.assert_close(one, a.to_dense() @ b)
    assert torch.equal(with_threads(3, lambda: a @ b), one)


@pytest.mark.parametrize("runtime", [{"OMP_THREAD_LIMIT": "1"}, {"OMP_THREAD_LIMIT": "2"}, {"OMP_DYNAMIC": "true"}])
def test_fewer_threads_than_asked_for_compute_all_parts(runtime, tmp_path):
    code = """
        import torch, libsparse as ls
        torch.set_num_threads(5)
        A, x, X = ls.random((3000, 3000), 0.02), torch.rand(3000), torch.rand(3000, 20)
        dense, in_slices = A.to_dense(), A.to_format("sell(8)")
        wanted = dense @ x, dense @ X
        for _ in range(3):
            for operand, result in zip((x, X), wanted):
                torch.testing.assert_close(A @ operand, result)
            torch.testing.assert_close(in_slices @ x, wanted[0])
        print("right")
    """
    assert processes.anew(code, tmp_path, **runtime) == "right"


def test_calls_beside_each_other_take_parts_of_their_own():
    a, xs = ls.random((3000, 3000), 0.02), torch.rand(16, 3000)
    want = a.to_dense() @ xs.T
    with ThreadPoolExecutor(4) as several:
        for _ in range(5):
            found = torch.stack(list(several.map(lambda x: a @ x, xs)), dim=1)
            torch.testing.assert_close(found, want)
