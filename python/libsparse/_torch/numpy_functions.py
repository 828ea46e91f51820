"""NumPy's universal functions on SparseTensors: operators and torch's functions of the same meaning.

`np.sqrt(A)` is `torch.sqrt(A)` and `array + A` is `A + array`, a tensor in each case, as of torch's dense tensors.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import UnsupportedError
from libsparse._ops.operands import to_operand
from libsparse._storage import validate
from libsparse._tensor.sparse_tensor import SparseTensor

from .registry import implements

_OPERATORS = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "floor_divide": ("__floordiv__", "__rfloordiv__"),
    "remainder": ("__mod__", "__rmod__"),
    "power": ("__pow__", "__rpow__"),
    "bitwise_and": ("__and__", "__rand__"),
    "bitwise_or": ("__or__", "__ror__"),
    "bitwise_xor": ("__xor__", "__rxor__"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
}
_OTHER_NAMES = {"conjugate": "conj", "invert": "bitwise_not", "rint": "round"}  # of torch's functions


def _compute(self: SparseTensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """What NumPy calls in place of a universal function of which an operand is a SparseTensor.

    Raises:
        UnsupportedError: torch has no such function, or it is called in another way than on operands alone.
    """
    name = ufunc.__name__
    if method == "__call__" and not kwargs:
        if name in _OPERATORS:
            first, second = inputs
            own, reflected = _OPERATORS[name]
            if isinstance(first, SparseTensor):
                return getattr(first, own)(second)
            return getattr(second, reflected)(first)
        function = getattr(torch, _OTHER_NAMES.get(name, name), None)
        if function is not None:
            return function(*map(_tensor, inputs))
    called = f"np.{name}" if method == "__call__" else f"np.{name}.{method}"
    raise UnsupportedError(
        f"{called}{f' with {next(iter(kwargs))}=' if kwargs else ''} is not supported on an ls.SparseTensor "
        f"({to_operand(self)}); use an operator, a function of torch, or np.asarray(A), its elements as a dense array"
    )


def _tensor(operand: Any) -> Tensor:
    """An array or a number as torch's functions take it."""
    return operand if isinstance(operand, SparseTensor) else validate.tensor("an operand", operand, written=False)


@implements(Tensor.__array_wrap__)
def wrap(input: Any, *_: Any) -> Any:
    """Refused: NumPy has made a dense array of the tensor, and asks for a tensor of its result."""
    raise UnsupportedError(
        f"this function of NumPy is not supported on an ls.SparseTensor ({to_operand(input)}): use torch's function of "
        "that name, or np.asarray(A), its elements as a dense array"
    )


SparseTensor.__array_ufunc__ = _compute  # type: ignore[assignment]
