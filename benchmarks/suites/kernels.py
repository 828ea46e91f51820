"""SpMM on ten graphs: is the compiled kernel as fast as the vendor's library?"""

from __future__ import annotations

from typing import Any

import measure
import torch
from inputs import graphs
from peers import available
from peers.torch_sparse import TITLE as BASE

import libsparse as ls


def run(data: str | None, quick: bool) -> dict[str, Any]:
    """Measure; the ratio is torch's time over the peer's, so more is better."""
    peers = available()
    rows: list[dict[str, Any]] = []
    widths = (16, 64) if quick else (16, 64, 256)
    print(f"SpMM, float32, {torch.get_num_threads()} threads: speed over {BASE}")
    for matrix in graphs(data, quick):
        prepared = {title: peer.spmm(matrix) for title, peer in peers.items()}
        exact = torch.sparse_csr_tensor(matrix.crow, matrix.col, matrix.values.double(), matrix.shape)
        bound = torch.sparse_csr_tensor(matrix.crow, matrix.col, matrix.values.double().abs(), matrix.shape)
        for width in widths:
            b = torch.rand(matrix.shape[1], width, generator=torch.Generator().manual_seed(2)) - 0.5
            expected, scale = exact @ b.double(), bound @ b.double().abs()
            for title, multiply in prepared.items():
                measure.check(multiply(b), expected, scale, f"{title} on {matrix.name}, N={width}")
            times = measure.interleaved({t: lambda m=m, b=b: m(b) for t, m in prepared.items()}, 7 if quick else 15)
            ratios = {title: times[BASE].median / taken.median for title, taken in times.items()}
            best = {title: times[BASE].fastest / taken.fastest for title, taken in times.items()}
            rows.append(
                {
                    "matrix": matrix.name,
                    "nnz": matrix.values.numel(),
                    "N": width,
                    "seconds": {t: s._asdict() for t, s in times.items()},
                    "speed": ratios,
                    "fastest": best,
                }
            )
            print(
                f"  {matrix.name:<32} N={width:<4}"
                + "".join(f"  {t} {r:5.2f}" for t, r in ratios.items() if t != BASE)
                + f"   ({1e3 * times[BASE].median:.3f} ms)",
                flush=True,
            )
    summary: dict[str, Any] = {}
    for width in widths:
        for title in peers:
            speeds = [row["speed"][title] for row in rows if row["N"] == width]
            undisturbed = [row["fastest"][title] for row in rows if row["N"] == width]
            summary[f"{title}, N={width}"] = {
                "geomean": measure.geomean(speeds),
                "worst": min(speeds),
                "geomean of the fastest": measure.geomean(undisturbed),
            }
        ours = summary[f"{ls.__name__}, N={width}"]
        print(
            f"  N={width}: libsparse over torch: geometric mean {ours['geomean']:.2f} (bar 1.00), "
            f"worst {ours['worst']:.2f}; by each one's fastest turn {ours['geomean of the fastest']:.2f}"
        )
    return {"rows": rows, "summary": summary}
