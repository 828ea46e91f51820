"""Checks of arguments of users: vectorised, and precise about the entry that is wrong."""

from __future__ import annotations

import operator
import sys
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, FormatError, IndexBoundsError, ShapeError, UnsupportedError

from .fakes import is_fake

_TOO_LARGE = 2**63
_NUMBERS = (torch.int32, torch.int64)
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def shape(given: Any, name: str = "shape") -> torch.Size:
    """A shape that was handed over as the argument `name`.

    Raises:
        ShapeError: It is no sequence of non-negative ints.
    """
    try:
        result = torch.Size([n if type(n) is int else _index(n) for n in given])
    except TypeError:
        raise ShapeError(f"{name} is {given!r}; expected a sequence of ints") from None
    if any([not 0 <= n < _TOO_LARGE for n in result]):
        raise ShapeError(f"{name} is {tuple(result)}; expected extents that are not negative and fit 64 bits")
    return result


def _index(given: Any) -> Any:
    """An integer, or a symbol that torch has for one."""
    return given if isinstance(given, torch.SymInt) else operator.index(given)


def extent(name: str, given: Any) -> int:
    """An extent that was handed over.

    Raises:
        ShapeError: It is no int from 0 on that fits 64 bits.
    """
    try:
        result: int = _index(given)
    except TypeError:
        result = -1
    if not 0 <= result < 2**63:
        raise ShapeError(f"{name} is {given!r}; expected an int from 0 on that fits 64 bits")
    return result


class _Lent:
    """A read-only array for one who doesn't write: torch, which can't know that, warns of every such array."""

    def __init__(self, array: Any) -> None:
        described = array.__array_interface__
        self.array, self.__array_interface__ = array, {**described, "data": (described["data"][0], False)}


def _for_torch(given: Any, written: bool) -> Any:
    """An array of NumPy, or an object that stands for one, as torch takes it: copied where torch can't share it."""
    numpy = sys.modules.get("numpy")
    array = given if numpy is None or isinstance(given, numpy.ndarray) else given.__array__()
    if numpy is None or not isinstance(array, numpy.ndarray):
        return array
    if not array.dtype.isnative:
        return array.astype(array.dtype.newbyteorder("="))
    if any(step < 0 or step % max(array.itemsize, 1) for step in array.strides):
        return array.copy()
    if array.flags.writeable:
        return array
    return array.copy() if written else numpy.asarray(_Lent(array))


def tensor(name: str, given: Any, *, written: bool = True) -> Tensor:
    """An array that was handed over, as a tensor of its memory where torch can share that.

    Args:
        name: Its name in messages.
        given: The array.
        written: Whether the tensor may be written to, as values may: a read-only array is copied then.

    Raises:
        DtypeError: It is none.
    """
    if isinstance(given, Tensor):
        return given
    try:
        return torch.as_tensor(_for_torch(given, written) if hasattr(given, "__array__") else given, device="cpu")
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        reason = str(error).partition("\n")[0].removeprefix("new(): ")
        raise DtypeError(
            f"{name} is a {type(given).__name__}; expected a tensor, or an array or list of numbers: {reason}"
        ) from None


def index_array(name: str, given: Any, ndim: int = 1, expected: str = "one dimension", *, copy: bool = True) -> Tensor:
    """An array of indices that was handed over, int32 or int64 and contiguous; a private copy unless `copy` is false.

    Raises:
        DtypeError: It does not hold integers.
        ShapeError: It has another rank.
        UnsupportedError: It is not on the CPU.
    """
    array = tensor(name, given, written=False)
    if not copy and array.dtype in _NUMBERS and array.ndim == ndim and array.is_cpu and array.is_contiguous():
        return array
    if array.numel() == 0:  # `torch.empty(2, 0)` and `[[], []]` hold no index, whatever their dtype
        array = array.to(torch.int64)
    if array.dtype not in _INTEGERS:
        raise DtypeError(
            f"{name} has dtype {array.dtype} and shape {tuple(array.shape)}; expected integers: use .to(torch.int64)"
        )
    if array.ndim != ndim:
        raise ShapeError(f"{name} has shape {tuple(array.shape)}; expected {expected}")
    if not array.is_cpu:
        raise UnsupportedError(f"{name} is on {array.device}; libsparse computes on the CPU, use .cpu()")
    wide = array.dtype if array.dtype in _NUMBERS else torch.int64
    return array.to(wide, copy=copy).contiguous()


def within(array: Tensor, most: int, least: int = 0) -> bool:
    """Whether every element is at least `least` and below `most`, also where none is known."""
    if is_fake(array) or array.numel() == 0:
        return True
    smallest, greatest = torch.aminmax(array)
    return int(smallest) >= least and int(greatest) < most


def bounds(name: str, array: Tensor, most: int, least: int = 0, meaning: str = "") -> None:
    """Every element is at least `least` and below `most`; `meaning` describes the array.

    Raises:
        IndexBoundsError: One is not.
    """
    if not within(array, most, least):
        wrong = (array < least) | (array >= most)
        place = int(wrong.nonzero()[0])
        raise IndexBoundsError(
            f"{name}[{place}] is {int(array[place])}; expected {least} <= index < {most}" + (meaning and f": {meaning}")
        )


def positions(name: str, pos: Tensor, parents: int, children: int | None, owner: str) -> None:
    """Positions start at 0, don't decrease, and end at the number of coordinates.

    Args:
        name: Their name in messages.
        pos: The positions.
        parents: How many coordinates the level above has.
        children: How many coordinates the level has.
        owner: Shape and format of the tensor, for messages.

    Raises:
        ShapeError: The length is wrong.
        FormatError: The contents are.
    """
    if pos.numel() != parents + 1:
        raise ShapeError(
            f"{name} has {pos.numel()} elements; expected {parents + 1}, one more than the level above has ({owner})"
        )
    if int(pos[0]) != 0:
        raise FormatError(f"{name}[0] is {int(pos[0])}; positions start at 0 ({owner})")
    wrong = pos[1:] < pos[:-1]
    if bool(wrong.any()):
        place = int(wrong.nonzero()[0]) + 1
        before, here = int(pos[place - 1]), int(pos[place])
        raise FormatError(f"{name}[{place}] is {here}, less than {before} before it; positions ascend ({owner})")
    if children is not None and int(pos[-1]) != children:
        raise FormatError(
            f"{name}[{parents}] is {int(pos[-1])}; expected {children}, the number of coordinates ({owner})"
        )


def loaded(*arrays: Any) -> None:
    """The arrays of a pattern in a file have been read.

    Raises:
        UnsupportedError: torch reads one later, or never.
    """
    for array in arrays:
        if not isinstance(array, Tensor):
            continue
        if is_fake(array):
            raise UnsupportedError(
                'torch.load can\'t put the entries of an ls.SparseTensor on the device "meta", or into a '
                'FakeTensorMode: load it on the CPU, then A.to("meta"), or mode.from_tensor(A), is the same without '
                "elements"
            )
        if getattr(array.untyped_storage(), "_torch_load_uninitialized", False) and _is_loading():
            raise UnsupportedError(
                "torch.load reads files of torch.save(..., _use_new_zipfile_serialization=False) after it has made the "
                "tensors, so that the entries of an ls.SparseTensor can't be checked: save it without that argument"
            )


def _is_loading() -> bool:
    """Whether torch.load is at a file of its old format; of storages in a pickle, which are such files, it is done."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "_legacy_load":
        frame = frame.f_back
    return frame is not None
