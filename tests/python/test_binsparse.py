"""Binsparse files, against the format's reference implementation."""

import numpy as np
import pytest
import torch
from covering import pairs

import libsparse as ls

binsparse = pytest.importorskip("binsparse", reason="the package needs Python 3.11")

DENSE = torch.tensor([[0, 1.5, 0, 0], [0, 0, 0, 0], [2, 0, 0, -3]])
ENDINGS = [".bsp.h5", ".bsp.npz"]


@pytest.mark.parametrize(
    ("format", "dtype", "ending"),
    pairs(
        ["csr", "csc", "dcsr", "dcsc", "coo", "bsr(1,2)", "ell"],
        [torch.float32, torch.float64, torch.int8, torch.int64, torch.bool, torch.complex64],
        ENDINGS,
    ),
)
def test_matrices_come_back(tmp_path, ending, format, dtype):
    path, A = tmp_path / f"a{ending}", ls.tensor(DENSE.to(dtype), format=format)
    ls.write(path, A)
    back = ls.read(path)
    assert back.dtype is dtype
    assert back.format == (format if format in ("csr", "csc", "dcsr", "dcsc") else "csr")
    assert torch.equal(back.to_dense(), A.to_dense())


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("shape", [(6,), (3, 4, 5), (2, 3, 2, 2), (0, 4), (0,)])
def test_other_shapes_come_back(tmp_path, ending, shape):
    dense = torch.randn(shape) * (torch.rand(shape) < 0.3)
    ls.write(tmp_path / f"a{ending}", ls.tensor(dense))
    assert torch.equal(ls.read(tmp_path / f"a{ending}").to_dense(), dense)


@pytest.mark.parametrize("ending", ENDINGS)
def test_fill_values_and_patterns_come_back(tmp_path, ending):
    path, A = tmp_path / f"a{ending}", torch.exp(ls.tensor(DENSE))
    ls.write(path, A)
    assert ls.read(path).fill_value == 1
    assert torch.equal(ls.read(path).to_dense(), A.to_dense())
    ls.write(path, ls.from_mask(DENSE != 0))
    assert ls.read(path).dtype is torch.bool
    assert torch.equal(ls.read(path).to_dense(), DENSE != 0)


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_reference_implementation_reads_and_writes_the_same(tmp_path, ending):
    path, A = tmp_path / f"a{ending}", ls.tensor(DENSE, format="csr")
    ls.write(path, A)
    found = binsparse.load_binsparse(path)
    assert isinstance(found, binsparse.CSRMatrix)
    assert found.shape == (3, 4)
    assert found.pointers_to_1.tolist() == [0, 1, 1, 3]
    assert found.indices_1.tolist() == [1, 0, 3]
    assert found.values.tolist() == [1.5, 2, -3]
    wide = binsparse.COOCMatrix(
        (3, 4), 2, indices_0=np.array([2, 0], "uint64"), indices_1=np.array([0, 3], "uint64"), values=np.array([5.0, 6])
    )
    binsparse.save_binsparse(wide, path)
    assert ls.read(path, format="coo").to_dense()[[2, 0], [0, 3]].tolist() == [5, 6]


def test_malformed_files(tmp_path):
    path = tmp_path / "a.bsp.npz"
    path.write_bytes(b"nothing")
    with pytest.raises(ls.FormatError, match=r"a\.bsp\.npz: not a Binsparse file, or a damaged one"):
        ls.read(path)
    for pointers, columns, kind in [
        ([0, 1], [0], ls.FormatError),
        ([0, 2, 1, 1], [0], ls.FormatError),
        ([0, 1, 1, 1], [9], ls.IndexBoundsError),
    ]:
        matrix = binsparse.CSRMatrix(
            (3, 4), 1, pointers_to_1=np.array(pointers), indices_1=np.array(columns), values=np.array([1.0])
        )
        binsparse.save_binsparse(matrix, path)
        with pytest.raises(kind, match=r"a\.bsp\.npz: "):
            ls.read(path)
    with pytest.raises(FileNotFoundError):
        ls.read(tmp_path / "missing.bsp.h5")
    for dtype in (torch.float16, torch.float8_e5m2):  # the last one has no kernels
        with pytest.raises(ls.DtypeError, match=rf"Binsparse files can't hold {dtype}"):
            ls.write(path, ls.tensor(DENSE).to(dtype))
