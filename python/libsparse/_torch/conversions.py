"""torch's conversions of a tensor: of its dtype, and the adjoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, UnsupportedError
from libsparse._ops.operands import to_operand
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
    def handler(input: Any, *, memory_format: torch.memory_format | None = None) -> Any:
        """The tensor in another dtype."""
        check_memory_format(input, memory_format)
        return input.to(dtype)

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


@implements(Tensor.cpu)
def cpu(input: Any, *, memory_format: torch.memory_format | None = None) -> Any:
    """The tensor itself."""
    check_memory_format(input, memory_format)
    return input


@implements(*named("cuda xpu mtia ipu hpu", Tensor))
def accelerated(input: Any, *args: Any, **kwargs: Any) -> Any:
    """Refused: libsparse computes on the CPU.

    Example:
        >>> ls.eye(2).cuda()
        Traceback (most recent call last):
        libsparse._lang.errors.UnsupportedError: a tensor (shape (2, 2), format csr) stays on the CPU
    """
    raise UnsupportedError(f"a tensor ({to_operand(input)}) stays on the CPU: {CPU_ONLY}")
