"""`topk` and `kthvalue` of sparse tensors against dense torch: values, places, ties, NaN, fill values and gradients."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from libsparse._storage import sorting
from torch.autograd import gradcheck

import libsparse as ls

FORMATS = {1: ["s", "d"], 2: ["csr", "csc", "coo", "dcsr", "bsr(2,3)", "ell", "dia", "sd"], 3: ["csf", "coo", "dss"]}
DTYPES = [torch.float32, torch.float64, torch.float16, torch.int32, torch.uint8]


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have the same dtype, shape and elements; NaN equals NaN."""
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.nan_to_num(99), b.nan_to_num(99))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[ls.SparseTensor, torch.Tensor]:
    """A sparse tensor, and the dense one with the same elements: many are equal, some are NaN."""
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    dtype, seed = draw(st.sampled_from(DTYPES)), draw(st.integers(0, 1 << 20))
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randint(-3, 4, shape, generator=generator).float()
    dense = torch.where(torch.rand(shape, generator=generator) < 0.6, 0.0, dense)
    if dtype.is_floating_point and draw(st.booleans()):
        dense = torch.where(torch.rand(shape, generator=generator) < 0.2, torch.nan, dense)
    dense = (dense if dtype.is_signed else dense.abs()).to(dtype)
    sparse = ls.tensor(dense, format=draw(st.sampled_from(FORMATS[len(shape)])))
    fill = draw(st.sampled_from([0, 0, 2, torch.nan] if dtype.is_floating_point else [0, 2]))
    if fill != 0 and isinstance(sparse, ls.SparseTensor):
        return sparse + fill, dense + fill
    return sparse, dense


@settings(max_examples=60, deadline=None)
@given(pairs(), st.booleans(), st.data())
def test_values_and_places(pair: tuple[ls.SparseTensor, torch.Tensor], largest: bool, data: st.DataObject) -> None:
    sparse, dense = pair
    dim = data.draw(st.integers(-dense.ndim, dense.ndim - 1))
    k = data.draw(st.integers(0, dense.shape[dim]))
    found = sparse.topk(k, dim, largest)
    assert type(found) is torch.return_types.topk
    assert same(found.values, dense.topk(k, dim, largest).values)
    assert same(dense.gather(dim, found.indices), found.values)
    assert bool((found.indices.sort(dim).values.diff(dim=dim) > 0).all())
    if k:
        keepdim = data.draw(st.booleans())
        one = torch.kthvalue(sparse, k, dim, keepdim)
        assert type(one) is torch.return_types.kthvalue
        assert same(one.values, dense.kthvalue(k, dim, keepdim).values)
        places = one.indices if keepdim else one.indices.unsqueeze(dim)
        assert same(dense.gather(dim, places), one.values if keepdim else one.values.unsqueeze(dim))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8])
@pytest.mark.parametrize("largest", [False, True])
def test_few_of_long_rows(dtype: torch.dtype, largest: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = torch.where(torch.rand(30, 2000) < 0.7, torch.randint(0, 400, (30, 2000)), 0).to(dtype)
    if dtype.is_floating_point:
        dense = torch.where(torch.rand(30, 2000) < 0.01, torch.nan, dense - 200)
        dense[dense == 3], dense[dense == 4], dense[dense == 5] = -0.0, torch.inf, -torch.inf
    found = {}
    for in_c in (True, False):
        if not in_c:
            monkeypatch.setattr(sorting, "in_c", lambda: None)
        for dim, k in ((1, 7), (0, 3), (1, 1500)):
            values, indices = ls.tensor(dense).topk(k, dim, largest)
            assert same(values, dense.topk(k, dim, largest).values)
            assert same(dense.gather(dim, indices), values)
            assert torch.equal(indices, found.setdefault((dim, k), indices))


def test_equal_elements_come_by_their_coordinates() -> None:
    stored = ls.from_coo([[0, 0, 0], [1, 4, 5]], [2.0, 2.0, -1.0], (1, 6))
    assert stored.topk(5).indices.tolist() == [[1, 4, 0, 2, 3]]
    assert stored.topk(5, largest=False).indices.tolist() == [[5, 0, 2, 3, 1]]
    zeros = ls.from_coo([[0, 0], [2, 3]], [0.0, 0.0], (1, 4))
    assert zeros.topk(4).indices.tolist() == [[2, 3, 0, 1]]  # those that are stored come first
    assert ls.from_coo(torch.empty(2, 0, dtype=torch.int64), [], (2, 3)).topk(2).indices.tolist() == [[0, 1]] * 2
    assert stored.topk(k=2, dim=1, largest=True, sorted=False).values.tolist() == [[2.0, 2.0]]


@pytest.mark.parametrize("format", ["csr", "csc", "bsr(2,2)"])
@pytest.mark.parametrize("dim", [0, 1])
def test_gradients(format: str, dim: int) -> None:
    dense = torch.randn(6, 6, dtype=torch.float64)
    dense[torch.rand(6, 6) < 0.5] = 0
    A = ls.tensor(dense, format=format)
    leaf, values = dense.clone().requires_grad_(), A.values().clone().requires_grad_()
    weight = torch.arange(1.0, 4.0, dtype=torch.float64)[:, None] if dim == 0 else torch.arange(1.0, 4.0)
    (leaf.topk(3, dim).values * weight).sum().backward()
    (A.with_values(values).topk(3, dim).values * weight).sum().backward()
    assert leaf.grad is not None
    assert values.grad is not None
    torch.testing.assert_close(A.with_values(values.grad).to_dense()[dense != 0], leaf.grad[dense != 0])
    if "bsr" not in format:  # blocks store zeros, which are equal to those that are not stored
        assert gradcheck(lambda v: A.with_values(v).topk(3, dim, largest=False).values, [values])
        assert gradcheck(lambda v: A.with_values(v).kthvalue(2, dim).values, [values])


def test_transforms_and_graphs() -> None:
    A = ls.random((6, 7), 0.4)
    batch = torch.randn(3, A.nnz)
    values, indices = torch.vmap(lambda v: tuple(A.with_values(v).topk(3)))(batch)
    for row, value, index in zip(batch, values, indices, strict=True):
        wanted = A.with_values(row).topk(3)
        assert torch.equal(value, wanted.values)
        assert torch.equal(index, wanted.indices)
    found = torch.func.grad(lambda v: A.with_values(v).topk(1, 0).values.sum())(batch[0])
    dense = torch.func.grad(lambda x: x.topk(1, 0).values.sum())(A.with_values(batch[0]).to_dense())
    torch.testing.assert_close(A.with_values(found).to_dense(), torch.where(A.to_dense() != 0, dense, 0))
    compiled = torch.compile(lambda A: A.topk(2).values + 1, backend="eager", fullgraph=True)
    assert torch.equal(compiled(A), A.topk(2).values + 1)


def test_long_dimensions_are_not_made_dense() -> None:
    A = ls.from_coo([[5, 9], [1, 0]], [1.0, -3.0], (2**45, 3), format="coo")
    assert A.topk(2, 0).indices.T.tolist() == [[0, 1], [5, 0], [0, 1]]
    assert A.kthvalue(2**44, 0).indices.tolist() == [2**44 - 1, 2**44, 2**44 - 1]
    assert A.kthvalue(2**45, 0).values.tolist() == [0.0, 1.0, 0.0]
    with pytest.raises(ls.UnsupportedError, match="can't be numbered in int64"):
        ls.from_coo([[5], [1]], [1.0], (2**60, 9), format="coo").kthvalue(2**60, 0)
