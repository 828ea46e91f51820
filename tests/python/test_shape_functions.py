"""Functions of shape against dense torch, over formats and fill values: values, formats, gradients, malformed calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

import libsparse as ls

FORMATS = {
    1: ["s", "b", "h"],
    2: ["csr", "csc", "coo", "dcsr", "dcsc", "bsr(2,2)", "ell", "sell(2)", "dia", "db", "dh", "sd", "sd:1,0"],
    3: ["csf", "coo", "dss", "dsd", "csf:2,0,1"],
}
SHAPES = {1: (6,), 2: (4, 6), 3: (3, 4, 2)}
X = torch.tensor
Function = Callable[[Any], Any]

CASES: dict[int, list[Function]] = {
    1: [
        lambda a: a.unfold(0, 3, 2),
        lambda a: a.unsqueeze(0),
        lambda a: a.reshape(2, 3),
        lambda a: a.expand(4, 6),
        lambda a: torch.stack([a, a]),
        lambda a: torch.hstack([a, a]),
        lambda a: torch.vstack([a, a]),
        lambda a: torch.column_stack([a, a]),
        lambda a: torch.dstack([a, a]),
        lambda a: torch.hsplit(a, 2),
        lambda a: torch.atleast_3d(a),
        lambda a: torch.diag(a),
        lambda a: torch.diag(a, -1),
        lambda a: a.unbind(),
        lambda a: a.index_select(0, X([2, 2])),
    ],
    2: [
        lambda a: a.reshape(-1),
        lambda a: a.reshape(3, -1),
        lambda a: a.view(2, 2, 6),
        lambda a: a.view_as(torch.zeros(6, 4)),
        lambda a: a.flatten(),
        lambda a: a.unflatten(1, (2, 3)),
        lambda a: torch.unflatten(a, 1, (-1, 3)),
        lambda a: a.unsqueeze(-1),
        lambda a: a.unsqueeze(1).squeeze(1),
        lambda a: a[:1].squeeze(),
        lambda a: a[:1, :1].squeeze(),
        lambda a: a[:1].expand(5, 6),
        lambda a: a.expand(2, -1, 6),
        lambda a: torch.broadcast_to(a[:, :1], (4, 3)),
        lambda a: a[:1].expand_as(torch.zeros(2, 6)),
        lambda a: a.repeat(2, 1, 3),
        lambda a: a.tile(2),
        lambda a: torch.tile(a, (2, 2, 1)),
        lambda a: a.flip(0, 1),
        lambda a: torch.flip(a, (1,)),
        torch.fliplr,
        lambda a: a.flipud(),
        lambda a: a.roll(1),
        lambda a: torch.roll(a, (1, -2), (0, 1)),
        lambda a: a.rot90(),
        lambda a: torch.rot90(a, 3),
        lambda a: torch.rot90(a, 2, (1, 0)),
        lambda a: a.unfold(1, 3, 2),
        lambda a: torch.repeat_interleave(a, 2, dim=1),
        lambda a: a.repeat_interleave(X([0, 1, 2, 1]), 0),
        lambda a: a.repeat_interleave(2),
        lambda a: torch.cat([a, a]),
        lambda a: torch.cat((a, a[:, :2]), dim=1),
        lambda a: torch.concat([torch.empty(0), a[:0], a]),
        lambda a: torch.stack([a, a], dim=-1),
        lambda a: torch.hstack([a, a]),
        lambda a: torch.block_diag(a, a[0], a[:1]),
        lambda a: torch.column_stack([a, a[:, 0]]),
        lambda a: torch.dstack([a, a]),
        lambda a: torch.hsplit(a, [1, 3]),
        lambda a: a.vsplit(2),
        lambda a: torch.atleast_2d(a),
        lambda a: torch.atleast_3d(a),
        lambda a: torch.broadcast_tensors(a, a[:1]),
        lambda a: a.diagonal(),
        lambda a: torch.diagonal(a, -2),
        lambda a: a.diag(1),
        lambda a: torch.diag_embed(a, -1, 0, 2),
        lambda a: a.tril(),
        lambda a: torch.tril(a, 1),
        lambda a: a.triu(diagonal=-1),
        lambda a: a.split(3),
        lambda a: torch.split(a, 4, dim=1),
        lambda a: a.split([1, 3]),
        lambda a: a.chunk(3, 1),
        lambda a: torch.unbind(a, 1),
        lambda a: torch.tensor_split(a, 4, 1),
        lambda a: a.tensor_split((3, 1)),
        lambda a: tuple(reversed(a)),
        lambda a: a[:, 6:].reshape(0),
    ],
    3: [
        lambda a: a.flatten(1),
        lambda a: a.flatten(0, 1),
        lambda a: a[:1, :, :1].squeeze((0, 2)),
        lambda a: torch.rot90(a, 1, (0, 2)),
        lambda a: a.movedim(0, 2),
        lambda a: torch.moveaxis(a, (0, 1), (1, 0)),
        lambda a: a.swapaxes(0, 2),
        lambda a: a.unfold(0, 2, 1),
        lambda a: torch.cat([a, a], 1),
        lambda a: a.diagonal(0, 1, 2),
        lambda a: a.diagonal(1, 2, 0),
        lambda a: a.triu(),
        lambda a: a.unbind(1),
        lambda a: torch.dsplit(a, 2),
        lambda a: torch.dstack([a, a]),
    ],
}


def tensors(format: str, ndim: int, fill: float = 0) -> ls.SparseTensor:
    torch.manual_seed(1)
    A = ls.tensor(torch.where(torch.rand(SHAPES[ndim]) < 0.4, torch.randn(SHAPES[ndim]), 0.0), format=format)
    return ls.SparseTensor(A.pattern, torch.where(A.values() == 0, fill, A.values()), fill) if fill else A


def listed(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def applied(function: Function, A: ls.SparseTensor) -> tuple[Any, ...] | None:
    """The results, or None where a function refuses the fill value."""
    try:
        return listed(function(A))
    except ls.UnsupportedError as error:
        if not A.fill_value or "takes elements that are not stored for 0" not in str(error):
            raise
        return None


@pytest.mark.parametrize(
    ("ndim", "format", "fill"),
    [
        *((ndim, format, 0) for ndim in FORMATS for format in FORMATS[ndim]),
        *((ndim, format, 2.5) for ndim in FORMATS for format in FORMATS[ndim][::2]),
    ],
)
def test_values(ndim: int, format: str, fill: float) -> None:
    A = tensors(format, ndim, fill)
    dense = A.to_dense()
    for number, function in enumerate(CASES[ndim]):
        want, found = listed(function(dense)), applied(function, A)
        if found is None:
            continue
        assert len(found) == len(want), number
        for made, wanted in zip(found, want, strict=True):
            assert made.shape == wanted.shape, number
            assert torch.equal(made.to_dense(), wanted), number


@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.bfloat16, torch.complex128])
def test_dtypes(dtype: torch.dtype) -> None:
    dense = torch.tensor([[0, 2, 0], [3, 0, 1]]).to(dtype)
    A, only = ls.tensor(dense, format="csc"), ls.from_mask(dense != 0)
    for function in (lambda a: a.reshape(3, 2), lambda a: torch.cat([a, a]), lambda a: a.repeat(2, 2), torch.triu):
        assert function(A).dtype == dtype
        assert torch.equal(function(A).to_dense(), function(dense))
        assert function(only).values().dtype == torch.bool
        assert torch.equal(function(only).to_dense(), function(dense != 0))
    both = torch.cat([A, ls.tensor(torch.ones(1, 3))])
    assert both.dtype == torch.promote_types(dtype, torch.float32)
    assert both.format == "csc"


def test_formats_are_kept() -> None:
    for format in FORMATS[2]:
        A = tensors(format, 2)
        for function in (lambda a: a.reshape(3, 8), lambda a: torch.cat([a, a]), lambda a: a.flip(0), torch.tril):
            assert function(A).format == format
    assert tensors("coo", 2).reshape(2, 2, 6).format == "coo"
    assert tensors("bsr(2,2)", 2).reshape(-1).format == "s"
    A = tensors("csr", 2)
    assert A.tril().pattern is A.tril().pattern


def test_diagonals_are_set() -> None:
    for format in ("csr", "coo", "bsr(2,2)", "csc"):
        A = tensors(format, 2)
        for k in (0, 1, -2, 6):
            count = torch.diagonal(A.to_dense(), k).numel() if k < 6 else 0
            values = torch.arange(1.0, count + 1)
            for made, on in [
                (A.set_diag(values, k), values),
                (A.set_diag(k=k), torch.ones(count)),
                (A.fill_diag(0.0, k), torch.zeros(count)),
                (A.fill_diag(torch.tensor(3.0), k=k), torch.full((count,), 3.0)),
            ]:
                want = A.to_dense()
                if count:
                    torch.diagonal(want, k).copy_(on)
                assert torch.equal(made.to_dense(), want)
                assert made.format == format
    only = ls.from_mask(torch.zeros(2, 3, dtype=torch.bool))
    assert only.set_diag().nnz == 2
    assert only.set_diag().dtype == torch.bool
    assert ls.SparseTensor(A.pattern, A.values(), 2.0).fill_diag(5.0).fill_value == 2


@pytest.mark.parametrize("format", ["csr", "bsr(2,2)"])
def test_gradients(format: str) -> None:
    A = tensors(format, 2).to(torch.float64)
    values, line = A.values().clone().requires_grad_(), torch.randn(4, dtype=torch.float64, requires_grad=True)
    functions: list[Function] = [
        lambda a: a.reshape(3, 8),
        lambda a: torch.cat([a, a * 2.0], 1),
        lambda a: a.repeat(2, 1),
        lambda a: a.roll(1, 0),
        lambda a: a.tril(),
        lambda a: a.diagonal(1),
        lambda a: a.split(2, 1)[1],
        lambda a: torch.stack([a, a]),
    ]
    for function in functions:

        def dense(v: torch.Tensor, function: Function = function) -> torch.Tensor:
            return function(A.with_values(v)).to_dense()

        assert torch.autograd.gradcheck(dense, values)
        assert torch.autograd.gradgradcheck(dense, values)

    def with_diagonal(v: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
        return A.with_values(v).set_diag(d).to_dense()

    assert torch.autograd.gradcheck(with_diagonal, (values, line))
    assert torch.autograd.gradgradcheck(with_diagonal, (values, line))


def test_shapes_beyond_what_can_be_numbered() -> None:
    n = 2**40
    A = ls.from_coo(torch.tensor([[3, n - 1], [n - 2, 5]]), torch.tensor([1.0, 2.0]), (n, n), format="coo")
    assert A.unsqueeze(1).shape == (n, 1, n)
    assert A.unflatten(0, (2, n // 2)).indices().tolist() == [[0, 1], [3, n // 2 - 1], [n - 2, 5]]
    assert torch.cat([A, A]).nnz == 4
    assert A.flip(0).indices().tolist() == [[0, n - 4], [5, n - 2]]
    with pytest.raises(ls.UnsupportedError, match="can't be numbered"):
        A.reshape(-1)


def test_malformed_calls() -> None:
    A, V = tensors("csr", 2), tensors("s", 1)
    for call, kind, message in [
        (lambda: A.reshape(5, 5), RuntimeError, "shape (5, 5) is invalid for a tensor of shape (4, 6)"),
        (lambda: A.reshape(-1, -1), RuntimeError, "more than one negative extent"),
        (lambda: A.unsqueeze(4), IndexError, "dimension 4 is out of range; the tensor has 3 dimensions"),
        (lambda: A.squeeze(2), IndexError, "squeeze: dimension 2 is out of range"),
        (lambda: A.expand(8, 6), RuntimeError, "only extents of 1 are repeated"),
        (lambda: A.expand(6), RuntimeError, "does not expand to (6,)"),
        (lambda: A.repeat(2), RuntimeError, "expected a number from 0 on for each dimension"),
        (lambda: A.flip(0, 0), RuntimeError, "named twice"),
        (lambda: A.roll((1, 2), 0), RuntimeError, "2 shifts for 1 dimensions"),
        (lambda: A.rot90(1, (0, 0)), RuntimeError, "two different dimensions"),
        (lambda: A.unfold(0, 5, 1), RuntimeError, "windows of 5 every 1 of dimension 0 with extent 4"),
        (lambda: A.movedim((0, 1), 0), RuntimeError, "2 dimensions to 1 places"),
        (lambda: A.flatten(1, 0), RuntimeError, "start_dim 1 comes after end_dim 0"),
        (lambda: A.view(torch.int32), NotImplementedError, "view(dtype)"),
        (lambda: A.diagonal(0, 1, 1), RuntimeError, "dim1 and dim2 are both 1"),
        (lambda: V.tril(), RuntimeError, "takes matrices and batches of them"),
        (lambda: tensors("csf", 3).diag(), RuntimeError, "use diagonal or diag_embed"),
        (lambda: torch.cat([A, V]), RuntimeError, "tensor 1 (shape (6,), format s) differs from tensor 0"),
        (lambda: torch.cat([A, A.to_dense()]), NotImplementedError, "tensor 1 is dense"),
        (lambda: torch.cat([A, tensors("csr", 2, 2.5)]), NotImplementedError, "fill values of the tensors differ"),
        (lambda: torch.stack([A, A.T]), RuntimeError, "differ in shape"),
        (lambda: torch.block_diag(tensors("csf", 3)), RuntimeError, "more than two dimensions"),
        (lambda: A.split(0), RuntimeError, "pieces of extent 0"),
        (lambda: A.split([1, 2]), RuntimeError, "don't sum to 4"),
        (lambda: A.chunk(0), RuntimeError, "expected one or more"),
        (lambda: A.tensor_split(0), RuntimeError, "expected one or more"),
        (lambda: A.set_diag(torch.ones(3)), ValueError, "the diagonal has 4 elements"),
        (lambda: A.set_diag("x"), TypeError, "expected a dense tensor or a number"),
        (lambda: V.set_diag(), ValueError, "set_diag takes a matrix"),
    ]:
        with pytest.raises(kind, match=re.escape(message)) as caught:
            call()
        assert isinstance(caught.value, ls.LibsparseError)


@pytest.mark.parametrize("format", ["bsr(2,3)", "bsc(2,3)"])
def test_blocks_go_to_torch_and_back(format: str) -> None:
    A = tensors(format, 2)
    own = torch.sparse_bsr if format.startswith("bsr") else torch.sparse_bsc
    assert A.to_torch().layout is own
    for layout in (torch.sparse_bsr, torch.sparse_bsc):
        made = A.to_torch(layout=layout)
        assert made.layout is layout
        assert made.values().shape[1:] == (2, 3)
        assert torch.equal(made.to_dense(), A.to_dense())
        back = ls.from_torch(made)
        assert back.format == ("bsr(2,3)" if layout is torch.sparse_bsr else "bsc(2,3)")
        assert torch.equal(back.to_dense(), A.to_dense())
    assert (A.to_scipy().toarray() == A.to_dense().numpy()).all()


@pytest.mark.parametrize("workers", [0, 1])
def test_data_loaders_stack(workers: int) -> None:
    A = tensors("csr", 2)
    loader = DataLoader([(A[i : i + 2], i) for i in range(3)], batch_size=3, num_workers=workers)
    ((batch, _),) = loader
    assert isinstance(batch, ls.SparseTensor)
    assert torch.equal(batch.to_dense(), torch.stack([A.to_dense()[i : i + 2] for i in range(3)]))
