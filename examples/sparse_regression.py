"""Regression on a sparse matrix of SciPy: the lasso by proximal steps, ridge regression by conjugate gradients.

One in fifty features matters. The lasso finds out which; SciPy's solver runs on the same matrix as a linear operator.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
import torch
from options import Plots, run, save
from scipy.sparse.linalg import lsqr

import libsparse as ls


def problem(samples: int, features: int) -> tuple[scipy.sparse.csr_array, torch.Tensor, torch.Tensor]:
    """A matrix, the weights behind it, and noisy results."""
    random = np.random.default_rng(0)
    matrix = scipy.sparse.random_array((samples, features), density=0.01, format="csr", rng=random, dtype=np.float32)
    weights = torch.zeros(features)
    weights[torch.from_numpy(random.choice(features, features // 50, replace=False))] = 3.0
    results = ls.from_scipy(matrix) @ weights
    return matrix, weights, results + 0.1 * torch.randn(samples)


def lasso(A: ls.SparseTensor, b: torch.Tensor, penalty: float, steps: int) -> tuple[torch.Tensor, list[float]]:
    """Minimises |A w - b|^2 / 2 + penalty |w|_1 by FISTA (Beck and Teboulle 2009)."""
    _, singular, _ = ls.linalg.svds(A, 1)
    rate = 1 / float(singular[0]) ** 2
    w = ahead = torch.zeros(A.shape[1])
    momentum, costs = 1.0, []
    for _ in range(steps):
        before = w
        residual = A @ ahead - b
        w = torch.nn.functional.softshrink(ahead - rate * (A.T @ residual), rate * penalty)
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = w + (momentum - 1) / following * (w - before)
        momentum = following
        costs.append(float((A @ w - b).square().sum() / 2 + penalty * w.abs().sum()))
    return w, costs


def ridge(A: ls.SparseTensor, b: torch.Tensor, penalty: float) -> torch.Tensor:
    """Minimises |A w - b|^2 + penalty |w|^2: a linear equation with a sparse matrix."""
    normal = A.T @ A + penalty * ls.eye(A.shape[1])
    return ls.linalg.solve(normal, A.T @ b, rtol=1e-6)


def main(quick: bool = False, plots: Plots = None) -> dict[str, float]:
    torch.manual_seed(0)
    matrix, weights, b = problem(*((1500, 1000) if quick else (20_000, 10_000)))
    A = ls.tensor(matrix)
    found, costs = lasso(A, b, penalty=3.0, steps=150 if quick else 400)
    right = float(((found.abs() > 0.5) == (weights != 0)).float().mean())
    print(f"lasso: {int((found != 0).sum())} weights are not 0, of the true ones {int((weights != 0).sum())}")
    w = ridge(A, b, penalty=1.0)
    print(f"ridge: distance from the true weights {float((w - weights).norm() / weights.norm()):.3f}")
    theirs = lsqr(A.as_linear_operator(), b.numpy(), damp=1.0, atol=1e-8, btol=1e-8)[0]
    print(f"SciPy's lsqr on the same matrix differs by {float((w - torch.from_numpy(theirs)).abs().max()):.1e}")
    if plots:
        from matplotlib.figure import Figure

        left, right_axes = (figure := Figure(figsize=(9, 4))).subplots(1, 2)
        left.semilogy([cost - min(costs) + 1e-6 for cost in costs])
        left.set(xlabel="step", ylabel="cost above the least", title="lasso")
        right_axes.plot(weights, ".", label="true")
        right_axes.plot(found, ".", label="lasso")
        right_axes.set(xlabel="feature", ylabel="weight")
        right_axes.legend()
        save(figure, plots, "sparse_regression")
    return {"right": right, "apart": float((w - torch.from_numpy(theirs)).abs().max())}


if __name__ == "__main__":
    run(main, __doc__)
