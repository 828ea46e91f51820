"""`A[...]` and selections against dense torch: random keys over formats and ranks, gradients, malformed keys."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import libsparse as ls

FORMATS = {
    1: ["s", "b", "h"],
    2: ["csr", "csc", "coo", "dcsr", "dcsc", "bsr(2,2)", "ell", "dia", "db", "dh", "sd", "sd:1,0"],
    3: ["csf", "coo", "dss", "dsd", "csf:2,0,1"],
    4: ["csf", "coo"],
}


def drawn(shape: tuple[int, ...], dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.where(torch.rand(shape) < 0.4, torch.randn(shape), 0.0).to(dtype)


def filled(A: ls.SparseTensor, fill: float) -> ls.SparseTensor:
    """The same entries with another fill value, which padding has, too."""
    return ls.SparseTensor(A.pattern, torch.where(A.values() == 0, fill, A.values()), fill)


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """A key that torch takes for a tensor of this shape, or nearly."""
    items: list[Any] = []
    mode, broadcast = 0, draw(st.sampled_from([(3,), (2, 3), (1,), (0,)]))
    while mode < len(shape):
        extent = shape[mode]
        kind = draw(st.sampled_from(["end", "slice", "int", "index", "mask", "slice", "index", "none", "bool", "dots"]))
        if kind == "none":
            items.append(None)
        elif kind == "bool":
            items.append(draw(st.booleans()))
        elif kind == "dots":
            if any(item is Ellipsis for item in items):
                continue
            items.append(...)
            mode += draw(st.integers(0, len(shape) - mode))
        elif kind == "int" and extent:
            place = draw(st.integers(-extent, extent - 1))
            items.append(draw(st.sampled_from([place, torch.tensor(place), np.int32(place)])))
            mode += 1
        elif kind == "index" and extent:
            index = torch.randint(-extent, extent, draw(st.sampled_from([broadcast, broadcast[-1:], (1,)])))
            items.append(draw(st.sampled_from([index, index.to(torch.int32), index.tolist(), index.numpy()])))
            mode += 1
        elif kind == "mask":
            count = draw(st.integers(1, len(shape) - mode))
            mask = torch.rand(shape[mode : mode + count]) < 0.5
            items.append(draw(st.sampled_from([mask, mask.numpy(), ls.tensor(mask) if mask.numel() else mask])))
            mode += count
        elif kind == "end":
            break
        else:
            bound = st.one_of(st.none(), st.integers(-extent - 1, extent + 1))
            items.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, 3]))))
            mode += 1
    return items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


def as_torch_takes_it(key: Any, whole: bool = True) -> Any:
    if isinstance(key, tuple):
        return tuple(as_torch_takes_it(item, whole=False) for item in key)
    if isinstance(key, list) and whole and any(isinstance(item, list) for item in key):
        return tuple(torch.tensor(item, dtype=torch.int64) for item in key)  # torch does, too, with a warning
    if isinstance(key, list):
        return torch.tensor(key, dtype=torch.int64)
    if isinstance(key, np.ndarray):  # torch miscounts the dimensions of NumPy's masks after "..."
        return torch.from_numpy(key)
    return key.to_dense() if isinstance(key, ls.SparseTensor) else key


@pytest.mark.skipif(torch.__version__ < "2.7", reason="torch counts a mask of two dimensions as one")
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_key(data: st.DataObject) -> None:
    ndim = data.draw(st.sampled_from([1, 2, 2, 2, 3, 3, 4]))
    shape = tuple(data.draw(st.lists(st.sampled_from([0, 1, 2, 3, 4, 5, 5, 6, 6]), min_size=ndim, max_size=ndim)))
    torch.manual_seed(data.draw(st.integers(0, 1000)))
    A = ls.tensor(drawn(shape), format=data.draw(st.sampled_from(FORMATS[ndim])))
    fill = data.draw(st.sampled_from([0, 0, 2.5]))
    A = filled(A, fill) if fill else A
    dense, key = A.to_dense(), data.draw(keys(shape))
    try:
        want = dense[as_torch_takes_it(key)]
    except (IndexError, ValueError) as error:
        with pytest.raises(type(error)):
            A[key]
        return
    found = A[key]
    assert found.shape == want.shape
    torch.testing.assert_close(found.to_dense(), want, rtol=0, atol=0)
    if isinstance(found, ls.SparseTensor):
        assert found.fill_value == fill
        assert found.ndim != A.ndim or found.format == A.format


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.float16, torch.bfloat16, torch.complex64])
def test_dtypes_and_patterns(dtype: torch.dtype) -> None:
    dense = drawn((5, 6)).to(dtype)
    index = torch.tensor([4, 0, 0])
    for A in (ls.tensor(dense), ls.tensor(dense, format="coo")):
        for key in (index, (slice(None), index), (index, index), (slice(1, None), 2), (1, 2)):
            assert A[key].dtype == dtype
            assert torch.equal(A[key].to_dense(), dense[key])
    only = ls.from_mask(dense != 0)
    rows = only[index]
    assert rows.nnz == int((dense != 0)[index].sum())
    assert rows.with_values(None).pattern is rows.pattern
    assert only[1:, ::2].dtype == torch.bool
    assert torch.equal(only[1:, ::2].to_dense(), (dense != 0)[1:, ::2])


def test_what_is_sparse_and_in_which_format() -> None:
    dense = drawn((5, 6))
    A = ls.tensor(dense)
    index = torch.tensor([1, 1, 4])
    for key in (index, slice(1, 3), (slice(None), index), ([0, 2],), (slice(None), slice(0, 5, 2))):
        assert A[key].format == "csr"
    assert A.T[index].format == "csc"
    assert ls.tensor(dense, format="coo")[None].format == "coo"
    assert A[2].format == "s"
    for element in (A[2, 3], A[index, index], A[A.map(lambda v: v > 0).to(torch.bool)]):
        assert type(element) is torch.Tensor
    assert A[2, 3].ndim == 0


def test_wide_indices_and_large_shapes() -> None:
    n = 2**40
    A = ls.from_coo(torch.tensor([[3, n - 1], [n - 2, 5]]), torch.tensor([1.0, 2.0]), (n, n), format="coo")
    assert A[n - 1, 5] == 2
    assert A[-1].nnz == 1
    part = A[torch.tensor([3, -1, 7])]
    assert part.shape == (3, n)
    assert part.indices().tolist() == [[0, 1], [n - 2, 5]]
    assert torch.equal(A[torch.tensor([3, 0]), torch.tensor([n - 2, 0])], torch.tensor([1.0, 0.0]))
    assert A[:, n - 2 :].nnz == 1
    wide = ls.from_coo(torch.tensor([[0, 2, 2], [n - 1, 0, 7]]), torch.tensor([1.0, 2.0, 3.0]), (3, n))
    rows = wide[torch.tensor([2, -3, 2, 1])]
    assert rows.indices().tolist() == [[0, 0, 1, 2, 2], [0, 7, n - 1, 0, 7]]
    assert rows.values().tolist() == [2, 3, 1, 2, 3]
    assert wide[2].indices().tolist() == [[0, 7]]


@pytest.mark.compiler
def test_copied_rows() -> None:
    for dtype in (torch.uint8, torch.int16, torch.float32, torch.float64, torch.complex128):
        dense = drawn((30, 30)).to(dtype)
        for format, dim in (("csr", 0), ("csc", 1)):
            A = ls.tensor(dense, format=format)
            for count in (0, 1, 7, 300):
                index = torch.randint(dense.shape[dim], (count,))
                found = A.index_select(dim, index)
                assert found.format == format
                assert torch.equal(found.to_dense(), dense.index_select(dim, index))
                places = index - 30
                assert torch.equal(A[places].to_dense(), dense[places])
                assert torch.equal(A[:, places.int()].to_dense(), dense[:, places])
    many = ls.tensor(drawn((3000, 50)))
    order = torch.randperm(3000)
    assert torch.equal(many[order].to_dense(), many.to_dense()[order])  # by several threads
    assert ls.tensor(torch.zeros(0, 3))[torch.empty(0, dtype=torch.int64)].shape == (0, 3)


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("shape", [(30, 40), (1, 50), (50, 1), (40, 3), (300, 200)])
def test_lists_of_coordinates_below_the_outer_level(format: str, shape: tuple[int, int]) -> None:
    D = drawn(shape)
    A, mode = ls.tensor(D).to_format(format), 1 if format == "csr" else 0
    extent = shape[mode]
    lists = [torch.randperm(extent)[: extent // 2 + 1], torch.randint(0, extent, (2 * extent,)), torch.arange(extent)]
    for index in (*lists, torch.randint(-extent, extent, (7,)), torch.empty(0, dtype=torch.int64)):
        key = (slice(None), index) if mode else index
        found = A[key]
        assert torch.equal(found.to_dense(), D[key])
        assert found.format == A.format
        part = (slice(1, None), index) if mode else (index, slice(1, None))
        assert torch.equal(A[part].to_dense(), D[part])


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,2)"])
def test_gradients(format: str) -> None:
    A = ls.tensor(drawn((4, 6)), format=format)
    index, mask = torch.tensor([2, 0, 2]), torch.rand(4, 6) < 0.5
    values = A.values().clone().requires_grad_()
    keys: list[Any] = [index, (slice(None), index), (index, index), (1, 3), slice(1, None, 2), mask, (index, None, 2)]
    for key in keys:

        def part(v: torch.Tensor, key: Any = key) -> torch.Tensor:
            return A.with_values(v)[key].to_dense()

        assert torch.autograd.gradcheck(part, values)
        assert torch.autograd.gradgradcheck(part, values)


def test_iteration_and_membership() -> None:
    dense = drawn((4, 6))
    for format in ("csr", "csc", "bsr(2,2)"):
        A = ls.tensor(dense, format=format)
        assert len(A) == 4
        assert all(torch.equal(row.to_dense(), want) for row, want in zip(A, dense, strict=True))
        assert 0 in A
        assert dense.max().item() in A
        assert 77 not in A
    assert 0 not in filled(A, 2.5)
    assert 2.5 in filled(A, 2.5)
    first, *_ = ls.tensor(dense[0])
    assert first == dense[0, 0]


def test_selections() -> None:
    dense = drawn((4, 6))
    for format in ("csr", "csc", "ell"):
        A = ls.tensor(dense, format=format)
        picked = torch.tensor([5, 5, 0], dtype=torch.int32)
        for found, want in [
            (A.index_select(1, picked), dense.index_select(1, picked)),
            (torch.index_select(A, 0, torch.tensor(3)), dense.index_select(0, torch.tensor(3))),
            (A.select(1, -2), dense.select(1, -2)),
            (A.narrow(0, -3, 2), dense.narrow(0, -3, 2)),
            (A.masked_select(dense > 0), dense[dense > 0]),
            (torch.masked_select(A, torch.arange(6) > 2), torch.masked_select(dense, torch.arange(6) > 2)),
            (A.take(torch.tensor([[7, -1]])), dense.take(torch.tensor([[7, -1]]))),
        ]:
            assert torch.equal(found.to_dense(), want)


def test_slices_are_kept() -> None:
    A = ls.tensor(drawn((5, 6)))
    assert A[1:3].pattern is A[1:3].pattern
    assert A.T[:, :2].pattern is A.T[:, :2].pattern


X = torch.tensor


@pytest.mark.parametrize(
    ("key", "kind", "message"),
    [
        (5, IndexError, "index 5 is out of range for dimension 0 of a tensor of shape (5, 6): it has extent 5"),
        ((0, -7), IndexError, "index -7 is out of range for dimension 1"),
        (X([0, 5]), IndexError, "index 5 is out of range"),
        ((slice(None), [0, -7]), IndexError, "index -7 is out of range for dimension 1"),
        ((0, 0, 0), IndexError, "3 indices for a tensor of 2 dimensions"),
        ((..., 0, 0, 0), IndexError, "3 indices for a tensor of 2 dimensions"),
        (X([0.5]), IndexError, "tensors used as indices are integers or bools, got torch.float32"),
        (1.5, IndexError, "a float is no index"),
        ([0.5], IndexError, "tensors used as indices are integers or bools"),
        ({1}, IndexError, "a set is no index"),
        ("a", TypeError, "'a' is no index"),
        (slice(None, None, -1), ValueError, "a slice has step -1; steps are positive"),
        (slice(0.5, 2), TypeError, "a bound of a slice is a float"),
        (X([True, False]), IndexError, "a mask of shape (2,) does not match the dimensions it stands for"),
        ((X([0, 1]), X([0, 1, 2])), IndexError, "indices of shapes (2,), (3,) don't broadcast"),
        ([slice(None)], IndexError, "write a tuple for several dimensions"),
        (X([0, 1]).to_sparse(), NotImplementedError, "torch.sparse_coo"),
    ],
)
def test_malformed_keys(key: Any, kind: type[Exception], message: str) -> None:
    A = ls.tensor(drawn((5, 6)))
    with pytest.raises(kind, match=re.escape(message)) as caught:
        A[key]
    assert isinstance(caught.value, ls.LibsparseError)


def test_malformed_calls() -> None:
    A = ls.tensor(drawn((5, 6)))
    for call, kind, message in [
        (lambda: A.index_select(0, X([-1])), IndexError, "index -1 is out of range"),
        (lambda: A.index_select(2, X([0])), IndexError, "dimension 2 is out of range"),
        (lambda: A.index_select(0, X([0.0])), TypeError, "expected a dense int32 or int64 tensor"),
        (lambda: A.index_select(0, X([[0]])), IndexError, "expected a vector"),
        (lambda: A.narrow(0, 3, 3), RuntimeError, "start 3 and length 3 exceed dimension 0 with extent 5"),
        (lambda: A.select(0, 5), IndexError, "index 5 is out of range"),
        (lambda: A.masked_select(X([1])), RuntimeError, "expected a mask of dtype bool"),
        (lambda: A.masked_select(torch.ones(5, dtype=torch.bool)), ValueError, "does not broadcast to (5, 6)"),
        (lambda: A.take(X([30])), IndexError, "index 30 is out of range"),
        (lambda: torch.index_select(torch.ones(3), 0, A), NotImplementedError, "first argument"),
        (lambda: A.__setitem__(0, 1.0), NotImplementedError, "A.with_values(values)"),
        (lambda: A.index_add(0, X([0]), A), RuntimeError, "index_add: index has shape (1,)"),
        (lambda: filled(A, 1.0).tril(), NotImplementedError, "takes elements that are not stored for 0"),
    ]:
        with pytest.raises(kind, match=re.escape(message)) as caught:
            call()
        assert isinstance(caught.value, ls.LibsparseError)


LAYOUTS = {
    "coo": lambda dense: dense.to_sparse_coo(),
    "csr": lambda dense: dense.to_sparse_csr(),
    "csc": lambda dense: dense.to_sparse_csc(),
    "bsr": lambda dense: dense.to_sparse_bsr((2, 2)),
    "bsc": lambda dense: dense.to_sparse_bsc((2, 2)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sparse_tensors_of_torch(layout: str) -> None:
    dense, index = drawn((6, 8)), torch.tensor([0, 3, 3])
    A = LAYOUTS[layout](dense)
    with ls.override():
        for key in (slice(1, 3), index, (slice(None), index), 2, (2, 3), None, dense > 0, (index, index)):
            assert torch.equal(A[key].to_dense(), dense[key])
        assert A[index].layout is (A.layout if layout in ("coo", "csr", "csc") else torch.sparse_csr)
        assert A[1:3].layout is (A.layout)
        assert all(torch.equal(a.to_dense(), b) for a, b in zip(A.split(4), dense.split(4), strict=True))
        for function in (
            lambda a: torch.cat([a, a]),
            lambda a: torch.stack((a, a), 1),
            lambda a: torch.hstack([a, a]),
            lambda a: a.index_select(1, index),
            lambda a: a.narrow(0, 1, 2),
            torch.tril,
            torch.diagonal,
            lambda a: a.reshape(8, 6),
        ):
            assert torch.equal(function(A).to_dense(), function(dense))
        with pytest.raises(RuntimeError):
            torch.cat([A, dense[0]])
    with pytest.raises((RuntimeError, NotImplementedError)):
        A[index]


def test_a_key_has_one_ellipsis() -> None:
    with pytest.raises(ls.IndexBoundsError, match="has it once"):
        ls.eye(3)[..., ..., 0]


@pytest.mark.parametrize("format", ["csr", "coo", "bsr(2,2)", "ell"])
def test_sparse_mask_of_a_dense_tensor(format: str) -> None:
    mask, x = ls.random((5, 6), 0.4).to_format(format), torch.randn(5, 6, requires_grad=True)
    found = x.sparse_mask(mask)
    where = torch.zeros(5, 6).index_put(tuple(mask.indices()), torch.ones(()))
    torch.testing.assert_close(found.to_dense(), x * where)
    (grad,) = torch.autograd.grad(found.values().sum(), x)
    torch.testing.assert_close(grad, where)
    with pytest.raises(ls.ShapeError, match="same shape"):
        torch.randn(6, 5).sparse_mask(mask)
