"""The shortest way to run a kernel: for arrays of values and a result that one shape fixes; `direct.c` in C."""

from __future__ import annotations

import ctypes
import functools
import math
import threading
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor

from libsparse._storage import memory, threads

from . import blocks, tally
from .layout import contiguous
from .status import check

if TYPE_CHECKING:
    from libsparse._compiler.kernel import Kernel
    from libsparse._storage.carried import Carried

    from .problem import Operand

native: ModuleType | None
try:
    from . import _direct

    _LIBRARY = Path(torch.__file__).parent / "lib" / "libtorch_python.so"
    _torch_serves = _direct.connect(str(_LIBRARY), check, blocks.integers, blocks.LARGE)
    native = _direct if _torch_serves else None  # torch before 2.14 lacks a function
except ImportError:  # the package was built without a C compiler
    native = None

FLOATS = (torch.float32, torch.float64)
"""The dtypes whose NaN are found in C."""
_Function = type(ctypes.CFUNCTYPE(None)()).__mro__[1]  # of all functions of libraries

Outline: TypeAlias = "tuple[Sequence[int], Sequence[int], torch.dtype]"
"""The shape, strides and dtype of a result: to make a tensor like it takes longer than a kernel."""

Direct = Callable[..., Tensor]
"""Computes a result of operands' values, and a number of threads as the last argument; `out=`, a tensor like the
result, is where it is written, if given."""


class Way:
    """What the shortest ways to run a kernel have in common: found with the first pattern, for all that are like it.

    Attributes:
        fixed: The contents of the slots, as far as they don't change.
        numbers: The operands whose values the ways take.
        orders: For each operand the order of dimensions in which it has to be contiguous, None for one that is as it
            has to be.
    """

    __slots__ = ("_compute", "_everywhere", "_in_c", "_places", "_result", "fixed", "numbers", "orders")

    def __init__(
        self,
        kernel: Kernel,
        fixed: array[int],
        result: Outline,
        read: Sequence[tuple[int, ...] | None],
        operands: Sequence[Operand],
    ) -> None:
        """Find it out.

        Args:
            kernel: The kernel.
            fixed: The contents of its slots.
            result: The result's shape, strides and dtype; the shape of one with a sparse operand's pattern is its own.
            read: The orders in which dense operands are read.
            operands: The operands of the first pattern.
        """
        self.fixed = fixed
        self.orders = [
            None if order is None or (o.values.is_contiguous() and order == tuple(range(len(order)))) else order
            for o, order in zip(operands, read, strict=True)
        ]
        inputs = sorted((number, place) for place, number in kernel.slots.values)
        self.numbers = [number for number, _ in inputs]
        (at_values,) = (slot.place for slot in kernel.slots.result if slot.kind == "vals")
        self._places = (*(place for _, place in inputs), at_values, kernel.slots.threads[0])
        self._compute = compute = kernel.revalue or kernel.compute
        self._result = result
        self._everywhere: tuple[int, ...] = ()
        self._in_c: tuple[int, tuple[int, ...], int] | None = None
        if native is not None and _fits(native, compute, fixed, result[0]):
            address: Any = ctypes.cast(compute, ctypes.c_void_p).value  # type: ignore[arg-type]  # a function of ctypes
            self._in_c = address, tuple(fixed), code(result[2])

    def resized(self, fixed: array[int], result: Outline) -> Way:
        """The same with other contents of the slots, for another shape of the result."""
        other = object.__new__(Way)
        other.fixed, other.orders, other.numbers, other._places = fixed, self.orders, self.numbers, self._places
        other._compute, other._result, other._everywhere = self._compute, result, self._everywhere
        other._in_c = None if self._in_c is None else (self._in_c[0], tuple(fixed), self._in_c[2])
        return other

    def on(self, arrays: list[tuple[int, Tensor]], size: int | None, counted: Any) -> Direct:
        """The shortest way to run the kernel on one pattern.

        Args:
            arrays: The pattern's positions and coordinates, and their places among the slots.
            size: The number of values of a result with a pattern; None of a dense one.
            counted: The tally of the calls.
        """
        shape, strides, dtype = self._result if size is None else ((size,), (1,), self._result[2])
        if self._in_c is None or native is None:
            return _closure(self._compute, self.fixed, arrays, self._places, (shape, strides, dtype), counted)
        address, fixed, code = self._in_c
        everywhere = self._everywhere
        if len(everywhere) != len(arrays) + len(self._places):
            everywhere = self._everywhere = (*[place for place, _ in arrays], *self._places)
        large = None
        if math.prod(shape) * dtype.itemsize >= blocks.LARGE:
            large = partial(blocks.empty, shape, strides, dtype)
        stored = tuple([array for _, array in arrays])
        like = *shape, *strides, code
        run: Direct = native.Direct(address, fixed, stored, everywhere, like, counted, large)
        return run


def way_among(
    ways: list[Way],
    kernel: Kernel,
    fixed: array[int],
    result: Outline,
    read: Sequence[tuple[int, ...] | None],
    operands: Sequence[Operand],
    *,
    keep: bool,
) -> Way:
    """The one of `ways`, which patterns share, that has these slots, or a new one, as `Way` makes it.

    Slots are a pattern's own where the counts of a sparse result are among them: `keep` is for others. Other threads
    may replace what is in `ways` at any time.
    """
    way = ways[0] if ways else None
    if way is None or way.fixed is not fixed:
        way = Way(kernel, fixed, result, read, operands)
        if keep:
            ways[:] = [way]
    return way


@functools.cache
def code(dtype: torch.dtype) -> int:
    """The number of a dtype in torch's C functions."""
    assert native is not None
    number: int = native.code_of(str(dtype).removeprefix("torch."))
    return number


def held(
    run: Direct, plain: Direct, kept: Carried, place: int, dtype: torch.dtype, padded: torch.dtype | None
) -> Direct:
    """Runs a kernel with values that are kept in the order in which it reads them, else another with those there are.

    Args:
        run: The kernel.
        plain: The other one.
        kept: The values that are kept.
        place: Which of the operands' values these are.
        dtype: Their dtype.
        padded: The dtype of the result, where `run` multiplies padding; else None. By what is not finite that is NaN
            where there is no entry: a result with any is computed anew by `plain`.
    """
    if padded is not None and not (padded.is_floating_point or padded.is_complex):
        padded = None  # there are no infinities
    found = padded is None or padded in FLOATS
    if native is not None and found and isinstance(run, native.Direct) and isinstance(plain, native.Direct):
        size = 0 if padded is None else padded.itemsize
        how = kept.function, threads.team()
        return native.Held(run, plain, kept, place, code(dtype), dtype.itemsize, size, *how)  # type: ignore[no-any-return]
    get = kept.get

    def direct(*values_and_number: Any, **into: Tensor) -> Tensor:
        copy = get(values_and_number[place])
        if copy is None:
            return plain(*values_and_number, **into)
        result = run(*values_and_number[:place], copy, *values_and_number[place + 1 :], **into)
        # A sum takes a tenth of the time, and is a number unless an element is NaN or infinite.
        if padded is not None and bool(result.sum().isnan()) and bool(result.isnan().any()):
            return plain(*values_and_number, **into)
        return result

    return direct


def in_order(run: Direct) -> Direct:
    """A function whose results are copied into the order that their callers see."""

    def direct(*values: Any, out: Tensor | None = None) -> Tensor:
        result = contiguous(run(*values))
        return result if out is None else out.copy_(result)

    return direct


def last_in_order(run: Direct, order: tuple[int, ...]) -> Direct:
    """A function whose last operand is copied into the order in which the kernel reads it."""
    return lambda *values, **into: run(*values[:-2], contiguous(values[-2], order), values[-1], **into)


def is_native(function: object) -> bool:
    """Whether a function of a kernel is one of a library."""
    return isinstance(function, _Function)


def _fits(module: ModuleType, compute: Callable[[int], int], fixed: array[int], shape: Sequence[int]) -> bool:
    """Whether the C module takes a kernel: a function of a library, of not too many slots."""
    return is_native(compute) and len(fixed) <= module.MOST_SLOTS and len(shape) <= module.MOST_MODES


def _closure(
    compute: Callable[[int], int],
    fixed: array[int],
    arrays: list[tuple[int, Tensor]],
    places: tuple[int, ...],
    result: Outline,
    counted: Any,
) -> Direct:
    """The same in Python; a closure, since every attribute that is looked up counts here."""
    *at_values, at_out, at_threads = places
    local = threading.local()
    (shape, strides, dtype), empty = result, blocks.empty

    def direct(*values_and_number: Any, out: Tensor | None = None) -> Tensor:
        *values, number = values_and_number
        out = empty(shape, strides, dtype) if out is None else out
        try:
            block, address = local.mine
        except AttributeError:
            block = fixed[:]
            address = block.buffer_info()[0]
            local.mine = block, address
        for place, stored_array in arrays:
            block[place] = memory.address(stored_array)
        for place, data in zip(at_values, values, strict=True):
            block[place] = memory.address(data)
        block[at_out] = out.data_ptr()
        block[at_threads] = number
        status = tally.run(counted, compute, address) if tally.watching or counted.waits else compute(address)
        if status:
            check(status)
        return out

    return direct
