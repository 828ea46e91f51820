"""What is drawn: arguments of other types raised errors of torch and Python, and NumPy's numbers were refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("dtype", [float, np.float32, "float32"])
def test_dtype_of_random(dtype: Any) -> None:
    with pytest.raises(ls.DtypeError, match=r"expected a torch\.dtype"):
        ls.random((3, 4), 0.5, dtype=dtype)


def test_dtype_of_random_without_kernels() -> None:
    with pytest.raises(ls.UnsupportedError, match="float8_e5m2 is not supported"):
        ls.random((3, 4), 0.5, dtype=torch.float8_e5m2)


@pytest.mark.parametrize("density", [np.float32(0.5), np.float16(0.5)])
def test_density_of_numpy(density: Any) -> None:
    assert ls.random((3, 4), density).nnz == 6


def test_arguments_of_samples() -> None:
    A: Any = ls.eye(3)
    for fanouts, generator, text in ((2, None, "fanouts is a int"), ([2], 3, "generator is a int")):
        with pytest.raises(ls.DtypeError, match=text):
            ls.sampling.neighbors(A, [1], fanouts, generator=generator)  # type: ignore[arg-type]
    with pytest.raises(ls.DtypeError, match="nodes is a slice"):
        ls.sampling.subgraph(A, slice(2))
