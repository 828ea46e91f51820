"""Every schedule of an expression, timed: slow ones are stopped early, in a child, and the best take turns."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import torch
from libsparse._compiler import native
from method.operands import Matrix

import libsparse as ls

from .expressions import Expression

_PATIENCE = 10.0  # a candidate that takes so many times what the best does is stopped
_FLOOR = 0.05  # seconds that every candidate gets
_TURN = 0.01  # seconds of calls by which a candidate is judged first
_COMPILERS = 2


class Candidate(NamedTuple):
    """A schedule with what the compiler says of it; `run` is None until it is compiled."""

    schedule: str
    order: tuple[str, ...]
    cost: float
    plain: bool
    tiled: bool
    chosen: bool
    run: Callable[[], Any] | None = None


def enumerate_all(expression: Expression, matrix: Matrix, *, plain: bool = False) -> list[Candidate]:
    """The schedules that the compiler can carry out.

    Args:
        expression: What to compute.
        matrix: On what.
        plain: One schedule an order of the loops only.
    """
    command = [str(native.EXECUTABLE), "candidates", *(["-plain"] if plain else [])]
    question = json.dumps(expression.prepared(matrix).request())
    done = subprocess.run(command, input=question, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{expression.title}: {done.stderr}")
    fields = ("cost", "plain", "tiled", "chosen")
    return [
        Candidate(c["schedule"].rstrip(";"), tuple(c["order"]), *(c[f] for f in fields))
        for c in json.loads(done.stdout)
    ]


def compiled(expression: Expression, matrix: Matrix, found: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with their kernels and the operands converted; without those that can't run on these extents."""

    def make(c: Candidate) -> Candidate | None:
        try:
            return c._replace(run=expression.prepared(matrix, c.schedule).prepare())
        except ls.LibsparseError as error:
            print(f"  {c.schedule}: {error}")
            return None

    with ThreadPoolExecutor(_COMPILERS) as pool:
        return [c for c in pool.map(make, found) if c is not None]


class Screened(NamedTuple):
    """Seconds a call, infinite where it was stopped or the result stores other entries; and whether it was right."""

    seconds: float
    right: bool


def screen(calls: Sequence[Callable[[], Any]], right: Callable[[Any], bool | None], best: float) -> list[Screened]:
    """Times each call briefly in a child, which is killed where one takes too long.

    Args:
        calls: What to time.
        right: Whether a result is what it should be.
        best: Seconds that a good one takes.
    """
    out = [Screened(float("inf"), right=True)] * len(calls)
    at = 0
    while at < len(calls):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            try:
                for number in range(at, len(calls)):
                    _judge(calls[number], right, number, write)
            finally:
                os._exit(0)
        os.close(write)
        at, best = _listen(read, at, len(calls), out, best)
        os.close(read)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return out


def _judge(call: Callable[[], Any], right: Callable[[Any], bool | None], number: int, write: int) -> None:
    # A line when the first call is done, so that it and the check have deadlines of their own.
    try:
        result = call()
        os.write(write, f"{number} called\n".encode())
        ok = right(result)
        if ok is None:
            os.write(write, f"{number} inf 1\n".encode())
            return
        del result
        taken, spent = [], 0.0
        while spent < _TURN or len(taken) < 2:
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
            spent += taken[-1]
        os.write(write, f"{number} {min(taken)!r} {int(ok)}\n".encode())
    except Exception as error:  # the child must say so and go on
        os.write(write, f"{number} inf 0 {type(error).__name__}: {error}\n".replace("\n", " ").encode() + b"\n")


def _listen(read: int, at: int, count: int, out: list[Screened], best: float) -> tuple[int, float]:
    """Reads what a child says until it is done or late; returns where the next one begins."""
    text = b""
    deadline = time.perf_counter() + _FLOOR + 0.5 + 2 * _PATIENCE * best
    while at < count:
        left = deadline - time.perf_counter()
        ready, _, _ = select.select([read], [], [], max(left, 0))
        if not ready:
            return at + 1, best  # late: out[at] stays infinite
        got = os.read(read, 1 << 16)
        if not got:
            return at + 1, best  # it died
        text += got
        *lines, text = text.split(b"\n")
        for line in lines:
            words = line.decode().split()
            if words[1] != "called":
                out[at] = Screened(float(words[1]), words[2] == "1")
                best = min(best, out[at].seconds)
                at += 1
            deadline = time.perf_counter() + _FLOOR + 2 * _PATIENCE * best + (1.0 if words[1] == "called" else 0.0)
    return at, best


def same(expected: Any, scale: Any) -> Callable[[Any], bool | None]:
    """A test whether a result agrees with one in float64, relative to that of absolute values.

    It says None of one that stores other entries, such as zeros that a dense workspace leaves: it is another result.
    """
    wanted, bound = _values(expected), _values(scale)

    def right(result: Any) -> bool | None:
        found = _values(result)
        if found.shape != wanted.shape:
            return None if isinstance(result, ls.SparseTensor) and found.numel() > wanted.numel() else False
        return bool((((found.double() - wanted).abs() / (bound + 1e-30)).max() if found.numel() else 0) < 1e-4)

    return right


def _values(result: Any) -> torch.Tensor:
    values: torch.Tensor = result.values() if isinstance(result, ls.SparseTensor) else result
    return values
