"""torch's functions of one tensor that keep zeros, and conversions: they act on the stored values alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from libsparse._lang.errors import DtypeError, UnsupportedError
from libsparse._ops.operands import is_sparse, to_operand
from libsparse._runtime.problem import Operand

from .registry import getter, implements, named

# Functions f with f(0) = 0, for some of them with the right arguments only.
_ZERO_PRESERVING = """
abs absolute neg negative positive sqrt square sign sgn sin tan sinh tanh asin arcsin atan arctan asinh arcsinh atanh
arctanh expm1 log1p erf erfinv floor ceil round trunc fix frac relu relu6 leaky_relu elu selu celu gelu silu mish
hardtanh hardswish softsign tanhshrink softshrink hardshrink deg2rad rad2deg nan_to_num conj conj_physical resolve_conj
resolve_neg real imag angle
"""
_CONVERSIONS = {
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


def _unary(function: Any, *, random: bool = False) -> Callable[..., Any]:
    """The handler of a function of one tensor; of one that draws numbers, trying it would draw some."""

    def handler(input: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_sparse(input):
            raise UnsupportedError("a SparseTensor is supported as the first argument of this function only")
        operand = to_operand(input)
        fill = operand.fill
        if random:
            operand.need_zero_fill(function.__name__)
        elif args or kwargs or fill != 0:
            fill = function(torch.full((1,), fill, dtype=operand.dtype, device="cpu"), *args, **kwargs).item()
            if fill != 0 and operand.fill == 0:
                raise UnsupportedError(
                    f"{function.__name__} with these arguments makes {fill} of 0: a fill value other than 0 is "
                    "not supported yet; use A.map(fn) for the stored values or A.to_dense()"
                )
        return Operand(operand.pattern, function(operand.values, *args, **kwargs), fill)

    handler.__name__, handler.__doc__ = function.__name__, function.__doc__
    return handler


for _function in named(_ZERO_PRESERVING, torch, Tensor, F):
    implements(_function)(_unary(_function))
implements(F.dropout, *named("dropout", torch))(_unary(F.dropout, random=True))
implements(getter("real"))(_unary(torch.real))
implements(getter("imag"))(_unary(torch.imag))


@implements(*named("adjoint", torch, Tensor), getter("mH"), getter("H"))
def adjoint(input: Any) -> Any:
    """The tensor with its last two dimensions swapped, conjugated."""
    return input.mT.map(torch.conj)


def _conversion(dtype: torch.dtype) -> Callable[..., Any]:
    def handler(input: Any, **_: Any) -> Any:
        """The tensor in another dtype."""
        return input.to(dtype)

    return handler


for _name, _dtype in _CONVERSIONS.items():
    implements(getattr(Tensor, _name))(_conversion(_dtype))


@implements(Tensor.type_as)
def type_as(input: Any, other: Any) -> Any:
    """The tensor in the dtype of another."""
    if not isinstance(other, Tensor):
        raise DtypeError(f"type_as takes a tensor, got {type(other).__name__}")
    return input.to(other.dtype)


@implements(Tensor.cpu)
def cpu(input: Any, **_: Any) -> Any:
    """The tensor itself."""
    return input
