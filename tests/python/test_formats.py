"""Every kind of level: built, read, converted, computed with, and checked."""

from __future__ import annotations

import pickle

import pytest
import torch

import libsparse as ls

MATRICES = [
    "csr",
    "csc",
    "coo",
    "ell",
    "sell(4)",
    "sell(2,4)",
    "dia",
    "bsr(2,3)",
    "bsc(2,3)",
    "dn",
    "nn:1,0",
    "dh",
    "hh",
    "bb",
    "sb",
    "sd",
    "ph",
    "hd",
]
TENSORS = [
    "csf",
    "snd",
    "ddk(2,2)",
    "dsp",
    "ddo",
    "dhl(2)",
    "hhh:2,0,1",
    "bsb",
    "dpd",
    "ddk(2,3):1,0,2",
    "w(2)ss",
    "dw(4)s",
    "sw(3)d:2,0,1",
]


def scattered(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    values = torch.rand(shape, generator=generator)
    return values * (torch.rand(shape, generator=generator) < 0.3)


@pytest.mark.parametrize("format", MATRICES + TENSORS)
def test_a_format_holds_what_was_given(format):
    shape = (7, 9) if format in MATRICES else (3, 5, 4)
    dense = scattered(*shape)
    A = ls.tensor(dense, format)
    assert A.format == format
    assert torch.equal(A.to_dense(), dense)
    assert A.values().numel() == A.pattern.size >= A.nnz == A.indices().shape[1]
    torch.testing.assert_close(A.sum(), dense.sum())
    torch.testing.assert_close(A.sum(0), dense.sum(0))
    again = pickle.loads(pickle.dumps(A))
    assert again.format == format
    assert torch.equal(again.to_dense(), dense)


@pytest.mark.parametrize("source", ["csr", "ell", "bsr(2,3)", "hh", "dia", "bb"])
@pytest.mark.parametrize("target", MATRICES)
def test_any_format_converts_to_any_other(source, target):
    dense = scattered(7, 9)
    A = ls.tensor(dense, source)
    assert A.to_format(target).format == target
    assert torch.equal(A.to_format(target).to_dense(), dense)


@pytest.mark.parametrize("format", MATRICES)
def test_products_sums_and_gradients(format):
    dense, x = scattered(8, 8).double(), torch.rand(8, 3, dtype=torch.float64)
    A = ls.tensor(dense, format)
    other = ls.tensor(dense.flip(0), "csr")
    torch.testing.assert_close(A @ x, dense @ x)
    torch.testing.assert_close(A.T @ x, dense.T @ x)
    torch.testing.assert_close((A @ other).to_dense(), dense @ dense.flip(0))
    torch.testing.assert_close((A + other).to_dense(), dense + dense.flip(0))
    torch.testing.assert_close((other * A).to_dense(), dense * dense.flip(0))
    values = A.values().clone().requires_grad_()
    (A.with_values(values) @ x).square().sum().backward()
    reference = dense.clone().requires_grad_()
    (reference @ x).square().sum().backward()
    expected = torch.zeros_like(dense).index_put(tuple(A.indices()), reference.grad[tuple(A.indices())])
    torch.testing.assert_close(A.with_values(values.grad).to_dense(), expected)


@pytest.mark.parametrize("format", ["ell", "sell(4)", "sell(2,6)", "bsr(2,2)", "dia", "dh", "bb", "db"])
def test_a_result_in_any_format(format):
    dense = scattered(6, 8)
    A = ls.tensor(dense, "csr")
    out = ls.einsum("ij,kj->ik", A, A, format=format)
    assert out.format == format
    torch.testing.assert_close(out.to_dense(), dense @ dense.T)


def test_padding_is_no_entry():
    dense = scattered(6, 8)
    A = ls.tensor(dense, "ell").map(torch.exp)
    stored = dense != 0
    assert A.nnz == int(stored.sum())
    torch.testing.assert_close(A.to_dense(), torch.where(stored, dense.exp(), 0))
    torch.testing.assert_close(A.sum(), dense[stored].exp().sum())
    torch.testing.assert_close(A.to_format("csr").to_dense(), A.to_dense())


def test_blocks_as_torch_has_them():
    dense = torch.zeros(4, 6)
    dense[:2, 3:] = torch.arange(6.0).reshape(2, 3) + 1
    T = dense.to_sparse_bsr((2, 3))
    A = ls.from_bsr(T.crow_indices(), T.col_indices(), T.values(), T.shape)
    assert A.format == "bsr(2,3)"
    assert torch.equal(A.to_dense(), dense)
    back = A.to_torch()
    assert back.layout is torch.sparse_bsr
    assert torch.equal(back.values(), T.values())
    assert torch.equal(ls.from_torch(T).to_dense(), dense)
    assert torch.equal(ls.from_torch(dense.to_sparse_bsc((2, 3))).to_dense(), dense)
    with ls.override():
        torch.testing.assert_close(T @ torch.ones(6, 2), dense @ torch.ones(6, 2))
    with pytest.raises(ls.ShapeError, match="blocks"):
        ls.from_bsr([0, 1], [0], torch.ones(1, 2), (2, 2))


def test_scipy_has_blocks_and_diagonals():
    pytest.importorskip("scipy")
    dense = scattered(6, 8)
    for format, name in (("bsr(2,2)", "bsr"), ("dia", "dia"), ("ell", "coo")):
        made = ls.tensor(dense, format).to_scipy()
        assert made.format == name
        torch.testing.assert_close(torch.from_numpy(made.toarray()), dense)
        assert torch.equal(ls.from_scipy(made).to_dense(), dense)


@pytest.mark.parametrize(
    ("format", "pos", "crd", "error", "match"),
    [
        ("ell", [2, 1], [0, 1], ls.ShapeError, "one number"),
        ("ell", [1], [0, 2], ls.IndexBoundsError, "expected -1 <= index < 2"),
        ("ell", [2], [1, 0, 1, 1], ls.FormatError, "ascending"),
        ("ell", [2], [-1, 0, 1, 1], ls.FormatError, "-1 stands before"),
        ("sell(2)", [0, 3], [0, 1, 1], ls.FormatError, "multiple of 2"),
        ("sell(2)", [0, 4], [0, -1, 1, 1], ls.FormatError, "-1 stands before"),
        ("dia", [2], [1, 0], ls.FormatError, "ascend"),
        ("bsr(2,2)", [0, 1], [1], ls.IndexBoundsError, "counted in blocks"),
        ("bsr(2,2)", [0, 1, 1], [0], ls.ShapeError, "expected 2"),
        ("dh", [0, 2, 2], [1, 1], ls.FormatError, "distinct"),
        ("dw(2)", [0, 1, 1, 0], [0, 1, 1], ls.ShapeError, "one for every coordinate"),
        ("dw(2)", [0, 1, 1, 1], [0, 1, 1, 0], ls.FormatError, "every one once"),
        ("dw(2)", [0, 1, 1, 0], [0, 1, 1, 1], ls.FormatError, "every one once"),
        ("dw(2)", [0, 1, 1, 0], [0, 1, 1, 2], ls.IndexBoundsError, "index < 2"),
        ("dw(1)", [0, 1, 1, 0], [0, 1, 1, 0], ls.FormatError, "outside of its window"),
    ],
)
def test_arrays_that_make_no_sense(format, pos, crd, error, match):
    with pytest.raises(error, match=match):
        ls.from_levels(format, (2, 2), [None, pos], [None, crd], torch.ones(len(crd)))


@pytest.mark.parametrize(
    "text",
    [
        "bsr",
        "k(2,2)",
        "sk(2,2)",
        "dk",
        "dk(0,1)",
        "dl",
        "sell(x)",
        "dk(4,4",
        "d(3)",
        "sell(4,6)",
        "sell(0,0)",
        "w",
        "w(2)o",
        "csf:",
        "csf:0,0",
        "coo:1,2",
        "csr:0",
        "ds:1,0:1,0",
    ],
)
def test_formats_that_mean_nothing(text):
    with pytest.raises(ls.FormatError):
        ls.Format(text)


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("csf:2,1,0", "sss:2,1,0"),
        ("csf:0", "s"),
        ("coo:1,0", "uq:1,0"),
        ("COO : 2, 0, 1", "ucq:2,0,1"),
        ("dense:1,0", "dd:1,0"),
        ("csr:1,0", "csc"),
        ("dcsr:1,0", "dcsc"),
        ("ell:1,0", "dp:1,0"),
        ("bsr(4,2):1,0", "dk(4,2):1,0"),
        ("sell:1,0", "dl(32):1,0"),
    ],
)
def test_names_with_a_mode_order(name: str, letters: str) -> None:
    assert ls.Format(name) == ls.Format(letters)
    shape = tuple(range(3, 3 + len(ls.Format(name).order)))
    A = scattered(*shape)
    assert torch.equal(ls.tensor(A, format=name).to_dense(), A)


@pytest.mark.parametrize("name", ["csc:1,0", "csc:", "dcsc:0,1", "bsc(2,2):0,1"])
def test_names_with_an_order_of_their_own_take_none(name: str) -> None:
    with pytest.raises(ls.FormatError, match="an order of its own"):
        ls.Format(name)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (37, 53)])
@pytest.mark.parametrize(
    "format",
    ["dp", "dl(4)", "dh", "do", "dk(3,2)", "sp", "ph", "l(2)p:1,0", "hh", "dp:1,0", "sell(4,16)", "w(7)s:1,0", "dw(5)"],
)
def test_kernels_lay_levels_out_as_users_have_to(format: str, shape: tuple[int, int]) -> None:
    """The arrays that compiled conversions make pass the checks of what users hand over."""
    plain = torch.randn(*shape) * (torch.rand(*shape) < 0.3)
    laid = ls.tensor(plain, format=format)
    again = ls.from_levels(format, shape, laid.pattern.pos, laid.pattern.crd, laid.values())
    torch.testing.assert_close(again.to_dense(), plain)
    torch.testing.assert_close(laid.to_format("csr").to_dense(), plain)


def test_sorted_rows_need_less_padding() -> None:
    """Slices of rows of about the same length are as wide as those, and kernels read them as they are."""
    plain = torch.zeros(64, 64)
    for i in range(64):
        plain[i, : 1 + 60 * (i % 8 == 0)] = torch.rand(1 + 60 * (i % 8 == 0))
    sliced, narrow = ls.tensor(plain, "sell(8)"), ls.tensor(plain, "sell(8,64)")
    assert narrow.values().numel() * 4 < sliced.values().numel()
    assert narrow.format == "w(64)l(8)" == ls.Format("sell(8,64)")
    assert ls.Format("sell(8,1)") == "sell(8)"
    x = torch.rand(64)
    torch.testing.assert_close(narrow @ x, plain @ x)
    loops = str(ls.explain("ij,j->i", narrow, x))
    assert "converted" not in loops
    assert "A0_crd1[A0_p1]" in loops


@pytest.mark.parametrize("format", ["w(3)d", "w(2)w(4):1,0"])
def test_results_that_are_dense_but_for_their_order(format: str) -> None:
    """What such a format is made from is a strided tensor."""
    plain = scattered(5, 6)
    A = ls.tensor(plain, format)
    for out in (A + A.to_format("csr"), ls.einsum("ij->ij", ls.tensor(2 * plain), format=format)):
        assert out.format == format
        torch.testing.assert_close(out.to_dense(), 2 * plain)


@pytest.mark.parametrize("format", ["sell(4)", "sell(2,4)", "bsr(2,2)", "dia"])
def test_constructors_follow_values_through_layouts(format: str) -> None:
    """Autograd goes through the conversion that a constructor makes."""
    values = torch.rand(3, dtype=torch.float64, requires_grad=True)
    ls.from_coo([[4, 0, 4], [1, 2, 1]], values, (5, 4), format=format).to_dense().square().sum().backward()
    twice = 2 * (values[0] + values[2]).detach()
    torch.testing.assert_close(values.grad, torch.stack([twice, 2 * values.detach()[1], twice]))


@pytest.mark.parametrize("format", ["dh", "db"])
def test_products_look_coordinates_up(format: str) -> None:
    """What can be asked for a coordinate is neither converted nor walked."""
    A, B = (torch.randn(40, 50) * (torch.rand(40, 50) < 0.3) for _ in range(2))
    a, b = ls.tensor(A, format="csr"), ls.tensor(B, format=format)
    torch.testing.assert_close(ls.einsum("ij,ij->ij", a, b).to_dense(), A * B)
    assert "converted" not in str(ls.explain("ij,ij->ij", a, b, stage="schedule"))
    assert "at A1.2" in str(ls.explain("ij,ij->ij", a, b, stage="lattices"))


def test_tables_in_which_kernels_would_not_find_what_is_stored_are_refused() -> None:
    """A table of a hashed level has a power of two of places, one of them free, and coordinates where they hash to."""
    pos, crd = torch.tensor([0, 4], dtype=torch.int32), torch.full((4,), -1, dtype=torch.int32)
    good = ls.tensor(torch.tensor([0.0, 0.0, 3.0, 4.0]), format="h")
    assert good.pattern.crd[0] is not None
    moved = good.pattern.crd[0].roll(1)
    for bad_pos, bad_crd, message in (
        (pos, moved, "not looked for"),
        (pos, torch.arange(4, dtype=torch.int32), "is full"),
        (torch.tensor([0, 3], dtype=torch.int32), crd[:3], "power of two"),
    ):
        with pytest.raises(ls.FormatError, match=message):
            ls.from_levels("h", (4,), [bad_pos], [bad_crd], torch.zeros(bad_crd.numel()))


@pytest.mark.parametrize(
    ("format", "strides"), [("dense", (4, 1)), ("dd", (4, 1)), ("dd:1,0", (1, 3)), ("dense:1,0", (1, 3))]
)
def test_dense_formats_are_strided_tensors(format, strides):
    dense = torch.tensor([[0, 1.0, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0]])
    index = dense.nonzero().T
    values = dense[index[0], index[1]]
    for made in (
        ls.tensor(dense, format=format),
        ls.from_coo(index, values, (3, 4), format=format),
        ls.tensor(dense).to_format(format),
    ):
        assert type(made) is torch.Tensor
        assert made.stride() == strides
        assert torch.equal(made, dense)


@pytest.mark.parametrize(("rows", "columns"), [(1, 5), (15, 16), (16, 16), (17, 5), (40, 33), (100, 100)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int32])
def test_diagonals_that_leave_the_matrix_within_a_vector(rows, columns, dtype):
    dense, row = torch.zeros(rows, columns), torch.arange(rows)
    for offset in (1 - rows, -16, -2, 0, 1, 16, columns - 1):
        inside = row[(row + offset >= 0) & (row + offset < columns)]
        dense[inside, inside + offset] = torch.randint(1, 9, (len(inside),)).float()
    A, x = ls.tensor(dense.to(dtype)).to_format("dia"), torch.randint(-5, 6, (columns,)).to(dtype)
    want = dense.double() @ x.double()
    for threads in (1, 3):
        with ls.options(num_threads=threads):
            torch.testing.assert_close((A @ x).double(), want, rtol=1e-2, atol=0)
