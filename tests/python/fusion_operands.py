"""Operands of tests of `ls.compile`."""

from __future__ import annotations

import torch

import libsparse as ls

N, K = 6, 4


def matrix(seed: int, format: str = "csr", dtype: torch.dtype = torch.float64) -> ls.SparseTensor:
    drawn = torch.Generator().manual_seed(seed)
    dense = torch.randn(N, N, generator=drawn, dtype=dtype)
    return ls.tensor(dense * (torch.rand(N, N, generator=drawn) < 0.4), format=format)


def dense(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)
