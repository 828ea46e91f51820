"""What is derived from a pattern and kept with it: what it takes, and how much it may."""

import pytest
import torch

import libsparse as ls


@pytest.fixture
def matrix():
    return ls.random((300, 200), density=0.05)


def test_names_bytes_and_seconds(matrix):
    assert len(matrix.pattern.derived) == 0
    assert repr(matrix.pattern.derived) == "nothing"
    matrix.to_format("csc")
    matrix.indices()
    found = matrix.pattern.derived
    assert {"format csc", "coordinates"} <= set(found)
    assert found["coordinates"].bytes == 2 * 8 * matrix.nnz
    assert found["format csc"].bytes >= 4 * (200 + 1) + 2 * 4 * matrix.nnz  # and the permutation of the values
    assert found["format csc"].seconds > 0
    assert found.bytes == sum(derivation.bytes for derivation in found.values())
    with pytest.raises(KeyError):
        found["format csf"]


def test_results_of_calls(matrix):
    square = matrix @ matrix.T
    (name,) = (n for n in matrix.pattern.derived if n.startswith("result of"))
    assert matrix.pattern.derived[name].bytes == sum(a.nbytes for a in square.pattern.tensors())


def test_transposes_share_arrays(matrix):
    assert matrix.T.nnz == matrix.nnz
    assert matrix.pattern.derived.bytes == 0


def test_bound(matrix):
    x = torch.rand(200, 8)
    wanted = matrix.to_dense() @ x
    with ls.options(derived_bytes=0):
        for format in ("csc", "coo", "dcsr"):
            assert matrix.to_format(format).to_format("csr").pattern.nnz == matrix.nnz
            assert list(matrix.pattern.derived) == [f"format {format}"]  # the one that was just built
        torch.testing.assert_close(matrix @ x, wanted)
    matrix.to_format("csc")
    matrix.indices()
    assert {"format csc", "coordinates"} <= set(matrix.pattern.derived)


def test_dropped_arrays_are_freed(matrix):
    x = torch.rand(200, 8, requires_grad=True)
    wanted = torch.autograd.grad((matrix.to_dense() @ x).square().sum(), x)[0]
    for _ in range(3):  # prepared calls hold arrays of the format that the gradient is computed in
        torch.testing.assert_close(torch.autograd.grad((matrix @ x).square().sum(), x)[0], wanted)
    matrix.to_format("csc")
    with ls.options(derived_bytes=0):
        matrix.to_format("coo")
        assert not matrix.pattern.calls
        assert not matrix.pattern.fast
        torch.testing.assert_close(torch.autograd.grad((matrix @ x).square().sum(), x)[0], wanted)


def test_explain(matrix):
    matrix.to_format("csc")
    account = str(ls.explain("ij,j->i", matrix, torch.ones(200), measure=False))
    assert "derived and kept" in account
    assert "format csc" in account


@pytest.mark.parametrize(("wrong", "error"), [(-1, ls.FormatError), ("1 GB", ls.DtypeError), (True, ls.DtypeError)])
def test_wrong_bounds(wrong, error):
    with pytest.raises(error, match="derived_bytes"):
        ls.options(derived_bytes=wrong)
