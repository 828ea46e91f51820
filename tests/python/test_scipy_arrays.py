"""SciPy's matrices: those in order are copied once, others are put in order in a copy; none is written to."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import libsparse as ls

SHAPES = ((30, 20), (1, 50), (50, 1), (0, 4), (4, 0), (0, 0))


def _array(
    shape: tuple[int, int], format: str, index: type = np.int32, dtype: type = np.float32
) -> sp.csr_array | sp.csc_array:
    array = sp.random_array(shape, density=0.3, format=format, rng=np.random.default_rng(0)) * 100
    array = array.astype(dtype)
    array.indptr, array.indices = array.indptr.astype(index), array.indices.astype(index)
    return array


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.complex64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_in_order(format, shape, dtype, index):
    array = _array(shape, format, index, dtype)
    found = ls.from_scipy(array)
    assert found.format == format
    assert found.to_dense().numpy().tolist() == array.toarray().tolist()
    array.data[:] = 7
    array.indices[:] = 0
    assert not found.nnz or (found.values() != 7).any()


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_out_of_order_and_twice(format):
    array = _array((30, 20), format)
    turned, twice = array.copy(), array.copy()
    for n in range(len(turned.indptr) - 1):
        part = slice(turned.indptr[n], turned.indptr[n + 1])
        turned.indices[part], turned.data[part] = turned.indices[part][::-1].copy(), turned.data[part][::-1].copy()
    half = slice(0, len(twice.data))
    twice = type(array)(
        (np.repeat(array.data[half], 2) / 2, np.repeat(array.indices, 2), array.indptr * 2), shape=array.shape
    )
    for given in (turned, twice):
        before = given.indices.copy(), given.data.copy()
        found = ls.from_scipy(given)
        assert found.nnz == array.nnz
        np.testing.assert_allclose(found.to_dense().numpy(), array.toarray())
        assert np.array_equal(given.indices, before[0])
        assert np.array_equal(given.data, before[1])


def test_arrays_that_are_longer_than_the_matrix():
    array = _array((30, 20), "csr")
    longer = array.copy()
    longer.data, longer.indices = (
        np.append(array.data, [5, 6]).astype(np.float32),
        np.append(array.indices, [1, 2]).astype(np.int32),
    )
    try:
        found = ls.from_scipy(longer)
    except ls.LibsparseError:
        return
    assert np.array_equal(found.to_dense().numpy(), array.toarray())


def test_read_only_and_wrong():
    array = _array((30, 20), "csr")
    for part in (array.data, array.indices, array.indptr):
        part.flags.writeable = False
    assert np.array_equal(ls.from_scipy(array).to_dense().numpy(), array.toarray())
    wrong = _array((30, 20), "csr")
    wrong.indices[3] = 20
    with pytest.raises((ls.IndexBoundsError, ls.FormatError)):
        ls.from_scipy(wrong)
    assert torch.equal(
        ls.from_scipy(_array((30, 20), "csr")).to_format("bsr(2,2)").to_dense(),
        ls.from_scipy(_array((30, 20), "csr").tobsr((2, 2))).to_dense(),
    )
