"""TACO's .ttx and Rutherford-Boeing's .rb: read, written, and refused with the line where they are malformed."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from pathlib import Path

import pytest
import scipy.io
import torch

import libsparse as ls

TENSOR = "%%MatrixMarket tensor"
TITLE = f"{'a title':<72}{'key':<8}\n"

# file, expected shape, coordinates, values
SAMPLES = [
    (
        "a.ttx",
        f"{TENSOR} coordinate real general\n% note\n2 3 2 2\n1 1 1 7\n2 3 2 1e3\n",
        (2, 3, 2),
        {(0, 0, 0): 7, (1, 2, 1): 1000},
    ),
    ("a.ttx", f"{TENSOR} coordinate complex general\n4 1\n2 1 -2\n", (4,), {(1,): 1 - 2j}),
    (
        "a.ttx",
        f"{TENSOR} array integer general\n2 1 2\n1\n2\n0\n4\n",
        (2, 1, 2),
        {(0, 0, 0): 1, (1, 0, 0): 2, (1, 0, 1): 4},
    ),
    ("a.ttx", f"{TENSOR} coordinate real symmetric\n2 2 1\n2 1 5\n", (2, 2), {(1, 0): 5, (0, 1): 5}),
    ("a.ttx", f"{TENSOR} array real general\n0 3\n", (0, 3), {}),
    (
        "a.rb",
        TITLE + "3 1 1 1\nrua 2 3 3 0\n(4I3)           (3I3)           (3E12.4)\n  1  2  2  4\n  1  1  2\n"
        "  1.5000E+00  0.2500D+01 -4.0000E+00\n",
        (2, 3),
        {(0, 0): 1.5, (0, 2): 2.5, (1, 2): -4},
    ),
    (
        "a.rb",
        TITLE + "3 1 1 1\nrsa 2 2 2 0\n(3I2) (2I2) (2F3.1)\n 1 3 3\n 1 2\n1.5-25\n",
        (2, 2),
        {(0, 0): 1.5, (1, 0): -2.5, (0, 1): -2.5},
    ),
    (
        "a.rb",
        TITLE + "4 1 1 2\nCZA 2 2 1 0\n(3I2) (1I2) (1P,1E12.4)\n 1 2 2\n 2\n   1.0+2\n   2.0\n",
        (2, 2),
        {(1, 0): 100 + 0.2j, (0, 1): -100 - 0.2j},
    ),
    (
        "a.rb",
        TITLE + "3 1 1 1 1\nIUA 2 2 2 0\n(3I2) (2I2) (2I3) (2I3)\nF 1 0\n 1 2 3\n 2 1\n -7  8\n  1  2\n",
        (2, 2),
        {(1, 0): -7, (0, 1): 8},
    ),
]


def entries(A: ls.SparseTensor) -> dict[tuple[int, ...], complex]:
    return {tuple(c): v for c, v in zip(A.indices().T.tolist(), A.values().tolist(), strict=True)}


@pytest.mark.parametrize(("name", "text", "shape", "expected"), SAMPLES)
def test_reading(
    tmp_path: Path, name: str, text: str, shape: tuple[int, ...], expected: dict[tuple[int, ...], complex]
) -> None:
    path = tmp_path / name
    path.write_text(text)
    A = ls.read(path, dtype=torch.complex128)
    assert tuple(A.shape) == shape
    assert entries(A) == expected


def test_patterns(tmp_path: Path) -> None:
    path = tmp_path / "a.rb"
    path.write_text(TITLE + "2 1 1 0\npra 1 2 2 0\n(3I1)           (2I1)\n123\n11\n")
    A = ls.read(path)
    assert A.dtype == torch.bool
    assert A.nnz == 2


@pytest.mark.parametrize("ending", [".ttx", ".ttx.gz", ".rb", ".rb.gz"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int64, torch.int8, torch.complex128, torch.bool])
def test_what_is_written_comes_back(tmp_path: Path, ending: str, dtype: torch.dtype) -> None:
    path = tmp_path / f"a{ending}"
    for shape in [(5, 7), (4, 4), (0, 3), (3, 0), *([(3,), (2, 3, 4)] if "ttx" in ending else [])]:
        dense = (torch.randn(shape, dtype=torch.float64) * 9).to(dtype)
        A = ls.tensor(torch.where(torch.rand(shape) < 0.5, 0, dense).to(dtype))
        ls.write(path, A)
        B = ls.read(path, dtype=dtype)
        assert B.shape == A.shape
        assert torch.equal(B.to_dense(), A.to_dense())


def test_scipy_reads_what_is_written(tmp_path: Path) -> None:
    dense = torch.randn(30, 30, dtype=torch.float64).relu()  # SciPy takes no rectangular ones
    ls.write(tmp_path / "a.rb", ls.tensor(dense))
    with (tmp_path / "a.rb").open() as file:
        found = scipy.io.hb_read(file)
    assert torch.equal(torch.from_numpy(found.toarray()), dense)


def test_what_scipy_writes(tmp_path: Path) -> None:
    dense = torch.randn(30, 20, dtype=torch.float64).relu()
    with (tmp_path / "a.rb").open("w") as file:
        scipy.io.hb_write(file, ls.tensor(dense).to_scipy().tocsc())
    torch.testing.assert_close(ls.read(tmp_path / "a.rb", dtype=torch.float64).to_dense(), dense)


@pytest.mark.parametrize(
    ("name", "text", "error", "message"),
    [
        (
            "a.ttx",
            f"{TENSOR} coordinate real general\n1\n",
            ls.FormatError,
            "line 2: expected the numbers of every extent",
        ),
        ("a.ttx", f"{TENSOR} coordinate real general\n2 2 2 1\n1 1 3 5\n", ls.IndexBoundsError, "line 3: index 3"),
        ("a.ttx", f"{TENSOR} coordinate real general\n2 2 2 1\n1 1 5\n", ls.FormatError, "line 3: expected 4 numbers"),
        ("a.ttx", f"{TENSOR} coordinate real symmetric\n2 2 2 0\n", ls.FormatError, "square"),
        (
            "a.ttx",
            f"{TENSOR} array real general\n99999999 99999999\n",
            ls.FormatError,
            "expected 9999999800000001 numbers",
        ),
        ("a.mtx", "%%MatrixMarket matrix array real symmetric\n99999999 99999999\n1\n", ls.FormatError, "found 1"),
        ("a.rb", TITLE, ls.FormatError, "line 1: the file ends where the numbers of lines"),
        ("a.rb", TITLE + "x\n", ls.FormatError, "line 2: expected 4 numbers of lines"),
        ("a.rb", TITLE + "3 1 1 1\nrue 2 2 2 2\n", ls.UnsupportedError, "line 3: the matrix is a sum of elements"),
        ("a.rb", TITLE + "3 1 1 1\nxua 2 2 2 0\n", ls.FormatError, "line 3: no such type: xua"),
        ("a.rb", TITLE + "3 1 1 1\nrsa 2 3 2 0\n", ls.FormatError, "is square"),
        ("a.rb", TITLE + "3 1 1 1\nrua 2 2 2 0\n(3I2) (2A2) (2F3.1)\n", ls.FormatError, r"line 4: the format \(2A2\)"),
        (
            "a.rb",
            TITLE + "3 1 1 1\nrua 2 2 2 0\n(3I2) (2I2) (2F3.1)\n 1 4 3\n",
            ls.FormatError,
            "line 5: columns begin",
        ),
        (
            "a.rb",
            TITLE + "3 1 1 1\nrua 2 2 2 0\n(3I2) (2I2) (2F3.1)\n 1 2 3\n 1 3\n",
            ls.IndexBoundsError,
            "line 6: row 3",
        ),
        ("a.rb", TITLE + "3 1 1 1\nrua 2 2 2 0\n(3I2) (2I2) (2F3.1)\n 1 2 3\n 1 2\n1.x2.5\n", ls.FormatError, "line 7"),
        (
            "a.rb",
            TITLE + "3 1 1 1\nrua 2 99999999999 2 0\n(3I2) (2I2) (2F3.1)\n 1 2 3\n",
            ls.FormatError,
            "the file ends",
        ),
    ],
)
def test_malformed(tmp_path: Path, name: str, text: str, error: type[Exception], message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(error, match=message) as found:
        ls.read(path)
    assert name in str(found.value)


def test_any_bytes_are_read_or_refused(tmp_path: Path) -> None:
    draw = random.Random(5)
    for name, text, *_ in SAMPLES:
        path = tmp_path / name
        for _ in range(150):
            data = bytearray(text.encode())
            for _ in range(draw.randint(1, 3)):
                at = draw.randrange(len(data))
                change = draw.randrange(4)
                if change == 0:
                    del data[at:]
                elif change == 1:
                    del data[at]
                elif change == 2:
                    data[at] = draw.randrange(256)
                else:
                    data[at:at] = draw.choice([b"-1", b"0", b"9" * 20, b" ", b"\n", b"(", b"e", b"I", b"."])
                if not data:
                    break
            path.write_bytes(data)
            with contextlib.suppress(ls.LibsparseError):
                assert ls.read(path).nnz >= 0


def test_only_sparse_tensors_are_written(tmp_path: Path) -> None:
    with pytest.raises(ls.DtypeError, match="SparseTensor"):
        ls.write(tmp_path / "a.ttx", torch.ones(2))  # type: ignore[arg-type]
    with pytest.raises(ls.ShapeError, match="holds a matrix"):
        ls.write(tmp_path / "a.rb", ls.tensor(torch.ones(2)))


def test_the_sums_of_tacos_qcd(tmp_path: Path) -> None:
    """Its data is in .ttx files; the cube is one that its own test leaves out."""
    (tmp_path / "theta.ttx").write_text(f"{TENSOR} coordinate real general\n3 3 4\n1 1 2\n1 3 -1\n2 2 3\n3 1 4\n")
    (tmp_path / "z.ttx").write_text(f"{TENSOR} array real general\n3\n1\n2\n3\n")
    theta, z = ls.read(tmp_path / "theta.ttx"), ls.read(tmp_path / "z.ttx")
    for given in (z, z.to_dense()):
        for factors, expected in (("theta(i,j)", 23), ("theta(i,j) * theta(i,j)", 91)):
            assert ls.evaluate(f"tau = z(i) * z(j) * {factors}", z=given, theta=theta).item() == expected
        cube = "tau = z(i) * z(j) * theta(i,j) * theta(i,j) * theta(i,j)"
        assert ls.evaluate(cube, z=given, theta=theta).item() == 305


FORKED = """
import os, sys, torch, libsparse as ls
folder = sys.argv[1]
A = ls.from_coo([[0, 2], [1, 0]], torch.tensor([0.1, 1 - 2j], dtype=torch.complex128), (3, 2))
P = ls.from_coo([[0, 2], [1, 0]], None, (3, 2))
ls.write(f"{folder}/a.mtx", A)
child = os.fork()
if child == 0:
    code = 1
    try:
        B = ls.read(f"{folder}/a.mtx", dtype=torch.complex128)
        assert B.values().tolist() == A.values().tolist() and B.indices().tolist() == A.indices().tolist()
        for name in ("p.mtx", "p.rb.gz"):
            ls.write(f"{folder}/{name}", P)
            assert ls.read(f"{folder}/{name}").indices().tolist() == P.indices().tolist()
        ls.write(f"{folder}/b.mtx", B)
        assert open(f"{folder}/a.mtx").read() == open(f"{folder}/b.mtx").read()
        open(f"{folder}/c.tns", "w").write("1 1\\n0 1\\n")
        open(f"{folder}/d.mtx", "w").write("x")
        for name, kind in (("c.tns", IndexError), ("d.mtx", ls.FormatError), ("e.mtx", FileNotFoundError)):
            try:
                ls.read(f"{folder}/{name}")
            except kind as error:
                assert name in str(error), error
            else:
                raise AssertionError(name)
        code = 0
    finally:
        os._exit(code)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_reads_and_writes(tmp_path: Path) -> None:
    """Where the compiler can't be entered, its executable reads and writes."""
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path)]
    subprocess.run(command, timeout=120, check=True)


def test_errors_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "d.mtx").mkdir()
    A = ls.from_coo([[0, 2], [1, 0]], [1.0, 2.0], (3, 2))
    with pytest.raises(IsADirectoryError, match=r"d\.mtx"):
        ls.read(tmp_path / "d.mtx")
    with pytest.raises(FileNotFoundError, match=r"none/a\.mtx"):
        ls.write(tmp_path / "none" / "a.mtx", A)
    for ending in (".mtx", ".mtx.gz"):
        (tmp_path / f"full{ending}").symlink_to("/dev/full")
        with pytest.raises(OSError, match=r"No space left.*full\.mtx"):
            ls.write(tmp_path / f"full{ending}", A)
