"""Tensors of torch's layouts under `ls.override()`: what is kept of them is theirs, whatever has been written to."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import torch
from libsparse._ops import layout_patterns
from libsparse._torch import wrapped

import libsparse as ls

LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "csr": torch.Tensor.to_sparse_csr,
    "csc": torch.Tensor.to_sparse_csc,
    "coo": torch.Tensor.to_sparse,
    "uncoalesced": lambda d: _twice(d),
    "bsr": lambda d: d.to_sparse_bsr((2, 2)),
}
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda a, x: torch.sparse.mm(a, x) if a.layout is torch.sparse_coo else a @ x,
    "function": lambda a, x: torch.sin(a).to_dense(),
    "number": lambda a, x: (a * 3).to_dense(),
    "negative": lambda a, x: torch.neg(a).to_dense(),
    "quotient": lambda a, x: (a / 2).to_dense(),
    "chain": lambda a, x: torch.tan(torch.sin(a) * 2) @ x,
    "transposed": lambda a, x: a.t() @ x,
}


def _twice(dense: torch.Tensor) -> torch.Tensor:
    """A COO tensor whose entries are given twice, in no order."""
    coo = dense.to_sparse()
    indices = torch.cat([coo.indices().flip(1), coo.indices()], 1)
    return torch.sparse_coo_tensor(indices, torch.cat([coo.values().flip(0), coo.values()]) / 2, dense.shape)


def _dense(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    kept = torch.rand(6, 6, generator=generator) < 0.4
    return torch.where(kept, torch.rand(6, 6, generator=generator, dtype=torch.float64) + 0.1, 0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_those_of_dense_tensors_in_every_call(name: str, layout: str) -> None:
    x = torch.rand(6, 3, dtype=torch.float64)
    dense = _dense(0)
    source = LAYOUTS[layout](dense).requires_grad_()
    for _ in range(4):
        twin, source.grad = dense.clone().requires_grad_(), None
        with ls.override():
            found = CALLS[name](source, x)
            (found * found).sum().backward()
        want = CALLS[name](twin, x)
        (want * want).sum().backward()
        torch.testing.assert_close(found, want)
        assert source.grad.layout is source.layout
        assert twin.grad is not None
        stored = dense != 0
        if layout == "bsr":  # all elements of a block are entries
            stored = (
                stored.reshape(3, 2, 3, 2).any(3, keepdim=True).any(1, keepdim=True).expand(3, 2, 3, 2).reshape(6, 6)
            )
        torch.testing.assert_close(source.grad.to_dense(), torch.where(stored, twin.grad, 0))


@pytest.mark.parametrize("layout", ["csr", "coo"])
def test_values_and_indices_that_have_been_written_to(layout: str) -> None:
    x = torch.rand(6, 3, dtype=torch.float64)
    source = LAYOUTS[layout](_dense(0)).requires_grad_()
    arrays = layout_patterns.index_arrays(source.detach())
    with ls.override():
        for step in range(3):
            with torch.no_grad():
                (source.detach()._values() if layout == "coo" else source.detach().values()).mul_(2)
            if step == 2:
                arrays[-1][-1 if layout == "coo" else slice(None)] = (
                    5 - arrays[-1][-1 if layout == "coo" else slice(None)]
                )
            dense = source.detach().to_dense()
            for _ in range(2):
                torch.testing.assert_close(torch.sparse.mm(source, x).detach(), dense @ x)


def test_gradients_are_accumulated_and_differentiated() -> None:
    for layout in ("csr", "coo"):
        dense = _dense(1)
        source, twin = LAYOUTS[layout](dense).requires_grad_(), dense.clone().requires_grad_()
        x = torch.rand(6, 3, dtype=torch.float64)
        for _ in range(2):
            with ls.override():
                (torch.sparse.mm(source, x) ** 2).sum().backward()
            ((twin @ x) ** 2).sum().backward()
        assert source.grad is not None
        assert twin.grad is not None
        torch.testing.assert_close(source.grad.to_dense(), torch.where(dense != 0, twin.grad, 0))
        with ls.override():
            (first,) = torch.autograd.grad((torch.sparse.mm(source, x) ** 3).sum(), source, create_graph=True)
            (second,) = torch.autograd.grad(torch.sparse.mm(first, x).sum(), source)
        (wanted,) = torch.autograd.grad(((twin @ x) ** 3).sum(), twin, create_graph=True)
        masked = torch.where(dense != 0, wanted, 0)
        (wanted,) = torch.autograd.grad((masked @ x).sum(), twin)
        torch.testing.assert_close(second.to_dense(), torch.where(dense != 0, wanted, 0))


def test_nothing_outlives_its_tensor() -> None:
    with ls.override():
        source = LAYOUTS["csr"](_dense(2)).requires_grad_()
        torch.sparse.mm(source, torch.ones(6, 1, dtype=torch.float64))
        assert id(source) in wrapped.kept
        key = id(source)
        del source
        gc.collect()
        assert key not in wrapped.kept


def test_equal_indices_are_one_pattern() -> None:
    first = LAYOUTS["coo"](_dense(3)).coalesce()
    second = torch.sparse_coo_tensor(first.indices().clone(), first.values() * 2, first.shape, is_coalesced=True)
    other = torch.sparse_coo_tensor(first.indices().flip(0), first.values(), first.shape)
    a, b, c = map(ls.from_torch, (first, second, other))
    assert a.pattern is b.pattern
    assert c.pattern is not a.pattern
    first.indices()[0, 0] = first.indices()[0, 0]  # a new version of its array
    again = ls.from_torch(second)
    assert torch.equal(again.to_dense(), second.to_dense())
    pattern = ls.from_torch(a.to_torch()).pattern
    assert pattern is a.pattern


def test_arrays_that_are_gone_are_no_name_of_a_pattern() -> None:
    patterns = []
    for seed in range(40):  # storages of arrays that were dropped come again at the same addresses
        with ls.options(derived_bytes=0):
            A = ls.tensor(_dense(seed % 7)).to_format("coo")
            patterns.append(A.pattern)
            written = A.to_torch()
            assert torch.equal(ls.from_torch(written).to_dense(), A.to_dense())
            del written
            A.pattern.converted(ls.Format("csr").resolve(2))
        indices = _dense(seed % 5).nonzero().T.contiguous()
        other = torch.sparse_coo_tensor(indices, torch.ones(indices.shape[1]), (6, 6), is_coalesced=True)
        assert torch.equal(ls.from_torch(other).to_dense(), other.to_dense())


@pytest.mark.parametrize("dim", [0, 1, -1, (0, 2), [1], None])
def test_sums_have_entries_where_torch_has_them(dim: Any) -> None:
    dense = torch.stack([_dense(0), torch.zeros(6, 6, dtype=torch.float64), _dense(1) - _dense(2)])
    source = dense.to_sparse().requires_grad_()
    want = torch.sparse.sum(source) if dim is None else torch.sparse.sum(source, dim)
    for _ in range(3):
        with ls.override():
            found = torch.sparse.sum(source) if dim is None else torch.sparse.sum(source, dim)
            assert found.layout is want.layout
            (gradient,) = torch.autograd.grad(found.to_dense().square().sum(), source)
        torch.testing.assert_close(found.to_dense(), want.to_dense())
        if dim is not None:
            assert torch.equal(found.detach().coalesce().indices(), want.detach().coalesce().indices())
        sums = want.detach().to_dense() if dim is None else dense.sum(dim, keepdim=True)
        torch.testing.assert_close(gradient.to_dense(), torch.where(dense != 0, 2 * sums.expand(dense.shape), 0))
