"""Sorting of coordinates: in C and by torch's functions, with the same results."""

import pytest
import torch
from libsparse._storage import sorting

import libsparse as ls

MANY = 3 * sorting._MANY


def uniform(extents):
    return [torch.randint(n, (MANY,)) for n in extents]


def skewed(extents):
    """Most entries are in the first row, as of a power law."""
    rows = (torch.rand(MANY) ** 8 * extents[0]).long()
    return [rows, *uniform(extents[1:])]


CASES = {
    "vector": uniform([1 << 20]),
    "matrix": uniform([1000, 2000]),
    "few places": uniform([3, 5]),
    "one column": uniform([1 << 15, 1]),
    "skewed": skewed([1 << 12, 1 << 12]),
    "one bucket": [torch.zeros(MANY, dtype=torch.int64), *uniform([1 << 20])],
    "tensor": uniform([300, 40, 50, 6]),
    "hypersparse": uniform([1 << 40, 1 << 20]),
    "no keys": uniform([1 << 50, 1 << 50]),
    "descending": [torch.arange(MANY).flip(0), *uniform([7])],
    "sorted": [torch.arange(MANY) // 3, torch.arange(MANY) % 3],
    "sorted, with duplicates": [torch.arange(MANY) // 5, torch.zeros(MANY, dtype=torch.int64)],
}


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", CASES)
def test_sorts_as_torch_does(name, threads, narrow, monkeypatch):
    coords = CASES[name]
    extents = [int(c.max()) + 1 for c in coords]
    fits = max(extents) <= 2**31 - 1
    if narrow and not fits:
        pytest.skip("the coordinates need 64 bits")
    given = [c.int() if narrow else c for c in coords]
    before = [c.clone() for c in given]
    dtype = torch.int32 if fits else torch.int64
    found = sorting.sort(given, extents, dtype, threads)
    assert all(map(torch.equal, given, before))
    monkeypatch.setattr(sorting, "in_c", lambda: None)
    wanted = sorting.sort(given, extents, dtype, threads)
    assert all(map(torch.equal, found.coords, wanted.coords))
    assert (found.order is None) == (wanted.order is None)
    if found.order is not None:
        assert torch.equal(found.order.long(), wanted.order.long())
        assert all(
            torch.equal(c[found.order.long()].long(), m.long()) for c, m in zip(coords, found.coords, strict=True)
        )
    assert torch.equal(found.again.long(), wanted.again.long())
    assert torch.equal(found.group, wanted.group)
    assert len(found.coords[0]) + len(found.again) == MANY


def test_coordinates_that_nobody_checked():
    rows, columns = uniform([1000, 1000])
    with pytest.raises(ls.IndexBoundsError, match="check=True says which"):
        ls.from_coo(torch.stack([rows + 1, columns]), torch.ones(MANY), (1000, 1000), check=False)


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,2)"])
def test_many_entries_with_duplicates(format, reduce):
    rows, columns = uniform([200, 300])
    values = torch.rand(MANY, dtype=torch.float64, requires_grad=True)
    made = ls.from_coo(torch.stack([rows, columns]), values, (200, 300), format=format, reduce=reduce)
    name = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    places = rows * 300 + columns
    dense = torch.zeros(60_000, dtype=torch.float64).scatter_reduce(0, places, values, name, include_self=False)
    torch.testing.assert_close(made.to_dense().reshape(-1), dense)
    weights = torch.rand(60_000, dtype=torch.float64)
    (found,) = torch.autograd.grad((made.to_dense().reshape(-1) * weights).sum(), values)
    (wanted,) = torch.autograd.grad((dense * weights).sum(), values)
    torch.testing.assert_close(found, wanted)


ROWS = {
    **{name: coords for name, coords in CASES.items() if len(coords) == 2},
    "few": [torch.tensor([3, 0, 3, 3, 0]), torch.tensor([1, 2, 1, 0, 2])],
    "none": [torch.empty(0, dtype=torch.int64)] * 2,
    "one long row": [torch.ones(100, dtype=torch.int64), torch.arange(100).flip(0) * 1000],
    "ascending rows": [torch.arange(40000) // 2, 7 * (torch.arange(40000) % 2)],
    "short rows": [torch.randint(70000, (70000,)), torch.randint(90000, (70000,))],
    "each twice": [torch.randint(50, (600,)).repeat(2), torch.arange(600).repeat(2) % 61],
}
TOO_LONG = {"hypersparse", "no keys", "one bucket", "one long row"}  # extents of 64 bits, or long rows of many columns


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", ROWS)
def test_rows_are_compressed_as_torch_does(name, threads, narrow, monkeypatch):
    coords = ROWS[name]
    extents = [int(c.max()) + 2 if c.numel() else 4 for c in coords]
    narrow = narrow and max(extents) <= 2**31 - 1
    found = sorting.compress([c.int() if narrow else c for c in coords], extents, threads)
    if name in TOO_LONG or sorting.in_c() is None:
        assert found is None
        return
    assert found is not None
    monkeypatch.setattr(sorting, "in_c", lambda: None)
    wanted = sorting.sort(coords, extents, torch.int32, threads)
    rows = torch.repeat_interleave(torch.arange(extents[0]), found.pos.diff())
    assert torch.equal(rows, wanted.coords[0].long())
    assert torch.equal(found.crd.long(), wanted.coords[1].long())
    assert torch.equal(found.again, wanted.again)
    assert torch.equal(found.group, wanted.group)
    assert (found.order is None) == (wanted.order is None)
    if found.order is not None:
        assert torch.equal(found.order.long(), wanted.order.long())


@pytest.mark.parametrize("wrong", [[5, 0], [-1, 0], [0, 7], [0, -(2**40)]])
def test_rows_and_columns_out_of_range_are_refused(wrong):
    coords = list(torch.tensor([[0, 0], wrong, [4, 6], [1, 1]]).T.contiguous())
    with pytest.raises(ls.IndexBoundsError):
        sorting.compress(coords, (5, 7), 1)
    with pytest.raises(ls.IndexBoundsError):
        ls.from_coo(torch.stack(coords), torch.ones(4), (5, 7), check=False)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("long", [40, 700, 9_000])
def test_long_rows_are_sorted_where_few_entries_are_in_them(long, threads):
    rows = torch.cat([torch.randint(0, 2000, (40_000,)), torch.full((long,), 77), torch.full((long,), 1999)])
    columns, values = torch.randint(0, 5000, (len(rows),)), torch.arange(len(rows), dtype=torch.float64)
    order = torch.randperm(len(rows))
    rows, columns, before = rows[order], columns[order], torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        A = ls.from_coo(torch.stack([rows, columns]), values, (2000, 5000))
    finally:
        torch.set_num_threads(before)
    key, group = torch.unique(rows * 5000 + columns, return_inverse=True)
    found = torch.repeat_interleave(torch.arange(2000), A.crow_indices().diff()) * 5000 + A.col_indices()
    assert torch.equal(found, key)
    assert torch.equal(A.values(), torch.zeros(len(key), dtype=torch.float64).index_add(0, group, values))


def test_rows_of_any_length_with_duplicates():
    """Each entry goes behind those of smaller columns, and the first of equal ones stays first."""
    rows = torch.arange(300).repeat_interleave(torch.arange(300) % 60)
    columns = torch.randint(150, rows.shape)
    columns[::50] = 2**31 - 2  # the largest that a width of int32 has
    shuffled = torch.randperm(len(rows))
    rows, columns = rows[shuffled], columns[shuffled]
    found = sorting.compress([rows, columns], [300, 2**31 - 1], 1)
    keys = rows * 2**31 + columns
    order = keys.argsort(stable=True)
    first = torch.cat([torch.ones(1, dtype=torch.bool), keys[order].diff() > 0])
    assert torch.equal(found.order.long(), order[first])
    assert torch.equal(found.crd.long(), columns[order[first]])
    assert torch.equal(found.again, order[~first])
    assert torch.equal(found.group, (first.cumsum(0) - 1)[~first])


WHOLE = [torch.bool, torch.uint8, torch.int16, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.parametrize("dtype", WHOLE + FLOATS)
@pytest.mark.parametrize("threads", [1, 2])
def test_nonzeros_of_dense_matrices(dtype, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for rows, columns in ((0, 5), (5, 0), (3, 1), (40, 7), (5, 8), (13, 31), (300, 401)):
            dense = torch.where(torch.rand(rows, columns) < 0.2, torch.randint(1, 100, (rows, columns)), 0).to(dtype)
            dense[:, 3:4] = 1
            if dtype.is_floating_point:
                dense[: rows // 2, -1:], dense[rows // 2 :, 2:3] = -0.0, torch.nan
            made = ls.from_mask(dense) if dtype == torch.bool else ls.tensor(dense)
            assert torch.equal(made.indices(), dense.nonzero().T)
            assert torch.equal(made.values().nan_to_num(7), dense[dense != 0].nan_to_num(7))
            turned = ls.from_mask(dense.T) if dtype == torch.bool else ls.tensor(dense.T)
            assert torch.equal(turned.indices(), dense.T.nonzero().T)
    finally:
        torch.set_num_threads(before)


def test_gradients_of_nonzeros():
    dense = torch.tensor([[0.0, 2.0, 0.0], [-0.0, 1.0, 3.0]], requires_grad=True)
    (gradient,) = torch.autograd.grad((ls.tensor(dense) * ls.tensor(dense.detach())).sum(), dense)
    assert gradient.tolist() == dense.tolist()
    given = dense.detach()
    assert torch.func.jvp(lambda x: ls.tensor(x).values(), (given,), (given + 1,))[1].tolist() == [3, 2, 4]
