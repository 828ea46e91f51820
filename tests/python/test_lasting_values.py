"""Calls that repeat with the same values: a copy in another format takes over, and nobody can tell by the results."""

from __future__ import annotations

import gc
import threading
import types
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from covering import pairs
from libsparse._runtime import lasting
from libsparse._runtime.call import Call
from torch import Tensor

import libsparse as ls

CALLS = 200  # more than a copy and a trial take


@pytest.fixture(autouse=True)
def _copies_win(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which way is faster, and whether a kernel has been compiled, is no matter of these tests."""
    monkeypatch.setattr(lasting, "_GAIN", 0.0)
    monkeypatch.setattr(lasting, "_PRICE", 0.0)


ROWS, COLUMNS = 3000, 2000


def matrix(dtype: torch.dtype = torch.float32) -> ls.SparseTensor:
    """A matrix with enough entries, in short rows."""
    return ls.random((ROWS, COLUMNS), 0.008, dtype=dtype)


def copies(A: ls.SparseTensor) -> list[str]:
    """The formats in which a copy of the values is kept."""
    return [name for name in A.pattern.derived if name.startswith("values")]


def variants(A: ls.SparseTensor) -> list[object]:
    """What computes the problems that were prepared with the pattern."""
    return [prepared.variant for prepared, _ in A.pattern.calls.values()]


def settled(work: Callable[[], Tensor]) -> Tensor:
    """A result after the first uses of the pattern, which have equal bits, too, and this one but for rounding."""
    first = work()
    assert torch.equal(work(), first)
    assert torch.equal(work(), first)
    result = work()
    torch.testing.assert_close(result, first)
    return result


WORK: dict[str, Callable[[ls.SparseTensor], Tensor]] = {
    "vector": lambda A: A @ ones(A, 1),
    "evaluated": lambda A: ls.evaluate("y(i) = A(i,j) * x(j)", A=A, x=ones(A, 1)),
    "transposed": lambda A: ls.einsum("ij,ik->jk", A, torch.ones(A.shape[0], 5, dtype=A.dtype)),
}


def ones(A: ls.SparseTensor, mode: int) -> Tensor:
    return torch.linspace(-1, 1, A.shape[mode], dtype=A.dtype)


WAYS = [(1, True), (2, True), (2, False)]  # how many threads, and whether calls are made in C
DTYPES = [torch.float32, torch.float64]


@pytest.mark.parametrize(("name", "way", "dtype"), pairs(list(WORK), WAYS, DTYPES))
def test_results_have_the_same_bits_throughout(
    name: str, way: tuple[int, bool], dtype: torch.dtype, without_c: Callable[[], None]
) -> None:
    threads, native = way
    if not native:
        without_c()
    A, work = matrix(dtype=dtype), WORK[name]
    with ls.options(num_threads=threads):
        result = settled(lambda: work(A))
        for _ in range(CALLS):
            assert torch.equal(work(A), result)
    assert len(copies(A)) == 1
    assert any(isinstance(v, Call) and v.plain is not None for v in variants(A))


@pytest.mark.parametrize(("longest", "format"), [(500, "sell(8)"), (700, "sell(8)"), (1500, None)])
def test_rows_stay_in_their_order_where_sorting_them_gains_nothing(longest: int, format: str | None) -> None:
    crow = torch.arange(20_001) * 2
    crow[10_001:] += longest - 2  # one row is as much longer than all others
    col = torch.cat([torch.arange(length) for length in crow.diff().tolist()])
    A = ls.from_csr(crow, col, torch.rand(len(col)), (20_000, 2000))
    result = A @ ones(A, 1)
    for _ in range(CALLS):
        assert torch.equal(A @ ones(A, 1), result)
    assert copies(A) == ([] if format is None else [f"values {format}"])


def in_blocks(dtype: torch.dtype) -> ls.SparseTensor:
    """A matrix whose 4 x 4 blocks are nearly full: what is missing in one is padding in that format."""
    blocks = torch.rand(101, 61) < 0.12
    there = blocks.repeat_interleave(4, 0).repeat_interleave(4, 1) & (torch.rand(404, 244) < 0.97)
    return ls.tensor((torch.rand(404, 244, dtype=dtype).sub(0.5) * there)[:403, :241], format="csr")


@pytest.mark.parametrize(("columns", "way", "transposed", "dtype"), pairs([32, 64, 70], WAYS, [False, True], DTYPES))
def test_padding_of_blocks_is_nothing(
    columns: int, way: tuple[int, bool], transposed: bool, dtype: torch.dtype, without_c: Callable[[], None]
) -> None:
    threads, native = way
    if not native:
        without_c()
    A = in_blocks(dtype)
    dense, X = A.to_dense(), torch.rand(A.shape[0 if transposed else 1], columns, dtype=dtype)

    def work(X: Tensor) -> Tensor:
        return ls.einsum("ij,ik->jk" if transposed else "ij,jk->ik", A, X)

    with ls.options(num_threads=threads):
        first = settled(lambda: work(X))
        for _ in range(CALLS):
            assert torch.equal(work(X), first)
        if columns * dtype.itemsize >= 256:
            assert copies(A) == [f"values {'bsc' if transposed else 'bsr'}(4,4)"]
        for special in (torch.inf, -torch.inf, torch.nan):
            for place in ((5, 0), (77, columns - 1), (X.shape[0] - 1, columns // 2)):
                Y = X.clone()
                Y[place] = special
                column = dense[place[0], :] if transposed else dense[:, place[0]]
                wanted = ~((dense.T if transposed else dense) @ X.clone()).isfinite()
                wanted[column != 0, place[1]] = True
                assert torch.equal(~work(Y).isfinite(), wanted)
                assert torch.equal(work(X), first)
        out = torch.empty_like(first)
        if not transposed:
            torch.mm(A, Y, out=out)
            assert torch.equal(~out.isfinite(), wanted)


@pytest.mark.parametrize("name", WORK)
def test_results_follow_what_is_written(name: str, follows_writes: Callable[..., None]) -> None:
    A, work = matrix(), WORK[name]
    for _ in range(CALLS):
        work(A)
    assert copies(A)
    follows_writes(A, work)


def test_gradients_are_computed_with_a_copy() -> None:
    A, x = matrix(), torch.rand(COLUMNS, 6, requires_grad=True)
    seed = torch.rand(ROWS, 6)
    first = settled(lambda: torch.autograd.grad(A @ x, x, seed)[0])
    torch.testing.assert_close(first, A.to_dense().T @ seed)
    for _ in range(CALLS):
        assert torch.equal(torch.autograd.grad(A @ x, x, seed)[0], first)
    assert copies(A) == ["values csc"]
    with torch.no_grad():
        A.values().mul_(3)
    torch.testing.assert_close(torch.autograd.grad(A @ x, x, seed)[0], 3 * first)


def test_values_that_are_trained_are_not_copied() -> None:
    A, x = matrix(), torch.rand(COLUMNS)
    for _ in range(CALLS):
        A.values().mul_(1.001)
        A @ x
    assert not copies(A)
    for _ in range(1200):  # calls that begin another trial, now that the values stay
        A @ x
    assert copies(A)


def test_values_that_others_use_are_no_lasting_ones() -> None:
    A, x = matrix(), torch.rand(COLUMNS)
    for _ in range(CALLS):
        ls.SparseTensor(A.pattern, torch.rand(A.nnz)) @ x
    assert not copies(A)


@pytest.mark.parametrize("limits", [{"derived_bytes": 1000}, {"tune_bytes": 1000}])
def test_copies_respect_the_bounds_on_memory(limits: dict[str, int]) -> None:
    A, x = matrix(), torch.rand(COLUMNS)
    with ls.options(**limits):  # type: ignore[arg-type]
        for _ in range(CALLS):
            A @ x
    assert not copies(A)


def test_blocks_that_are_emptier_than_a_sample_says_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    full = torch.zeros(4000, 3000, dtype=torch.bool)
    full[:, :32] = True  # the beginnings of rows
    A = ls.tensor((full | (torch.rand(4000, 3000) < 0.03)).float(), format="csr")
    monkeypatch.setitem(A.pattern.statistics.__dict__, "blocks", (16, 4))
    X = torch.rand(3000, 64)
    for _ in range(CALLS):
        A @ X
    assert not A.pattern.derived


@pytest.mark.parametrize("limits", [{"tune_bytes": 200_000}, {"derived_bytes": 300_000}])
def test_blocks_respect_the_bounds_on_memory(limits: dict[str, int]) -> None:
    A = in_blocks(torch.float32)
    X = torch.rand(A.shape[1], 64)
    with ls.options(**limits):  # type: ignore[arg-type]
        for _ in range(CALLS):
            A @ X
    for name, kept in A.pattern.derived.items():
        assert kept.bytes <= min(limits.values()), name


@pytest.mark.parametrize("columns", [None, 64])
def test_values_whose_memory_was_freed_are_refused(columns: int | None) -> None:
    A = in_blocks(torch.float32)
    x = torch.rand(A.shape[1]) if columns is None else torch.rand(A.shape[1], columns)
    for _ in range(CALLS):
        A @ x
    assert len(copies(A)) == 1
    A.values().untyped_storage().resize_(0)
    for _ in range(3):
        with pytest.raises(ls.UnsupportedError, match="freed"):
            A @ x


def test_a_copy_that_is_no_faster_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting, "_GAIN", 1e9)
    A, x = matrix(), torch.rand(COLUMNS)
    for _ in range(CALLS):
        A @ x
    assert not A.pattern.derived
    assert all(isinstance(v, Call) and v.plain is None for v in variants(A))


def test_a_kernel_that_has_to_be_compiled_waits_for_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting, "_spent", {})
    monkeypatch.setattr(lasting, "_PRICE", 1e9)
    A, x = matrix(), torch.rand(COLUMNS)
    monkeypatch.setattr(lasting.kernel, "store", lambda: Path("/nowhere"))
    for _ in range(CALLS):
        A @ x
    assert not copies(A)
    monkeypatch.setattr(lasting, "_PRICE", 0.0)
    for _ in range(3 * CALLS):  # looks become rarer
        A @ x
    assert copies(A)


def test_nothing_keeps_the_pattern() -> None:
    A, x = matrix(), torch.rand(COLUMNS)
    for _ in range(CALLS):
        A @ x
    pattern, values = weakref.ref(A.pattern), weakref.ref(A.values())
    del A
    gc.collect()
    assert pattern() is None
    assert values() is None


def test_threads_may_take_turns() -> None:
    A, x = matrix(), torch.rand(COLUMNS)
    expected, wrong = A @ x, []

    def work() -> None:
        wrong.extend(1 for _ in range(CALLS) if not torch.equal(A @ x, expected))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert copies(A)


def test_infinities_meet_entries_alone() -> None:
    A = matrix()
    x = torch.rand(COLUMNS)
    x[0] = float("inf")
    first = A @ x
    for _ in range(CALLS):
        assert torch.equal((A @ x).view(torch.int32), first.view(torch.int32))
    assert copies(A)


def test_two_threads_in_the_last_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that chooses forgets the times, with the format that it has refused, while the other looks at them."""
    meeting = threading.Barrier(2)

    class Way:
        direct, reads = None, {0: None}
        kernel = types.SimpleNamespace(convert={})

        def __call__(self, operands: object) -> str:
            meeting.wait(10)
            return "result"

    trial, operand = lasting.Trial.__new__(lasting.Trial), types.SimpleNamespace(sparsity=matrix().pattern)
    trial._call = trial._copy = Way()
    monkeypatch.setattr(lasting.Trial, "_choose", lambda *_: setattr(trial, "_times", lasting._no_times()))
    for _ in range(50):
        trial._turns, trial._times = 2 * lasting._RUNS * lasting._RUN - 2, ([1.0] * 15, [1.0] * 13)
        with ThreadPoolExecutor(2) as both:
            turns = [both.submit(trial._turn, None, [operand], trial._copy) for _ in range(2)]
            assert [turn.result() for turn in turns] == ["result", "result"]


def test_values_that_are_read_in_another_order_are_copied_soon() -> None:
    """Steps of training gain from it early; other formats, which take longer to make, come later."""
    A = matrix()
    for _ in range(18):
        WORK["transposed"](A)
    assert copies(A)
    A = matrix()
    for _ in range(14):
        WORK["vector"](A)
    assert not copies(A)
    A, X = torch.cat([in_blocks(torch.float32)] * 4), torch.rand(4 * 403, 64)
    assert A.nnz > 1 << 15
    for _ in range(14):
        ls.einsum("ij,ik->jk", A, X)
    assert not copies(A)
    for _ in range(CALLS):
        ls.einsum("ij,ik->jk", A, X)
    assert copies(A) == ["values bsc(4,4)"]


def test_a_trial_ends_early_where_one_way_is_clearly_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lasting._differ(([3.0, 2.5, 2.6], [2.0, 1.0]))
    assert lasting._differ(([1.0, 2.0], [2.5, 3.0]))
    assert not lasting._differ(([3.0, 2.5, 2.1], [2.0, 1.0]))
    assert not lasting._differ(([3.0, 2.5], []))
    chosen: list[float] = []

    class Way:
        def __call__(self, operands: object) -> str:
            return "result"

    trial = lasting.Trial.__new__(lasting.Trial)
    trial._call, trial._turns, trial._times = Way(), 2 * lasting._RUN - 1, ([60.0] * 5, [1e-9] * 4)
    monkeypatch.setattr(lasting.Trial, "_choose", lambda *given: chosen.append(given[-1]))
    assert trial._turn(None, [], Way()) == "result"
    assert len(chosen) == 1
    trial._turns, trial._times = 2 * lasting._RUN - 1, ([1e-9] * 5, [1e-9] * 4)
    trial._turn(None, [], Way())
    assert len(chosen) == 1
