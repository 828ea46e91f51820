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
    from libsparse._storage.carried import Carried

native: ModuleType | None
try:
    from . import _direct

    _LIBRARY = Path(torch.__file__).parent / "lib" / "libtorch_python.so"
    _torch_serves = _direct.connect(str(_LIBRARY), check, blocks.integers, blocks.LARGE)
    native = _direct if _torch_serves else None  # torch before 2.14 lacks a function
except ImportError:  # the package was built without a C compiler
    native = None

_FLOATS = (torch.float32, torch.float64)  # whose NaN are found in C
_Function = type(ctypes.CFUNCTYPE(None)()).__mro__[1]  # of all functions of libraries

Outline: TypeAlias = "tuple[Sequence[int], Sequence[int], torch.dtype]"
"""The shape, strides and dtype of a result: to make a tensor like it takes longer than a kernel."""

Direct = Callable[..., Tensor]
"""Computes a result of operands' values, and a number of threads as the last argument; `out=`, a tensor like the
result, is where it is written, if given."""


def make(
    compute: Callable[[int], int],
    fixed: array[int],
    arrays: list[tuple[int, Tensor]],
    places: tuple[int, ...],
    result: Outline,
    counted: Any,
) -> Direct:
    """The shortest way to run a kernel.

    Args:
        compute: The kernel.
        fixed: The contents of its slots, as far as they don't change.
        arrays: The pattern's positions and coordinates, and their places among the slots.
        places: Those of the operands' values, the result's and the number of threads.
        result: The result's shape, strides and dtype.
        counted: The tally of the calls.
    """
    shape, strides, dtype = result
    if native is not None and _fits(native, compute, fixed, shape):
        address: Any = ctypes.cast(compute, ctypes.c_void_p).value  # type: ignore[arg-type]  # a function of ctypes
        large = None
        if math.prod(shape) * dtype.itemsize >= blocks.LARGE:
            large = partial(blocks.empty, shape, strides, dtype)
        everywhere, stored = (*[place for place, _ in arrays], *places), tuple([array for _, array in arrays])
        like = *shape, *strides, _code(dtype)
        run: Direct = native.Direct(address, tuple(fixed), stored, everywhere, like, counted, large)
        return run
    return _closure(compute, fixed, arrays, places, result, counted)


@functools.cache
def _code(dtype: torch.dtype) -> int:
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
    found = padded is None or padded in _FLOATS
    if native is not None and found and isinstance(run, native.Direct) and isinstance(plain, native.Direct):
        size = 0 if padded is None else padded.itemsize
        how = kept.function, threads.team()
        return native.Held(run, plain, kept, place, _code(dtype), dtype.itemsize, size, *how)  # type: ignore[no-any-return]
    get = kept.get

    def direct(*values_and_number: Any, **into: Tensor) -> Tensor:
        copy = get(values_and_number[place])
        if copy is None:
            return plain(*values_and_number, **into)
        result = run(*values_and_number[:place], copy, *values_and_number[place + 1 :], **into)
        if padded is not None and bool(result.isnan().any()):
            return plain(*values_and_number, **into)
        return result

    return direct


def in_order(run: Direct) -> Direct:
    """A function whose results are copied into the order that their callers see."""

    def direct(*values: Any, out: Tensor | None = None) -> Tensor:
        result = contiguous(run(*values))
        return result if out is None else out.copy_(result)

    return direct


def second_in_order(run: Direct, order: tuple[int, ...]) -> Direct:
    """A function whose second operand is copied into the order in which the kernel reads it."""
    return lambda values, dense, number, **into: run(values, contiguous(dense, order), number, **into)


def _fits(module: ModuleType, compute: Callable[[int], int], fixed: array[int], shape: Sequence[int]) -> bool:
    """Whether the C module takes a kernel: a function of a library, of not too many slots."""
    return isinstance(compute, _Function) and len(fixed) <= module.MOST_SLOTS and len(shape) <= module.MOST_MODES


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
