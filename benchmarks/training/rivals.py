"""Other models of the same data, to compare with: a linear one on crossed features, and a small network."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from .dataset import Dataset, Floats, squeezed

_CROSSED = 24  # features of the schedule that are crossed with those of the problem
_EPOCHS, _BATCH = 12, 512


class _Scaled:
    """Features with mean 0 and variance 1, unknown ones 0."""

    def __init__(self, features: Floats) -> None:
        self._mean = np.nanmean(features, axis=0)
        self._spread = np.nanstd(features, axis=0) + 1e-3

    def __call__(self, features: Floats) -> Floats:
        scaled = (features - np.nan_to_num(self._mean)) / self._spread
        out: Floats = np.clip(np.nan_to_num(scaled), -5, 5).astype(np.float32)
        return out


class Linear:
    """Ridge regression on features of the problem, of the schedule, and their products."""

    def __init__(self, data: Dataset, rows: NDArray[np.bool_]) -> None:
        """Train on some rows of a dataset."""
        self._scaled = _Scaled(data.features[rows])
        beside = np.diff(data.problem) == 0
        changes = np.nan_to_num(np.diff(data.features, axis=0)[beside]) != 0
        self._own = changes.any(axis=0)  # what differs between schedules of one problem
        X = self._crossed(data.features[rows])
        y = squeezed(data.slowdown)[rows]
        self._weights = np.linalg.solve(X.T @ X + 10 * np.eye(X.shape[1]), X.T @ y)

    def _crossed(self, features: Floats) -> NDArray[np.float64]:
        x = self._scaled(features)
        own, shared = x[:, self._own], x[:, ~self._own][:, :_CROSSED]
        products = (own[:, :, None] * shared[:, None, :]).reshape(len(x), -1)
        out: NDArray[np.float64] = np.concatenate([np.ones((len(x), 1)), own, own**2, products], axis=1).astype(
            np.float64
        )
        return out

    def predict(self, features: Floats) -> NDArray[np.float64]:
        """Of rows."""
        found: NDArray[np.float64] = self._crossed(features) @ self._weights
        return found


class Network:
    """Three layers, trained on the order of schedules of one problem beside their times."""

    def __init__(self, data: Dataset, rows: NDArray[np.bool_]) -> None:
        """Train on some rows of a dataset."""
        torch.manual_seed(0)
        self._scaled = _Scaled(data.features[rows])
        X = torch.from_numpy(self._scaled(data.features[rows]))
        y = torch.from_numpy(squeezed(data.slowdown)[rows])
        self._layers = nn.Sequential(
            nn.Linear(X.shape[1], 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1)
        )
        steps = _EPOCHS * (len(X) // _BATCH)
        optimizer = torch.optim.Adam(self._layers.parameters(), 2e-3)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(steps, 1))
        for _ in range(_EPOCHS):
            for some in torch.randperm(len(X)).split(_BATCH):
                optimizer.zero_grad()
                loss = nn.functional.huber_loss(self._layers(X[some])[:, 0], y[some], delta=0.5)
                loss.backward()
                optimizer.step()
                schedule.step()

    def predict(self, features: Floats) -> NDArray[np.float64]:
        """Of rows."""
        with torch.no_grad():
            found: NDArray[np.float64] = self._layers(torch.from_numpy(self._scaled(features)))[:, 0].double().numpy()
        return found
