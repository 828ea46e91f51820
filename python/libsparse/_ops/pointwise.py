"""Elementwise functions of sparse operands with any fill value: torch computes them on aligned values.

Sparse operands are brought to one pattern, that of the elements which any of them stores, and the function is applied
to the values there. Applied to the fill values it gives the fill value of the result. So `op(A).to_dense()` equals
`op(A.to_dense())`, and gradients of every order are torch's own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._C import _functorch
from torch.autograd import forward_ad
from torch.utils._python_dispatch import _disable_current_modes

from libsparse._lang.errors import DivisionByZeroError, DtypeError, LibsparseError, MissingKernelError, UnsupportedError
from libsparse._runtime import notes
from libsparse._runtime.problem import Operand
from libsparse._storage import memory
from libsparse._storage.conversion import above, alike
from libsparse._storage.pattern import Pattern

from . import alignment, union
from .assemble import to_dense
from .operands import is_scalar, is_sparse, is_tensor, to_operand

Function = Callable[..., Tensor]


def apply(
    name: str,
    function: Function,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    absorbing: Sequence[int] = (),
    *,
    keeps_zero: bool = False,
) -> Any:
    """Applies an elementwise function of torch to tensors, of which one at least is sparse, and numbers.

    The result is sparse where all tensors are. With a dense one that has dimensions it is dense, unless a sparse
    operand absorbs: where that is 0 the result is taken for 0, whatever the dense one is there.

    Args:
        name: The name of the function, for messages.
        function: The function.
        args: Its operands: sparse and dense tensors, and numbers; they broadcast.
        kwargs: Its other arguments, tensors among them are operands too.
        absorbing: The positions of operands that absorb, such as both factors of a product.
        keeps_zero: Whether the function of 0 is 0 whatever its other arguments are.

    Raises:
        ShapeError: The operands don't broadcast.
        DtypeError: torch has no such function of their dtypes.
        DivisionByZeroError: An integer is divided by an element that is not stored, which is 0.
        UnsupportedError: The fill value of the result would depend on a number that has a gradient.
    """
    call = _Call(name, function, len(args), tuple(kwargs or ()))
    shapes: list[tuple[int, ...]] | None = None
    parts = [_part(value, n) for n, value in enumerate((*args, *(kwargs or {}).values()))]
    operands = [part for part in parts if isinstance(part, Operand)]
    shape = operands[0].shape if len(operands) == 1 else alignment.broadcast_shape(operands, name)
    if not kwargs and len(parts) == 2 and (found := union.of_patterns(name, operands)) is not None:
        return found
    if any(operand.pattern is None for operand in operands):
        absorbs = [parts[n] for n in absorbing if _absorbs(parts[n])]
        if not absorbs:
            return Operand(None, call.dense(parts, shape))
        parts = [_expanded(part, shape) for part in parts]
        pattern = next(parts[n] for n in absorbing if _absorbs(parts[n])).sparsity
        fill: Any = 0
    else:
        parts, shapes, pattern, merged = _united(None if kwargs else function, parts, shape)
        fill = 0 if keeps_zero and operands[0].fill == 0 else call.fill(parts, pattern)
        if fill is NotImplemented or merged is not None:
            return NotImplemented if merged is None else Operand(pattern, merged, fill)
    try:
        given = [part.values if shapes and isinstance(part, Operand) else _values(part, pattern) for part in parts]
        run = functools.partial(_of_arrays, call, shapes) if shapes else call
        # What elements that are not stored become may depend on scalars, so calls with others are not like this one.
        values = run(*given)
        if not any(isinstance(part, Tensor) for part in parts):
            notes.applied(run if kwargs or shapes else function, given, values)
    except (RuntimeError, TypeError) as error:
        if type(error) not in (RuntimeError, NotImplementedError, TypeError) or "allocate" in str(error):
            raise
        raise _refusal(name, error, parts) from None
    return Operand(pattern, pattern.spread(values), fill)


def of_one(function: Function, args: Sequence[Any], *, keeps_zero: bool) -> Operand | None:
    """A function of one sparse tensor and numbers, for which little is to be looked at.

    None of other arguments, of a tensor with padding or a fill value, and where torch refuses the function.

    Args:
        function: The function.
        args: Its arguments.
        keeps_zero: Whether the function of 0 is 0 whatever its other arguments are.
    """
    place = next((n for n, value in enumerate(args) if type(value) not in _NUMBERS), len(args))
    before, after = args[:place], args[place + 1 :]
    if place == len(args) or not is_sparse(args[place]) or any([type(value) not in _NUMBERS for value in after]):
        return None
    pattern, data, fill = to_operand(args[place])
    if pattern is None or data is None or fill != 0 or pattern.format.padded or pattern.traced:
        return None
    try:
        if not keeps_zero:
            numbers = *map(_Number, before), data.dtype, *map(_Number, after)
            fill = _of_zero(function, numbers, torch.get_default_dtype())
        return Operand(pattern, notes.apply(function, *before, data, *after), fill)
    except (RuntimeError, TypeError):
        return None  # said in the words of its cause


_NUMBERS = frozenset({bool, int, float, str, type(None)})


class _Number:
    """A number with its type and sign, in which equal ones may differ."""

    __slots__ = ("_name", "value")

    def __init__(self, value: Any) -> None:
        self.value, self._name = value, (type(value), repr(value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Number) and self._name == other._name

    def __hash__(self) -> int:
        return hash(self._name)


@functools.lru_cache(maxsize=1024)
def _of_zero(function: Function, args: tuple[Any, ...], default: torch.dtype) -> Any:
    """A function of 0 and numbers, where a dtype stands for 0 of that dtype; `default` is that of torch."""
    with _disable_current_modes():  # numbers are known while torch traces, too
        zeros = [torch.zeros(1, dtype=x, device="cpu") if isinstance(x, torch.dtype) else x.value for x in args]
        found = function(*zeros)
        if not isinstance(found, Tensor):  # an operator of another type
            raise TypeError
        return found.item()


def _united(
    function: Function | None, parts: list[Any], shape: torch.Size
) -> tuple[list[Any], list[tuple[int, ...]] | None, Pattern, Tensor | None]:
    """Sparse operands with what their values have in common.

    Args:
        function: The function of the parts, None where some have names, which may stand in another order.
        parts: Its operands.
        shape: The shape of the result.

    Returns:
        The operands, all of one shape but for arrays; the shapes of arrays, None without; the pattern of the result;
        its values where a kernel has computed them.
    """
    shapes, pattern = _arrays(parts, shape)
    if shapes is not None:
        return parts, shapes, pattern, None
    parts = [_expanded(part, shape) for part in parts]
    patterns = [part.sparsity for part in parts if isinstance(part, Operand)]
    same = all([alike(patterns[0], pattern) for pattern in patterns[1:]])
    merged = None if function is None or same else union.apply(function, *parts)
    if merged is not None:
        return parts, None, merged[1], merged[0]
    return parts, None, patterns[0] if same else alignment.union(patterns), None


def _refusal(name: str, error: Exception, parts: Sequence[Any]) -> LibsparseError:
    """The error for a function that torch refuses, by the function's name and the operands."""
    kind = MissingKernelError if isinstance(error, NotImplementedError) else DtypeError
    floating = any(isinstance(p, Operand) and p.dtype == torch.bool for p in parts)
    advice = "; a pattern counts as bool: use A.float()" if floating else ""
    return kind(f"{name}: {str(error).strip()}; operands: {_told(parts)}{advice}")


class _Call:
    """A function with the names of those arguments that are given by name."""

    def __init__(self, name: str, function: Function, count: int, names: tuple[str, ...]) -> None:
        self.name, self._function, self._count, self._names = name, function, count, names

    def __call__(self, *given: Any) -> Tensor:
        try:
            return self._function(*given[: self._count], **dict(zip(self._names, given[self._count :], strict=True)))
        except RuntimeError as error:
            if "ZeroDivisionError" not in str(error):
                raise
            told = ", ".join(str(value.dtype) for value in given if isinstance(value, Tensor))
            raise DivisionByZeroError(f"{self.name}: an integer is divided by zero; operands of {told}") from None

    def fill(self, parts: Sequence[Any], pattern: Pattern) -> Any:
        """The function of the fill values."""
        if (known := self._of_zeros(parts)) is not None:
            return known
        with _disable_current_modes():  # numbers are known while torch traces, too
            return self._of_numbers(parts, pattern)

    def _of_zeros(self, parts: Sequence[Any]) -> Any:
        """The same where these are 0, of a function that others have, too; None where that isn't known."""
        if self._names or "<" in getattr(self._function, "__qualname__", "<"):  # as that of a lambda is
            return None
        if any([p.fill != 0 if isinstance(p, Operand) else type(p) not in _NUMBERS for p in parts]):
            return None
        given = tuple([p.dtype if isinstance(p, Operand) else _Number(p) for p in parts])
        try:
            return _of_zero(self._function, given, torch.get_default_dtype())
        except (RuntimeError, TypeError):
            return None  # said in the words of its cause

    def _of_numbers(self, parts: Sequence[Any], pattern: Pattern) -> Any:
        # A vector of one element is promoted as a tensor with dimensions is; numbers and scalars stay what they are.
        given = [torch.full((1,), p.fill, dtype=p.dtype, device="cpu") if isinstance(p, Operand) else p for p in parts]
        try:
            found = self(*given)
        except DivisionByZeroError:
            if pattern.nnz == math.prod(pattern.shape):
                return 0
            raise DivisionByZeroError(
                f"{self.name}: an integer is divided by zero, which elements that are not stored are; operands: "
                f"{_told(parts)}; divide the entries with A.map(...), or convert to a floating dtype"
            ) from None
        except (RuntimeError, TypeError) as error:
            raise _refusal(self.name, error, parts) from None
        if not isinstance(found, Tensor):  # an operator, or a function, of another type
            return NotImplemented
        value = self._number(found, parts)
        if _is_followed(found, value, parts):
            raise UnsupportedError(
                f"{self.name}: elements that are not stored become {value}, which depends on a number that has a "
                f"gradient; operands: {_told(parts)}; use to_dense()"
            )
        return value

    def _number(self, found: Tensor, parts: Sequence[Any]) -> Any:
        """A tensor of one element as a number; one that torch.vmap has in a batch has to be the same for all of it."""
        if not _functorch.is_functorch_wrapped_tensor(found):
            return found.detach().item()
        each = _unwrapped(found).reshape(-1)
        first = each[0]
        if not bool(((each == first) | ((each != each) & (first != first))).all()):
            raise UnsupportedError(
                f"{self.name}: elements that are not stored become another number for each item that torch.vmap maps "
                f"over; operands: {_told(parts)}; use to_dense()"
            )
        return first.item()

    def dense(self, parts: Sequence[Any], shape: Sequence[int]) -> Tensor:
        """The function of operands of which a dense one makes the result dense."""
        size = max(part.values.element_size() for part in parts if isinstance(part, Operand))
        subject = f"{self.name}: a dense result of shape {tuple(shape)} ({_told(parts)})"
        memory.check(math.prod(shape), size, subject, "make the dense operand sparse, see ls.tensor")
        return self(*(to_dense(part) if isinstance(part, Operand) else part for part in parts))


def _is_followed(found: Tensor, value: Any, parts: Sequence[Any]) -> bool:
    """Whether derivatives by a number reach a function of numbers, also where it is 0, as a bias often is."""
    if forward_ad._current_level >= 0:
        tangent = forward_ad.unpack_dual(found).tangent
        if tangent is not None and bool((_unwrapped(tangent) != 0).any()):
            return True
    if not found.requires_grad or value != 0:
        return found.requires_grad
    numbers = [part for part in parts if isinstance(part, Tensor) and part.requires_grad]
    gradients = torch.autograd.grad(found, numbers, torch.ones_like(found), allow_unused=True)
    return any(gradient is not None and bool((_unwrapped(gradient) != 0).any()) for gradient in gradients)


def _unwrapped(value: Tensor) -> Tensor:
    """What transforms of torch.func have wrapped."""
    while _functorch.is_functorch_wrapped_tensor(value):
        value = _functorch.get_unwrapped(value)
    return value.detach()


def _part(value: Any, name: int) -> Any:
    """A tensor with dimensions as an operand, anything else as it is."""
    return to_operand(value, name) if is_tensor(value) and not is_scalar(value) else value


def _absorbs(part: Any) -> bool:
    return isinstance(part, Operand) and part.pattern is not None and part.fill == 0


def _expanded(part: Any, shape: Sequence[int]) -> Any:
    return alignment.expand(part, shape) if isinstance(part, Operand) and part.pattern is not None else part


def _values(part: Any, pattern: Pattern) -> Any:
    """An operand at the entries of a pattern; numbers and other arguments as they are."""
    if not isinstance(part, Operand):
        return part
    return alignment.sampled(part.values, pattern) if part.pattern is None else alignment.entries(part, pattern)


def _arrays(parts: Sequence[Any], shape: torch.Size) -> tuple[list[tuple[int, ...]] | None, Any]:
    """The shapes in which values broadcast, each a row of an array, and the pattern of the result.

    Returns:
        None for the shapes where operands don't differ in extents of arrays of the same entries, and in nothing else.
    """
    sparse = [part for part in parts if isinstance(part, Operand)]
    whole = next((part.sparsity for part in sparse if part.shape == shape and part.sparsity.block), None)
    if whole is None or whole.traced or whole.format.padded or all(part.shape == shape for part in sparse):
        return None, None
    count = whole.ndim - len(whole.block)
    own = above(whole, count)
    if own is None:
        return None, None
    for part in sparse:
        rows = above(part.sparsity, count) if part.ndim == whole.ndim and part.shape[:count] == shape[:count] else None
        if rows is None or not alike(rows, own):
            return None, None
    return [(own.size, *part.shape[count:]) for part in sparse], whole


def _of_arrays(call: Function, shapes: Sequence[tuple[int, ...]], *given: Any) -> Tensor:
    """The function of values in these shapes, flat; other arguments are numbers."""
    left = iter(shapes)
    shaped = [part.reshape(next(left)) if isinstance(part, Tensor) and part.ndim else part for part in given]
    return call(*shaped).reshape(-1)


def _told(parts: Sequence[Any]) -> str:
    """The operands for messages."""
    return ", ".join(f"{n} ({part}, {part.dtype})" for n, part in enumerate(parts) if isinstance(part, Operand))
