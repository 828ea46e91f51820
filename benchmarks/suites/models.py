"""The graph network of the demo on Cora: a training step and an inference beside torch and expert torch."""

from __future__ import annotations

from typing import Any

from inputs import task
from libsparse.demo.models import CONTENDERS
from libsparse.demo.training import train


def run(data: str | None, quick: bool) -> dict[str, Any]:
    """Measure; each ratio is that of libsparse's time to the other's, so less is better."""
    graph = task(data)
    runs = train(graph, CONTENDERS, seeds=1, epochs=60 if quick else 300)
    ours = runs[0]
    for run_ in runs[1:]:
        for mine, theirs in zip(ours.losses[0], run_.losses[0], strict=True):
            if abs(mine - theirs) > 0.05:
                raise SystemExit(f"libsparse and {run_.title} disagree about the loss: {mine} and {theirs}")
    print(f"GCN, hidden 16, sparse features, on {graph.name}")
    rows = []
    for each in runs:
        rows.append(
            {
                "title": each.title,
                "step_ms": each.step_ms,
                "inference_ms": each.inference_ms,
                "fastest_step_ms": 1e3 * min(each.steps),
                "fastest_inference_ms": 1e3 * min(each.inferences),
            }
        )
        step, inference = ours.step_ms / each.step_ms, ours.inference_ms / each.inference_ms
        print(
            f"  {each.title:<28} step {each.step_ms:7.3f} ms (ours {step:.2f}x)   "
            f"inference {each.inference_ms:7.3f} ms (ours {inference:.2f}x)"
        )
    expert = next(each for each in runs if each.title == "expert torch")
    print(
        f"  by the fastest of each: step {min(ours.steps) / min(expert.steps):.2f}x, "
        f"inference {min(ours.inferences) / min(expert.inferences):.2f}x expert torch"
    )
    print("  bars: step at most 1.00x expert torch, inference at most 1.00x torch with sparse features")
    return {"graph": graph.name, "rows": rows}
