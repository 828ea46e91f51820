"""Bad input gets a typed error that names the operand, and leaves everything usable."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

CROW, COL, VALUES = [0, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0]


def a():
    return ls.from_csr(CROW, COL, VALUES, (2, 3))


@pytest.mark.parametrize(
    ("crow", "col", "values", "shape", "error", "match"),
    [
        ([0, 2, 3], [0, 3, 1], VALUES, (2, 3), ls.IndexBoundsError, r"^col\[1\] is 3.*csr"),
        ([0, 2, 3], [0, -1, 1], VALUES, (2, 3), ls.IndexBoundsError, "-1"),
        ([0, 3, 2], COL, VALUES, (2, 3), ls.FormatError, r"^crow\[2\] is 2"),
        ([1, 2, 3], COL, VALUES, (2, 3), ls.FormatError, "start at 0"),
        ([0, 2, 2], COL, VALUES, (2, 3), ls.FormatError, "expected 3"),
        ([0, 2, 3], [2, 0, 1], VALUES, (2, 3), ls.FormatError, "entry 1.*comes after"),
        ([0, 2, 3], [2, 2, 1], VALUES, (2, 3), ls.FormatError, "twice"),
        ([0, 3], COL, VALUES, (2, 3), ls.ShapeError, "expected 3"),
        ([0, 2, 3], COL, VALUES[:2], (2, 3), ls.ShapeError, "values"),
        ([0, 2, 3], COL, VALUES, (2, 3, 4), ls.FormatError, "shape is"),
        ([0, 2, 3], COL, VALUES, (-2, 3), ls.ShapeError, "negative"),
        ([0.0, 2, 3], COL, VALUES, (2, 3), ls.DtypeError, "integers"),
    ],
)
def test_from_csr(crow, col, values, shape, error, match):
    with pytest.raises(error, match=match):
        ls.from_csr(crow, col, values, shape)


def test_lengths_are_checked_without_check():
    for crow, col in (([0, 2, 9], COL), ([0, 3], COL), ([0, 2, 3], COL[:2])):
        with pytest.raises(ls.LibsparseError):
            ls.from_csr(crow, col, VALUES, (2, 3), check=False)


def test_from_coo():
    with pytest.raises(ls.IndexBoundsError, match=r"indices\[1\]\[0\] is 5"):
        ls.from_coo([[0], [5]], [1.0], (2, 3))
    with pytest.raises(ls.ShapeError, match="rows"):
        ls.from_coo([[0], [1], [0]], [1.0], (2, 3))
    with pytest.raises(ls.ShapeError):
        ls.from_coo([[0], [1]], [1.0, 2.0], (2, 3))
    with pytest.raises(ls.FormatError):
        ls.from_coo([[0], [1]], [1.0], (2, 3), reduce="median")


@pytest.mark.parametrize(
    ("format", "error"),
    [
        ("xyz", ls.FormatError),
        ("dsx", ls.FormatError),
        ("ds:0,0", ls.FormatError),
        ("dq", ls.FormatError),
        ("bsr(4,0)", ls.FormatError),
        ("ell(2)", ls.FormatError),
        ("dss", ls.FormatError),
        ("", ls.FormatError),
        ("ds:a,b", ls.FormatError),
        (3, ls.FormatError),
    ],
)
def test_formats(format, error):
    with pytest.raises(error):
        ls.tensor([[1.0, 0.0]], format)


@pytest.mark.parametrize(
    ("spec", "shapes", "error", "match"),
    [
        ("ij,jk->ik", [(4, 5)], ls.ShapeError, r"operand 1 \('jk'\).*shape \(4, 5\).*operand 0 \('ij'\).*csr"),
        ("ij,jk->ik", [(3,)], ls.ShapeError, "1 dimensions"),
        ("ij,jk->iz", [(3, 5)], ls.FormatError, "'z'"),
        ("ij,jk->ii", [(3, 5)], ls.FormatError, "twice"),
        ("ij,j1->i", [(3, 5)], ls.FormatError, "'1'"),
        ("ij->i", [(3, 5)], ls.FormatError, "1 operands"),
        ("ij,jk-ik", [(3, 5)], ls.FormatError, "-"),
        ("ii,jk->ik", [(3, 5)], ls.ShapeError, "differ"),
    ],
)
def test_einsum(spec, shapes, error, match):
    with pytest.raises(error, match=match):
        ls.einsum(spec, a(), *(torch.ones(s) for s in shapes))


def test_products():
    with pytest.raises(ls.ShapeError, match="inner extents 3 and 4"):
        a() @ torch.ones(4, 2)
    with pytest.raises(ls.DtypeError, match="list"):
        a() @ [1, 2, 3]
    with pytest.raises(ls.DtypeError):
        ls.einsum("ij,j", a(), "x")
    with pytest.raises(ls.UnsupportedError, match="uint16"):
        a().to(torch.uint16) @ torch.ones(3, 2, dtype=torch.uint16)
    with pytest.raises(ls.FormatError, match="reduce"):
        ls.matmul(a(), torch.ones(3, 2), reduce="median")
    with pytest.raises(ls.ShapeError):
        a() * torch.ones(5, 7)[:2, :2]
    torch.testing.assert_close(a() @ torch.ones(3, 2), a().to_dense() @ torch.ones(3, 2))


def test_evaluate():
    x = torch.ones(3)
    with pytest.raises(ls.FormatError, match="'x' is not given"):
        ls.evaluate("y(i) = A(i,j) * x(j)", A=a())
    with pytest.raises(ls.FormatError, match="'z' is given"):
        ls.evaluate("y(i) = A(i,j) * x(j)", A=a(), x=x, z=x)
    with pytest.raises(ls.ShapeError, match="operand 'x'"):
        ls.evaluate("y(i) = A(i,j) * x(j)", A=a(), x=torch.ones(4))
    with pytest.raises(ls.FormatError):
        ls.evaluate("A(i,j) * x(j)", A=a(), x=x)


def test_values():
    with pytest.raises(ls.ShapeError, match="3 entries"):
        a().with_values(torch.ones(4))
    with pytest.raises(ls.DtypeError):
        a().with_values(None).requires_grad_()
    with pytest.raises(ls.DtypeError):
        ls.from_mask(torch.ones(2, 2))


def test_error_classes():
    assert issubclass(ls.ShapeError, ValueError)
    assert issubclass(ls.IndexBoundsError, IndexError)
    assert issubclass(ls.DtypeError, TypeError)
    assert issubclass(ls.UnsupportedError, NotImplementedError)
    for error in (ls.ShapeError, ls.FormatError, ls.ToolchainError, ls.InternalError):
        assert issubclass(error, ls.LibsparseError)
    assert issubclass(ls.LibsparseError, RuntimeError)
