"""Scalar types: torch's dtypes, the compiler's names of them, and promotion."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from .errors import UnsupportedError

CODES: dict[torch.dtype, str] = {
    torch.bool: "bool",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float32: "f32",
    torch.float64: "f64",
}
DTYPES: dict[str, torch.dtype] = {code: dtype for dtype, code in CODES.items()}
INT32_MAX = 2**31 - 1


def code(dtype: torch.dtype) -> str:
    """The compiler's name of `dtype`.

    Raises:
        UnsupportedError: The compiler has no such type.
    """
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
        result = dtype if result is None else torch.promote_types(result, dtype)
    return result
