"""torch's losses and similarities of tensors, as expressions of elementwise functions and reductions."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from libsparse._lang.errors import DtypeError

from .registry import implements


def _reduced(losses: Any, reduction: str) -> Any:
    if reduction == "none":
        return losses
    if reduction not in ("mean", "sum"):
        raise DtypeError(f"reduction={reduction!r}; expected none, mean or sum")
    return losses.mean() if reduction == "mean" else losses.sum()


@implements(F.mse_loss)
def mse_loss(
    input: Any,
    target: Any,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """The squares of differences; elements that are not stored count."""
    squares = torch.square(torch.sub(input, target))
    return _reduced(squares if weight is None else torch.mul(squares, weight), reduction)


@implements(F.l1_loss)
def l1_loss(
    input: Any,
    target: Any,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """The absolute values of differences; elements that are not stored count."""
    sizes = torch.abs(torch.sub(input, target))
    return _reduced(sizes if weight is None else torch.mul(sizes, weight), reduction)


@implements(F.cosine_similarity)
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The products of two tensors over a dimension, divided by their norms."""
    lengths = [torch.linalg.vector_norm(x, 2, dim).clamp_min(eps) for x in (x1, x2)]
    return torch.mul(x1, x2).sum(dim) / (lengths[0] * lengths[1])
