"""SciPy's .npz, and archives that are damaged or ask for more than they should."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import torch
from libsparse._storage import memory

import libsparse as ls


def dense(A: ls.SparseTensor) -> torch.Tensor:
    """Without a kernel, so that these tests don't depend on the compiler."""
    return torch.sparse_coo_tensor(A.indices().long(), A.values(), A.shape).to_dense()


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("container", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_scipy_npz(tmp_path, format, container):
    M = scipy.sparse.random(6, 8, 0.3, random_state=1, dtype=np.float64, format="csr")
    scipy.sparse.save_npz(tmp_path / "a.npz", container(M).asformat(format))
    A = ls.read(tmp_path / "a.npz")
    assert A.dtype == torch.float64
    np.testing.assert_array_equal(dense(A).numpy(), M.toarray())
    ls.write(tmp_path / "b.npz", A)
    np.testing.assert_array_equal(scipy.sparse.load_npz(tmp_path / "b.npz").toarray(), M.toarray())


def test_npz_never_unpickles(tmp_path):
    class Trap:
        def __reduce__(self):
            return Path.touch, (tmp_path / "sprung",)

    np.savez(
        tmp_path / "a.npz",
        format=b"csr",
        shape=np.array([1, 1]),
        data=np.array([Trap()], dtype=object),
        indices=np.array([0]),
        indptr=np.array([0, 1]),
    )
    with pytest.raises(ls.UnsupportedError, match="never unpickled"):
        ls.read(tmp_path / "a.npz")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"indptr": np.array([0, 3])}, ls.FormatError),
        ({"indptr": np.array([0, 2, 1])}, ls.FormatError),
        ({"indices": np.array([0, 9])}, ls.IndexBoundsError),
        ({"indices": np.array([-1, 0])}, ls.IndexBoundsError),
        ({"data": np.array([1.0])}, ls.FormatError),
        ({"data": np.array(["a", "b"])}, ls.DtypeError),
        ({"format": np.array(b"ell")}, ls.UnsupportedError),
        ({"shape": np.array([2, 2, 2])}, ls.FormatError),
        ({"data": None}, ls.FormatError),
        ({"shape": np.array(2)}, ls.FormatError),
        ({"shape": np.array([[2, 2], [2, 2]])}, ls.FormatError),
        ({"indices": np.array([0.5, 1.0])}, ls.FormatError),
        ({"format": np.array(b"coo"), "row": np.array([0]), "col": np.array([0, 1])}, ls.FormatError),
        ({"format": np.array(b"bsr"), "data": np.zeros((2, 0, 1))}, ls.FormatError),
    ],
)
def test_malformed_npz(tmp_path, change, kind):
    members = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 2]),
        "data": np.array([1.0, 2.0]),
        "indices": np.array([0, 1]),
        "indptr": np.array([0, 1, 2]),
        **change,
    }
    np.savez(tmp_path / "a.npz", **{name: array for name, array in members.items() if array is not None})
    with pytest.raises(kind):
        ls.read(tmp_path / "a.npz")


def test_damaged_archives(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK not an archive")
    with pytest.raises(ls.FormatError, match="npz"):
        ls.read(tmp_path / "a.npz")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("shape.npy", b"nonsense")
    (tmp_path / "b.npz").write_bytes(buffer.getvalue())
    with pytest.raises(ls.FormatError):
        ls.read(tmp_path / "b.npz")
    (tmp_path / "c.mtx.gz").write_bytes(gzip.compress(b"%%MatrixMarket matrix coordinate real general\n1 1 1\n")[:-9])
    with pytest.raises(ls.FormatError, match="damaged or cut off"):
        ls.read(tmp_path / "c.mtx.gz")


def test_flipped_bytes_of_an_archive(tmp_path):
    """The zip directory has versions, methods, flags and offsets; zipfile has errors of many types for them."""
    path = tmp_path / "a.npz"
    ls.write(path, ls.from_coo([[0, 1], [1, 0]], [1.0, 2.0], (2, 2)))
    good = path.read_bytes()
    for place in range(len(good)):
        for flip in (0x01, 0x80, 0xFF)[place % 3 :][:1]:
            path.write_bytes(good[:place] + bytes([good[place] ^ flip]) + good[place + 1 :])
            try:
                assert ls.read(path).shape == (2, 2)
            except ls.FormatError as error:
                assert "a.npz" in str(error)  # noqa: PT017  # most places raise, some don't matter


def test_headers_of_arrays_that_no_one_writes(tmp_path):
    path = tmp_path / "a.npz"
    long = b"\x93NUMPY\x02\x00" + (1 << 20).to_bytes(4, "little") + b"(" * (1 << 20)
    huge = f"{{'descr': '<i8', 'fortran_order': False, 'shape': (0, {2**62}, {2**62})}}".encode()
    for header in (long, b"\x93NUMPY\x01\x00" + len(huge).to_bytes(2, "little") + huge):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("format.npy", header)
        with pytest.raises(ls.FormatError, match=r"a\.npz: array 'format' is malformed"):
            ls.read(path)


def test_archives_that_would_not_fit(tmp_path, monkeypatch):
    """A few megabytes of deflated zeros are gigabytes of positions."""
    monkeypatch.setattr(memory, "available", lambda: 1 << 20)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("indptr.npy", bytes(1 << 26))
    with pytest.raises(ls.FormatError, match=r"GiB.*available"):
        ls.read(tmp_path / "a.npz")
    A = ls.from_coo([[0], [0]], [1.0], (1 << 26, 1), format="dcsr")
    with pytest.raises(ls.FormatError, match=r"GiB.*available.*\.mtx"):
        ls.write(tmp_path / "b.npz", A)
