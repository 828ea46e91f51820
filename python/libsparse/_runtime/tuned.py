"""Schedules that were found by measuring: which of them is for a problem, and the records of them in the cache."""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import time
import warnings
from collections.abc import Sequence
from ctypes import string_at
from pathlib import Path
from typing import Any

from libsparse._compiler import kernel, native, request, settings
from libsparse._storage import memory, threads

from .problem import Operand, Problem
from .requests import to_request

_BOUND = re.compile(r"bound\(\s*(\w+)\s*,\s*(\d+)\s*\)")
_TAIL = re.compile(r"split\(\s*(\w+)\s*,[^)]*tail\s*=\s*(\d+)\s*\)")

Record = dict[str, Any]
"""What is known for a request: `expression` and `threads`; `class`, the schedule for all patterns of the class (None:
the compiler's); `patterns`, by digests of patterns the schedule for exactly these, `formats` in words, and `trials`.
`bitwise`, of both, says that results are known to have the same bits as with the compiler's schedule; `gain` of a
pattern how much faster the schedule is, and `when` the day and time of that."""


def name(problem: Problem, operands: Sequence[Operand]) -> str:
    """The name of the record for a problem."""
    return request.record_name(to_request(problem, operands), native.BUILD, threads.count())


def schedule(problem: Problem, operands: Sequence[Operand]) -> str | None:
    """The fastest schedule that is known for a problem on these patterns; None where that is the compiler's."""
    record = request.tuned().get(name(problem, operands))
    if record is None:
        return None
    exact = record["patterns"].get(digest(operands)) if record["patterns"] else None
    commands: str | None = record["class"] if exact is None else exact["schedule"]
    if settings.tuning.tune_bitwise and not (record if exact is None else exact).get("bitwise"):
        return None
    return commands if commands and fits(commands, problem.extents(operands)) else None


def fits(commands: str, extents: dict[str, int]) -> bool:
    """Whether a schedule is for loops of these extents: exact ones that it states, and strips that are shifted."""
    return all(extents.get(v) == int(n) for v, n in _BOUND.findall(commands)) and all(
        extents.get(v, 0) >= int(n) for v, n in _TAIL.findall(commands)
    )


def digest(operands: Sequence[Operand]) -> str:
    """A digest of the patterns and shapes of operands."""
    found = hashlib.blake2b(digest_size=16)
    for operand in operands:
        found.update(f"{operand}".encode())
        for array in () if operand.pattern is None else operand.pattern.tensors():
            found.update(string_at(memory.address(array), array.nbytes))
    return found.hexdigest()


def read(name: str) -> Record | None:
    """The record of a name, None where there is none."""
    record: Record | None = request.tuned().get(name)
    return record


def keep(name: str, exact: str, expression: str, found: dict[str, Any], *, all: bool, count: int) -> None:
    """Keeps what was found for one pattern, for this process and later ones; warns where it can't be written.

    Args:
        name: The record's.
        exact: The digest of the pattern.
        expression: The computation.
        found: What the record says of the pattern.
        all: Whether the schedule is for all patterns of the class, too.
        count: How many threads calls use.
    """
    record = read(name) or {"expression": expression, "threads": count, "class": None, "patterns": {}}
    record["patterns"][exact] = found
    if all:
        record["class"], record["bitwise"] = found["schedule"], found.get("bitwise", False)
    try:
        save(name, record, exact)
    except OSError as error:
        warnings.warn(f"libsparse: what was measured can't be kept: {error}", RuntimeWarning, stacklevel=3)


def now() -> str:
    """The day and time, as records have it."""
    return time.strftime("%Y-%m-%d %H:%M")


def save(name: str, record: Record, exact: str) -> None:
    """Writes what a record says of the class and of one pattern, for this process and later ones; others' stay."""
    folder = kernel.store() / "tuned"
    for private in (folder.parent, folder):  # the compiler refuses a folder that others may write to
        private.mkdir(0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _changed()
        others = (read(name) or {"patterns": {}})["patterns"]
        written = folder / "new"
        try:
            written.write_text(json.dumps({**record, "patterns": {**others, exact: record["patterns"][exact]}}))
            written.replace(folder / f"{name}.json")
        except OSError:  # a full disk
            written.unlink(missing_ok=True)
            raise
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # a child that was forked meanwhile has the file open, too
    _changed()


def remove(beginning: str) -> int:
    """Removes the records whose names begin so; returns how many there were."""
    found = [file for file in Path(kernel.store(), "tuned").glob("*.json") if file.stem.startswith(beginning)]
    for file in found:
        file.unlink(missing_ok=True)
    _changed()
    return len(found)


def _changed() -> None:
    """Forgets the records, and what was prepared from them."""
    request.forget()
    kernel.prepared.clear()
