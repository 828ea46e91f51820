"""Arrays that torch warns of or refuses: read-only ones, whose memory was written to, other byte orders and strides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import libsparse as ls

DENSE = np.array([[0.0, 2.0, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0], [1.0, 4.0, 0.0, 0.0]])
SQUARE = DENSE @ DENSE.T + np.eye(3)

MADE: dict[str, Callable[[Any], Any]] = {
    "from_coo": lambda values: ls.from_coo([[0, 1], [1, 0]], values, (2, 2)),
    "from_csr": lambda values: ls.from_csr([0, 1, 2], [1, 0], values, (2, 2)),
    "from_csc": lambda values: ls.from_csc([0, 1, 2], [1, 0], values, (2, 2)),
    "from_levels": lambda values: ls.from_levels("ss", (2, 2), [[0, 2], [0, 1, 2]], [[0, 1], [1, 0]], values),
    "from_edge_index": lambda values: ls.from_edge_index([[0, 1], [1, 0]], values, num_nodes=2),
    "diag": ls.diag,
    "tensor": ls.tensor,
}


def lent(given: Any) -> Any:
    array = np.array(given)
    array.setflags(write=False)
    return array


@pytest.mark.parametrize("name", MADE)
def test_changed_values_leave_read_only_arrays_alone(name: str, tmp_path: Path) -> None:
    np.save(tmp_path / "values.npy", np.array([1.0, 2.0]))
    mapped = np.load(tmp_path / "values.npy", mmap_mode="r")  # a write to its memory ended the process
    for values in (lent([1.0, 2.0]), mapped):
        A = MADE[name](values)
        A.mul_(3)
        A.values().add_(1)
        assert A.values().tolist() == [4.0, 7.0]
        assert values.tolist() == [1.0, 2.0]


def test_writable_arrays_are_shared() -> None:
    values = np.array([1.0, 2.0])
    assert MADE["from_csr"](values).values().data_ptr() == values.ctypes.data


OTHERS: dict[str, Callable[[Any], Any]] = {
    "read-only": lent,
    "another byte order": lambda given: given.astype(given.dtype.newbyteorder()),
    "reversed": lambda given: np.flip(np.flip(given).copy()),
    "a field": lambda given: np.rec.fromarrays([np.zeros(given.shape, "i4"), given])["f1"],
}


def same(found: Any, expected: Any) -> None:
    found = found.to_dense() if isinstance(found, ls.SparseTensor) else found
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("kind", OTHERS)
def test_operands(kind: str) -> None:
    other, A = OTHERS[kind], ls.tensor(DENSE)
    array, vector = other(DENSE), other(DENSE[0])
    same(ls.tensor(array), DENSE)
    same(A @ array.T, DENSE @ DENSE.T)
    same(array.T @ A, DENSE.T @ DENSE)
    same(A * array, DENSE * DENSE)
    same(np.multiply(array, A), DENSE * DENSE)
    same(ls.einsum("ij,kj->ik", A, array), DENSE @ DENSE.T)
    same(ls.evaluate("y(i) = A(i,j) * x(j)", A=A, x=vector), DENSE @ DENSE[0])
    same(ls.from_mask(other(DENSE != 0)).to_dense(), DENSE != 0)
    start = other(np.ones(3))
    same(ls.linalg.solve(ls.tensor(SQUARE), other(np.ones(3)), x0=start), np.linalg.solve(SQUARE, np.ones(3)))
    assert start.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("kind", OTHERS)
def test_indices(kind: str) -> None:
    other, A = OTHERS[kind], ls.tensor(DENSE)
    rows = np.array([2, 0])
    same(A[other(rows)], DENSE[rows])
    same(A[other(rows), other(rows)], DENSE[rows, rows])
    coords, values = np.nonzero(DENSE), DENSE[DENSE != 0]
    same(ls.from_coo(other(np.stack(coords)), other(values), DENSE.shape), DENSE)
    same(ls.from_coo([other(row) for row in coords], other(values), DENSE.shape), DENSE)
    same(ls.sampling.subgraph(ls.tensor(SQUARE), other(rows)), SQUARE[np.ix_(rows, rows)])


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_arrays_of_scipy(kind: str, format: str) -> None:
    other, source = OTHERS[kind], sp.csr_array(DENSE).asformat(format)
    source.data = lent(source.data)  # SciPy itself takes values of other byte orders in some formats only
    if format == "coo":
        source.coords = tuple(other(row) for row in source.coords)
    for name in ("indices", "indptr", "offsets"):
        if hasattr(source, name):
            setattr(source, name, other(getattr(source, name)))
    found = ls.from_scipy(source)
    found.values().add_(0)
    same(found, DENSE)


class Stored:
    """An array in a file of HDF5 or Zarr, or a column of a table: NumPy's array when it is asked."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array


def test_objects_that_become_arrays() -> None:
    same(ls.tensor(Stored(DENSE)), DENSE)
    csr = sp.csr_array(DENSE)
    parts = [Stored(part) for part in (csr.indptr, csr.indices, lent(csr.data))]
    same(ls.from_csr(*parts, DENSE.shape), DENSE)
    with pytest.raises(ls.DtypeError, match="data is a Stored"):
        ls.tensor(Stored(np.array([["a"]])))
    assert ls.tensor(torch.ones(2)).nnz == 2
