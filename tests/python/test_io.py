"""Files: what is written comes back, and malformed ones are errors that name the line."""

from __future__ import annotations

import contextlib
import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st
from libsparse._storage import memory

import libsparse as ls


def dense(A: ls.SparseTensor) -> torch.Tensor:
    """Without a kernel, so that these tests don't depend on the compiler."""
    return torch.sparse_coo_tensor(A.indices().long(), A.values(), A.shape).to_dense()


def save(path: Path, text: str) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


HEADER = "%%MatrixMarket matrix"

# field, symmetry, body, expected matrix
COORDINATE = [
    ("real", "general", "2 3 3\n1 1 1.5\n2 3 -2e1\n1 2 3\n", [[1.5, 3, 0], [0, 0, -20]]),
    ("integer", "general", "2 2 1\n2 1 7\n", [[0, 0], [7, 0]]),
    ("real", "symmetric", "2 2 2\n1 1 4\n2 1 5\n", [[4, 5], [5, 0]]),
    ("integer", "skew-symmetric", "2 2 1\n2 1 5\n", [[0, -5], [5, 0]]),
    ("real", "hermitian", "2 2 1\n2 1 5\n", [[0, 5], [5, 0]]),
    ("complex", "general", "2 2 1\n2 1 5 -1\n", [[0, 0], [5 - 1j, 0]]),
    ("complex", "hermitian", "2 2 2\n1 1 4 0\n2 1 5 -1\n", [[4, 5 + 1j], [5 - 1j, 0]]),
    ("complex", "skew-symmetric", "2 2 1\n2 1 5 1\n", [[0, -5 - 1j], [5 + 1j, 0]]),
    ("real", "general", "2 2 2\n1 1 1\n1 1 2\n", [[3, 0], [0, 0]]),
    ("real", "general", "% a comment\n\n  2 2 1  \n\n% more\n1 2 3.25\n\n", [[0, 3.25], [0, 0]]),
    ("real", "general", "3 2 0\n", [[0, 0], [0, 0], [0, 0]]),
]


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz"])
@pytest.mark.parametrize(("field", "symmetry", "body", "expected"), COORDINATE)
def test_matrix_market_coordinate(tmp_path, ending, field, symmetry, body, expected):
    A = ls.read(save(tmp_path / f"a{ending}", f"{HEADER} coordinate {field} {symmetry}\n{body}"))
    assert A.format == "csr"
    wanted = {"integer": torch.int64, "complex": torch.complex64}
    assert A.dtype == wanted.get(field, torch.get_default_dtype())
    assert torch.equal(dense(A), torch.tensor(expected, dtype=A.dtype))


@pytest.mark.parametrize(
    ("symmetry", "body", "expected"),
    [
        ("general", "2 3\n1\n0\n3\n4\n5\n6\n", [[1, 3, 5], [0, 4, 6]]),
        ("symmetric", "2 2\n1\n2\n3\n", [[1, 2], [2, 3]]),
        ("skew-symmetric", "3 3\n1\n2\n3\n", [[0, -1, -2], [1, 0, -3], [2, 3, 0]]),
    ],
)
def test_matrix_market_array(tmp_path, symmetry, body, expected):
    A = ls.read(save(tmp_path / "a.mtx", f"{HEADER} array real {symmetry}\n{body}"))
    assert torch.equal(dense(A), torch.tensor(expected, dtype=A.dtype))


def test_zeros_in_the_file_stay_for_coordinates_only(tmp_path):
    assert ls.read(save(tmp_path / "a.mtx", f"{HEADER} coordinate real general\n1 1 1\n1 1 0\n")).nnz == 1
    assert ls.read(save(tmp_path / "b.mtx", f"{HEADER} array real general\n1 1\n0\n")).nnz == 0


def test_pattern_files_have_no_values_unless_asked(tmp_path):
    path = save(tmp_path / "a.mtx", f"{HEADER} coordinate pattern symmetric\n2 2 1\n2 1\n")
    assert ls.read(path).dtype == torch.bool
    A = ls.read(path, dtype=torch.float64, format="csc")
    assert A.format == "csc"
    assert torch.equal(dense(A), torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64))


def test_float64_is_read_in_full(tmp_path):
    path = save(tmp_path / "a.mtx", f"{HEADER} coordinate real general\n1 1 1\n1 1 0.1234567890123456789\n")
    assert ls.read(path, dtype=torch.float64).values().item() == 0.1234567890123456789
    assert ls.read(path).dtype == torch.float32


def test_large_integers_are_exact(tmp_path):
    path = save(tmp_path / "a.mtx", f"{HEADER} coordinate integer general\n1 1 1\n1 1 9007199254740993\n")
    assert ls.read(path).values().item() == 9007199254740993


MALFORMED = [
    ("", "line 1", ls.FormatError),
    ("%%MatrixMarket vector coordinate real general\n", "line 1", ls.FormatError),
    (f"{HEADER} coordinate real sideways\n1 1 0\n", "line 1", ls.FormatError),
    (f"{HEADER} coordinate complex general\n1 1 1\n1 1 1\n", "line 3: expected 4 numbers", ls.FormatError),
    (f"{HEADER} coordinate real general\n", "line 2", ls.FormatError),
    (f"{HEADER} coordinate real general\n2 2\n", "line 2", ls.FormatError),
    (f"{HEADER} coordinate real general\n2 2 2\n1 1 1\n", "ends after 1 entries", ls.FormatError),
    (f"{HEADER} coordinate real general\n2 2 1\n1 1 1\n2 2 2\n", "2 entries", ls.FormatError),
    (f"{HEADER} coordinate real general\n2 2 2\n1 1 1\n2 2\n", "line 4: expected 3 numbers", ls.FormatError),
    (f"{HEADER} coordinate real general\n2 2 2\n1 1 1\n% c\n2 2 1 1\n", "line 5: expected 3 numbers", ls.FormatError),
    (f"{HEADER} coordinate real general\n2 2 1\n1 1 x\n", "line 3: expected a number", ls.FormatError),
    (f"{HEADER} coordinate integer general\n2 2 1\n1 1 1.5\n", "line 3: expected an integer", ls.FormatError),
    (f"{HEADER} coordinate integer general\n2 2 1\n1 1 99999999999999999999\n", "line 3", ls.FormatError),
    (f"{HEADER} coordinate real general\n2 2 1\n1.0 1 1\n", "line 3: expected an integer", ls.FormatError),
    (f"{HEADER} coordinate real general\n2 2 1\n3 1 1\n", "line 3: index 3", ls.IndexBoundsError),
    (f"{HEADER} coordinate real general\n2 2 1\n1 0 1\n", "line 3: index 0", ls.IndexBoundsError),
    (f"{HEADER} coordinate real symmetric\n2 3 1\n1 1 1\n", "square", ls.FormatError),
    (f"{HEADER} coordinate real skew-symmetric\n2 2 1\n1 1 1\n", "diagonal", ls.FormatError),
    (f"{HEADER} array real general\n2 2\n1\n2\n3\n", "expected 4 numbers", ls.FormatError),
]


@pytest.mark.parametrize(("text", "message", "kind"), MALFORMED)
def test_malformed_files_say_where(tmp_path, text, message, kind):
    path = save(tmp_path / "bad.mtx", text)
    with pytest.raises(kind, match=message) as caught:
        ls.read(path)
    assert str(path) in str(caught.value)


@given(st.binary(max_size=200))
def test_no_bytes_do_anything_but_fail_cleanly(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("bytes")
    for ending in (".mtx", ".tns", ".npz", ".mtx.gz"):
        path = folder / f"a{ending}"
        path.write_bytes((b"%%MatrixMarket matrix coordinate real general\n" if ending == ".mtx" else b"") + data)
        with contextlib.suppress(ls.LibsparseError):
            ls.read(path)


def test_tns(tmp_path):
    path = save(tmp_path / "t.tns.gz", "# a comment\n1 2 3 1.5\n\n4 1 1 2\n1 2 3 1\n")
    T = ls.read(path)
    assert tuple(T.shape) == (4, 2, 3)
    assert T.format == "csf"
    expected = torch.zeros(4, 2, 3)
    expected[0, 1, 2], expected[3, 0, 0] = 2.5, 2
    assert torch.equal(dense(T), expected)
    assert tuple(ls.read(path, shape=(5, 5, 5)).shape) == (5, 5, 5)
    with pytest.raises(ls.IndexBoundsError, match="line 4: index 4"):
        ls.read(path, shape=(3, 3, 3))
    with pytest.raises(ls.FormatError, match="line 2"):
        ls.read(path, shape=(3, 3))
    with pytest.raises(ls.FormatError, match="no entries"):
        ls.read(save(tmp_path / "e.tns", "# nothing\n"))
    assert ls.read(tmp_path / "e.tns", shape=(2, 3)).nnz == 0


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz", ".tns", ".tns.gz", ".npz", ".npz.gz"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.int32])
def test_what_is_written_comes_back(tmp_path, ending, dtype):
    torch.manual_seed(0)
    values = (torch.randn(5, dtype=torch.float64) * 1e3).to(dtype)
    indices = torch.tensor([[0, 1, 1, 3, 3], [2, 0, 4, 1, 4]])
    A = ls.from_coo(indices, values, (4, 5))
    ls.write(tmp_path / f"a{ending}", A)
    B = ls.read(tmp_path / f"a{ending}", dtype=dtype)
    assert tuple(B.shape) == (4, 5)
    assert torch.equal(dense(A), dense(B))


def test_patterns_and_empty_matrices_come_back(tmp_path):
    P = ls.from_coo(torch.tensor([[0, 2], [1, 0]]), None, (3, 2))
    ls.write(tmp_path / "p.mtx", P)
    assert ls.read(tmp_path / "p.mtx").dtype == torch.bool
    ls.write(tmp_path / "p.npz", P)
    assert ls.read(tmp_path / "p.npz").nnz == 2
    empty = ls.from_coo(torch.empty(2, 0, dtype=torch.int64), torch.empty(0), (3, 2))
    for ending in (".mtx", ".npz"):
        ls.write(tmp_path / f"e{ending}", empty)
        assert tuple(ls.read(tmp_path / f"e{ending}").shape) == (3, 2)


def test_stored_false_stays_false(tmp_path):
    A = ls.from_coo(torch.tensor([[0, 1], [1, 0]]), torch.tensor([True, False]), (2, 2))
    for ending in (".mtx", ".tns", ".npz"):
        ls.write(tmp_path / f"a{ending}", A)
        assert ls.read(tmp_path / f"a{ending}", dtype=torch.bool).values().tolist() == [True, False]


def test_equal_tensors_make_equal_files(tmp_path):
    A = ls.from_coo(torch.tensor([[0, 2], [1, 0]]), torch.tensor([1.0, 2.0]), (3, 2))
    for ending in (".mtx.gz", ".npz"):
        ls.write(tmp_path / f"a{ending}", A)
        ls.write(tmp_path / f"b{ending}", A)
        assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


def test_scipy_reads_our_matrix_market(tmp_path):
    A = ls.from_coo(torch.tensor([[0, 2], [1, 0]]), torch.tensor([0.1, 1e30]), (3, 2))
    ls.write(tmp_path / "a.mtx", A)
    np.testing.assert_array_equal(scipy.io.mmread(tmp_path / "a.mtx").toarray().astype(np.float32), dense(A).numpy())


def test_unknown_kinds_of_files(tmp_path):
    with pytest.raises(ls.UnsupportedError, match="mtx"):
        ls.read(tmp_path / "a.csv")
    with pytest.raises(FileNotFoundError):
        ls.read(tmp_path / "a.mtx")
    cube = ls.from_coo(torch.tensor([[0], [0], [0]]), torch.tensor([1.0]), (1, 1, 1))
    with pytest.raises(ls.ShapeError, match="matrix"):
        ls.write(tmp_path / "a.mtx", cube)


def test_entries_beyond_one_chunk(tmp_path):
    """Text is parsed in chunks of a MiB, on several threads: entries keep their order, and errors their line."""
    count = 200_000
    body = "".join(f"{i} {count + 1 - i} {i}\n" for i in range(1, count + 1))
    path = save(tmp_path / "a.mtx", f"{HEADER} coordinate integer general\n{count} {count} {count}\n{body}")
    assert path.stat().st_size > 3 << 20
    A = ls.read(path)
    assert torch.equal(A.values(), torch.arange(1, count + 1))
    assert torch.equal(A.indices()[1].long(), torch.arange(count - 1, -1, -1))
    text = path.read_text().replace("150077 49924 150077", "150077 49924 x")
    save(path, text.replace("180000 20001 180000", "180000 0 1"))
    with pytest.raises(ls.FormatError, match="line 150079"):
        ls.read(path)


def test_text_that_would_not_fit(tmp_path, monkeypatch):
    """A small compressed file may stand for more entries than there is memory for."""
    monkeypatch.setattr(memory, "available", lambda: 1 << 20)
    path = save(tmp_path / "a.tns.gz", "1 1 1\n" * 2_000_000)
    with pytest.raises(ls.FormatError, match=r"a\.tns\.gz, line \d+: .*GiB.*available"):
        ls.read(path)


def test_conjugates_are_written_as_such(tmp_path):
    """torch conjugates lazily: the memory of such values is that of others."""
    A = ls.from_coo([[0, 2], [1, 0]], torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex128).conj(), (3, 2))
    ls.write(tmp_path / "a.mtx", A.conj())
    assert ls.read(tmp_path / "a.mtx", dtype=torch.complex128).values().tolist() == [1 + 2j, 3 - 4j]
    ls.write(tmp_path / "a.mtx", A)
    assert ls.read(tmp_path / "a.mtx", dtype=torch.complex128).values().tolist() == [1 - 2j, 3 + 4j]


LINES = st.lists(
    st.tuples(
        st.sampled_from(["1", "7", "-1", "1.5", "x", "999999999999999999999", "+2", "3-4", "%"]), st.integers(1, 9)
    ),
    max_size=6,
)


@given(
    LINES, st.sampled_from(["real", "integer", "pattern"]), st.sampled_from(["\n", "\r\n", "\n\n", " \n", "\x0c\n", ""])
)
def test_lines_are_read_as_python_reads_words(tmp_path_factory, lines, field, end):
    body = "".join(f"{i} {word}{'' if field == 'pattern' else f' {word}'}{end}" for word, i in lines)
    path = save(
        tmp_path_factory.mktemp("agree") / "a.mtx", f"{HEADER} coordinate {field} general\n9 9 {len(lines)}\n{body}"
    )
    types = {"pattern": [int, int], "integer": [int, int, int], "real": [int, int, float]}[field]
    rows, wrong = [], None
    for number, words in enumerate((line.split() for line in body.split("\n")), 3):
        if not words or words[0].startswith("%"):
            continue
        try:
            row = [kind(word) for kind, word in zip(types, words, strict=True)]
            torch.tensor([number for number in row if isinstance(number, int)])  # are they of 64 bits?
        except (ValueError, RuntimeError):
            wrong = number, ls.FormatError
            break
        if not 1 <= min(row[:2]) <= max(row[:2]) <= 9:
            wrong = number, ls.IndexBoundsError
            break
        rows.append(row)
    if wrong is not None or len(rows) != len(lines):
        line, kind = wrong or ("", ls.FormatError)
        with pytest.raises(kind, match=f"line {line}" if line else "entries"):
            ls.read(path)
        return
    expected = torch.zeros(9, 9, dtype=torch.float64)
    for row, column, *value in rows:
        expected[row - 1, column - 1] += value[0] if value else 1
    found = ls.read(path, dtype=torch.float64).to_dense()
    assert torch.equal(found, expected)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128, torch.float16, torch.bfloat16], ids=str)
def test_other_dtypes_come_back(tmp_path, dtype):
    A = ls.random((5, 4), 0.4, dtype=dtype)
    for ending in (".mtx", ".npz", ".tns"):
        if (dtype, ending) == (torch.bfloat16, ".npz") or (dtype.is_complex and ending == ".tns"):
            with pytest.raises(ls.DtypeError):
                ls.write(tmp_path / f"a{ending}", A)
            continue
        ls.write(tmp_path / f"a{ending}", A)
        B = ls.read(tmp_path / f"a{ending}", dtype=dtype, shape=(5, 4))
        assert torch.equal(dense(B), dense(A))
    if dtype.is_complex:
        with pytest.raises(ls.DtypeError, match="complex"):
            ls.read(tmp_path / "a.mtx", dtype=torch.float32)
