"""Schedules by hand: the scheduling language from Python, its results against dense torch, its errors."""

from __future__ import annotations

import pytest
import torch
from covering import pairs
from libsparse.__main__ import main

import libsparse as ls

pytestmark = pytest.mark.compiler


def matrix(rows: int, columns: int, format: str = "csr", density: float = 0.2) -> tuple[ls.SparseTensor, torch.Tensor]:
    """A random matrix twice."""
    plain = torch.randn(rows, columns, dtype=torch.float64) * (torch.rand(rows, columns) < density)
    return ls.tensor(plain, format=format), plain


SPMV = {
    "rows": "split(i, i0, i1, 16); parallelize(i0, threads)",
    "entries": "fuse(i, j, f); pos(f, p, A0); split(p, p0, p1, 8); parallelize(p0, threads, {race})",
    "lanes": "precompute(all, w, at=1, tile); prefetch(j, 4); vectorize(j); parallelize(i, threads)",
    "ahead": "precompute(all, w, at=1, tile); ahead(j, A0, 512); vectorize(j); unroll(i, 4); parallelize(i, threads)",
    "ordered": "precompute(all, w, at=1, tile); order(i, A0); vectorize(j); unroll(i, 2); parallelize(i, threads)",
    "columns": "split(j, j0, j1, 5); reorder(j0, i, j1); parallelize(j0, threads, {race})",
    "divided": "divide(i, i0, i1, 3); precompute(all, w, at=2, tile); unroll(j, 4); parallelize(i0, threads)",
}


@pytest.mark.parametrize(
    ("name", "shape", "race"), pairs(list(SPMV), [(17, 23), (1, 1), (64, 0), (300, 200)], ["atomics", "temporary"])
)
def test_products_with_vectors(shape: tuple[int, int], name: str, race: str) -> None:
    A, plain = matrix(*shape)
    x = torch.randn(shape[1], dtype=torch.float64)
    found = ls.schedule("ij,j->i", A, x).then(SPMV[name].format(race=race)).run()
    torch.testing.assert_close(found, plain @ x)


@pytest.mark.parametrize("race", ["atomics", "temporary"])
@pytest.mark.parametrize("name", ["entries", "columns"])
def test_several_threads_on_the_same_elements(name: str, race: str) -> None:
    """Large enough for threads to be worth their while."""
    A, plain = matrix(700, 900, density=0.5)
    x = torch.randn(900, dtype=torch.float64)
    made = ls.schedule("ij,j->i", A, x).then(SPMV[name].format(race=race))
    with ls.options(num_threads=8):
        for _ in range(5):
            torch.testing.assert_close(made.run(), plain @ x)


def test_the_example_of_the_documentation() -> None:
    A, plain = matrix(40, 30)
    B = torch.randn(30, 100, dtype=torch.float64)
    made = ls.schedule("ij,jk->ik", A, B).split("k", "k0", "k1", 64).reorder("i", "k0", "j", "k1").parallelize("i")
    torch.testing.assert_close(made.run(), plain @ B)
    assert str(made) == "split(k, k0, k1, 64); reorder(i, k0, j, k1); parallelize(i, threads)"
    assert "forall k0" in made.explain("scheduled")
    assert "#pragma omp parallel" in made.explain()


def test_names_are_those_of_the_expression() -> None:
    A, plain = matrix(12, 9)
    x = torch.randn(9, dtype=torch.float64)
    by_letter = ls.schedule("rc,c->r", A, x).pos("c", "p", "A0").parallelize("r")
    torch.testing.assert_close(by_letter.run(), plain @ x)
    by_name = ls.schedule("y(row) = M(row,col) * v(col)", M=A, v=x).pos("col", "p", "M").parallelize("row")
    torch.testing.assert_close(by_name.run(), plain @ x)


def test_sparse_results() -> None:
    (A, a), (B, b) = matrix(20, 15), matrix(15, 18)
    product = ls.schedule("ij,jk->ik", A, B, format="csr").reorder("i", "j", "k").precompute("all", "w", 1, "row")
    found = product.assemble("insert").parallelize("i").run()
    assert str(found.format) == "csr"
    torch.testing.assert_close(found.to_dense(), a @ b)


@pytest.mark.parametrize("extent", [16, 17, 3, 1])
@pytest.mark.parametrize("width", [4, 5])
def test_loops_that_fill_a_workspace_have_names_of_their_own(extent: int, width: int) -> None:
    b, c = torch.randn(2, extent, dtype=torch.float64)
    begun = ls.schedule("a(i) = b(i) * c(i)", b=b, c=c).bound("i", extent)
    made = begun.precompute("all", "w", 0, rename={"i": "iw"}).split("iw", "iw0", "iw1", width).vectorize("i")
    torch.testing.assert_close(made.run(), b * c)
    assert str(made).startswith(f"bound(i, {extent}); precompute(all, w, at=0, rename=i:iw); split(iw, ")
    scheduled = str(made.explain("scheduled"))
    assert "forall i on lanes" in scheduled
    assert "rename i = iw" in scheduled
    A, plain = matrix(extent, 9)
    B = torch.randn(9, 6, dtype=torch.float64)
    product = ls.schedule("ij,jk->ik", A, B).precompute("all", "w", 0, "array", {"i": "iw", "k": "kw"})
    made = product.reorder("j", "kw").parallelize("iw").split("k", "k0", "k1", width).reorder("k0", "i", "k1")
    torch.testing.assert_close(made.run(), plain @ B)
    norm = ls.schedule("a = b(i) * c(i)", b=b, c=c).precompute("all", "w", 0, rename={"i": "iw"}).parallelize("iw")
    torch.testing.assert_close(norm.run(), b @ c)


def test_temporaries_make_sums_repeatable() -> None:
    A, _ = matrix(500, 400, density=0.3)
    x = torch.randn(400, dtype=torch.float64)
    made = ls.schedule("ij,j->i", A, x).fuse("i", "j", "f").pos("f", "p", "A0").parallelize("p", "temporary")
    first = made.run()
    for _ in range(5):
        assert torch.equal(made.run(), first)


def test_errors_say_which_command_and_why() -> None:
    A, _ = matrix(10, 8)
    x = torch.randn(8, dtype=torch.float64)
    begun = ls.schedule("ij,j->i", A, x)
    for made, kind, text in [
        (begun.pos("j", "p", "A1"), ls.UnsupportedError, r"pos\(j, p, A1\): j is dense in A1"),
        (begun.reorder("j", "i"), ls.UnsupportedError, r"reorder\(j, i\): .*order in which A0"),
        (begun.parallelize("j"), ls.UnsupportedError, r"parallelize\(j, threads\): iterations over j write the same"),
        (begun.split("i", "i", "i1", 4), ls.UnsupportedError, "i is already a variable"),
        (begun.precompute("all", "w", 0, rename={"k": "kw"}), ls.UnsupportedError, "no variable k to rename"),
        (begun.precompute("all", "w", 0, rename={"i": "j"}), ls.UnsupportedError, "j is already a variable"),
        (begun.precompute("all", "w", 1, rename={"i": "u"}), ls.UnsupportedError, "not computed by a loop over i"),
        (begun.precompute("all", "w", 0, rename={"i": "i w"}), ls.FormatError, '"w" is no pair of names'),
        (begun.then("splice(i)"), ls.FormatError, 'there is no command "splice"'),
        (begun.then("split(i, i0)"), ls.FormatError, "a variable is missing"),
        (
            begun.split("i", "a", "b", 16, tail=16).precompute("all", "w", 2),
            ls.ShapeError,
            "does not suit the operands",
        ),
    ]:
        with pytest.raises(kind, match=text):
            made.run()
    with pytest.raises(ls.ShapeError, match="the operands have extent 10"):
        begun.bound("i", 11)
    with pytest.raises(ls.ShapeError, match=r"bound\(i, 11, 15\): the operands have extent 10"):
        begun.bound("i", 11, 15)
    with pytest.raises(ls.UnsupportedError, match="the least extent comes first"):
        begun.bound("i", 15, 9).run()
    assert torch.equal(begun.bound("i", 9, 15).run(), begun.run())
    with pytest.raises(ls.UnsupportedError, match="takes several steps"):
        ls.schedule("y(i) = A(i,j) * x(j) + b(i)", A=A, x=x, b=torch.ones(10, dtype=torch.float64)).run()


@pytest.mark.parametrize(
    ("text", "format", "commands"),
    [
        ("ij,jk->ik", None, "split(k, k0, k1, 2); reorder(i, k0, j, k1); parallelize(i, threads)"),
        ("ij,ik,jk->ij", "csr", "reorder(i, j, k)"),
        ("out(i,k) = A0(i,j) * exp(A1(j,k))", None, "parallelize(i, threads)"),
    ],
)
def test_gradients_follow_a_schedule(text: str, format: str | None, commands: str) -> None:
    A = ls.random((10, 7), 0.4, dtype=torch.float64)
    dense = [torch.randn(7, 3, dtype=torch.float64).requires_grad_()]
    if "ik,jk" in text:
        dense.insert(0, torch.randn(10, 3, dtype=torch.float64).requires_grad_())

    def run(values: torch.Tensor, *dense: torch.Tensor) -> torch.Tensor:
        operands = (A.with_values(values), *dense)
        if "=" in text:
            made = ls.schedule(text, A0=operands[0], A1=operands[1], format=format)
        else:
            made = ls.schedule(text, *operands, format=format)
        out = made.then(commands).run()
        return out.values() if isinstance(out, ls.SparseTensor) else out

    values = A.values().clone().requires_grad_()
    assert torch.autograd.gradcheck(run, (values, *dense))


@pytest.mark.parametrize(("reduce", "fill"), [("max", -float("inf")), ("sum", 0)])
def test_fill_values_are_those_of_einsum(reduce: str, fill: float) -> None:
    A = ls.tensor([[1.0, 0.0], [0.0, 0.0]])
    made = ls.schedule("ij,jk->ik", A, A, format="csr", reduce=reduce).reorder("i", "j", "k")
    assert made.precompute("all", "w", 1, "list").run().fill_value == fill
    assert ls.einsum("ij,jk->ik", A, A, format="csr", reduce=reduce).fill_value == fill


def test_the_command_line_takes_a_schedule(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "ij,j->i",
        "csr:20x30",
        "dense:30",
        "--stage",
        "scheduled",
        "--schedule",
        "pos(j, p, A0); unroll(p, 4)",
    ]
    assert main(["explain", *arguments]) == 0
    assert "forall p unrolled 4" in capsys.readouterr().out
    assert main(["explain", *arguments[:-1], "pos(i, p, A0)"]) == 1
    assert "i is dense in A0" in capsys.readouterr().err


def test_converted_operands() -> None:
    A, B = ls.random((40, 30), 0.2, format="csr"), torch.rand(30, 8)
    made = ls.schedule("ij,jk->ik", A, B).convert("A0", "csc").reorder("j", "i", "k")
    assert str(made) == "convert(A0, ds:1,0); reorder(j, i, k)"
    torch.testing.assert_close(made.run(), A.to_dense() @ B)
    hashed = ls.schedule("ij,j->i", A.to_format("dh"), B[:, 0]).convert("A0", "csr")
    torch.testing.assert_close(hashed.run(), A.to_dense() @ B[:, 0])


@pytest.mark.parametrize(
    ("operand", "format", "message"),
    [("A1", "csr", "stays dense"), ("X", "csr", "no operand X"), ("A0", "dd", "a sparse one sparse")],
)
def test_conversions_that_are_refused(operand: str, format: str, message: str) -> None:
    A, B = ls.random((40, 30), 0.2, format="csr"), torch.rand(30, 8)
    with pytest.raises(ls.UnsupportedError, match=message):
        ls.schedule("ij,jk->ik", A, B).convert(operand, format).run()


def test_conversion_of_the_pattern_of_the_result() -> None:
    A, B = ls.random((40, 30), 0.2, format="csr"), torch.rand(40, 30)
    with pytest.raises(ls.UnsupportedError, match="has the pattern of A0"):
        ls.schedule("ij,ij->ij", A, B).convert("A0", "csc").run()


def test_prepared_and_automatic() -> None:
    A, B = ls.random((40, 30), 0.2, format="csr"), torch.rand(30, 8)
    made = ls.schedule("ij,jk->ik", A, B).convert("A0", "csc").reorder("j", "i", "k")
    for compute in (made.prepare(), made.automatic()):
        for _ in range(2):
            torch.testing.assert_close(compute(), A.to_dense() @ B)
    assert made.request()["spec"] == "ij,jk->ik"


@pytest.mark.parametrize("densities", [(0.001, 0.5), (0.5, 0.001), (0.3, 0.3), (0.0, 1.0)])
def test_galloping(densities: tuple[float, float]) -> None:
    """A few coordinates are searched for among many."""
    plain = [torch.randn(20_000, dtype=torch.float64) * (torch.rand(20_000) < d) for d in densities]
    a, b = (ls.tensor(p) for p in plain)
    torch.testing.assert_close(ls.schedule("i,i->", a, b).mergeby("i", "gallop").run(), plain[0] @ plain[1])
    product = ls.schedule("i,i->i", a, b, format="s").mergeby("i", "gallop").run()
    torch.testing.assert_close(product.to_dense(), plain[0] * plain[1])


def test_galloping_needs_an_intersection() -> None:
    A, _ = matrix(20, 15)
    with pytest.raises(
        ls.UnsupportedError, match=r"mergeby\(j, gallop\): the loop over j visits what one level stores"
    ):
        ls.schedule("ij,j->i", A, torch.ones(15, dtype=torch.float64)).mergeby("j", "gallop").run()
    with pytest.raises(ls.UnsupportedError, match="what any of them stores"):
        ls.schedule("C(i,j) = A(i,j) + B(i,j)", A=A, B=A.to_format("dcsr")).mergeby("j", "gallop").run()
