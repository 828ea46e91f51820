"""Messages between a process that computes and its helper: pickled, each behind its length, and arrays as they are."""

from __future__ import annotations

import ctypes
import pickle
import socket
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.records import NamedTuple
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage import memory
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern
from libsparse._tools.trials import Trial

_HEAD = 8  # bytes of a length
# What a third of the values of each kind are; large ones are bounded, since products of few bits overflow.
_SPECIAL = (0.0, 0.0, *(2.0**n for n in (12, 8, 6, 4, 10)))
_EXTREMA = 2  # of these kinds are for extrema
_SILENT = getattr(socket, "MSG_NOSIGNAL", 0)  # a helper that is gone is an error, whatever the user has SIGPIPE do


class Job(NamedTuple):
    """What a helper is to measure.

    Attributes:
        problem: The computation.
        operands: Patterns of sparse operands, shapes, strides and dtypes.
        exact: Whether it is for these patterns; else for all that are like them.
        threads: How many threads calls use.
        cache_dir: The folder of the cache.
        share: The share of a core that measurements may take.
        bytes: The memory that patterns in other formats may take.
        bitwise: Whether sums have to keep their order.
        budget: How many schedules to measure.
    """

    problem: Problem
    operands: Sequence[Operand]
    exact: bool
    threads: int
    cache_dir: str
    share: float
    bytes: int
    bitwise: bool
    budget: int


class Outcome(NamedTuple):
    """What came of a job.

    Attributes:
        name: The record's.
        digest: Of the patterns.
        about: Shapes and formats.
        trials: What was tried; empty where nothing could be.
        best: The schedules that may be faster, the best first; of a class, the one that is beyond doubt.
        gain: How much faster the schedule for a class is.
        default: The seconds of a call with the compiler's schedule and one thread.
        compiling: The seconds that everything but measurements has had a processor.
        measuring: The seconds of these.
        known: Whether it has been measured before, by whatever process.
        error: Why nothing came of it.
    """

    name: str = ""
    digest: str = ""
    about: str = ""
    trials: tuple[Trial, ...] = ()
    best: tuple[str, ...] = ()
    gain: float = 1.0
    default: float = 0.0
    compiling: float = 0.0
    measuring: float = 0.0
    known: bool = False
    error: str = ""


class _Shape(NamedTuple):
    """A dense operand, or the values of a sparse one, without its elements."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def send(link: socket.socket, message: Any, arrays: Sequence[Tensor] = ()) -> None:
    """Sends a message, and arrays behind it."""
    data = pickle.dumps(message)
    link.sendall(len(data).to_bytes(_HEAD, "little") + data, _SILENT)
    for array in arrays:
        if array.nbytes:
            link.sendall((ctypes.c_char * array.nbytes).from_address(memory.address(array)), _SILENT)


def receive(link: socket.socket) -> Any:
    """The next message.

    Raises:
        EOFError: The other process is gone.
    """
    length = bytearray(_HEAD)
    _fill(link, memoryview(length))
    data = bytearray(int.from_bytes(length, "little"))
    _fill(link, memoryview(data))
    return pickle.loads(data)  # of the process that has started this one, or of one that this has started


def _fill(link: socket.socket, room: memoryview) -> None:
    done = 0
    while done < len(room):
        count = link.recv_into(room[done:])
        if not count:
            raise EOFError("the other process is gone")
        done += count


def send_job(link: socket.socket, job: Job) -> None:
    """Sends a job with the arrays of its patterns; of values only shapes and dtypes."""
    patterns: dict[int, tuple[int, Any]] = {}
    arrays: list[Tensor] = []
    described: list[Any] = []
    for pattern, data, _ in job.operands:
        shape = None if data is None else _Shape(data.dtype, tuple(data.shape), data.stride())
        if pattern is None:
            described.append((None, shape))
            continue
        known = patterns.get(id(pattern))
        if known is None:
            metas = [
                [None if a is None else (a.dtype, a.shape[0]) for a in part] for part in (pattern.pos, pattern.crd)
            ]
            known = patterns[id(pattern)] = len(patterns), (pattern.format.text, tuple(pattern.shape), *metas)
            arrays += [a for a in (*pattern.pos, *pattern.crd) if a is not None]
        described.append((known[0], shape))
    send(link, job._replace(operands=()), ())
    send(link, (described, [meta for _, meta in patterns.values()]), arrays)


def receive_job(link: socket.socket) -> Job:
    """The next job, with patterns of its own and values that nobody has chosen."""
    job: Job = receive(link)
    described, metas = receive(link)
    patterns = []
    for text, shape, *parts in metas:
        pos, crd = ([None if m is None else _received(link, *m) for m in part] for part in parts)
        patterns.append(Pattern(Format(text), shape, pos, crd))
    operands = [
        Operand(None if number is None else patterns[number], None if shape is None else filled(*shape))
        for number, shape in described
    ]
    return job._replace(operands=operands)


def _received(link: socket.socket, dtype: torch.dtype, length: int) -> Tensor:
    array = torch.empty(length, dtype=dtype, device="cpu")
    if array.nbytes:
        _fill(link, memoryview((ctypes.c_char * array.nbytes).from_address(array.data_ptr())).cast("B"))
    return array


def filled(dtype: torch.dtype, shape: Sequence[int], stride: Sequence[int], seed: int = 0) -> Tensor:
    """A tensor of random elements from 0.5 to 1.5, or integers from 1 to 9."""
    length, random = _length(shape, stride), torch.Generator(device="cpu").manual_seed(seed + 1)
    if dtype.is_floating_point or dtype.is_complex:
        flat = torch.rand(length, generator=random, device="cpu").add_(0.5).to(dtype)
    else:
        flat = torch.randint(1, 10, (length,), generator=random, device="cpu").to(dtype)
    return flat.as_strided(tuple(shape), tuple(stride))


def telling(values: Tensor, kind: int, number: int) -> Tensor:
    """Others in place of an operand's floating values, by whose results orders of sums, and of extrema, are told.

    Two kinds have zeros of both signs, which are the maxima, or the minima, of products. Others have numbers of both
    signs, a third of them powers of two that are large and cancel: what is left shows how sums before were rounded,
    also where results are rounded to fewer bits.

    Args:
        values: Those of the operand.
        kind: The kind.
        number: The number of the operand.
    """
    seed = 100 * kind + number
    if not (values.is_floating_point() or values.is_complex()):
        return filled(values.dtype, values.shape, values.stride(), seed)
    length, random = _length(values.shape, values.stride()), torch.Generator(device="cpu").manual_seed(seed)
    parts = 1 + values.is_complex()
    special, size, sign = torch.rand((3, parts, length), generator=random, dtype=torch.float64, device="cpu")
    size = torch.where(special < 1 / 3, _SPECIAL[kind], size + 0.5)
    if kind < _EXTREMA:
        sign = torch.where(size == 0, sign, 0.0 if kind == number == 0 else 1.0)
    flat = size.copysign_(sign - 0.5).to(values.dtype.to_real())
    found = torch.complex(flat[0], flat[1]) if values.is_complex() else flat[0]
    return found.as_strided(tuple(values.shape), values.stride())


def _length(shape: Sequence[int], stride: Sequence[int]) -> int:
    return 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True)) if all(shape) else 0
