"""WACONet, as published, on the measurements that the learned model is trained on, beside that model.

One network a computation, trained for a few minutes on the patterns with few entries: its convolutions visit every
entry, in training as in use. Both models are scored on the same problems, which neither has seen. Each schedule that
was measured in training is embedded; scoring all is compared with a walk on their graph of nearest neighbours.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch
from libsparse._tools import learned
from numpy.typing import NDArray
from training import dataset, inputs, scores, trees, waconet

from .collect import DATASET

_KERNELS = ("spmv", "spmm-32", "sddmm-64")
_MOST = 40_000  # entries
_SECONDS, _RATE, _BATCH = 150.0, 1e-3, 32
_ORDER = ("place0", "place1", "place2")
_PARAMETERS = (
    *("strip0", "strip1", "strip2", "strip_at0", "strip_at1", "strip_at2", "workspace", "depth", "lanes chosen"),
    *("unroll", "unrolled", "prefetch", "padded", "reordered", "compressed", "others"),
)


class _Patterns:
    """The maps and extents of patterns, made when they are first wanted."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._made = {one.name: one.make for one in inputs.inputs(options.data, quick=options.quick)}
        self._kept: dict[str, tuple[list[waconet.Map], torch.Tensor] | None] = {}

    def of(self, name: str) -> tuple[list[waconet.Map], torch.Tensor] | None:
        """Of an input; None where it has too many entries, or there is none."""
        if name not in self._kept and name in self._made:
            A = self._made[name]()
            self._kept[name] = None
            if A.dim() == 2 and A.nnz <= _MOST:
                coordinates = A.to_format("coo").indices().long()
                extents = torch.tensor([*A.shape, A.nnz]).float().log2() / 16
                self._kept[name] = waconet.maps(coordinates), extents
        return self._kept.get(name)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Scores of both models, and what extraction and scoring take."""
    torch.set_num_threads(1)
    data = dataset.read(DATASET / ("quick.jsonl.gz" if options.quick else "measurements.jsonl.gz"))
    held, patterns = data.held_out(), _Patterns(options)
    predicted = trees.Trees(data, data.rows(~held)).predict(data.features)
    found: dict[str, Any] = {"extraction": _extraction(options)}
    for kernel in _KERNELS:
        problems = np.array(
            [k == kernel and patterns.of(n) is not None for k, n in zip(data.kernels, data.inputs, strict=True)]
        )
        if not ((problems & held).any() and (problems & ~held).any()):
            print(f"  {kernel}: there are no patterns to train on, or none to be judged by")
            continue
        model, steps = _trained(data, patterns, problems & ~held, 5.0 if options.quick else _SECONDS)
        own = _predictions(model, data, patterns, problems & held)
        found[kernel] = {
            "steps": steps,
            "patterns": int((problems & ~held).sum()),
            "WACONet": scores.scores(data, problems & held, own).get("all"),
            "trees": scores.scores(data, problems & held, predicted).get("all"),
            "walk": _walk(model, data, patterns, problems, held),
        }
        print(f"  {kernel}: {found[kernel]}")
    return found


def _columns(data: dataset.Dataset, rows: NDArray[Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """The choices of parameters, and the places of loops, of schedules; unknown loops stay where they are."""
    at = [data.names.index(name) for name in _PARAMETERS]
    choices = torch.from_numpy(np.nan_to_num(data.features[rows][:, at])).round().long()
    places = torch.from_numpy(data.features[rows][:, [data.names.index(name) for name in _ORDER]])
    own = torch.arange(len(_ORDER)).float().expand_as(places)
    return choices, torch.where(places.isnan(), own, places).long()


def _trained(
    data: dataset.Dataset, patterns: _Patterns, problems: NDArray[np.bool_], seconds: float
) -> tuple[waconet.WACONet, int]:
    """A network that was trained for some time, one batch of schedules of a pattern at a time."""
    torch.manual_seed(0)
    model = waconet.WACONet(2, len(_PARAMETERS), len(_ORDER))
    optimizer = torch.optim.Adam(model.parameters(), _RATE)
    numbers, random = np.flatnonzero(problems), np.random.default_rng(0)
    begun, steps = time.monotonic(), 0
    while time.monotonic() - begun < seconds and len(numbers):
        number = random.choice(numbers)
        rows = random.permutation(np.flatnonzero(data.problem == number))[:_BATCH]
        known = patterns.of(data.inputs[number])
        assert known is not None
        optimizer.zero_grad()
        costs = model.cost(model.pattern(*known), model.schedule(*_columns(data, rows)))
        waconet.hinge(costs, torch.from_numpy(data.slowdown[rows])).backward()
        optimizer.step()
        steps += 1
    return model, steps


@torch.no_grad()
def _predictions(
    model: waconet.WACONet, data: dataset.Dataset, patterns: _Patterns, problems: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Of all rows of some problems; 0 of others."""
    out = np.zeros(len(data.slowdown))
    for number in np.flatnonzero(problems):
        known, rows = patterns.of(data.inputs[number]), np.flatnonzero(data.problem == number)
        assert known is not None
        out[rows] = model.cost(model.pattern(*known), model.schedule(*_columns(data, rows))).double().numpy()
    return out


@torch.no_grad()
def _walk(
    model: waconet.WACONet,
    data: dataset.Dataset,
    patterns: _Patterns,
    problems: NDArray[np.bool_],
    held: NDArray[np.bool_],
) -> dict[str, float]:
    """Seconds of scoring all schedules of training and of a walk, and how many of the ten best the walk finds."""
    choices, places = _columns(data, data.rows(problems & ~held))
    distinct = torch.cat([choices, places], 1).unique(dim=0)
    embedded = model.schedule(distinct[:, : choices.shape[1]], distinct[:, choices.shape[1] :])
    walk = waconet.Walk(embedded)
    rows: list[tuple[float, ...]] = []
    for number in np.flatnonzero(problems & held):
        known = patterns.of(data.inputs[number])
        assert known is not None
        pattern = model.pattern(*known)
        begun = time.perf_counter()
        every = model.cost(pattern, embedded).argsort()[:10]
        between = time.perf_counter()
        some, visited = walk.best(model, pattern, 10)
        ended = time.perf_counter()
        common = len(set(every.tolist()) & set(some.tolist())) / len(every)
        rows.append((between - begun, ended - between, visited, common))
    names = ("all", "walk", "visited", "found")
    means = np.mean(rows, axis=0) if rows else [float("nan")] * len(names)
    return {"schedules": len(distinct), **{n: float(x) for n, x in zip(names, means, strict=True)}}


@torch.no_grad()
def _extraction(options: argparse.Namespace) -> dict[str, float]:
    """Seconds that features of ours take and WACONet's, with its maps, of a pattern with many entries."""
    import libsparse as ls

    A = ls.random((2**16, 2**16), (10**5 if options.quick else 10**6) / 2**32, format="csr")
    coordinates = A.to_format("coo").indices().long()
    extractor, extents = waconet.Extractor(2), torch.tensor([16.0, 16.0, 20.0])
    learned.features(A.pattern)
    begun = time.perf_counter()
    learned.features(A.pattern)
    ours = time.perf_counter()
    maps = waconet.maps(coordinates)
    mapped = time.perf_counter()
    extractor(maps, extents)
    ended = time.perf_counter()
    found = {"entries": A.nnz, "features": ours - begun, "maps": mapped - ours, "network": ended - mapped}
    print(f"  extraction: {found}")
    return found
