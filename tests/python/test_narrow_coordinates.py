"""Levels whose coordinates have 16 bits: their memory, their bound, and what reads and makes them."""

from __future__ import annotations

import io

import pytest
import torch

import libsparse as ls

FORMATS = ["dn", "dn:1,0", "nn", "sn"]


@pytest.mark.parametrize("format", FORMATS)
def test_coordinates_have_16_bits(format: str) -> None:
    A = ls.random((70, 90), 0.05)
    N = A.to_format(format)
    for level, crd in zip(N.format.levels, N.pattern.crd, strict=True):
        assert crd is None or crd.dtype == (torch.int16 if level == "n" else torch.int32)
    assert torch.equal(N.to_dense(), A.to_dense())
    assert torch.equal(N.to_format("csr").pattern.crd[1], A.pattern.crd[1])


@pytest.mark.parametrize("format", FORMATS)
def test_everything_reads_them(format: str) -> None:
    A = ls.random((70, 90), 0.05)
    N, dense, x = A.to_format(format), A.to_dense(), torch.rand(90, 5, requires_grad=True)
    torch.testing.assert_close(N @ x, dense @ x)
    torch.testing.assert_close(N.T @ torch.ones(70), dense.T @ torch.ones(70))
    torch.testing.assert_close((N @ A.T).to_dense(), dense @ dense.T)
    torch.testing.assert_close((N + A).to_dense(), 2 * dense)
    torch.testing.assert_close((N * 3).to_dense(), 3 * dense)
    torch.testing.assert_close(N.sum(1), dense.sum(1))
    torch.testing.assert_close(N[7:30, 5:].to_dense(), dense[7:30, 5:])
    torch.testing.assert_close(torch.autograd.grad((N @ x).sum(), x)[0], dense.T @ torch.ones(70, 5))
    torch.testing.assert_close(ls.einsum("ij,jk->ik", A, x.detach(), format=format).to_dense(), dense @ x.detach())


def test_the_bound_is_said() -> None:
    with pytest.raises(
        ls.FormatError, match=r"coordinates below 32768; mode 1 of shape \(10, 32769\) has extent 32769"
    ):
        ls.random((10, 32769), 0.001).to_format("dn")
    A = ls.from_coo(torch.tensor([[0, 9], [32767, 1]]), torch.ones(2), (10, 32768)).to_format("dn")
    assert torch.equal((A @ torch.arange(32768.0))[[0, 9]], torch.tensor([32767.0, 1.0]))


def test_arrays_of_users_are_checked_and_narrowed() -> None:
    pos, crd = torch.tensor([0, 1, 3]), torch.tensor([2, 0, 1])
    A = ls.from_levels("dn", (2, 3), [None, pos], [None, crd], torch.ones(3))
    assert A.pattern.crd[1].dtype == torch.int16
    assert A.to_dense().tolist() == [[0, 0, 1], [1, 1, 0]]
    with pytest.raises(ls.IndexBoundsError, match="expected 0 <= index < 3"):
        ls.from_levels("dn", (2, 3), [None, pos], [None, torch.tensor([2, 0, 3])], torch.ones(3))
    with pytest.raises(ls.FormatError, match="coordinates below 32768"):
        ls.from_levels("dn", (2, 40000), [None, pos], [None, crd], torch.ones(3))


def test_they_are_saved() -> None:
    A = ls.random((70, 90), 0.05).to_format("dn")
    file = io.BytesIO()
    torch.save(A, file)
    file.seek(0)
    B = torch.load(file)
    assert B.format == "dn"
    assert B.pattern.crd[1].dtype == torch.int16
    assert torch.equal(A.to_dense(), B.to_dense())


def test_bits_are_those_of_csr() -> None:
    A, x = ls.random((500, 900), 0.1), torch.rand(900)
    assert torch.equal(A.to_format("dn") @ x, A @ x)


def test_results_that_outgrow_them_are_wide() -> None:
    A = ls.from_coo(torch.tensor([[0, 4], [5, 32767]]), torch.ones(2), (5, 32768)).to_format("dn")
    dense, part = A.to_dense(), A[:, :300]
    for found, expected in (
        (torch.cat([A, A], 1), torch.cat([dense, dense], 1)),
        (A.repeat(1, 3), dense.repeat(1, 3)),
        (torch.block_diag(A, A), torch.block_diag(dense, dense)),
        (A.reshape(1, -1), dense.reshape(1, -1)),
        (torch.kron(part, part), torch.kron(dense[:, :300], dense[:, :300])),
    ):
        assert found.format == "csr"
        assert torch.equal(found.to_dense(), expected)
    assert torch.cat([A, A], 0).format == "dn"
