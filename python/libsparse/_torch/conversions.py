"""torch's conversions of a tensor: of its dtype and to its own layouts, and the adjoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, UnsupportedError
from libsparse._ops import layouts
from libsparse._ops.assemble import to_format
from libsparse._ops.operands import is_sparse, to_operand
from libsparse._runtime import notes
from libsparse._runtime.problem import Operand
from libsparse._tensor.placement import CPU_ONLY, check_memory_format

from .registry import getter, implements, named

_DTYPES = {
    "bool": torch.bool,
    "byte": torch.uint8,
    "char": torch.int8,
    "short": torch.int16,
    "int": torch.int32,
    "long": torch.int64,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
    "float": torch.float32,
    "double": torch.float64,
    "cfloat": torch.complex64,
    "cdouble": torch.complex128,
}


@implements(getter("mH"), getter("H"))
@implements(*named("adjoint", torch, Tensor), layouts="compressed")
def adjoint(input: Any) -> Any:
    """The tensor with its last two dimensions swapped, conjugated."""
    return input.mT.conj()


def _conversion(name: str, dtype: torch.dtype) -> Callable[..., Any]:
    function = getattr(Tensor, name)

    def handler(input: Any, *, memory_format: torch.memory_format | None = None) -> Any:
        """The tensor in another dtype."""
        check_memory_format(input, memory_format)
        source = to_operand(input)
        if source.fill != 0 or source.dtype == dtype:
            return input.to(dtype)
        return Operand(source.pattern, notes.apply(function, source.values))

    handler.__name__ = name
    return handler


for _name, _dtype in _DTYPES.items():
    implements(getattr(Tensor, _name), layouts="compressed")(_conversion(_name, _dtype))


@implements(Tensor.type_as, layouts="compressed")
def type_as(input: Any, other: Any) -> Any:
    """The tensor in the dtype of another."""
    if not isinstance(other, Tensor):
        raise DtypeError(f"type_as takes a tensor, got {type(other).__name__}")
    return input.to(other.dtype)


implements(Tensor.type)(lambda input, *args, **kwargs: input.type(*args, **kwargs))


@implements(Tensor.cpu)
def cpu(input: Any, *, memory_format: torch.memory_format | None = None) -> Any:
    """The tensor itself; one on the device "meta" has no elements to bring."""
    return input.to("cpu", memory_format=memory_format)


@implements(*named("cuda xpu mtia ipu hpu", Tensor))
def accelerated(input: Any, *args: Any, **kwargs: Any) -> Any:
    """Refused: libsparse computes on the CPU.

    Example:
        >>> ls.eye(2).cuda()
        Traceback (most recent call last):
        libsparse._lang.errors.UnsupportedError: a tensor (shape (2, 2), format csr) stays on the CPU
    """
    raise UnsupportedError(f"a tensor ({to_operand(input)}) stays on the CPU: {CPU_ONLY}")


implements(Tensor.to_dense, layouts="raises")(lambda input, *args, **options: input.to_dense(*args, **options))


@implements(Tensor.to, layouts="compressed")
def to(input: Any, *args: Any, **options: Any) -> Any:
    """A tensor of another dtype, or of the dtype of another tensor; a dense one stays dense."""
    if args and is_sparse(args[0]):
        args = (args[0].dtype, *args[1:])
    if "other" in options:
        options["dtype"] = options.pop("other").dtype
    return input.to(*args, **options)


implements(Tensor.contiguous, layouts="compressed")(lambda input, **options: input.contiguous(**options))


@implements(Tensor.values, layouts="compressed")
def values(input: Any) -> Tensor:
    """The values in the shape in which torch's layout of this format has them."""
    return layouts.shaped_values(to_operand(input))


@implements(Tensor.to_sparse, layouts="compressed")
def to_sparse(
    input: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None
) -> Tensor:
    """A tensor of torch's COO layout, or of another one by name.

    Raises:
        UnsupportedError: `sparse_dim` or `dense_dim` asks for values that are dense blocks, of elements that are not
            stored; or there is a `blocksize` for a layout without blocks.
    """
    source = to_operand(input)
    if dense_dim is not None and sparse_dim is None:
        sparse_dim = source.ndim - dense_dim
    if blocksize is not None and layout not in (torch.sparse_bsr, torch.sparse_bsc):
        raise UnsupportedError(f"to_sparse: blocksize={blocksize} needs layout=torch.sparse_bsr or torch.sparse_bsc")
    if sparse_dim is not None and sparse_dim != (own := source.ndim - len(source.sparsity.block)):
        raise UnsupportedError(
            f"to_sparse: sparse_dim is {sparse_dim}, and a tensor ({source}) has {own} sparse dimensions; use "
            "A.to_dense().to_sparse(sparse_dim) for dense blocks"
        )
    if blocksize is not None:
        height, width = blocksize
        source = to_format(source, f"{'bsc' if layout is torch.sparse_bsc else 'bsr'}({height},{width})")
    return layouts.write(source, layout or torch.sparse_coo, copied=True)


def _to_layout(layout: torch.layout) -> Callable[..., Any]:
    """The handler of the method that converts to a layout of torch's."""

    def handler(input: Any, dense_dim: None = None) -> Tensor:
        """A tensor of one of torch's layouts."""
        return layouts.write(to_operand(input), layout, copied=True)

    return handler


@implements(Tensor.to_sparse_bsr, layouts="compressed")
def to_sparse_bsr(input: Any, blocksize: tuple[int, int], dense_dim: None = None) -> Tensor:
    """A tensor of torch's BSR layout with blocks of a height and width.

    Example:
        >>> ls.eye(4).to_sparse_bsr((2, 2)).values().shape
        torch.Size([2, 2, 2])
    """
    blocks = to_format(to_operand(input), f"bsr({blocksize[0]},{blocksize[1]})")
    return layouts.write(blocks, torch.sparse_bsr, copied=True)


@implements(Tensor.to_sparse_bsc, layouts="compressed")
def to_sparse_bsc(input: Any, blocksize: tuple[int, int], dense_dim: None = None) -> Tensor:
    """A tensor of torch's BSC layout with blocks of a height and width.

    Example:
        >>> ls.eye(4).to_sparse_bsc((2, 2)).row_indices().tolist()
        [0, 1]
    """
    blocks = to_format(to_operand(input), f"bsc({blocksize[0]},{blocksize[1]})")
    return layouts.write(blocks, torch.sparse_bsc, copied=True)


implements(Tensor.to_sparse_coo, layouts="compressed")(_to_layout(torch.sparse_coo))
implements(Tensor.to_sparse_csr, layouts="compressed")(_to_layout(torch.sparse_csr))
implements(Tensor.to_sparse_csc, layouts="compressed")(_to_layout(torch.sparse_csc))
