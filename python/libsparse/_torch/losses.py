"""torch's losses and similarities of tensors: elementwise functions and reductions, in which all elements count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from libsparse._lang.errors import DtypeError, FormatError, ShapeError
from libsparse._ops import agreement, pointwise
from libsparse._ops.operands import is_tensor, to_operand
from libsparse._tensor.sparse_tensor import dress

from .registry import implements, named

_LOSSES = """
mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div poisson_nll_loss
soft_margin_loss hinge_embedding_loss
"""


def _loss(function: Callable[..., Any]) -> Callable[..., Any]:
    def handler(
        input: Any,
        target: Any,
        *args: Any,
        size_average: None = None,
        reduce: None = None,
        reduction: str = "mean",
        **kwargs: Any,
    ) -> Any:
        if not is_tensor(target):
            raise DtypeError(f"{function.__name__}: target is a {type(target).__name__}; expected a tensor like input")
        losses = pointwise.apply(function.__name__, function, (input, target, *args), {**kwargs, "reduction": "none"})
        return _reduced(losses, reduction)

    handler.__name__, handler.__doc__ = function.__name__, function.__doc__
    return handler


def _reduced(losses: Any, reduction: str) -> Any:
    found = dress(losses)
    if reduction == "none":
        return found
    if reduction == "batchmean":
        return found.sum() / found.shape[0]
    if reduction not in ("mean", "sum"):
        raise FormatError(f"reduction is {reduction!r}; expected none, mean or sum")
    return found.mean() if reduction == "mean" else found.sum()


for _function in named(_LOSSES, F):
    implements(_function)(_loss(_function))


@implements(F.cosine_similarity)
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The products of two tensors over a dimension, divided by their norms."""
    shape = agreement.broadcast(x1.shape, x2.shape)
    if shape is None:
        raise ShapeError(
            f"cosine_similarity: x1 ({to_operand(x1, 'x1')}) and x2 ({to_operand(x2, 'x2')}) do not broadcast"
        )
    x1, x2 = (x if x.shape == shape else x.expand(shape) for x in (x1, x2))
    lengths = [torch.linalg.vector_norm(x, 2, dim).clamp_min(eps) for x in (x1, x2)]
    dtype = torch.promote_types(x1.dtype, x2.dtype)
    wide = torch.promote_types(dtype, torch.float64)  # products of lengths that dtype has are soon infinite, or 0
    products = torch.mul(x1.to(wide), x2.to(wide)).sum(dim)
    return (products / lengths[0].to(wide) / lengths[1].to(wide)).to(dtype)


@implements(torch.dist, torch.Tensor.dist)
def dist(input: Any, other: Any, p: float = 2) -> Any:
    """The p-norm of the difference of two tensors."""
    return torch.linalg.vector_norm(torch.sub(input, other), p)
