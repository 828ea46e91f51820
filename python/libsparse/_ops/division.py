"""Quotients of whole numbers, what they leave, and powers: `//`, `%`, `fmod` and `**`, element by element.

Integers stay integers, and one that is divided by zero is an error, as in torch: also where no entry is stored, since
elements there are zero.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from libsparse._lang.errors import DivisionByZeroError, ShapeError, UnsupportedError
from libsparse._tensor import layouts, sparse_tensor

from . import elementwise, evaluate

if TYPE_CHECKING:
    from libsparse._tensor.sparse_tensor import SparseTensor


def floor_divide(a: Any, b: Any) -> Any:
    """`a // b`, rounded down."""
    return _apply("floor_divide", a, b)


def remainder(a: Any, b: Any) -> Any:
    """`a % b`, with the sign of `b`."""
    return _apply("remainder", a, b)


def fmod(a: Any, b: Any) -> Any:
    """What a division rounded towards zero leaves, with the sign of `a`."""
    return _apply("fmod", a, b)


def power(a: Any, b: Any) -> Any:
    """`a ** b`."""
    return _apply("pow", a, b)


def divide(a: Any, b: Any, *, rounding_mode: str | None = None) -> Any:
    """`torch.div`: rounded down where `rounding_mode` is "floor".

    Raises:
        UnsupportedError: Another rounding of two tensors.
    """
    if rounding_mode is None:
        return elementwise.divide(a, b)
    if rounding_mode == "floor":
        return floor_divide(a, b)
    if isinstance(a, sparse_tensor.SparseTensor) and elementwise.is_scalar(b):
        return _mapped("div", a, lambda values: torch.div(values, b, rounding_mode=rounding_mode), b)
    raise UnsupportedError(
        f"div with rounding_mode={rounding_mode!r} takes a number as its second operand; use 'floor'"
    )


def _apply(name: str, a: Any, b: Any) -> Any:
    function = getattr(torch, name)
    if elementwise.is_scalar(b) and isinstance(a, sparse_tensor.SparseTensor):
        return _mapped(name, a, lambda values: function(values, b), b)
    if elementwise.is_scalar(a) and isinstance(b, sparse_tensor.SparseTensor):
        return _mapped(name, b, lambda values: function(a, values), a)
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return NotImplemented
    first, second = _operand(name, a), _operand(name, b)
    if not isinstance(first, sparse_tensor.SparseTensor):
        return _of_dense(name, first, second)
    if isinstance(second, sparse_tensor.SparseTensor):
        return _of_sparse(name, first, second)
    return _by_dense(name, first, second)


def _operand(name: str, value: Tensor) -> Tensor:
    if isinstance(value, sparse_tensor.SparseTensor):
        value.need_zero_fill(name)
        return value
    return value if value.layout is torch.strided else layouts.wrap(value)


def _mapped(name: str, a: SparseTensor, function: Callable[[Tensor], Tensor], scalar: Any) -> SparseTensor:
    """A function of the elements and a number: of what is stored, and of the fill value where something isn't."""
    fill: Any = 0
    try:
        values = function(a.pattern.entries(a.values()))
        if not _is_full(a):
            fill = function(torch.full((1,), a.fill_value, dtype=a.dtype, device="cpu")).detach().item()
    except RuntimeError as error:
        if "ZeroDivisionError" not in str(error):
            raise
        raise DivisionByZeroError(
            f"{name}: {_told(a)} and the number {scalar}: an integer is divided by zero; elements that are not stored "
            f"are {a.fill_value}"
        ) from None
    if isinstance(fill, complex):
        fill = fill.real if fill.imag == 0 else fill
    follows = isinstance(scalar, Tensor) and scalar.requires_grad
    if isinstance(fill, complex) or (follows and fill != 0):
        raise UnsupportedError(
            f"{name}: elements of {_told(a)} that are not stored become {fill}, which "
            f"{'depends on a number that has a gradient' if follows else 'is complex'}; use to_dense()"
        )
    return sparse_tensor.SparseTensor(a.pattern, a.pattern.spread(values), fill)


def _of_sparse(name: str, a: SparseTensor, b: SparseTensor) -> Any:
    if a.shape != b.shape:
        raise ShapeError(f"{name}: operand 0 ({_told(a)}) and operand 1 ({_told(b)}) differ in shape")
    full = _is_full(b)
    if name != "pow" and not full and _whole(a, b):
        raise _absent(name, 1, b)
    if name != "pow" and full:
        return _evaluate(name, "0", a, b, a.format)
    wish = a.format.compressed if a.format.pads else a.format
    made = _evaluate(name, "0 | 1", a, b, wish)
    return sparse_tensor.SparseTensor(made.pattern, made.values(), 1 if name == "pow" else float("nan"))


def _by_dense(name: str, a: SparseTensor, b: Tensor) -> Any:
    kept = elementwise.broadcast_letters(a, b)
    if name == "pow":
        return _evaluate(name, "0 | 1", a, b, "dense", kept)
    if not _is_full(a):  # 0 divided by what is no number, or by zero, is no 0
        if _whole(a, b) and bool((b == 0).any()):
            raise DivisionByZeroError(f"{name}: operand 1 (shape {tuple(b.shape)}, dense, {b.dtype}) has a zero")
        if bool(((b == 0) | b.isnan()).any()):
            raise UnsupportedError(
                f"{name}: operand 1 (shape {tuple(b.shape)}, dense) has a zero or a NaN, where elements that are not "
                "stored become NaN; use to_dense() on operand 0"
            )
    return _evaluate(name, "0", a, b, a.format, kept)


def _of_dense(name: str, a: Tensor, b: Tensor) -> Any:
    assert isinstance(b, sparse_tensor.SparseTensor)
    kept = elementwise.broadcast_letters(b, a)
    if name != "pow" and _whole(a, b) and not _is_full(b):
        raise _absent(name, 1, b)
    return _evaluate(name, "0 | 1", a, b, "dense", kept)


def _evaluate(name: str, region: str, a: Tensor, b: Tensor, wish: Any, kept: list[bool] | None = None) -> Any:
    """The operator on two tensors, of which one that is dense may be repeated along dimensions of the other."""
    order = max(a.ndim, b.ndim)
    letters = string.ascii_lowercase[:order]

    def access(label: str, operand: Tensor) -> tuple[str, Tensor]:
        own = letters[order - operand.ndim :]
        if kept is not None and not isinstance(operand, sparse_tensor.SparseTensor):
            operand = operand[tuple(slice(None) if k else 0 for k in kept)]
            own = "".join(letter for letter, k in zip(own, kept, strict=True) if k)
        return f"{label}({','.join(own)})", operand

    (left, first), (right, second) = access("A", a), access("B", b)
    text = f"C({','.join(letters)}) = {name}[{region}]({left}, {right})"
    return evaluate.evaluate(text, A=first, B=second, format=wish)


def _whole(a: Tensor, b: Tensor) -> bool:
    """Whether integers are divided."""
    kind = torch.promote_types(a.dtype, b.dtype)
    return not kind.is_floating_point and not kind.is_complex


def _is_full(a: SparseTensor) -> bool:
    """Whether every element is stored."""
    return a.nnz == a.numel()


def _absent(name: str, number: int, b: SparseTensor) -> DivisionByZeroError:
    return DivisionByZeroError(
        f"{name}: operand {number} ({_told(b)}) divides integers, and its {b.numel() - b.nnz} elements that are "
        "not stored are zero; divide the entries with A.with_values(...), or convert to a floating dtype"
    )


def _told(a: SparseTensor) -> str:
    return f"shape {tuple(a.shape)}, format {a.format}, {a.dtype}"
