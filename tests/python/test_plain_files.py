"""Matrix Market files that C reads: the same tensors as those of the compiler, which reads whatever is unusual."""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import pytest
import torch
from covering import pairs
from hypothesis import given
from hypothesis import strategies as st
from libsparse._io import matrix_market
from libsparse._storage import sorting

import libsparse as ls

HEADER = "%%MatrixMarket matrix coordinate"
pytestmark = pytest.mark.skipif(matrix_market._in_c() is None, reason="built without a C compiler")


def save(path: Path, text: str) -> Path:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def is_plain(path: Path) -> bool:
    return matrix_market.read(path, torch.float64) is not None


def by_the_compiler(path: Path, monkeypatch: pytest.MonkeyPatch, **options: object) -> ls.SparseTensor:
    with monkeypatch.context() as patched:
        patched.setattr(matrix_market, "read", lambda *_: None)
        return ls.read(path, **options)


def same(A: ls.SparseTensor, B: ls.SparseTensor) -> bool:
    return (
        A.shape == B.shape
        and A.dtype == B.dtype
        and str(A.format) == str(B.format)
        and (A._operand().data is None) == (B._operand().data is None)
        and torch.equal(A.indices(), B.indices())
        and torch.equal(A.values(), B.values())
    )


def lines(field: str, order: str, count: int, size: int, lower: bool, seed: int) -> list[str]:
    rng = random.Random(seed)
    places = [(rng.randrange(size) + 1, rng.randrange(size) + 1) for _ in range(count)]
    if lower:
        places = [(max(place), min(place)) for place in places]
    if order != "repeated":
        places = list(dict.fromkeys(places))
    if order in ("rows", "columns"):
        places.sort(key=lambda place: place if order == "rows" else place[::-1])
    value = {
        "real": lambda: f" {rng.gauss(0, 10 ** rng.randrange(-4, 5))!r}",
        "integer": lambda: f" {rng.randrange(-999, 999)}",
        "pattern": lambda: "",
    }[field]
    return [f"{row} {column}{value()}\n" for row, column in places]


@pytest.mark.parametrize(
    ("order", "field", "symmetry", "ending"),
    pairs(
        ["rows", "columns", "random", "repeated"],
        ["real", "integer", "pattern"],
        ["general", "symmetric"],
        [".mtx", ".mtx.gz"],
    ),
)
def test_c_and_the_compiler_read_the_same(tmp_path, monkeypatch, ending, field, symmetry, order):
    monkeypatch.setattr(matrix_market, "_BLOCK", 5000)  # several blocks, and threads
    body = lines(field, order, 4000, 500, symmetry == "symmetric", seed=7)
    path = save(tmp_path / f"a{ending}", f"{HEADER} {field} {symmetry}\n% note\n500 500 {len(body)}\n{''.join(body)}")
    assert is_plain(path)
    for options in ({}, {"dtype": torch.float64}, {"dtype": torch.float16}, {"format": "csc"}, {"format": "coo"}):
        assert same(ls.read(path, **options), by_the_compiler(path, monkeypatch, **options))


def test_rows_that_are_many_more_than_entries(tmp_path, monkeypatch):
    path = save(tmp_path / "a.mtx", f"{HEADER} real symmetric\n1000000 1000000 2\n7 7 1\n999999 3 2\n")
    assert is_plain(path)
    assert same(ls.read(path, format="dcsr"), by_the_compiler(path, monkeypatch, format="dcsr"))
    assert ls.read(path).nnz == 3


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map("{:.25e}".format),
    st.floats(-1e9, 1e9).map("{:.6g}".format),
    st.floats(-1, 1).map("{:.18f}".format),
    st.from_regex(r"\A[+-]?[0-9]{0,22}\.?[0-9]{1,24}([eE][+-]?[0-9]{1,3})?\Z"),
    st.integers(0, 2**53).map(lambda m: f"{2 * m + 1}{'0' * 5}e-5"),  # halfway between floats, from 2**53 on
    st.sampled_from(["5e-324", "2.2250738585072011e-308", "1.7976931348623159e308", "1e400", "-1e-400", "0e999", "-0"]),
)


@given(st.lists(NUMBERS, min_size=1, max_size=30))
def test_numbers_are_the_nearest_floats(tmp_path_factory, numbers):
    body = "".join(f"{row} 1 {number}\n" for row, number in enumerate(numbers, 1))
    text = f"{HEADER} real general\n{len(numbers)} 1 {len(numbers)}\n{body}"
    path = save(tmp_path_factory.mktemp("numbers") / "a.mtx", text)
    assert is_plain(path)
    values = ls.read(path, dtype=torch.float64).values().tolist()
    assert list(map(repr, values)) == [repr(float(number)) for number in numbers]


@pytest.mark.parametrize("blanks", [" ", "\t", "   "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "  \n"])
@pytest.mark.parametrize("last", ["", "end", "end\n\n\n"])
def test_lines_of_any_writer(tmp_path, blanks, end, last):
    rows = [blanks.join(["", "1", "2", "1.5E+00"]), blanks.join(["3", "1", "-2"])]
    text = end.join(rows) + last.replace("end", end, 1)
    path = save(tmp_path / "a.mtx", f"{HEADER} real general\n\n%\n3 2 2\n{text}")
    assert is_plain(path)
    assert ls.read(path).to_dense().tolist() == [[0, 1.5], [0, 0], [-2, 0]]


@pytest.mark.parametrize(
    "line",
    [
        "1 1",
        "1 1 1 1",
        "1 1 x",
        "0 1 1",
        "1 4 1",
        "1 1 1e",
        "1 1 nan",
        "1 1 0x1p2",
        "1 1 .",
        "-1 1 1",
        "1.0 1 1",
        "% a",
        "",
    ],
)
def test_other_lines_are_the_compilers(tmp_path, line):
    path = save(tmp_path / "a.mtx", f"{HEADER} real general\n3 3 3\n1 1 1\n{line}\n2 2 2\n")
    assert not is_plain(path)


def test_damaged_files_are_the_compilers(tmp_path):
    body = "".join(lines("real", "rows", 4000, 500, False, seed=8))
    text = f"{HEADER} real general\n500 500 {body.count(chr(10))}\n{body}"
    whole = gzip.compress(text.encode())
    path = tmp_path / "a.mtx.gz"
    for data in (whole[:-9], whole[: len(whole) // 2], whole[:300] + b"x" * 20 + whole[320:], b"", whole + b"tail"):
        path.write_bytes(data)
        assert not is_plain(path)
        with pytest.raises(ls.FormatError):
            ls.read(path)
    path.write_bytes(
        gzip.compress(text[:5000].encode()) + gzip.compress(text[5000:].encode())
    )  # as pigz and bgzip write
    assert is_plain(path)
    for count in ("3", "99999", "9" * 30):
        assert not is_plain(save(tmp_path / "a.mtx", text.replace(f" {body.count(chr(10))}\n", f" {count}\n", 1)))


def test_a_forked_process_reads(tmp_path):
    path = save(tmp_path / "a.mtx", f"{HEADER} real general\n2 2 1\n2 1 7\n")
    child = os.fork()
    if child == 0:
        os._exit(0 if ls.read(path).values().tolist() == [7] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("order", ["columns", "backwards", "none"])
@pytest.mark.parametrize("density", [0.02, 0.5])
def test_entries_by_rows(threads, order, density):
    rng = torch.Generator().manual_seed(3)
    dense = torch.rand(300, 200, generator=rng) < density
    columns, rows = (a.int() for a in dense.T.nonzero(as_tuple=True))
    chosen = {"columns": torch.arange(len(rows)), "backwards": torch.arange(len(rows)).flip(0)}
    moved = chosen.get(order, torch.randperm(len(rows), generator=rng))
    rows, columns = rows[moved], columns[moved]
    for values in (None, torch.rand(len(rows)), torch.arange(len(rows))):
        pos, crd, found = sorting.by_rows(rows, columns, values, 300, False, threads)
        assert torch.equal(pos[1:].long(), dense.sum(1).cumsum(0))
        assert torch.equal(crd.long(), dense.nonzero()[:, 1])
        if values is not None:
            there = torch.zeros(300, 200, dtype=values.dtype).index_put((rows.long(), columns.long()), values)
            assert torch.equal(found, there[dense])
    assert sorting.by_rows(torch.cat([rows, rows]), torch.cat([columns, columns]), None, 300, False, threads) is None
