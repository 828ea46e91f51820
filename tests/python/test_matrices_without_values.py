"""Matrices that are only patterns, such as graphs without weights: operations repeat as with values, and are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from libsparse._runtime import notes
from torch import Tensor

import libsparse as ls

SIZE = 40


def pattern(format: str = "csr", density: float = 0.1) -> ls.SparseTensor:
    return ls.random((SIZE, SIZE), density).with_values(None).to_format(format)


def dense(P: ls.SparseTensor) -> Tensor:
    return P.to_dense()


X, V = torch.rand(SIZE, 3), torch.rand(SIZE)
ROWS = torch.tensor([3, 0, 39, 3])
OPERATIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Tensor], Tensor]]] = {
    "sum": (lambda P: P.sum(), lambda D: D.sum()),
    "sum of rows": (lambda P: P.sum(1), lambda D: D.sum(1)),
    "sum of columns": (lambda P: P.sum(0, keepdim=True), lambda D: D.sum(0, keepdim=True)),
    "sum in a dtype": (lambda P: P.sum(1, dtype=torch.float64), lambda D: D.sum(1, dtype=torch.float64)),
    "float": (lambda P: P.float(), lambda D: D.float()),
    "count": (lambda P: (P != 0).sum(1), lambda D: (D != 0).sum(1)),
    "times a vector": (lambda P: P * V, lambda D: D * V),
    "plus numbers": (lambda P: P + P.to(torch.float32) * 2, lambda D: D.float() * 3),
    "product": (lambda P: P @ X, lambda D: D.float() @ X),
    "product from the left": (lambda P: X.T @ P, lambda D: X.T @ D.float()),
    "product of both": (lambda P: P @ P.to(torch.float32), lambda D: D.float() @ D.float()),
    "mean": (lambda P: ls.matmul(P, X, reduce="mean"), lambda D: (D.float() @ X) / D.sum(1)[:, None].clamp(min=1)),
    "einsum": (lambda P: ls.einsum("ij,ik,jk->i", P, X, X), lambda D: ((X @ X.T) * D).sum(1)),
    "rows": (lambda P: P[ROWS], lambda D: D[ROWS]),
    "slice": (lambda P: P[3:9, ::2], lambda D: D[3:9, ::2]),
    "union": (lambda P: P | P.T, lambda D: D | D.T),
    "sum of both": (lambda P: P + P.T, lambda D: D + D.T),
    "maximum": (lambda P: torch.maximum(P, P.T), lambda D: D | D.T),
    "intersection": (lambda P: P & P.T, lambda D: D & D.T),
    "minimum": (lambda P: torch.minimum(P, P.T), lambda D: D & D.T),
    "difference": (lambda P: P ^ P.T, lambda D: D ^ D.T),
    "union with itself": (lambda P: P | P, lambda D: D),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_calls_that_repeat_are_those_of_dense_torch(name: str) -> None:
    compute, wanted = OPERATIONS[name]
    for format in ("csr", "csr", "csc", "coo"):
        P = pattern(format)
        for _ in range(5):
            found = compute(P)
            found = found.to_dense() if isinstance(found, ls.SparseTensor) else found
            torch.testing.assert_close(found, wanted(dense(P)))


@pytest.mark.parametrize("name", ["union", "sum of both", "maximum", "intersection", "minimum"])
def test_sets_of_entries_are_only_patterns(name: str) -> None:
    compute, wanted = OPERATIONS[name]
    P = pattern()
    found = [compute(P) for _ in range(4)]
    assert all(each._held is None and each.dtype == torch.bool for each in found)
    assert {each.nnz for each in found} == {int(wanted(dense(P)).sum())}
    torch.testing.assert_close(found[-1] @ X, wanted(dense(P)).float() @ X)


def test_unions_with_another_pattern_are_those_of_that_pattern() -> None:
    P, others = pattern(), [pattern() for _ in range(3)]
    for _ in range(3):
        for Q in others:
            torch.testing.assert_close((P | Q).to_dense(), dense(P) | dense(Q))


def test_operands_of_other_shapes_and_with_numbers_are_left_to_torch() -> None:
    P = pattern()
    torch.testing.assert_close((P | pattern()[:1]).shape, dense(P).shape)
    torch.testing.assert_close((P | True).to_dense(), dense(P) | True)
    with pytest.raises(ls.ShapeError):
        P | pattern()[:7]


def test_gradients_of_means_repeat_by_known_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    P, x = pattern(), torch.rand(SIZE, 3, requires_grad=True)
    for _ in range(8):  # the first ones prepare the pattern for a few calls, the others for many
        ls.matmul(P, x, reduce="mean").sum().backward()
    monkeypatch.setattr(notes, "_add", lambda *_: pytest.fail("the steps were looked for again"))
    x.grad = None
    ls.matmul(P, x, reduce="mean").sum().backward()
    shares = dense(P).double() / dense(P).sum(1)[:, None].clamp(min=1)
    assert x.grad is not None
    torch.testing.assert_close(x.grad, shares.sum(0)[:, None].expand(-1, 3).float())


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_rows_are_copied(index: torch.dtype) -> None:
    P = ls.from_csr(torch.tensor([0, 2, 2, 5], dtype=index), torch.tensor([1, 3, 0, 2, 3], dtype=index), None, (3, 4))
    for rows in (torch.tensor([2, 1, 0, 2]), torch.tensor([], dtype=torch.int64), torch.tensor([1])):
        found = P[rows]
        assert found._held is None
        assert torch.equal(found.to_dense(), P.to_dense()[rows])
    with pytest.raises(ls.IndexBoundsError):
        P[torch.tensor([0, 3])]
