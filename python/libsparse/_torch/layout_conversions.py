"""torch's conversions between its sparse layouts, differentiable for each of them under `ls.enable()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from libsparse._ops import layouts
from libsparse._ops.assemble import to_format
from libsparse._ops.operands import to_operand

from .registry import implements

implements(Tensor.to_dense, layouts="raises")(lambda input, *args, **options: input.to_dense(*args, **options))
implements(Tensor.to, layouts="compressed")(lambda input, *args, **options: input.to(*args, **options))
implements(Tensor.contiguous, layouts="compressed")(lambda input, **options: input.contiguous(**options))


@implements(Tensor.values, layouts="compressed")
def values(input: Any) -> Tensor:
    """The values in the shape in which torch's layout of this format has them."""
    return layouts.shaped_values(to_operand(input))


@implements(Tensor.to_sparse, layouts="compressed")
def to_sparse(input: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, **_: Any) -> Tensor:
    """A tensor of torch's COO layout, or of another one by name."""
    source = to_operand(input)
    if blocksize is not None:
        height, width = blocksize
        source = to_format(source, f"{'bsc' if layout is torch.sparse_bsc else 'bsr'}({height},{width})")
    return layouts.write(source, layout or torch.sparse_coo)


def _conversion(layout: torch.layout) -> Callable[..., Any]:
    """The handler of the method that converts to a layout of torch's."""

    def handler(input: Any, dense_dim: None = None) -> Tensor:
        """A tensor of one of torch's layouts."""
        return layouts.write(to_operand(input), layout)

    return handler


@implements(Tensor.to_sparse_bsr, layouts="compressed")
def to_sparse_bsr(input: Any, blocksize: tuple[int, int], dense_dim: None = None) -> Tensor:
    """A tensor of torch's BSR layout with blocks of a height and width.

    Example:
        >>> ls.eye(4).to_sparse_bsr((2, 2)).values().shape
        torch.Size([2, 2, 2])
    """
    return layouts.write(to_format(to_operand(input), f"bsr({blocksize[0]},{blocksize[1]})"), torch.sparse_bsr)


@implements(Tensor.to_sparse_bsc, layouts="compressed")
def to_sparse_bsc(input: Any, blocksize: tuple[int, int], dense_dim: None = None) -> Tensor:
    """A tensor of torch's BSC layout with blocks of a height and width.

    Example:
        >>> ls.eye(4).to_sparse_bsc((2, 2)).row_indices().tolist()
        [0, 1]
    """
    return layouts.write(to_format(to_operand(input), f"bsc({blocksize[0]},{blocksize[1]})"), torch.sparse_bsc)


implements(Tensor.to_sparse_coo, layouts="compressed")(_conversion(torch.sparse_coo))
implements(Tensor.to_sparse_csr, layouts="compressed")(_conversion(torch.sparse_csr))
implements(Tensor.to_sparse_csc, layouts="compressed")(_conversion(torch.sparse_csc))
