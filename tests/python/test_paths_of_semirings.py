"""Products of a semiring with several operands: they are computed step by step where the reduction distributes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import libsparse as ls

SEMIRINGS = [
    *[(reduce, "add", dtype) for reduce in ("min", "max") for dtype in (torch.float64, torch.float16)],
    *[(*lattice, dtype) for lattice in (("max", "min"), ("min", "max")) for dtype in (torch.float32, torch.int32)],
    ("or", "and", torch.bool),
]
SIZES = {"i": 300, "j": 200, "k": 160, "l": 30}
COMBINE = {"add": torch.add, "min": torch.minimum, "max": torch.maximum, "and": torch.logical_and}


def operand(indices: str, sparse: bool, dtype: torch.dtype) -> Tensor:
    shape = tuple(SIZES[i] for i in indices)
    if not sparse:
        return torch.randint(-9, 9, shape).to(dtype)
    pattern = ls.random(shape, 0.3)
    return pattern.with_values(torch.randint(-9, 9, (pattern.nnz,)).to(dtype))


def dense(tensor: Tensor, zero: float | int | bool) -> Tensor:
    """A tensor with the identity of the reduction where nothing is stored."""
    if not isinstance(tensor, ls.SparseTensor):
        return tensor
    there = tensor.with_values(torch.ones(tensor.nnz)).to_dense() > 0
    return torch.where(there, tensor.to_dense(), torch.tensor(zero, dtype=tensor.dtype))


def reduced(tensor: Tensor, reduce: str, dim: tuple[int, ...]) -> Tensor:
    if not dim:
        return tensor
    return {"min": torch.amin, "max": torch.amax, "or": torch.any}[reduce](tensor, dim)


def wanted(spec: str, operands: list[Tensor], reduce: str, combine: str) -> Tensor:
    """Combined from the right, each time reduced over what nothing before needs."""
    inputs, output = spec.split("->")
    terms = inputs.split(",")
    dtype = operands[0].dtype
    info = torch.finfo(dtype) if dtype.is_floating_point else None
    top: float | int = float("inf") if info else 0 if dtype == torch.bool else torch.iinfo(dtype).max
    low: float | int = float("-inf") if info else 0 if dtype == torch.bool else torch.iinfo(dtype).min
    zero = {"min": top, "max": low, "or": False}[reduce]
    found, have = dense(operands[-1], zero), terms[-1]
    for term, other in zip(reversed(terms[:-1]), reversed(operands[:-1]), strict=True):
        every = "".join(sorted({*term, *have}))
        left, right = (
            t.permute([names.index(i) for i in every if i in names]).reshape(
                [SIZES[i] if i in names else 1 for i in every]
            )
            for t, names in ((dense(other, zero), term), (found, have))
        )
        kept = [i for i in every if i in output or any(i in t for t in terms[: terms.index(term)])]
        found = reduced(COMBINE[combine](left, right), reduce, tuple(n for n, i in enumerate(every) if i not in kept))
        have = "".join(kept)
    return found.permute([have.index(i) for i in output])


@pytest.mark.parametrize(("reduce", "combine", "dtype"), SEMIRINGS)
@pytest.mark.parametrize(
    ("spec", "sparse"),
    [
        ("ij,jk,k->i", "110"), ("ij,jk->k", "11"), ("ij,jk->k", "10"), ("ij,jk->i", "11"), ("ij,jk,kl->il", "110"),
        ("ij,jk,kl->il", "111"), ("ij,jk,kl->", "110"),
    ],
)  # fmt: skip
def test_results(spec: str, sparse: str, reduce: str, combine: str, dtype: torch.dtype) -> None:
    terms = spec.split("->")[0].split(",")
    operands = [operand(term, s == "1", dtype) for term, s in zip(terms, sparse, strict=True)]
    found = ls.einsum(spec, *operands, reduce=reduce, combine=combine)
    torch.testing.assert_close(
        found.to_dense() if isinstance(found, ls.SparseTensor) else found, wanted(spec, operands, reduce, combine)
    )


@pytest.mark.parametrize("reduce", ["min", "max"])
def test_each_sum_has_a_gradient_of_one(reduce: str) -> None:
    A, B, x = operand("ij", True, torch.float64), operand("jk", True, torch.float64), operand("k", False, torch.float64)
    assert isinstance(A, ls.SparseTensor)
    values = A.values().clone().requires_grad_()
    y = ls.einsum("ij,jk,k->i", A.with_values(values), B, x, reduce=reduce, combine="add")
    torch.testing.assert_close(y, wanted("ij,jk,k->i", [A, B, x], reduce, "add"))
    (grad,) = torch.autograd.grad(y.sum(), values)
    torch.testing.assert_close(grad.sum(), torch.tensor(float(SIZES["i"]), dtype=torch.float64), rtol=1e-9, atol=1e-9)


def test_steps() -> None:
    A, B, x = operand("ij", True, torch.float32), operand("jk", True, torch.float32), operand("k", False, torch.float32)

    def steps(reduce: str, dtype: torch.dtype) -> int:
        operands = A.to(dtype), B.to(dtype), x.to(dtype)
        text = str(ls.explain("ij,jk,k->i", *operands, stage="steps", reduce=reduce, combine="add"))
        return len(text.strip().splitlines())

    assert steps("min", torch.float32) == 2
    assert steps("min", torch.int32) == 1  # integers wrap, so that a sum may be less than one of a lesser number
    assert steps("prod", torch.float32) == 1
