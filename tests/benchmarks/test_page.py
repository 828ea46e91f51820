"""The page of results: every part of a run that is there is shown."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RUN = Path(__file__).parents[2] / "benchmarks" / "run.py"


def row(matrix: str, ours: float, **more: Any) -> dict[str, Any]:
    peers = {"libsparse": ours, "torch int32 CSR": 2e-3, "plain C": 1e-3}
    shown = {title: {"median": t, "low": t, "high": t, "memory": 5e6} for title, t in peers.items()}
    return {
        **{"kernel": "spmv", "title": "SpMV", "matrix": matrix, "family": "generated", "width": 0, "dtype": "f32"},
        **{"new": False, "threads": 1, "flops": 2e6, "bytes": 8e6, "failed": {}, "wrong": {}, "peers": shown, **more},
    }


def test_page(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    times = {"libsparse": {"median": 2e-6}, "torch int32 CSR": {"median": 5e-6}}
    machine = {"cpu": "a processor", "cores": 2, "caches": {"L1": 32768}, "load": 0.1, "time": "2026-01-01 10:00:00"}
    found = {
        "machine": {**machine, "libsparse": "0.1.0", "torch": "2.15.0", "python": "3.11.7"},
        "options": {"rounds": "15"},
        "load at the end": 0.2,
        "kernels": {
            "rows": [row("a", 1e-3), row("b", 2e-3), row("c", 5e-4)],
            "rooflines": {"1": {"GB/s": {"L2": {"read": 100.0}}, "GF/s": 50.0}},
        },
        "models": {"rows": [row("cora", 1e-3, title="GCN 16, step", family="models")]},
        "latency": {"first": {"beyond": 0.5, "import": 30.0}, "new": {"median": 0.06}, "repeated": {"SpMV": times}},
    }
    (tmp_path / "run.json").write_text(json.dumps(found))
    subprocess.run([sys.executable, RUN, "page", tmp_path / "run.json", tmp_path / "docs"], check=True)
    page = (tmp_path / "docs" / "results.md").read_text()
    assert "| SpMV, f32, 1 thread | 3 | 2.00 [1.00 to 4.00] | 1.00 [0.50 to 2.00] | b, plain C |" in page
    assert "| GCN 16, step, cora | 1 ms (5 MB) | plain C 1 ms (5 MB) | 1.00 x | torch int32 CSR 2 ms (5 MB) |" in page
    assert "a new expression, median | 60 |" in page
    pictures = {path.name for path in (tmp_path / "docs" / "results").iterdir()}
    assert {"kernels.png", "models.png", "latency.png"} < pictures
    assert all(f"results/{name}" in page for name in pictures)
