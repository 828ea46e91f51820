"""Scalar types: torch's dtypes, the compiler's names of them, and promotion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import torch

from .errors import DtypeError, UnsupportedError

CODES: dict[torch.dtype, str] = {
    torch.bool: "bool",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex64: "c64",
    torch.complex128: "c128",
}
DTYPES: dict[str, torch.dtype] = {code: dtype for dtype, code in CODES.items()}
INT32_MAX = 2**31 - 1
Number: TypeAlias = "int | float | complex"


def code(dtype: torch.dtype) -> str:
    """The compiler's name of `dtype`.

    Raises:
        DtypeError: It is no dtype.
        UnsupportedError: The compiler has no such type.
    """
    if not isinstance(dtype, torch.dtype):
        raise DtypeError(f"dtype is {dtype!r}; expected a torch.dtype, such as torch.float32")
    try:
        return CODES[dtype]
    except KeyError:
        known = ", ".join(str(d).removeprefix("torch.") for d in CODES)
        raise UnsupportedError(
            f"dtype {dtype} is not supported yet; convert the operand with .to(...) to one of {known}"
        ) from None


def promote(dtypes: Iterable[torch.dtype]) -> torch.dtype | None:
    """The type that all of `dtypes` promote to, None for no dtypes."""
    result: torch.dtype | None = None
    for dtype in dtypes:
        result = dtype if result is None else _promote(result, dtype)
    return result


def accumulator(dtype: torch.dtype) -> torch.dtype:
    """The dtype that sums of `dtype` are kept in: halves lose too much."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def whole(dtype: torch.dtype) -> torch.dtype:
    """`dtype`, but complex64 for complex halves: torch promotes to those and hardly computes with them."""
    return torch.complex64 if dtype.is_complex and dtype not in CODES else dtype


def holds(dtype: torch.dtype, other: torch.dtype) -> bool:
    """Whether values of `other` can become values of `dtype`: of the same category or a wider one, as in torch."""
    return torch.can_cast(other, dtype)


def _promote(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    try:
        return torch.promote_types(a, b)
    except RuntimeError:
        raise UnsupportedError(f"{a} and {b} promote to no common dtype; convert with .to(...)") from None


def weakly(dtype: torch.dtype | None, numbers: Sequence[Number]) -> torch.dtype | None:
    """The dtype that `dtype` (None: nothing) and Python numbers promote to; numbers only widen the category."""
    for number in numbers:
        scalar(number, None, "the number")
        dtype = whole(torch.result_type(torch.empty(1, dtype=dtype or torch.bool, device="cpu"), number))
        scalar(number, dtype, "the number")
    return dtype


def scalar(number: Number, dtype: torch.dtype | None, name: str) -> torch.Tensor:
    """A Python number as a tensor.

    Raises:
        DtypeError: `dtype` can't hold it.
    """
    try:
        return torch.tensor(number, dtype=dtype, device="cpu")
    except (RuntimeError, OverflowError, ValueError, TypeError):  # TypeError: complex numbers among real ones
        raise DtypeError(
            f"{name} {number} does not fit {dtype or 'any dtype'}; convert the operands to a wider dtype"
        ) from None


def identity(reduce: str, dtype: torch.dtype) -> int | float:
    """The identity of a reduction, the value of elements of a result without any term; 0 for mean."""
    if reduce in ("prod", "all"):
        return 1
    if reduce not in ("min", "max") or dtype.is_complex:
        return 0
    least = reduce == "max"
    if dtype.is_floating_point:
        return -math.inf if least else math.inf
    if dtype == torch.bool:
        return int(not least)
    return torch.iinfo(dtype).min if least else torch.iinfo(dtype).max
