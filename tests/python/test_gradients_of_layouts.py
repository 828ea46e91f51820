"""Gradients under `ls.enable()` of torch's own sparse tensors of every layout: leaves, in chains, made of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import libsparse as ls

LAYOUTS = [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc]
ROWS = torch.tensor([0, 3, 5])
Function = Callable[[Any, Any, Any], Any]


def entries(a: Tensor) -> Tensor:
    """The values of a tensor, of a strided one all elements."""
    return a if a.layout is torch.strided else a.coalesce().values() if a.layout is torch.sparse_coo else a.values()


def converted(method: str) -> Function:
    """A product after a conversion to one of torch's layouts."""
    blocks = ((2, 2),) if method in ("to_sparse_bsr", "to_sparse_bsc") else ()
    return lambda a, x, w: (a if a.layout is torch.strided else getattr(a, method)(*blocks)) @ x


# functions of a matrix (6, 6), sparse or dense, and of dense ones (6, 3) and (6, 6)
CALLS: dict[str, Function] = {
    "product": lambda a, x, w: a @ x,
    "product from the left": lambda a, x, w: x.t() @ a,
    "vector": lambda a, x, w: a @ x[:, 0],
    "addmm": lambda a, x, w: torch.addmm(x, a, x),
    "linear": lambda a, x, w: F.linear(x.t(), a),
    "einsum": lambda a, x, w: torch.einsum("ji,jk->ik", a, x),
    "square": lambda a, x, w: a @ a,
    "transposed": lambda a, x, w: a.t(),
    "t": lambda a, x, w: a.t() @ x,
    "T": lambda a, x, w: a.T @ x,
    "mT": lambda a, x, w: a.mT @ x,
    "transpose": lambda a, x, w: x.t() @ a.transpose(0, 1),
    "permute": lambda a, x, w: a.permute(1, 0) @ x,
    "t twice": lambda a, x, w: a.t().t() @ x,
    "t and itself": lambda a, x, w: a.t() @ (a @ x),
    "mT and itself": lambda a, x, w: a.mT @ torch.relu(a @ x) + a @ x,
    "Gram matrix": lambda a, x, w: a.t() @ a,
    "t in a chain": lambda a, x, w: (2 * a.t()) @ x,
    "scaled": lambda a, x, w: (-a / 2) @ x,
    "sum of two": lambda a, x, w: a + a,
    "product of two": lambda a, x, w: a * a,
    "chain": lambda a, x, w: torch.relu(a).sin() ** 2,
    "times dense": lambda a, x, w: a * w,
    "times row": lambda a, x, w: a * w[0],
    "times columns": lambda a, x, w: (w[:, :1] * a * w[1]) @ x,
    "plus dense": lambda a, x, w: a + w,
    "sum": lambda a, x, w: a.sum(),
    "sum(0)": lambda a, x, w: a.sum(0),
    "sum(1, keepdim)": lambda a, x, w: a.sum(1, keepdim=True),
    "mean": lambda a, x, w: a.mean(),
    "amax": lambda a, x, w: a.amax(1),
    "norm": lambda a, x, w: a.norm(),
    "row": lambda a, x, w: a[0],
    "column": lambda a, x, w: a[:, 2],
    "slice": lambda a, x, w: a[1:3],
    "rows": lambda a, x, w: a[ROWS] @ x,
    "index_select": lambda a, x, w: torch.index_select(a, 0, ROWS),
    "cat": lambda a, x, w: torch.cat([a, a], 1) @ torch.cat([x, x]),
    "stack": lambda a, x, w: torch.stack([a, a]),
    "unsqueeze": lambda a, x, w: a.unsqueeze(0),
    "tril": lambda a, x, w: torch.tril(a),
    "clone": lambda a, x, w: a.clone() @ x,
    "double": lambda a, x, w: a.double(),
    "to": lambda a, x, w: a.to(torch.complex128),
    "to_dense": lambda a, x, w: a.to_dense() if a.layout is not torch.strided else a,
    "values": lambda a, x, w: (entries(a) ** 2).sum(),
    **{name: converted(name) for name in ("to_sparse_coo", "to_sparse_csr", "to_sparse_csc")},
    **{name: converted(name) for name in ("to_sparse_bsr", "to_sparse_bsc")},
}


FEW = ["product", "t and itself", "times dense", "sum(0)", "row", "to_dense", "values", "to_sparse_csc"]
"""The calls of which every combination is tested; each compiles kernels of its own."""


def build(kind: str, dense: Tensor, layout: torch.layout) -> tuple[Tensor, Tensor]:
    """A leaf, and the tensor of a layout that is it or comes from it."""
    blocks = {"blocksize": (2, 2)} if layout in (torch.sparse_bsr, torch.sparse_bsc) else {}
    tensor = dense.to_sparse(layout=layout, **blocks)
    if kind == "made of values":
        leaf = entries(tensor).clone().requires_grad_()
        if layout is torch.sparse_coo:
            return leaf, torch.sparse_coo_tensor(tensor.indices(), leaf, tensor.shape, is_coalesced=True)
        rows = layout in (torch.sparse_csr, torch.sparse_bsr)
        first = tensor.crow_indices() if rows else tensor.ccol_indices()
        second = tensor.col_indices() if rows else tensor.row_indices()
        return leaf, torch.sparse_compressed_tensor(first, second, leaf, tensor.shape, layout=layout)
    leaf = tensor.requires_grad_()
    return leaf, leaf if kind == "leaf" else 2 * leaf


def backward(call: Function, a: Tensor, x: Tensor, w: Tensor) -> Tensor:
    """The gradients of a weighted sum of a function's result go to the leaves; the result itself is returned."""
    x.grad = w.grad = None
    found = call(a, x, w)
    found = found if found.layout is torch.strided else found.to_dense()
    weights = torch.arange(1.0, 1 + found.numel(), dtype=torch.double).reshape(found.shape)
    (found * weights).sum().abs().backward()
    return found.detach()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["leaf", "in a chain", "made of values"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_gradients(layout: torch.layout, kind: str) -> None:
    dense = torch.where(torch.rand(6, 6, dtype=torch.double) < 0.5, torch.rand(6, 6, dtype=torch.double), 0)
    x, w = torch.rand(6, 3, dtype=torch.double).requires_grad_(), torch.rand(6, 6, dtype=torch.double).requires_grad_()
    every = kind == "leaf" and layout not in LAYOUTS[3:]
    for name, call in CALLS.items() if every else [(name, CALLS[name]) for name in FEW]:
        twin = dense.clone().requires_grad_()
        wanted = backward(call, 2 * twin if kind == "in a chain" else twin, x, w)
        gradients = twin.grad, x.grad, w.grad
        with ls.override():
            leaf, a = build(kind, dense, layout)
            found = backward(call, a, x, w)
        torch.testing.assert_close(found, wanted, msg=lambda text, name=name: f"{name}: {text}")
        assert leaf.grad is not None, name
        assert kind == "made of values" or leaf.grad.layout in (layout, torch.strided), name
        grad = build("leaf", dense, layout)[1].detach()
        got = leaf.grad
        if kind == "made of values":
            entries(grad).copy_(leaf.grad)
            got = grad
        stored = dense != 0
        torch.testing.assert_close(got.to_dense()[stored], gradients[0][stored], msg=name)
        for dense_leaf, gradient in zip((x, w), gradients[1:], strict=True):
            same = (dense_leaf.grad is None and gradient is None) or torch.allclose(dense_leaf.grad, gradient)
            assert same, name


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_gradients_are_added(layout: torch.layout) -> None:
    dense = torch.where(torch.rand(6, 6) < 0.5, torch.rand(6, 6), 0)
    leaf, a = build("leaf", dense, layout)
    x = torch.rand(6, 3)
    with ls.override():
        for _ in range(3):
            (a @ x + a.t() @ x).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.layout is layout
    stored = dense != 0
    wanted = 3 * (x.sum(1)[None] + x.sum(1)[:, None])
    torch.testing.assert_close(leaf.grad.to_dense()[stored], wanted[stored])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_second_gradients(layout: torch.layout) -> None:
    dense = torch.where(torch.rand(4, 4) < 0.5, torch.rand(4, 4), 0)
    leaf, a = build("leaf", dense, layout)
    twin = dense.clone().requires_grad_()
    x = torch.rand(4, 2)
    stored = (dense != 0).float()
    with ls.override():
        (first,) = torch.autograd.grad(((a.t() * a.t()) @ x).sum(), leaf, create_graph=True)
        (first.to_dense() ** 2).sum().backward()
    (wanted,) = torch.autograd.grad(((twin.t() * twin.t()) @ x).sum(), twin, create_graph=True)
    ((wanted * stored) ** 2).sum().backward()
    torch.testing.assert_close(first.to_dense() * stored, wanted * stored)
    assert leaf.grad is not None
    torch.testing.assert_close(leaf.grad.to_dense() * stored, twin.grad * stored)
