"""Which weights of a dense layer a sparse one keeps: those of largest magnitude, alone, in blocks, or n of every m."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import libsparse as ls

from . import patterns


def entries_of(mask: Any, shape: tuple[int, int]) -> Any:
    """The entries of a mask, as a CSR matrix that is only a pattern.

    Raises:
        ShapeError: The mask has another shape.
        DtypeError: It is neither a bool tensor nor a SparseTensor.
    """
    if isinstance(mask, ls.Pattern):
        mask = ls.SparseTensor(mask, torch.ones(mask.size, device="cpu"))
    if not isinstance(mask, Tensor):
        raise ls.DtypeError(f"mask is a {type(mask).__name__}; expected a bool tensor or an ls.SparseTensor")
    if tuple(mask.shape) != shape:
        raise ls.ShapeError(
            f"mask has shape {tuple(mask.shape)}; expected (out_features, in_features), here {shape}, as weights have"
        )
    if isinstance(mask, ls.SparseTensor):
        return patterns.entries_of(mask.detach().to_format("csr"))
    return ls.from_mask(mask.bool())


def largest(weight: Tensor, density: float | None, mask: Any, block: Any, n_m: Any) -> Any:
    """The kept weights of a dense matrix, as `SparseLinear.from_dense` describes them."""
    if sum(choice is not None for choice in (density, mask, n_m)) > 1:
        raise ls.DtypeError("from_dense: give one of density=, mask= and n_m=, which say what is kept")
    if block is not None:
        if mask is not None or n_m is not None:
            raise ls.DtypeError("from_dense: block= goes with density=, or alone")
        height, width = _pair("block", block, "(height, width)")
        if min(height, width) < 1:
            raise ls.ShapeError(f"block is {block}; expected a height and a width from 1 on")
        return _blocks(weight, density, height, width)
    if mask is not None:
        kept = entries_of(mask, (weight.shape[0], weight.shape[1]))
        return kept.with_values(weight[kept.row, kept.col])
    if n_m is not None:
        return _of_every(weight, *_pair("n_m", n_m, "(n, m): of every m successive weights n are kept"))
    chosen = weight != 0 if density is None else _most(weight.abs(), density)
    pattern = ls.from_mask(chosen)
    return pattern.with_values(weight[chosen])


def norms(values: Tensor, dims: tuple[int, ...]) -> Tensor:
    """The norms of blocks over some dimensions, in float64: squares of small weights of other dtypes may be 0 there.

    Those of single elements, of which nothing is squared, are in the dtype of these.
    """
    if all(values.shape[dim] == 1 for dim in dims):
        return values.abs().reshape([n for dim, n in enumerate(values.shape) if dim not in dims])
    found: Tensor = torch.linalg.vector_norm(values.abs().double(), dim=dims)
    return found


def check_share(name: str, value: Any) -> None:
    """Checks a number from 0 to 1.

    Raises:
        DtypeError: It is no number.
        ShapeError: It is another one.
    """
    try:
        within = bool(0 <= value <= 1)
    except TypeError:
        raise ls.DtypeError(f"{name} is a {type(value).__name__}; expected a share from 0 to 1") from None
    if not within:
        raise ls.ShapeError(f"{name} is {value}; expected a share from 0 to 1")


def _pair(name: str, value: Any, expected: str) -> tuple[int, int]:
    """Two integers, as a tuple or a list."""
    if not isinstance(value, (tuple, list)) or [type(n) for n in value] != [int, int]:
        raise ls.DtypeError(f"{name} is {value!r}; expected two integers, {expected}")
    return value[0], value[1]


def _most(sizes: Tensor, density: float) -> Tensor:
    """The places of the largest numbers, a share of all."""
    check_share("density", density)
    chosen = torch.zeros(sizes.numel(), dtype=torch.bool, device="cpu")
    chosen[sizes.reshape(-1).topk(round(density * sizes.numel()), sorted=False).indices] = True
    return chosen.view_as(sizes)


def _of_every(weight: Tensor, n: int, m: int) -> Any:
    """The n largest of every m successive weights of a row."""
    if not 0 < n <= m or weight.shape[1] % m:
        raise ls.ShapeError(
            f"n_m is ({n}, {m}) for a weight of {weight.shape[1]} columns; expected 0 < n <= m, and m to divide these"
        )
    groups = weight.abs().view(weight.shape[0], -1, m)
    chosen = torch.zeros_like(groups, dtype=torch.bool).scatter_(2, groups.topk(n).indices, True).view_as(weight)
    return ls.from_mask(chosen).with_values(weight[chosen])


def _blocks(weight: Tensor, density: float | None, height: int, width: int) -> Any:
    """The blocks of largest norm, as BSR; those that are not 0 where there is no density."""
    rows, columns = weight.shape
    padded = torch.nn.functional.pad(weight, (0, -columns % width, 0, -rows % height))
    blocks = padded.view(padded.shape[0] // height, height, -1, width).transpose(1, 2)
    sizes = norms(blocks, (2, 3))
    chosen = sizes != 0 if density is None else _most(sizes, density)
    pattern = ls.from_mask(chosen)
    return ls.from_bsr(pattern.crow_indices(), pattern.col_indices(), blocks[chosen].contiguous(), (rows, columns))
