"""Trains the learned model on what `collect` has measured, beside other models, and writes the file of its weights.

Scores are of patterns that were held out, also from what is written.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from training import dataset, rivals, scores, trees

from .collect import DATASET

_WEIGHTS = Path(__file__).parents[2] / "libsparse" / "tune" / "learned"
_ROUNDS = 5


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Scores of each model, and the file."""
    torch.set_num_threads(1)
    path = DATASET / ("quick.jsonl.gz" if options.quick else "measurements.jsonl.gz")
    data = dataset.read(path)
    held = data.held_out()
    train, test = data.rows(~held), data.rows(held)
    print(f"  {len(data.slowdown)} times of {len(data.kernels)} problems, {int(test.sum())} of them held out")
    found: dict[str, Any] = {"digest": data.digest, "samples": len(data.slowdown)}
    models = {"linear": rivals.Linear, "network": rivals.Network, "trees": trees.Trees}
    for title, make in models.items():
        begun = time.perf_counter()
        model: Any = make(data, train)
        seconds = time.perf_counter() - begun
        found[title] = {
            "training": seconds,
            "prediction": _prediction(model, data.features[test]),
            "scores": scores.scores(data, held, model.predict(data.features)),
        }
        _show(title, found[title])
    assert isinstance(model, trees.Trees)  # the last
    if not options.quick:
        model.write(_WEIGHTS / "weights.bin", data)
        model.examples(_WEIGHTS / "testdata" / "examples.json", data, test)
        print(f"  wrote {(_WEIGHTS / 'weights.bin').stat().st_size} bytes")
    return found


def _prediction(model: Any, features: NDArray[Any]) -> float:
    """Seconds of a prediction, of a thousand at once, in Python."""
    some = features[:1000]
    least = float("inf")
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        model.predict(some)
        least = min(least, time.perf_counter() - begun)
    return least / max(len(some), 1)


def _show(title: str, found: dict[str, Any]) -> None:
    print(f"  {title}: trained in {found['training']:.0f} s, {1e6 * found['prediction']:.1f} us a prediction")
    for kernel, row in found["scores"].items():
        print(
            f"    {kernel:16} Spearman {row['spearman']:.2f}  slower than the best: first {row['top1']:.3f},"
            f" of ten {row['top10']:.3f}  over the compiler's: of ten {row['tuned']:.3f}, of all {row['best']:.3f}"
            f", unmeasured {row['cold']:.3f}  ({row['problems']} problems)"
        )
