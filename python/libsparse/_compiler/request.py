"""Requests to the compiler, and their canonical form, under which answers are kept on disk."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from libsparse._lang.records import NamedTuple
from libsparse._lang.user_functions import Definition

from . import settings, size_classes, target
from .version import VERSION

_records: dict[str | None, Records] = {}
"""What `tuned` gives, by the folder of the cache that was chosen, None for the environment's."""
untuned: set[tuple[Any, ...]] = set()
"""What is known to have no record: what stands for a request, the number of threads, and the folder that was chosen."""


class OperandInfo(NamedTuple):
    """An operand as requests describe it; shape and counts are size classes. Of a dense one, format "" is a scalar."""

    name: str
    format: str
    dtype: str
    pattern_only: bool
    index: str  # type: ignore[assignment]
    shape: tuple[int, ...]
    nnz: int
    same_pattern: int
    filled: int = 0
    skew: tuple[int, ...] = ()
    reach: int = 0
    scattered: bool = False
    far: bool = False
    uneven: bool = False
    adjacent: bool = False
    strip: int = 0


class OutputInfo(NamedTuple):
    """The result as requests describe it; None leaves a choice to the compiler."""

    format: str | None = None
    dtype: str | None = None
    index: str = "i32"  # type: ignore[assignment]  # the name the request has; tuple.index is not used
    pattern_of: int | None = None
    temporary: bool = False
    step: bool = False
    divided: bool = False
    counted: bool = False
    few: bool = False


class Request(NamedTuple):
    """A question to the compiler; hashable, so that it names a kernel in this process too."""

    text: str
    is_expr: bool
    operands: tuple[OperandInfo, ...]
    output: OutputInfo
    reduce: str = "sum"
    combine: str = "mul"
    schedule: str = ""
    functions: tuple[Definition, ...] = ()

    def describe(self) -> dict[str, Any]:
        """The request as JSON has it, without `target` and `request_key`."""
        unset = {"pattern_of": None, "temporary": False, "step": False, "divided": False, "counted": False}
        unset["few"] = False
        output = {name: value for name, value in self.output._asdict().items() if unset.get(name, self) is not value}
        operands = [{**o._asdict(), "shape": list(o.shape)} for o in self.operands]
        described = {
            "expr" if self.is_expr else "spec": self.text,
            "operands": operands,
            "output": output,
            "reduce": self.reduce,
            "combine": self.combine,
        }
        if self.schedule:
            described["schedule"] = self.schedule
        if self.functions:
            described["functions"] = [definition.describe() for definition in self.functions]
        return described


def text(request: Request) -> str:
    """A request as text, which tells it from all others."""
    represent = tuple.__repr__  # a NamedTuple's own takes longer
    parts = [request.text, f"{request.is_expr} {request.reduce} {request.combine}"]
    parts += map(represent, request.operands)
    parts.append(represent(request.output))
    if request.schedule or request.functions:
        parts.append(repr((request.schedule, *map(tuple, request.functions))))
    return "\n".join(parts)


def key(request: Request, build: str, level: str = "") -> str:
    """The name of this compiler's answer to a request: in the cache, or in the pack for a level."""
    # Whoever sets CC or LIBSPARSE_CC gets kernels of that compiler, in the next process that has not loaded others yet.
    machine = level or f"{target.identity()} {target.compiler()}"
    return hashlib.sha256(f"{machine}\n{build}\n{text(request)}".encode()).hexdigest()


def widened(request: Request) -> Request:
    """A request for operands of any size, which all requests come to that one kernel of the pack fits.

    The classes of small extents of dense operands stay: loops over them are written out, or have a least length.
    """
    return request._replace(operands=tuple(map(_any_size, request.operands)))


def _any_size(operand: OperandInfo) -> OperandInfo:
    shape = tuple(n if size_classes.is_small_width(n) else 0 for n in operand.shape)
    sizes = operand._replace(shape=shape, nnz=0, filled=0, skew=(), reach=0)
    return sizes._replace(scattered=False, far=False, uneven=False, adjacent=False, strip=0)


def complete(request: Request, name: str) -> dict[str, Any]:
    """The request as the compiler takes it, its answer to be kept under `name`."""
    return {**request.describe(), "target": target.target(), "request_key": name}


class Records(Mapping[str, dict[str, Any]]):
    """What measurements have shown about requests, by the names of records; each is read when it is first asked for."""

    def __init__(self, folder: str) -> None:
        """Look which records a folder has."""
        self._folder = folder
        self._read: dict[str, dict[str, Any] | None] = {}
        self._names: set[str] = set()
        if os.access(folder, os.R_OK):  # a first call has no time for exceptions
            with suppress(OSError), os.scandir(folder) as files:  # gone meanwhile, or no folder
                self._names = {file.name.removesuffix(".json") for file in files if file.name.endswith(".json")}

    def __bool__(self) -> bool:
        """Whether there may be a record."""
        return bool(self._names)

    def __contains__(self, name: object) -> bool:
        """Whether there is a file for a name, which may hold anything."""
        return name in self._names

    def __getitem__(self, name: str) -> dict[str, Any]:
        """The record of a name."""
        if name not in self._read:
            self._read[name] = _record(Path(self._folder, f"{name}.json")) if name in self._names else None
        record = self._read[name]
        if record is None:
            raise KeyError(name)
        return record

    def __iter__(self) -> Iterator[str]:
        """The names of records."""
        return (name for name in sorted(self._names) if self.get(name) is not None)

    def __len__(self) -> int:
        """How many records there are."""
        return sum(1 for _ in self)


def tuned() -> Records:
    """What measurements have shown; what the cache has is looked up when it is first asked for."""
    chosen = settings.cache_dir()  # new patterns ask, and the folder itself takes longer to find out
    found = _records.get(chosen)
    if found is None:
        found = _records[chosen] = Records(f"{target.cache_dir()}/v{VERSION}/tuned")
    return found


def record_name(request: Request, build: str, threads: int) -> str:
    """The name of the record for a request, which stands for the machine, the compiler and the threads, too."""
    return f"{key(request, build)}-{threads}"


def forget() -> None:
    """Forgets the records, and what has none; they are read anew when they are asked for."""
    _records.clear()
    untuned.clear()


def _is_whole(pattern: dict[str, Any]) -> bool:
    """Whether what a record says of a pattern has the types that `tune` writes."""
    named = all(isinstance(pattern.get(name, ""), str) for name in ("formats", "when"))
    return named and isinstance(pattern.get("gain", 1.0), int | float) and all(map(_is_trial, pattern["trials"]))


def _is_trial(trial: list[Any]) -> bool:
    point, schedule, ratio, error = trial
    measured = ratio is None or (isinstance(ratio, int | float) and 0 < ratio < math.inf)
    return measured and isinstance(point, dict) and isinstance(schedule, str) and isinstance(error, str)


def _record(file: Path) -> dict[str, Any] | None:
    """A record as `tune` writes it; None where the file is anything else."""
    try:
        record = json.loads(file.read_text())
        patterns = record["patterns"].values()
        schedules = [record["class"], *(pattern["schedule"] for pattern in patterns)]
        whole = isinstance(record["expression"], str) and isinstance(record["threads"], int)
        whole = whole and all(map(_is_whole, patterns))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return record if whole and all(text is None or isinstance(text, str) for text in schedules) else None
