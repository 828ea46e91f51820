"""Products of sparse matrices whose rows mark their entries in a bitmap, its words, or bytes, or list them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import libsparse as ls

KINDS = {
    # rows, columns, entries a row, how far from the diagonal they are, and the workspace
    "banded": (3000, 3000, 3, 8, "bitmap"),
    "close": (3000, 3000, 24, None, "adaptive"),  # bits of all places
    "full": (3000, 3000, 40, 60, "adaptive"),  # bytes
    "few": (3000, 3000, 3, None, "adaptive"),  # a list
    "wide": (20000, 20000, 9, None, "adaptive"),  # words of bits that are marked
    "short": (20000, 20000, 3, None, "adaptive"),
}


def _matrix(rows: int, columns: int, entries: int, reach: int | None) -> sp.csr_matrix:
    """Rows of different lengths, the last one empty, and one with entries everywhere."""
    rng = np.random.default_rng(rows + entries)
    row = np.repeat(np.arange(rows), rng.integers(0, 2 * entries + 1, rows))
    column = rng.integers(0, columns, len(row))
    if reach is not None:
        column = np.clip(row + column % (2 * reach) - reach, 0, columns - 1)
    kept = row != rows - 1
    row = np.concatenate([row[kept], np.full(columns // 7, rows // 2)])
    column = np.concatenate([column[kept], np.arange(columns // 7) * 7])
    values = rng.integers(1, 4, len(row)).astype(np.float32)
    return sp.csr_matrix((values, (row, column)), shape=(rows, columns))


def _tensor(m: sp.csr_matrix) -> ls.SparseTensor:
    m.sort_indices()
    return ls.from_csr(*map(torch.from_numpy, (m.indptr.astype(np.int32), m.indices.astype(np.int32), m.data)), m.shape)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_products(kind, threads):
    """Coordinates ascend, none is missing, and sums are exact; twice, since workspaces are left empty."""
    *size, workspace = KINDS[kind]
    m = _matrix(*size)
    want = m @ m
    want.sort_indices()
    with ls.options(num_threads=threads):
        for _ in range(2):
            a = _tensor(m)
            got = a @ a
            pos, crd = got.pattern.pos[1], got.pattern.crd[1]
            assert np.array_equal(pos.numpy(), want.indptr)
            assert np.array_equal(crd.numpy(), want.indices)
            assert np.array_equal(got.values().numpy(), want.data)
    assert f"at=1, {workspace})" in str(ls.explain("ij,jk->ik", a, a))
