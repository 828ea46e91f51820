"""The graph network of the demo on Cora: a training step and an inference beside torch and expert torch."""

from __future__ import annotations

import argparse
from typing import Any

from libsparse.demo.graphs import find_data, generate, load, names
from libsparse.demo.models import CONTENDERS
from libsparse.demo.training import train


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure; each ratio is that of libsparse's time to the other's, so less is better."""
    folder = find_data(None)
    graph = load(folder, "cora") if folder is not None and "cora" in names(folder) else generate()
    runs = train(graph, CONTENDERS, seeds=1, epochs=60 if options.quick else 300)
    ours = runs[0]
    rows = []
    for each in runs:
        rows.append({"title": each.title, "step_ms": each.step_ms, "inference_ms": each.inference_ms})
        step, inference = ours.step_ms / each.step_ms, ours.inference_ms / each.inference_ms
        print(
            f"  {each.title:<28} step {each.step_ms:7.3f} ms (ours {step:.2f}x)   "
            f"inference {each.inference_ms:7.3f} ms (ours {inference:.2f}x)"
        )
    return {"graph": graph.name, "rows": rows}
