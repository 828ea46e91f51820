"""Indices that always stand side by side are one index: stacks of vectors and matrices, heads, batches."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from libsparse._ops import contraction, einsum_reader
from torch.utils.checkpoint import checkpoint

import libsparse as ls

EXTENTS = {"b": 2, "h": 3, "i": 5, "j": 4, "k": 6, "l": 2}


@pytest.fixture(autouse=True)
def _fold_small_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction, "_LEAST", 0)


def _dense(indices: str) -> torch.Tensor:
    return torch.randn([EXTENTS[index] for index in indices], dtype=torch.float64)


def _sparse(indices: str) -> ls.SparseTensor:
    return ls.random([EXTENTS[index] for index in indices], density=0.4, dtype=torch.float64)


def _folded(equation: str, *operands: object, format: str | None = None) -> str:
    return contraction.fold(*einsum_reader.read(equation, operands, format))[0].problem().text


@pytest.mark.parametrize(
    ("equation", "folded"),
    [
        ("bhi,ij->bhj", "bi,ij->bj"),
        ("ij,jbh->ibh", "ij,jb->ib"),
        ("bhli,ij->bhlj", "bi,ij->bj"),
        ("ij,bjh->bih", "ij,bjh->bih"),  # apart in one place
        ("bhi,ij->hbj", "bhi,ij->hbj"),  # in another order in the result
        ("bhi,ij,bj->bhj", "bhi,ij,bj->bhj"),  # one of them alone in an operand
        ("ij,ikl,jkl->i", "ij,ik,jk->i"),  # summed
        ("bhi,ij,bhl->lj", "bi,ij,bl->lj"),
    ],
)
def test_indices_are_folded(equation: str, folded: str) -> None:
    terms = equation.split("->")[0].split(",")
    operands = [_sparse(term) if term == "ij" else _dense(term) for term in terms]
    assert _folded(equation, *operands, format="dense") == folded
    expected = torch.einsum(equation, *(o.to_dense() for o in operands))
    torch.testing.assert_close(ls.einsum(equation, *operands, format="dense"), expected)
    torch.testing.assert_close(ls.einsum(equation, *operands).to_dense(), expected)


@pytest.mark.parametrize(
    ("equation", "folded"), [("ij,jbh->ibh", "ij,jb->ib"), ("ij,ibh,jbh->ibh", "ij,ib,jb->ib"), ("ij,bh->ijbh", None)]
)
def test_results_that_are_sure_to_be_dense_are_folded(equation: str, folded: str | None) -> None:
    terms = equation.split("->")[0].split(",")
    operands = [_sparse(term) if term == "ij" else _dense(term) for term in terms]
    assert _folded(equation, *operands) == (folded or equation)
    found = ls.einsum(equation, *operands)
    assert isinstance(found, ls.SparseTensor) == (folded is None)
    torch.testing.assert_close(found.to_dense(), torch.einsum(equation, *(o.to_dense() for o in operands)))


def test_sparse_results_keep_their_indices() -> None:
    A, q, k = _sparse("ij"), _dense("bhik"), _dense("bhjk")
    found = ls.einsum("ij,bhik,bhjk->bhij", A, q, k)
    assert _folded("ij,bhik,bhjk->bhij", A, q, k) == "ij,bhik,bhjk->bhij"
    torch.testing.assert_close(found.to_dense(), torch.einsum("ij,bhik,bhjk->bhij", A.to_dense(), q, k))


_STACK = torch.randn(4, 4, 5, dtype=torch.float64)


@pytest.mark.parametrize(
    ("x", "folded"),
    [
        (_STACK.transpose(0, 1), False),
        (_STACK[:, :3], False),
        (_STACK[:, ::2], True),
        (_STACK[:1].expand(2, 4, 5), False),
        (_STACK.transpose(0, 2).contiguous().transpose(0, 2), False),
    ],
)
def test_views_are_taken_where_memory_allows(x: torch.Tensor, folded: bool) -> None:
    A = _sparse("ij")
    assert _folded("bhi,ij->bhj", x, A, format="dense") == ("bi,ij->bj" if folded else "bhi,ij->bhj")
    for _ in range(3):
        found = ls.einsum("bhi,ij->bhj", x, A, format="dense")
        torch.testing.assert_close(found, torch.einsum("bhi,ij->bhj", x, A.to_dense()))


@given(b=st.integers(0, 3), h=st.integers(0, 3), reduce=st.sampled_from(["sum", "max", "mean"]), seed=st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_any_extents_and_reductions(b: int, h: int, reduce: str, seed: int) -> None:
    torch.manual_seed(seed)
    A = _sparse("ij")
    x = torch.randn(EXTENTS["j"], b, h, dtype=torch.float64)
    found = ls.einsum("ij,jbh->ibh", A, x, reduce=reduce, format="dense")
    one = [[ls.einsum("ij,j->i", A, x[:, p, q], reduce=reduce) for q in range(h)] for p in range(b)]
    assert found.shape == (5, b, h)
    for p in range(b):
        for q in range(h):
            torch.testing.assert_close(found.to_dense()[:, p, q], one[p][q])


def test_extents_that_disagree_are_named() -> None:
    with pytest.raises(ls.ShapeError, match=r"operand 2 \('bhl'\)"):
        ls.einsum("bhi,ij,bhl->lj", torch.ones(2, 3, 5), ls.random((5, 4), 0.5), torch.ones(2, 2, 2), format="dense")


def test_layers_take_stacks_with_gradients() -> None:
    W = ls.random((6, 5), density=0.4, dtype=torch.float64)
    x = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    values = W.values().clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x, v: F.linear(x, W.with_values(v)), (x, values))
    assert torch.autograd.gradgradcheck(lambda x, v: F.linear(x, W.with_values(v)), (x, values))
    for _ in range(4):  # from the second on, by the steps of the first
        y = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
        F.linear(y, W).square().sum().backward()
        z = y.detach().clone().requires_grad_()
        F.linear(z, W.to_dense()).square().sum().backward()
        torch.testing.assert_close(y.grad, z.grad)


def test_transforms_see_stacks() -> None:
    W = ls.random((6, 5), density=0.4)
    x = torch.randn(4, 2, 3, 5)
    torch.testing.assert_close(torch.func.vmap(lambda t: F.linear(t, W))(x), F.linear(x, W.to_dense()))
    _, tangent = torch.func.jvp(lambda t: F.linear(t, W), (x,), (torch.ones_like(x),))
    torch.testing.assert_close(tangent, F.linear(torch.ones_like(x), W.to_dense()))


def test_results_are_no_views() -> None:
    W, x = ls.random((6, 5), density=0.4), torch.randn(2, 3, 5)
    for _ in range(3):
        with torch.no_grad():
            found = F.linear(x, W)
        assert not found._is_view()
        found += torch.nn.Parameter(torch.ones(6))
        torch.testing.assert_close(found, F.linear(x, W.to_dense()) + 1)
    y = checkpoint(lambda x: F.linear(x, W), x.clone().requires_grad_(), use_reentrant=True)
    torch.testing.assert_close(y.relu_(), F.linear(x, W.to_dense()).relu())


def test_explain_shows_what_runs() -> None:
    x, A = torch.ones(2, 3, 5), _sparse("ij").float()
    assert "== call ==\nij,jk->ik" in ls.explain("bhi,ij->bhj", x, A, format="dense")
    with pytest.raises(ls.ShapeError, match=r"shape \(2, 3, 7\)"):
        ls.explain("bhi,ij->bhj", torch.ones(2, 3, 7), A, format="dense")


def test_few_elements_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    A = _sparse("ij")
    assert _folded("bhi,ij->bhj", _dense("bhi"), A, format="dense") == "bhi,ij->bhj"
    assert _folded("bhi,ij->bhj", torch.ones(100, 20, 5), A, format="dense") == "bi,ij->bj"
