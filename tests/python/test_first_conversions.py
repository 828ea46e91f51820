"""First conversions of a pattern bring values over with coordinates; later ones take values from places."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from libsparse._runtime import conversion as runtime
from libsparse._storage import conversion

import libsparse as ls

DTYPES = (torch.float32, torch.float64, torch.float16, torch.int32, torch.int64, torch.uint8, torch.complex64)
SHAPES = ((300, 200), (1, 40000), (40000, 1), (40000, 3), (5, 9000))


def _matrix(
    shape: tuple[int, int], dtype: torch.dtype, index: torch.dtype = torch.int32
) -> tuple[ls.SparseTensor, sp.csr_array]:
    S = sp.random_array(shape, density=0.7 if min(shape) < 10 else 0.4, format="csr", rng=np.random.default_rng(0))
    S.data = np.arange(1.0, S.nnz + 1) % 251
    S.sort_indices()
    arrays = torch.from_numpy(S.indptr).to(index), torch.from_numpy(S.indices).to(index)
    columns = shape[1] if index == torch.int32 else 2**31 + 9
    A = ls.from_csr(*arrays, torch.from_numpy(S.data).to(dtype), (shape[0], columns))
    assert A.nnz >= conversion._MANY
    return A, S


def _same(found: ls.SparseTensor, expected: sp.csr_array | sp.csc_array) -> None:
    pos, crd = found.pattern.compressed(1)
    assert torch.equal(pos.long(), torch.from_numpy(expected.indptr).long())
    assert torch.equal(crd.long(), torch.from_numpy(expected.indices).long())
    assert torch.equal(
        found.values().double() if not found.is_complex() else found.values().real.double(),
        torch.from_numpy(expected.data),
    )


@pytest.mark.filterwarnings("ignore:.*ComplexHalf")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_columns_of_rows(shape, dtype, threads):
    A, S = _matrix(shape, dtype)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        first = A.to_format("csc")
        for found in (first, A.to_format("csc"), A.with_values(A.values().clone()).to_format("csc")):
            _same(found, S.tocsc())
            assert found.pattern is first.pattern
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_rows_of_transposes(dtype):
    A, S = _matrix((300, 200), dtype)
    first = A.T.to_format("csr")
    assert first.format == "csr"
    assert first.shape == (200, 300)
    for found in (first, A.T.to_format("csr"), A.to_format("csc").T):
        _same(found, S.T.tocsr())
        assert found.pattern is first.pattern
    _same(first.T.to_format("csr"), S)


def test_indices_of_64_bits():
    A, S = _matrix((300, 200), torch.float32, torch.int64)
    for _ in range(2):
        turned = A.T.to_format("dcsr")
        assert turned.pattern.index_dtype == torch.int64
        assert torch.equal(turned.values().double(), torch.from_numpy(S.tocsc().data))


def test_of_order_three():
    A = ls.random((30, 40, 50), 0.4)
    turned = [A.permute(2, 0, 1).to_format("csf") for _ in range(3)]
    for found in turned:
        assert torch.equal(found.to_dense(), A.to_dense().permute(2, 0, 1))


def test_gradients_and_repeated_values():
    A, _ = _matrix((300, 200), torch.float64)
    weight = torch.randn(A.nnz, dtype=torch.float64)
    wanted = None
    for _ in range(3):
        leaf = A.clone().requires_grad_()
        (leaf.to_format("csc").values() * weight).sum().backward()
        wanted = leaf.grad.values() if wanted is None else wanted
        assert torch.equal(leaf.grad.values(), wanted)
    B, _ = _matrix((300, 200), torch.float64)
    B.to_format("csc")
    leaf = B.clone().requires_grad_()
    (leaf.to_format("csc").values() * weight).sum().backward()
    assert torch.equal(leaf.grad.values(), wanted)


def test_places_are_found_when_they_are_needed():
    A, S = _matrix((300, 200), torch.float32)
    first = A.to_format("csc")
    assert list(A.pattern.derived) == ["format csc"]
    alone = A.pattern.derived.bytes
    assert alone == sum(a.nbytes for a in first.pattern.tensors())
    assert A.pattern.converted(first.format).source is not None
    assert A.pattern.derived.bytes == alone + 4 * A.nnz
    x = torch.rand(300)
    torch.testing.assert_close(A.T @ x, torch.from_numpy(S.T.astype(np.float32) @ x.numpy()))


def test_entries_that_stay_in_order():
    A, S = _matrix((300, 200), torch.float32)
    for format in ("coo", "dcsr"):
        found = A.to_format(format)
        assert found.values().data_ptr() == A.values().data_ptr()
        _same(found.to_format("csr"), S)


def test_watched_by_torch():
    A, S = _matrix((300, 200), torch.float32)
    with torch.inference_mode():
        _same(A.to_format("csc"), S.tocsc())
    _same(A.to_format("csc"), S.tocsc())
    B = A.with_values(A.values().neg())
    _same(B.to_format("csc").neg(), S.tocsc())
    C, _ = _matrix((300, 200), torch.complex64)
    _same(C.conj().to_format("csc"), S.tocsc())


def test_fill_values():
    A, _ = _matrix((300, 200), torch.float32)
    B = torch.exp(A.neg())
    assert B.fill_value == 1
    for _ in range(2):
        found = B.to_format("csc")
        assert found.fill_value == 1
        assert torch.equal(found.to_dense(), B.to_dense())


@pytest.mark.parametrize(
    "format", ["bsr(2,2)", "bsr(3,5)", "ell", "sell(32)", "sell(8)", "sd", "ds:1,0", "dcsc", "ss:1,0"]
)
@pytest.mark.parametrize("shape", [(300, 200), (1, 40000), (40000, 1), (9000, 3)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
def test_formats_with_padding(format, shape, dtype):
    A, S = _matrix(shape, dtype)
    wanted = torch.from_numpy(S.toarray()).to(dtype)
    B = A.with_values(A.values() + 1)
    first = A.to_format(format)
    for found in (first, A.to_format(format), B.to_format(format).with_values(first.values())):
        assert torch.equal(found.values(), first.values())
        assert found.pattern is first.pattern
        assert torch.equal(found.to_dense(), wanted)
    moved = B.to_format(format)
    assert torch.equal(moved.to_dense(), B.to_dense())
    leaf = A.double().requires_grad_()
    leaf.to_format(format).sum().backward()
    assert bool((leaf.grad.values() == 1).all())


@pytest.mark.parametrize("format", ["bsr(2,2)", "ell"])
def test_padding_of_fill_values(format):
    A, _ = _matrix((300, 200), torch.float32)
    B = torch.exp(A.neg())
    for _ in range(2):
        assert torch.equal(B.to_format(format).to_dense(), B.to_dense())


def test_entries_of_blocks():
    A, _ = _matrix((300, 200), torch.float32)
    blocks = A.to_format("bsr(2,2)")
    for format in ("csr", "csc", "bsr(4,4)", "coo", "ell"):
        for _ in range(2):
            assert torch.equal(blocks.to_format(format).to_dense(), A.to_dense())


def test_without_a_compiler(monkeypatch):
    moved = runtime._moved

    def of_numbers(pattern, values, format):
        if values.dtype == torch.int64:
            raise ls.ToolchainError("there is none")
        return moved(pattern, values, format)

    A, S = _matrix((300, 200), torch.float64)
    monkeypatch.setattr(runtime, "_moved", of_numbers)
    for _ in range(2):
        _same(A.to_format("csc"), S.tocsc())
