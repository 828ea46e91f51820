"""Binsparse files of complex tensors with a fill value, which could not be read."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import libsparse as ls

pytest.importorskip("binsparse")


@pytest.mark.compiler
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_fill_values_come_back(tmp_path: Path, dtype: torch.dtype) -> None:
    A = ls.tensor(torch.tensor([[1 + 2j, 0], [0, 3]], dtype=dtype)) + (2 - 1j)
    ls.write(tmp_path / "a.bsp.h5", A)
    found = ls.read(tmp_path / "a.bsp.h5")
    assert found.dtype == dtype
    assert found.fill_value == 2 - 1j
    assert torch.equal(found.to_dense(), A.to_dense())
