"""Random numbers of every dtype, and what torch computes with them."""

from __future__ import annotations

import torch

import libsparse as ls

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
HALVES = [torch.float16, torch.bfloat16]
FLOATS = [*HALVES, torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]
DTYPES = [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]
WIDE = {torch.float16: torch.float32, torch.bfloat16: torch.float32}


def numbers(shape, dtype, seed):
    """Random numbers; integers over their whole range, so that arithmetic wraps."""
    g = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.rand(shape, generator=g) < 0.6
    if dtype in INTEGERS:
        info = torch.iinfo(dtype)
        return torch.randint(info.min, info.max, shape, generator=g, dtype=dtype)
    return torch.randn(shape, generator=g, dtype=dtype)


def masked(shape, dtype, seed, density=0.4):
    """A dense tensor with many zeros."""
    there = torch.rand(shape, generator=torch.Generator().manual_seed(seed + 100)) < density
    return torch.where(there, numbers(shape, dtype, seed), torch.zeros((), dtype=dtype))


def to_dense(t):
    return t.to_dense() if isinstance(t, ls.SparseTensor) else t


def einsum(spec, *operands):
    """What torch's einsum means in one dtype: halves rounded once, booleans by or and and, integers exact."""
    dtype = operands[0].dtype
    if dtype == torch.bool:
        return torch.einsum(spec, *(x.to(torch.int64) for x in operands)) != 0
    if dtype in INTEGERS:
        return torch.einsum(spec, *(x.to(torch.int64) for x in operands)).to(dtype)
    return torch.einsum(spec, *(x.to(WIDE.get(dtype, dtype)) for x in operands)).to(dtype)


def same(got, want):
    """Integers exactly; floats to their precision."""
    got = to_dense(got)
    assert got.dtype == want.dtype
    if want.dtype.is_floating_point or want.dtype.is_complex:
        torch.testing.assert_close(got, want, equal_nan=True)
    else:
        assert torch.equal(got, want)
