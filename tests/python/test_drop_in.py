"""`ls.enable()`: torch's functions on its own sparse layouts, where torch computes and where it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls

LAYOUTS = [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc]
CALLS: list[Callable[[Any], Any]] = [
    lambda a: a[0],
    lambda a: a[1:3],
    lambda a: a[:, 2],
    lambda a: a[torch.tensor([0, 2])],
    lambda a: a[torch.tensor([True, False] * 3)],
    lambda a: a[1, 2],
    lambda a: torch.index_select(a, 0, torch.tensor([0, 2])),
    lambda a: torch.narrow(a, 0, 1, 2),
    lambda a: torch.cat([a, a]),
    lambda a: torch.stack([a, a]),
    lambda a: a.sum(0),
    lambda a: a.sum(1, keepdim=True),
    lambda a: a.mean(1),
    lambda a: a.amax(1),
    lambda a: a.prod(1),
    lambda a: a.std(1),
    lambda a: a.argmax(1),
    lambda a: a.topk(2, 0).values,
    lambda a: torch.kthvalue(a, 3).values,
    lambda a: torch.norm(a),
    lambda a: a.relu(),
    lambda a: torch.sin(a),
    lambda a: -a,
    lambda a: 2 * a,
    lambda a: a / 2,
    lambda a: a**2,
    lambda a: a + a,
    lambda a: a - 2 * a,
    lambda a: a * a,
    lambda a: a * torch.arange(6.0),
    lambda a: torch.arange(6.0) * a,
    lambda a: torch.mul(input=a, other=torch.arange(6.0)[:, None]),
    lambda a: a / torch.arange(1.0, 7.0),
    lambda a: a + torch.ones(6, 6),
    lambda a: torch.ones(6, 6) + a,
    lambda a: a > 0,
    lambda a: torch.where(a > 0, a, 0),
    lambda a: a.clamp(min=0),
    lambda a: torch.log1p(a.abs()),
    lambda a: F.normalize(a, dim=1),
    lambda a: F.dropout(a, 0.0, True),
    lambda a: torch.tril(a),
    lambda a: torch.diagonal(a),
    lambda a: a.t(),
    lambda a: a.reshape(4, 9),
    lambda a: torch.ones(2, 6) @ a,
    lambda a: a @ torch.ones(6),
    lambda a: a @ a,
    lambda a: torch.sparse.mm(a, a),
    lambda a: torch.spmm(a, torch.ones(6, 2)),
    lambda a: torch.addmm(torch.ones(6, 2), a, torch.ones(6, 2)),
    lambda a: F.linear(torch.ones(2, 6), a),
    lambda a: torch.einsum("ij,jk->ik", a, torch.ones(6, 2)),
    lambda a: torch.bmm(a.unsqueeze(0), torch.ones(1, 6, 2)),
    lambda a: a.repeat(2, 3),
    lambda a: torch.tile(a, (2,)),
    lambda a: a[None].expand(2, 6, 6),
    lambda a: a[None].expand_as(torch.ones(2, 6, 6)),
    lambda a: torch.broadcast_to(a[None], (2, 6, 6)),
    lambda a: a.unflatten(1, (2, 3)),
    lambda a: torch.block_diag(a, a),
    lambda a: torch.nonzero(a),
]


@pytest.fixture(autouse=True)
def _off() -> Iterator[None]:
    yield
    ls.disable()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("followed", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_calls(layout: torch.layout, followed: bool) -> None:
    dense = torch.where(torch.rand(6, 6) < 0.5, torch.randn(6, 6), 0)
    blocks = {"blocksize": (2, 2)} if layout in (torch.sparse_bsr, torch.sparse_bsc) else {}
    tensor = dense.to_sparse(layout=layout, **blocks).requires_grad_(followed)
    every = layout in (torch.sparse_coo, torch.sparse_csr)
    for call in CALLS if every else CALLS[followed::2]:
        wanted = call(dense)
        try:
            own = call(tensor).layout
        except (RuntimeError, TypeError):
            own = None
        with ls.override():
            found = call(tensor)
        assert type(found) is torch.Tensor
        assert own is None or found.layout is own
        assert found.dtype == wanted.dtype
        torch.testing.assert_close(found.to_dense(), wanted)


def test_transposes_have_the_layout_of_torch() -> None:
    for layout in LAYOUTS:
        blocks = {"blocksize": (2, 2)} if layout in LAYOUTS[3:] else {}
        tensor = torch.eye(4).to_sparse(layout=layout, **blocks)
        wanted = tensor.t().layout
        with ls.override():
            for followed in (tensor, tensor.clone().requires_grad_()):
                assert {followed.t().layout, followed.T.layout, followed.mT.layout, followed.H.layout} == {wanted}
    assert type(vars(torch._C.TensorBase)["T"]) is type(torch.Tensor.T)


def test_softmax_of_every_layout() -> None:
    dense = torch.where(torch.rand(6, 6) < 0.5, torch.randn(6, 6), 0)
    wanted = torch.where(dense != 0, dense, -torch.inf).softmax(1).nan_to_num()
    with ls.override():
        for layout in LAYOUTS[:3]:
            tensor = dense.to_sparse(layout=layout)
            for found in (torch.softmax(tensor, 1), F.softmax(tensor, 1), torch.sparse.softmax(tensor, 1)):
                assert found.layout is layout
                torch.testing.assert_close(found.to_dense(), wanted)


def test_a_chain_of_sampled_products_and_softmax() -> None:
    mask = torch.eye(6).to_sparse_csr()
    q, k, v = (torch.randn(6, 4, requires_grad=True) for _ in range(3))
    with ls.override():
        scores = torch.sparse.sampled_addmm(mask, q, k.T, beta=0.0)
        out = F.dropout(torch.softmax(scores, 1), 0.0) @ v
        out.sum().backward()
    torch.testing.assert_close(out, v)
    assert v.grad is not None


def test_switches() -> None:
    original = torch.mm, torch.Tensor.__add__, torch.Tensor.relu, torch.nn.functional.softmax
    scripted = dict(torch.jit._builtins._get_builtin_table())
    places = torch, torch.sparse, torch.special, torch.linalg, torch.Tensor, F
    attributes = [dict(vars(place)) for place in places]
    ls.enable()
    ls.enable()
    assert torch.mm is not original[0]
    ls.disable()
    assert (torch.mm, torch.Tensor.__add__, torch.Tensor.relu, torch.nn.functional.softmax) == original
    ls.disable()
    with ls.override():
        with ls.override():
            pass
        assert torch.mm is not original[0]
        ls.disable()
        assert torch.mm is not original[0]
    assert torch.mm is original[0]
    assert torch.jit._builtins._get_builtin_table() == scripted
    for place, before in zip(
        (torch, torch.sparse, torch.special, torch.linalg, torch.Tensor, F), attributes, strict=True
    ):
        assert all(vars(place)[name] is value for name, value in before.items())
        assert set(vars(place)) == set(before)
    ls.enable()
    with ls.override():
        pass
    assert torch.mm is not original[0]


def test_errors_are_those_of_torch() -> None:
    tensor = torch.eye(4).to_sparse_csr()
    calls: list[Callable[[], Any]] = [
        lambda: torch.exp(tensor),
        lambda: tensor @ torch.ones(5, 2),
        lambda: torch.mm(tensor, torch.ones(4)),
        lambda: tensor[7],
    ]
    for call in calls:
        with pytest.raises(Exception) as plain:  # noqa: PT011  # whatever it is
            call()
        with ls.override(), pytest.raises(type(plain.value)):
            call()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_changes_of_a_matrix_are_seen() -> None:
    dense = torch.where(torch.rand(6, 6) < 0.5, torch.randn(6, 6), 0)
    x = torch.randn(6, 2)
    with ls.override():
        for layout in LAYOUTS:
            blocks = {"blocksize": (2, 2)} if layout in (torch.sparse_bsr, torch.sparse_bsc) else {}
            tensor = dense.to_sparse(layout=layout, **blocks)
            for _ in range(3):
                torch.testing.assert_close(tensor @ x, dense @ x)
            values = tensor._values() if layout is torch.sparse_coo else tensor.values()
            values.mul_(2)
            torch.testing.assert_close(tensor @ x, 2 * dense @ x)
            tensor.requires_grad_()
            (tensor @ x).sum().backward()
            assert tensor.grad is not None
        tensor = torch.eye(6).to_sparse_csr()
        torch.testing.assert_close(tensor @ x, x)
        tensor.col_indices().copy_(torch.tensor([1, 0, 2, 3, 4, 5]))
        torch.testing.assert_close(tensor @ x, x[[1, 0, 2, 3, 4, 5]])
