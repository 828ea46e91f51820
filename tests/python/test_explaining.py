"""What `explain` says, and the statistics of patterns it is taken from."""

from __future__ import annotations

import html.parser
import re
from pathlib import Path

import pytest
import torch
from libsparse._compiler import kernel, target
from libsparse._storage import conversion, sorting, statistics

import libsparse as ls


class Balanced(html.parser.HTMLParser):
    """Reads HTML and notes what is opened, closed and said."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.data = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.data += data


@pytest.mark.compiler
def test_every_section():
    a, x = ls.random((200, 100), 0.1), torch.rand(100, 16)
    text = str(ls.explain("ij,jk->ik", a, x))
    for name in ("call", "notation", "formats", "schedule", "loops", "c", "time"):
        assert f"== {name} ==\n" in text
    assert "A0: 200 x 100, csr, torch.float32, 2000 entries (0.1)" in text
    assert 'A0: "ds" of f32  (given)' in text
    assert "(inferred)" in text
    orders = [line for line in text.splitlines() if line.startswith("# ") and line.rstrip(" <-chosen")[-5:] in ORDERS]
    assert len(orders) == 6
    assert sum("<- chosen" in line for line in orders) == 1
    assert "not measured" in text
    assert "at best" in text


ORDERS = {"i j k", "i k j", "j i k", "j k i", "k i j", "k j i"}


@pytest.mark.compiler
def test_times_of_what_has_run():
    a, x = ls.random((200, 100), 0.1), torch.rand(100, 16)
    a @ x
    assert "of the machine's limit" in ls.explain("ij,jk->ik", a, x)
    assert "not measured" in ls.explain("ij,jk->ik", a, torch.rand(100, 8))
    assert "not measured" in ls.explain("ij,jk->ik", a, x, measure=False)
    assert "of the machine's limit" in ls.explain("ij,jk->ik", a, a.T, measure=True)
    assert "of the machine's limit" in ls.explain(
        "y(i) = A(i,j) * x(j) + b(i)", A=a, x=x[:, 0], b=a.sum(1), measure=True
    )


@pytest.mark.compiler
def test_html_is_escaped_and_folds():
    a, x = ls.random((20, 20), 0.2), torch.rand(20)
    explained = ls.explain("y(i) = A(i,j) * x(j)", A=a, x=x)
    page = Balanced(explained._repr_html_())
    assert not page.open
    assert page.seen.count("details") == page.seen.count("summary") == explained.count("\n== ") + 1
    assert "for (int64_t i = 0; i < n_i; i++)" in page.data or "i < i_end; i++" in page.data
    assert "<int" not in explained._repr_html_().replace("<pre>", "")
    assert "<pre>" in ls.explain("y(i) = A(i,j) * x(j)", A=a, x=x, stage="c")._repr_html_()


def test_statistics_of_rows():
    rows = torch.tensor([0] * 64 + [1] * 3 + [3] * 2 + [9])
    columns = torch.cat([torch.arange(64), torch.arange(3), torch.arange(2), torch.tensor([70])])
    a = ls.from_coo(torch.stack([rows, columns]), torch.ones(70), (10, 100))
    found = a.pattern.statistics
    assert found.lengths.tolist() == [64, 3, 0, 2, 0, 0, 0, 0, 0, 1]
    assert (found.longest, found.empty, found.bandwidth) == (64, 6, 63)
    assert found.half == pytest.approx(0.1)
    assert found.block_fill == pytest.approx(70 / 16 / 17)
    assert "64 at most" in str(found)
    assert ls.eye(8).pattern.statistics.block_fill == 0.25


def test_scattered_entries_are_found_by_a_sample():
    scattered, band = ls.random((3000, 3000), 0.002), torch.arange(3000)
    assert scattered.pattern.statistics.scattered
    rows, columns = band.repeat_interleave(4), (band[:, None] + torch.arange(4)).flatten().remainder(3000)
    assert not ls.from_coo(torch.stack((rows, columns)), torch.ones(12000), (3000, 3000)).pattern.statistics.scattered
    assert not ls.random((10, 10), 0.5).pattern.statistics.scattered
    B = torch.rand(3000, 64)
    assert re.search(r"prefetch\(j, 16(, begin)?\)", str(ls.explain("ij,jk->ik", scattered, B)))
    torch.testing.assert_close(scattered @ B, scattered.to_dense() @ B)


@pytest.mark.parametrize("wide", [False, True])
def test_merges_have_branches_where_a_sample_foretells_them(wide):
    crow, col = (a.long() if wide else a.int() for a in ls.random((2003, 2003), 0.005).pattern.tensors())
    values, shape = torch.rand(len(col)), (2003, 2004)
    A, moved = ls.from_csr(crow, col, values, shape), ls.from_csr(crow, col + 1, values, shape)
    other = ls.random(shape, 0.005)
    assert A.pattern.statistics.foretells(moved.pattern.statistics)
    assert A.pattern.statistics.foretells(A.pattern.statistics)
    assert not A.pattern.statistics.foretells(other.pattern.statistics)
    assert "without branches" not in str(ls.explain("C(i,j) = A(i,j) + B(i,j)", A=A, B=moved))
    assert "without branches" in str(ls.explain("C(i,j) = A(i,j) + B(i,j)", A=A, B=other))
    for B in moved, other:
        torch.testing.assert_close((A + B).to_dense(), A.to_dense() + B.to_dense())


def test_one_operand_with_most_of_the_entries_foretells_a_merge():
    few, many = ls.random((3000, 3000), 0.0004), ls.random((3000, 3000), 0.02)
    assert many.pattern.statistics.foretells(few.pattern.statistics)
    assert "without branches" not in str(ls.explain("C(i,j) = A(i,j) + B(i,j)", A=few, B=many))
    three, others = (ls.from_coo(torch.randint(3000, (2, 9000)), torch.rand(9000), (3000, 3000)) for _ in range(2))
    assert not three.pattern.statistics.foretells(others.pattern.statistics)
    assert "without branches" in str(ls.explain("C(i,j) = A(i,j) + B(i,j)", A=three, B=others))
    torch.testing.assert_close((few + many).to_dense(), few.to_dense() + many.to_dense())
    torch.testing.assert_close((three + others).to_dense(), three.to_dense() + others.to_dense())
    empty, far = few[:, :0], ls.from_coo(torch.tensor([[2000], [1]]), torch.ones(1), (30000, 60))
    assert empty.pattern.statistics.foretells(empty.pattern.statistics) is None
    many = ls.random((30000, 60), 0.1)
    assert many.pattern.statistics.foretells(far.pattern.statistics) is None  # no row that is looked at has both


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_rows_of_lengths_that_nobody_foresees_are_summed_by_their_lengths(index):
    lengths = torch.arange(70000) * 7 % 20
    crow = torch.cat((torch.zeros(1, dtype=torch.int64), lengths.cumsum(0))).to(index)
    col = torch.cat([torch.arange(n) * 3 for n in lengths]).to(index)
    A, x = ls.from_csr(crow, col, torch.rand(len(col)), (70000, 60)), torch.rand(60)
    assert A.pattern.statistics.uneven
    assert "order(i, A0)" in str(ls.explain("ij,j->i", A, x))
    torch.testing.assert_close(A @ x, A.to_dense() @ x)
    assert sorted(conversion.rows_by_length(A.pattern).tolist()) == list(range(70000))
    few = A[:20000]  # so few that processors learn them
    assert not few.pattern.statistics.uneven
    even = ls.from_csr(torch.arange(0, 700001, 10), torch.arange(10).repeat(70000), torch.rand(700000), (70000, 60))
    assert not even.pattern.statistics.uneven


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("width", [2, 7, 16, 20, 32])
def test_narrow_products_visit_rows_by_their_lengths(dtype, width):
    lengths = torch.arange(5000) * 7 % 19  # some are empty
    crow = torch.cat((torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)))
    col = torch.cat([torch.arange(n) * 3 for n in lengths])
    A = ls.from_csr(crow, col, torch.rand(len(col), dtype=dtype), (5000, 60))
    x = torch.rand(60, width, dtype=dtype)
    assert A.pattern.statistics.ragged
    short = width * dtype.itemsize <= 128
    assert ("order(i, A0)" in str(ls.explain("ij,jk->ik", A, x))) == short
    torch.testing.assert_close(A @ x, A.to_dense() @ x)
    even = ls.from_csr(torch.arange(0, 50001, 10), torch.arange(10).repeat(5000), torch.rand(50000), (5000, 60))
    assert not even.pattern.statistics.ragged
    assert not A[:4000].pattern.statistics.ragged  # processors learn them


def banded(rows: int, offsets: tuple[int, ...]) -> ls.SparseTensor:
    """A matrix with entries on diagonals, the ends of which are in no column."""
    row = torch.arange(rows).repeat_interleave(len(offsets))
    col = row + torch.tensor(offsets).repeat(rows)
    inside = (col >= 0) & (col < rows)
    return ls.from_coo(torch.stack((row[inside], col[inside])), torch.rand(int(inside.sum())), (rows, rows))


@pytest.mark.parametrize(
    ("format", "dtype"),
    [
        *((format, torch.float32) for format in ("sell(8)", "sell(32)", "sell(4)", "sell(8,64)", "ell")),
        *((format, torch.float64) for format in ("sell(8)", "sell(4)", "ell")),
    ],
)
def test_neighbouring_columns_of_neighbouring_rows_are_read_at_once(format, dtype):
    A = banded(2003, (-40, -1, 0, 1, 40)).to(dtype)
    some = torch.cat([A, ls.random((9, 2003), 0.05, dtype=dtype, format="csr")])
    for matrix in (A, some):
        assert matrix.pattern.statistics.adjacent
        B, x = matrix.to_format(format), torch.rand(2003, dtype=dtype)
        assert B.pattern.statistics.adjacent
        if format != "sell(4)":
            assert "adjacent(j)" in str(ls.explain("ij,j->i", B, x))
        assert torch.equal(B @ x, matrix @ x)
    scattered = ls.random((2003, 2003), 0.005)
    assert not scattered.pattern.statistics.adjacent
    assert not scattered.to_format(format).pattern.statistics.adjacent
    assert not ls.random((5, 5), 0.5).pattern.statistics.adjacent


def test_samples_are_alike_without_c(monkeypatch):
    patterns = [ls.random((n, m), 0.02, format=f).pattern for n, m in ((700, 900), (3000, 200)) for f in ("csr", "csc")]
    in_c = [statistics._neighbours(p.crd[1], above) for p in patterns for above in (0, 3, 32)]
    monkeypatch.setattr(sorting, "in_c", lambda: None)
    assert in_c == [statistics._neighbours(p.crd[1], above) for p in patterns for above in (0, 3, 32)]


def test_rows_are_ordered_alike_without_c(monkeypatch):
    A = ls.random((300, 90), 0.1)
    in_c = conversion.rows_by_length(A.pattern)
    monkeypatch.setattr(sorting, "in_c", lambda: None)
    without, pos = sorting.by_length(A.pattern.pos[1]), A.pattern.pos[1]
    for window in range(0, 300, 64):
        of_window = slice(window, window + 64)
        assert sorted(without[of_window].tolist()) == sorted(in_c[of_window].tolist())
        longest_first = pos.diff()[without[of_window]]
        assert bool((longest_first.diff() <= 0).all())


def test_spread_of_entries():
    a = torch.zeros(20, 10)
    a[0, :] = 1
    a[5:10, 4] = 1
    found = ls.tensor(a).pattern.statistics
    assert found.skew == pytest.approx(((100 + 5) * 20 / 15**2, (36 + 9) * 10 / 15**2))
    assert found.reach == pytest.approx((9 + 1.5 + 1 + 0.5 + 0 + 0.5) / 6 / 10)
    assert ls.eye(8).pattern.statistics.reach == 0
    assert ls.tensor(torch.zeros(3, 4)).pattern.statistics.skew == ()
    cube = ls.random((6, 5, 4), 0.3).pattern.statistics
    assert len(cube.skew) == 1
    assert cube.reach is None


@pytest.mark.compiler
@pytest.mark.parametrize("format", ["dcsr", "csc", "coo", "ell", "bsr(2,2)", "ds:1,0"])
def test_statistics_of_other_formats(format):
    a = ls.random((12, 9), 0.2).to_format(format)
    text = str(a.pattern.statistics)
    assert a.pattern.statistics.longest <= 12
    assert ("entries a row" in text) == (format in ("dcsr", "csc", "ds:1,0"))


@pytest.mark.compiler
def test_statistics_of_slices_and_of_nothing():
    t = ls.random((6, 5, 4), 0.3)
    assert int(t.pattern.statistics.lengths.sum()) == t.nnz
    nothing = ls.from_coo(torch.zeros(2, 0, dtype=torch.long), torch.zeros(0), (5, 5)).pattern.statistics
    assert (nothing.longest, nothing.empty, str(nothing)) == (0, 5, "")


def test_nothing_is_scanned_twice(monkeypatch):
    a = ls.from_coo(torch.tensor([[0, 0, 2], [1, 2, 0]]), torch.ones(3), (3, 3))
    assert "_statistics" in type(a.pattern).__slots__
    assert a.pattern._statistics is None
    found = a.pattern.statistics
    assert found.longest == 2
    monkeypatch.setattr(torch.Tensor, "diff", None)
    monkeypatch.setattr(torch.Tensor, "max", None)
    assert a.pattern.statistics is found
    assert found.longest == 2


@pytest.mark.compiler
def test_what_is_known_before_a_run():
    """The bytes of a result with an operand's pattern are its entries, never the volume."""
    mask, q = ls.random((3000, 3000), 1e-4), torch.rand(3000, 4)
    products = [ls.explain("ij,ik,jk->ij", mask, q, q), ls.explain("ij,jk->ik", mask, q)]
    assert all("at best" in text for text in products)
    assert "MB at" not in products[0]
    assert "at best" not in ls.explain("ij,jk->ik", mask, mask)


@pytest.mark.compiler
def test_explain():
    a, x = ls.tensor(torch.eye(3)), torch.ones(3, 2)
    whole = ls.explain("ij,jk->ik", a, x)
    assert "kernel_compute" in whole
    assert len(ls.explain("ij,jk->ik", a, x, stage="c")) < len(whole)
    assert "<pre>" in whole._repr_html_()
    a @ x
    request, loaded = kernel.known()[-1]
    assert request.text
    assert Path(loaded.source).exists()


@pytest.mark.parametrize(("columns", "ahead"), [(64, 16), (128, 12), (256, 6)])
def test_wide_rows_are_brought_near_later(columns: int, ahead: int) -> None:
    torch.manual_seed(0)
    places = torch.randperm(2000 * 2000)[:20_000].sort().values
    A = ls.from_coo(torch.stack([places // 2000, places % 2000]), torch.rand(20_000), (2000, 2000), format="csr")
    X = torch.rand(2000, columns)
    # Narrower vectors come to tiles of fewer columns, in which wider rows of X are not brought near.
    there = target.level() == "x86-64-v4" or (target.level() == "x86-64-v3" and columns == 64)
    found = re.findall(r"prefetch\(j, (\d+)(?:, begin)?\)", str(ls.explain("ij,jk->ik", A, X)))
    assert {*found} == ({str(ahead)} if there else set())
    for rows in (A, A[:3], A[1990:]):  # of 3 and 10 rows, the last of which have fewer entries behind them than that
        torch.testing.assert_close(rows @ X, rows.to_dense() @ X)


def test_few_entries_at_the_end_are_brought_near() -> None:
    X = torch.rand(5000, 64)
    for lengths in ([5000], [3, 5000], [4997, 0, 3, 0], [1] * 7):  # of rows; kernels are those of long matrices, too
        crow = torch.tensor([0, *lengths]).cumsum(0)
        columns = torch.cat([torch.randperm(5000)[:n].sort().values for n in lengths])
        A = ls.from_csr(crow, columns, torch.rand(len(columns)), (len(lengths), 5000))
        S = ls.schedule("ij,jk->ik", A, X).then(
            "reorder(i, j, k)\nbound(k, 64)\nprecompute(all, w, at=1, tile)\nprefetch(j, 16)\nvectorize(k)"
        )
        torch.testing.assert_close(S.run(), A.to_dense() @ X, rtol=1e-4, atol=1e-3)
