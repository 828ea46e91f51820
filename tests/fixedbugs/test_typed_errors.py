"""What users hand over by mistake gets an error of libsparse."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: ls.from_levels("csr", (2, 2), None, None, [1.0]), ls.ShapeError),
        (lambda: ls.from_csr([0, 1, 1], [0], ["a"], (2, 2)), ls.DtypeError),
        (lambda: ls.from_csr([0, 1, 1], ["x"], [1.0], (2, 2)), ls.DtypeError),
        (lambda: ls.from_coo(None, None, (2, 2)), ls.DtypeError),
    ],
)
def test_constructors(make, error):
    with pytest.raises(error):
        make()


@pytest.mark.parametrize("format", ["csr", "csc", "sd", "bd", "db"])
@pytest.mark.parametrize(("indices", "shape"), [([[-2, 3], [5, 4]], (0, 0)), ([[7], [8]], (2, 2))])
def test_indices_that_nobody_checked(format, indices, shape):
    """Positions are counted by them: torch's own error came through. Others of them are the caller's affair."""
    with pytest.raises(ls.IndexBoundsError, match="check=True"):
        ls.from_coo(indices, [1.0] * len(indices[0]), shape, format=format, check=False)


def test_lists_for_topk():
    assert ls.from_topk([[0, 2]], [[1.0, 2.0]], 3).to_dense().tolist() == [[1, 0, 2]]


def test_dtypes_that_nothing_promotes_to(dense):
    x = torch.ones(3, 2, dtype=torch.float8_e5m2)
    with pytest.raises(ls.UnsupportedError, match="float8"):
        ls.tensor(dense) @ x


def test_details_are_said_once(monkeypatch, tmp_path, dense):
    for name in ("LIBSPARSE_CC", "CC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with ls.options(cache_dir=tmp_path), pytest.raises(ls.ToolchainError) as failed:
        ls.einsum("ij,jk->k", ls.tensor(dense), torch.ones(3, 23))
    assert str(failed.value).count("looked for cc") == 1


@pytest.mark.parametrize(
    ("text", "command", "said"),
    [
        ("ij->", "assemble(append)", "out is a single value"),
        ("ij,jk->ik", "precompute(all, w, at=3, adaptive)", '"adaptive" needs a variable'),
    ],
)
def test_words_of_refused_commands(dense, text, command, said):
    operands = [ls.tensor(dense), torch.ones(3, 2)][: text.count(",") + 1]
    schedule = ls.schedule(text, *operands).then(command)
    with pytest.raises(ls.UnsupportedError, match=said):
        schedule.run()


@pytest.mark.parametrize("dim", [1.5, "x", (0, 1)])
def test_dimensions_of_softmax_that_are_no_ints(dense, dim):
    """A fraction was cut off, so that the softmax was over another dimension."""
    A = ls.tensor(dense)
    for function in (A.softmax, A.log_softmax):
        with pytest.raises(ls.DtypeError, match="expected an int"):
            function(dim)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda A: A.set_diag(1j), ls.DtypeError),
        (lambda A: A.norm([]), ls.DtypeError),
        (lambda A: A.norm({}), ls.DtypeError),
        (lambda A: A.norm(2j), ls.DtypeError),
        (lambda A: ls.from_coo([[0], [0]], [1.0], (1, 1), reduce=[]), ls.FormatError),
        (lambda A: ls.linalg.solve(A, np.array(["a"])), ls.DtypeError),
        (lambda A: ls.linalg.solve(A, np.ones(3, np.longdouble)), ls.DtypeError),
    ],
)
def test_arguments_of_other_types(call, error):
    with pytest.raises(error):
        call(ls.tensor(torch.eye(3)))


@pytest.mark.parametrize("q", [torch.ones(2, 3, 4), ls.tensor(torch.ones(2, 3, 4))])
def test_masks_of_fewer_dimensions_than_factors(q):
    """The message was one of einsum, in names that nobody had written."""
    with pytest.raises(ls.ShapeError, match=r"mask .* has 2 dimensions, q 3 and kt 2; expected a mask of as many"):
        ls.sddmm(ls.eye(3), q, torch.ones(4, 3))
