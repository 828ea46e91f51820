"""Ranges of rows and columns of matrices with compressed rows, which C finds, beside dense tensors."""

from __future__ import annotations

import pytest
import torch
from libsparse._storage import sorting

import libsparse as ls

KEYS = [
    (slice(2, 9), slice(None)),
    (slice(None), slice(3, 30)),
    (slice(4, 20), slice(10, 11)),
    (slice(1, None), slice(None, -1)),
    (slice(5, 5), slice(2, 7)),
    (slice(2, 7), slice(8, 8)),
    (slice(3, 19, 3), slice(4, 40)),
    (slice(3, 19), slice(4, 40, 5)),
    (slice(None), 7),
    (6, slice(None)),
    (6, slice(3, 33)),
    (slice(2, 11), 39),
    (slice(2, 11), None, slice(3, 9)),
    slice(-7, None),
    (slice(3, 9), torch.tensor([3, 1, 3])),
    (slice(3, 9), slice(None), True),
]


def drawn(density, shape=(24, 40)):
    return torch.rand(shape) * (torch.rand(shape) < density)


def cleared(monkeypatch):
    monkeypatch.setattr(sorting, "in_c", lambda: None)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr"])
@pytest.mark.parametrize("number", range(len(KEYS)))
def test_boxes_and_their_gradients(number, format, wide):
    key = KEYS[number]
    for density in (0.0, 0.1, 0.5, 1.0):
        dense = drawn(density).requires_grad_()
        A = ls.tensor(dense.detach(), format=format)
        if wide and format == "csr":
            A = ls.from_csr(A.crow_indices().long(), A.col_indices().long(), A.values(), A.shape)
        values = A.values().clone().requires_grad_()
        found, wanted = A.with_values(values)[key], dense[key]
        assert isinstance(found, ls.SparseTensor)
        torch.testing.assert_close(found.to_dense(), wanted)
        assert found.nnz == int((wanted != 0).sum())
        weights = torch.rand(wanted.shape)
        (found.to_dense() * weights).sum().backward()
        (wanted * weights).sum().backward()
        assert values.grad is not None
        torch.testing.assert_close(A.with_values(values.grad).to_dense(), dense.grad * (dense.detach() != 0))


def test_boxes_without_c_are_the_same(monkeypatch):
    dense = drawn(0.3)
    found = [ls.tensor(dense)[key] for key in KEYS]
    cleared(monkeypatch)
    for key, box in zip(KEYS, found, strict=True):
        other = ls.tensor(dense)[key]
        assert other.format == box.format
        assert all(map(torch.equal, other.pattern.coordinates(), box.pattern.coordinates()))
        assert torch.equal(other.values(), box.values())


def test_many_entries_and_long_rows_on_all_threads():
    rows, columns = torch.randint(0, 3000, (2, 300_000))
    A = ls.from_coo(torch.stack([rows, columns]), torch.rand(300_000), (3000, 3000))
    dense = A.to_dense()
    for key in [(slice(10, 2900), slice(5, 2500)), (slice(None), slice(1499, 1501)), (slice(None), 77)]:
        assert torch.equal(A[key].to_dense(), dense[key])
    long = ls.from_csr([0, 5000, 5000, 9000], [*range(5000), *range(1000, 5000)], torch.rand(9000), (3, 6000))
    dense = long.to_dense()
    for low in (0, 1, 31, 32, 33, 999, 1000, 1001, 4998, 4999, 5000, 5999):
        assert torch.equal(long[:, low : low + 1].to_dense(), dense[:, low : low + 1])
        assert torch.equal(long[:, low:].to_dense(), dense[:, low:])
        assert torch.equal(long[:, :low].to_dense(), dense[:, :low])


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_pieces_are_kept_with_the_pattern(format, dim):
    dense = drawn(0.3)
    A = ls.tensor(dense, format=format)
    for _ in range(3):
        for found, wanted in zip(A.chunk(4, dim), dense.chunk(4, dim), strict=True):
            assert torch.equal(found.to_dense(), wanted)
    first, again = A.split(7, dim), A.with_values(A.values() * 2).split(7, dim)
    assert all(a.pattern is b.pattern for a, b in zip(first, again, strict=True))
    many = A.split(1, dim)
    assert torch.equal(torch.cat([piece.to_dense() for piece in many], dim), dense)


def test_masks_and_columns_that_are_not_there():
    mask = ls.tensor(drawn(0.3)).pattern
    A = ls.SparseTensor(mask)
    assert torch.equal(A[:, 3:9].to_dense(), A.to_dense()[:, 3:9])
    assert torch.equal(A[:, 3].to_dense(), A.to_dense()[:, 3])
    for key in [(slice(None), 40), (slice(None), -41), (24, slice(None))]:
        with pytest.raises(ls.IndexBoundsError):
            A[key]


@pytest.mark.parametrize("format", ["csr", "csc", "dcsr"])
@pytest.mark.parametrize("name", ["tril", "triu", "diagonal", "of columns less rows", "trace", "einsum"])
def test_diagonals_and_triangles(name, format):
    shapes = [((9, 9), 0), ((9, 9), 3), ((9, 9), -8), ((7, 12), 2), ((12, 7), -4), ((7, 12), -6), ((6, 5), 4)]
    for shape, offset in shapes:
        if name in ("trace", "einsum") and shape[0] != shape[1]:
            continue
        apply = {
            "tril": lambda x, k=offset: x.tril(k),
            "triu": lambda x, k=offset: x.triu(k),
            "diagonal": lambda x, k=offset: x.diagonal(k),
            "of columns less rows": lambda x, k=-offset: x.diagonal(k, 1, 0),
            "trace": torch.trace,
            "einsum": lambda x: (ls.einsum if isinstance(x, ls.SparseTensor) else torch.einsum)("ii->i", x),
        }[name]
        dense = drawn(0.5, shape).requires_grad_()
        A = ls.tensor(dense.detach(), format=format)
        values = A.values().clone().requires_grad_()
        found, wanted = apply(A.with_values(values)), apply(dense)
        torch.testing.assert_close(found.to_dense() if isinstance(found, ls.SparseTensor) else found, wanted)
        weights = torch.rand(wanted.shape)
        ((found.to_dense() if isinstance(found, ls.SparseTensor) else found) * weights).sum().backward()
        (wanted * weights).sum().backward()
        assert values.grad is not None
        torch.testing.assert_close(A.with_values(values.grad).to_dense(), dense.grad * (dense.detach() != 0))


def test_extents_near_the_end_of_int32():
    end = 2**31 - 1
    A = ls.from_coo([[0, 1, 2, 2], [end - 2, 3, 5, end - 1]], torch.arange(1.0, 5.0), (3, end))
    assert A[:, end - 5 :].to_dense().tolist() == [[0, 0, 0, 1, 0], [0] * 5, [0, 0, 0, 0, 4]]
    assert A.triu(end - 3).nnz == 2
    assert A.diagonal(end - 3).to_dense().tolist() == [0.0, 0.0, 4.0]
    assert A.diagonal(end - 2).to_dense().tolist() == [1.0, 0.0]
    assert A.tril(2).values().tolist() == [2.0]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_elements_by_lists(format, wide):
    for shape in [(9, 7), (3, 3000), (1, 1)]:
        dense = drawn(0.4, shape).requires_grad_()
        A = ls.tensor(dense.detach(), format=format)
        if wide and format == "csr":
            A = ls.from_csr(A.crow_indices().long(), A.col_indices().long(), A.values(), A.shape)
        values = A.values().clone().requires_grad_()
        for count in (0, 5, 10_000):
            rows, columns = (torch.randint(-n, n, (count,)) for n in shape)
            found, wanted = A.with_values(values)[rows, columns], dense[rows, columns]
            assert torch.equal(found, wanted)
            weights = torch.rand(count)
            (got,) = torch.autograd.grad((found * weights).sum(), values, allow_unused=True)
            (want,) = torch.autograd.grad((wanted * weights).sum(), dense)
            if got is not None:
                torch.testing.assert_close(A.with_values(got).to_dense(), want * (dense.detach() != 0))


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_rows_in_another_order(format):
    dense = drawn(0.3)
    A = ls.tensor(dense, format=format)
    for dims in ([0], [1], [0, 1], []):
        assert torch.equal(A.flip(dims).to_dense(), dense.flip(dims))
    for by in (-50, -1, 0, 3, 24, 99):
        assert torch.equal(A.roll(by, 0).to_dense(), dense.roll(by, 0))
        assert torch.equal(A.roll(by, 1).to_dense(), dense.roll(by, 1))


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(("format", "dim"), [("csr", 1), ("csc", 0), ("coo", 1)])
def test_matrices_side_by_side(format, dim, wide):
    for widths, density in [((5, 7), 0.4), ((1, 9, 3), 0.0), ((4,), 1.0), ((2,) * 70, 0.5), ((60, 30_000), 0.5)]:
        parts = [drawn(density, (12, n) if dim else (n, 12)).requires_grad_() for n in widths]
        tensors = [ls.tensor(part.detach(), format=format) for part in parts]
        if wide and format == "csr":
            arrays = [(A.crow_indices().long(), A.col_indices().long(), A.values(), A.shape) for A in tensors]
            tensors = [ls.from_csr(*given) for given in arrays]
        values = [A.values().clone().requires_grad_() for A in tensors]
        found = torch.cat([A.with_values(v) for A, v in zip(tensors, values, strict=True)], dim)
        wanted = torch.cat(parts, dim)
        assert torch.equal(found.to_dense(), wanted)
        assert found.format == tensors[0].format
        assert found.nnz == sum(A.nnz for A in tensors)
        weights = torch.rand(wanted.shape)
        (found.to_dense() * weights).sum().backward()
        (wanted * weights).sum().backward()
        for A, own, dense in zip(tensors, values, parts, strict=True):
            assert own.grad is not None
            torch.testing.assert_close(A.with_values(own.grad).to_dense(), dense.grad * (dense.detach() != 0))
    A = ls.tensor(parts[0].detach(), format=format)
    assert torch.equal(torch.cat([A, A], dim).to_dense(), torch.cat([parts[0], parts[0]], dim))
