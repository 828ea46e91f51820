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
