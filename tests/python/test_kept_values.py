"""Kernels that read values in the order of another format: the copy is kept until somebody writes to the values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from libsparse._runtime import dispatch
from libsparse._runtime.call import Call
from libsparse._runtime.problem import Operand
from libsparse._tools import tune

import libsparse as ls

COLUMNS = "convert(A0, ds:1,0, values); reorder(j, i); precompute(all, w, at=1); vectorize(i)"
SLICES = "convert(A0, w(4096)l(32), values); reorder(i, j); precompute(all, w, at=1, tile); unroll(i, 8)"


def matrix() -> ls.SparseTensor:
    return ls.random((70, 50), 0.1)


def replaced(work: Any, schedule: str) -> Call:
    """Has the only problem that something computes computed with a schedule from now on."""
    ((prepared, operands),) = tune.watched(work)
    variant = dispatch.build(prepared.problem._replace(schedule=schedule), operands)
    assert isinstance(variant, Call)
    variant.make_direct(operands)
    prepared.replace(variant)
    return variant


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("text", "schedule"), [("ij,i->j", COLUMNS), ("ij,j->i", SLICES)])
def test_results_follow_what_is_written_to_values(text: str, schedule: str, threads: int) -> None:
    A = matrix()
    x = torch.rand(A.shape["ij".index(text[3])])

    def work() -> Any:
        return ls.einsum(text, A, x)

    with ls.options(num_threads=threads):
        variant = replaced(work, schedule)
        for factor in (1.0, 2.0, 0.5):
            with torch.no_grad():
                A.values().mul_(factor)
            expected = torch.einsum(text, A.to_dense(), x)
            for _ in range(20):
                torch.testing.assert_close(work(), expected)
        assert next(iter(variant._carried.values())).tensors()
        torch.testing.assert_close(
            ls.einsum(text, A.with_values(A.values() + 1), x), torch.einsum(text, A.to_dense() + (A.to_dense() != 0), x)
        )


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("format", ["do", "dk(2,2)", "dk(3,5)"])
def test_padding_that_meets_infinity_is_nothing(format: str, native: bool, without_c: Callable[[], None]) -> None:
    if not native:
        without_c()
    A, x = matrix(), torch.rand(50)
    variant = replaced(lambda: A @ x, f"convert(A0, {format}, values); reorder(i, j)")
    for _ in range(4):
        torch.testing.assert_close(A @ x, A.to_dense() @ x)
    assert next(iter(variant._carried.values())).tensors()
    for special in (torch.inf, torch.nan):
        x[7] = special
        wanted = A.to_dense()[:, 7] != 0
        assert torch.equal(~(A @ x).isfinite(), wanted)
        assert torch.equal(~variant([Operand(A.pattern, A.values()), Operand(None, x)])[0].isfinite(), wanted)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex64])
def test_padding_is_nothing_for_other_dtypes(dtype: torch.dtype) -> None:
    A, x = matrix().to(dtype), torch.ones(50, dtype=dtype)
    replaced(lambda: A @ x, "convert(A0, dk(2,2), values); reorder(i, j)")
    for _ in range(4):
        A @ x
    x[7] = torch.inf
    assert torch.equal(~(A @ x).isfinite(), A.to_dense()[:, 7] != 0)


def test_schedules_by_hand_bring_values_along() -> None:
    A, x = matrix(), torch.rand(50, 4)
    S = ls.schedule("ij,jk->ik", A, x).convert("A0", "csc", values=True).reorder("j", "i", "k")
    assert "convert(A0, ds:1,0, values)" in str(S)
    compute = S.prepare()
    for factor in (1, 2, 3):
        A.values().mul_(factor)
        for _ in range(3):
            torch.testing.assert_close(compute(), A.to_dense() @ x)


def test_products_and_gradients_follow_values() -> None:
    A, x = matrix().requires_grad_(), torch.rand(50, requires_grad=True)
    replaced(lambda: A.detach() @ x.detach(), SLICES)
    for _ in range(4):
        gradients = torch.autograd.grad((A @ x).square().sum(), [A.values(), x])
        dense = A.detach().to_dense()
        y = dense @ x.detach()
        torch.testing.assert_close(gradients[1], 2 * dense.T @ y)
        with torch.no_grad():
            A.values().mul_(1.5)


def test_values_that_change_are_not_copied() -> None:
    A, x = matrix(), torch.rand(50)
    variant = replaced(lambda: A @ x, SLICES)
    (kept,) = variant._carried.values()
    copies = 0
    for _ in range(40):
        A.values().mul_(1.01)
        for _ in range(2):
            torch.testing.assert_close(A @ x, A.to_dense() @ x)
            copies += bool(kept.tensors())
    assert copies <= 1
    for _ in range(20):
        A @ x
    assert kept.tensors()


@pytest.mark.parametrize("how", ["numpy", "data", "swapped", "negated", "two signs"])
def test_writes_that_torch_does_not_count_are_noticed(how: str) -> None:
    A, x = matrix(), torch.rand(50)
    variant = replaced(lambda: A @ x, SLICES)
    values = A.values()
    for _ in range(4):
        A @ x
    assert next(iter(variant._carried.values())).tensors()
    version = values._version
    if how == "numpy":
        values.numpy()[3] += 1
    elif how == "data":
        values.data[-1] = -values.data[-1]
    elif how == "negated":
        values.data.neg_()
    elif how == "two signs":
        values.numpy()[[0, 32]] *= -1
    else:
        values.numpy()[:2] = values.numpy()[1::-1].copy()
    assert values._version == version
    for _ in range(4):
        torch.testing.assert_close(A @ x, A.to_dense() @ x)


def test_fingerprints_tell_contents_apart() -> None:
    from libsparse._storage import _fingerprint

    def of(x: torch.Tensor) -> int:
        return _fingerprint.of_memory(x.data_ptr(), x.numel() * x.element_size(), 1, 0)

    for dtype in (torch.float32, torch.float64, torch.uint8):
        for length in (1, 7, 64, 100, 5000):
            x = torch.ones(length, dtype=dtype)
            found = {of(x)}
            for place in range(length):
                x[place] = 0
                found.add(of(x))
                x[place] = 1
            assert len(found) == length + 1
    x = torch.randn(4096, dtype=torch.float64)
    found = {of(x), of(-x)}
    for distance in range(1, 2048):
        y = x.clone()
        y[0], y[distance] = -x[0], -x[distance]
        found.add(of(y))
    assert len(found) == 2049


@pytest.mark.parametrize("size", [1 << 16, (3 << 16) + 5, 1 << 20, (1 << 25) + 77])
def test_fingerprints_do_not_depend_on_threads(size: int) -> None:
    from libsparse._storage import _fingerprint, threads

    x = torch.randint(0, 256, (size,), dtype=torch.uint8)

    def of(count: int, team: int) -> int:
        return _fingerprint.of_memory(x.data_ptr(), x.numel(), count, team)

    wanted = of(1, 0)
    assert {of(2, threads.team()), of(3, 0), of(1000, threads.team())} == {wanted}
    for place in (0, 1 << 15, (1 << 16) - 1, size // 2, size - 1):
        x[place] += 1
        assert of(2, threads.team()) != wanted
        x[place] -= 1
    assert of(2, threads.team()) == wanted


def test_values_that_nobody_counts_writes_to_are_read_where_they_are() -> None:
    A, x = matrix(), torch.rand(50)
    variant = replaced(lambda: A @ x, SLICES)
    with torch.inference_mode():
        values = A.values().clone()
        B = A.with_values(values)
        for _ in range(4):
            values.mul_(2)
            torch.testing.assert_close(B @ x, B.to_dense() @ x)
    assert not next(iter(variant._carried.values())).tensors()


def test_another_tensor_at_the_same_place_is_not_taken_for_the_first() -> None:
    A, x = matrix(), torch.rand(50)
    replaced(lambda: A @ x, SLICES)
    own = A.values()
    for factor in range(1, 30):
        own.data.fill_(factor)  # a write that torch doesn't count for `own`
        B = A.with_values(own.data)
        torch.testing.assert_close(B @ x, B.to_dense() @ x)


def test_the_copy_is_listed_with_what_the_pattern_keeps() -> None:
    A, x = matrix(), torch.rand(50)
    replaced(lambda: A @ x, SLICES)
    for _ in range(3):
        A @ x
    found = A.pattern.derived["values sell(32,4096)"]
    assert found.bytes >= 4 * A.nnz
    assert found.seconds > 0


@pytest.mark.parametrize(
    ("text", "schedule", "complaint"),
    [
        ("ij,jk->ik", "convert(A1, dd:1,0, values); reorder(i, k, j)", "A1 is dense, and copied in each call"),
        ("ij,j->ij", "convert(A0, ds:1,0, values)", "has the pattern of A0"),
    ],
)
def test_what_can_not_be_kept_is_said(text: str, schedule: str, complaint: str) -> None:
    A = matrix()
    other = torch.rand(50, 4) if text == "ij,jk->ik" else torch.rand(50)
    with pytest.raises(ls.UnsupportedError, match=complaint):
        ls.schedule(text, A, other).then(schedule).run()


def test_a_result_whose_pattern_is_found_has_no_values_kept() -> None:
    A, B = matrix(), ls.random((50, 30), 0.1)
    with pytest.raises(ls.UnsupportedError, match="known beforehand"):
        ls.schedule("ij,jk->ik", A, B).then("convert(A0, ss, values)").run()
