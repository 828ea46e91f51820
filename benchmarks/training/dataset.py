"""Measurements as arrays: what the model sees of each schedule, and the logarithm of its time over the compiler's."""

from __future__ import annotations

import gzip
import hashlib
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from libsparse._compiler import searches
from libsparse._lang.errors import LibsparseError
from numpy.typing import NDArray

from . import split

Floats = NDArray[np.float32]
_COPIES = ("others", "carried", "reordered", "compressed", "expanded", "padded")  # features of other formats
_ALONE = 0.8  # of the next ratio: libraries have schedules that are alike


@dataclass
class Dataset:
    """Schedules of many problems.

    Attributes:
        names: Of the features.
        features: A row for each schedule.
        slowdown: The logarithm to base 2 of the time over that of the compiler's schedule.
        problem: The number of the problem of each.
        kernels, bases, inputs: Of each problem.
        digest: Of the measurements that models are trained on.
    """

    names: list[str]
    features: Floats
    slowdown: Floats
    problem: NDArray[np.int64]
    kernels: list[str]
    bases: list[str]
    inputs: list[str]
    digest: str

    def rows(self, problems: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The rows of these problems."""
        return problems[self.problem]

    def held_out(self) -> NDArray[np.bool_]:
        """The problems that are never trained on: all of one base in five."""
        return np.array([split.held_out(base) for base in self.bases])

    def plain(self) -> NDArray[np.bool_]:
        """The rows of schedules that convert nothing beyond what the compiler's does, the first of each problem."""
        column = {name: self.features[:, number] for number, name in enumerate(self.names)}
        kept: NDArray[np.bool_] = np.all([column[name] == 0 for name in _COPIES], axis=0)
        firsts = np.searchsorted(self.problem, self.problem)
        return kept & (column["conversions"] <= column["conversions"][firsts])


def read(path: Path) -> Dataset:
    """The dataset of a file of measurements."""
    names: list[str] = []
    features, slowdown, problem = [], [], []
    kernels, bases, inputs = [], [], []
    digest = hashlib.sha256()
    for record in _records(path, digest):
        ratios = believed(once(record["ratios"]))
        changes = [{}, *(c for c, _ in ratios)]
        try:
            search = searches.Tuner(record["request"], {k: record[k] for k in ("formats", "patterns")})
        except LibsparseError as error:
            print(f"  {record['kernel']} of {record['input']}: {error}")
            continue
        described = search.describe(changes)
        search.close()
        names = names or described["names"]
        assert names == described["names"]
        for row, ratio in zip(described["features"], [1.0, *(r for _, r in ratios)], strict=True):
            if row is not None:
                features.append(np.array(row, dtype=np.float32))
                slowdown.append(np.log2(ratio))
                problem.append(len(kernels))
        kernels.append(record["kernel"])
        bases.append(record["base"])
        inputs.append(record["input"])
    arrays = np.stack(features), np.array(slowdown, dtype=np.float32), np.array(problem)
    return Dataset(names, *arrays, kernels, bases, inputs, digest.hexdigest())


def _records(path: Path, digest: Any) -> list[dict[str, Any]]:
    """What was measured of each problem, put together where it was measured several times."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    with gzip.open(path, "rt") as lines:
        for line in lines:
            record = json.loads(line)
            if not split.held_out(record["base"]):
                digest.update(line.encode())
            key = record["input"], record["kernel"]
            before = found.get(key)
            if before is not None:
                record["ratios"] = before["ratios"] + record["ratios"]
                for name, formats in before["formats"].items():
                    record["formats"][name] = list(dict.fromkeys([*formats, *record["formats"][name]]))
            found[key] = record
    return list(found.values())


def once(ratios: list[tuple[dict[str, str], float]]) -> list[tuple[dict[str, str], float]]:
    """The ratio of each schedule, the geometric mean where it was measured several times."""
    of: dict[str, tuple[dict[str, str], list[float]]] = {}
    for changes, ratio in ratios:
        of.setdefault(json.dumps(changes, sort_keys=True), (changes, []))[1].append(ratio)
    return [(changes, statistics.geometric_mean(several)) for changes, several in of.values()]


def believed(ratios: list[tuple[dict[str, str], float]]) -> list[tuple[dict[str, str], float]]:
    """Ratios without those far below all others: the compiler's schedule was disturbed when they were measured."""
    kept = sorted(ratios, key=lambda entry: entry[1])
    while len(kept) > 1 and kept[0][1] < min(1.0, kept[1][1]) * _ALONE:
        kept = kept[1:]
    return kept


def squeezed(slowdown: Floats) -> Floats:
    """What models learn: what is more than twice as slow as the compiler's matters less, by how much."""
    out: Floats = np.where(slowdown > 1, 1 + 0.3 * (np.minimum(slowdown, 6) - 1), slowdown).astype(np.float32)
    return out
