"""A tensor of order three as a sum of outer products (CP decomposition), by alternating least squares.

The heavy part of a sweep is one product of the sparse tensor with two factors for each mode (MTTKRP). Nothing is
unfolded, and neither the approximation nor its error is ever a dense tensor. Give a FROSTT file to decompose your own.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
from options import Plots, save

import libsparse as ls


def generated(shape: tuple[int, ...], rank: int) -> ls.SparseTensor:
    """A sum of `rank` sparse outer products, as counts of events are, with a little noise."""
    terms = []
    for _ in range(rank):
        a, b, c = (torch.rand(n) * (torch.rand(n) < 0.08) for n in shape)
        terms.append(ls.einsum("i,j,k->ijk", *(ls.tensor(v) for v in (a, b, c))))
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total.with_values(total.values() * (1 + 0.02 * torch.randn(total.nnz)))


def sweep(X: ls.SparseTensor, factors: list[torch.Tensor]) -> float:
    """Solves for each factor in turn; returns the relative error, from sums that are already there."""
    for mode in range(3):
        others = [f for n, f in enumerate(factors) if n != mode]
        gram = (others[0].T @ others[0]) * (others[1].T @ others[1])
        product = ls.mttkrp(X, factors, mode)
        factors[mode] = torch.linalg.lstsq(gram, product.T).solution.T
    inner = (product * factors[2]).sum()
    squared = (gram * (factors[2].T @ factors[2])).sum()
    whole = X.values().square().sum()
    return float(((whole - 2 * inner + squared).clamp(min=0) / whole).sqrt())


def main(quick: bool = False, plots: Plots = None, file: Path | None = None, rank: int = 10) -> dict[str, float]:
    torch.manual_seed(0)
    X = ls.read(file, dtype=torch.float32) if file else generated((80, 70, 60) if quick else (600, 500, 400), rank)
    print(f"{X.ndim} modes, shape {tuple(X.shape)}, {X.nnz:,} entries")
    factors = [torch.rand(n, rank) for n in X.shape]
    start = time.perf_counter()
    errors = [sweep(X, factors) for _ in range(15 if quick else 40)]
    print(f"{len(errors)} sweeps in {time.perf_counter() - start:.2f} s: relative error {errors[-1]:.3f}")
    if plots:
        from matplotlib.figure import Figure

        axes = (figure := Figure(figsize=(6, 4))).subplots()
        axes.semilogy(errors)
        axes.set(xlabel="sweep", ylabel="relative error", title=f"rank {rank}, {X.nnz:,} entries")
        save(figure, plots, "cp_als")
    return {"first": errors[0], "last": errors[-1]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, help="a tensor of order three (.tns, also gzipped)")
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="small sizes: a few seconds")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="write pictures there (needs matplotlib)")
    main(**vars(parser.parse_args()))
