"""WACONet as it was published (Won, Mendis, Emer, Amarasinghe: "WACO", ASPLOS 2023), to compare with.

Sparse convolutions over the coordinates of a pattern: one of 5^d places, and thirteen of 3^d with stride 2; each of
32 channels, without bias or norm, and averaged over its places. The averages and an embedding of the extents give
the pattern's embedding, lookup tables for the values of parameters the schedule's; layers on both predict an order.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

CHANNELS, LAYERS, EMBEDDED = 32, 14, 128
_CHOICES = 16  # of a parameter, at most


class Map(NamedTuple):
    """A convolution on given places: for each weight, which outputs take which inputs."""

    outputs: int
    pairs: list[tuple[Tensor, Tensor]]


def maps(coordinates: Tensor) -> list[Map]:
    """The maps of all layers for the coordinates (dimensions, entries) of a pattern.

    Places of the next layer are those of this one, halved; each takes what lies within one of twice its coordinate.
    """
    here = coordinates.T.contiguous().unique(dim=0)
    found = [_map(here, here, range(-2, 3), 1)]
    for _ in range(LAYERS - 1):
        there = (here // 2).unique(dim=0)
        found.append(_map(here, there, range(-1, 2), 2))
        here = there
    return found


def _map(inputs: Tensor, outputs: Tensor, reach: Sequence[int], stride: int) -> Map:
    sizes = inputs.amax(0) + 8  # room for a reach beyond the last
    steps = torch.cat([sizes[1:].flip(0).cumprod(0).flip(0), torch.ones(1, dtype=torch.int64)])
    keys = ((inputs + 2) * steps).sum(1)  # ascending, as the coordinates do
    pairs = []
    for offset in itertools.product(reach, repeat=inputs.shape[1]):
        wanted = outputs * stride + torch.tensor(offset)
        inside = ((wanted >= 0) & (wanted <= inputs.amax(0))).all(1)
        key = ((wanted + 2) * steps).sum(1)
        at = torch.searchsorted(keys, key).clamp(max=len(keys) - 1)
        out = (inside & (keys[at] == key)).nonzero()[:, 0]
        pairs.append((at[out], out))
    return Map(len(outputs), pairs)


class _Convolution(nn.Module):
    """A sparse convolution; the first has ones as its input."""

    def __init__(self, places: int, channels: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.randn(places, channels, CHANNELS) * (2 / (places * CHANNELS)) ** 0.5)

    def forward(self, x: Tensor, map: Map) -> Tensor:
        out = x.new_zeros(map.outputs, CHANNELS)
        for weight, (taken, to) in zip(self.weights, map.pairs, strict=True):
            if len(to):
                out = out.index_add(0, to, x[taken] @ weight)
        return out.relu()


class Extractor(nn.Module):
    """The embedding of a pattern."""

    def __init__(self, dimensions: int) -> None:
        """Begin with random weights."""
        super().__init__()
        layers = [_Convolution(5**dimensions, 1)]
        layers += [_Convolution(3**dimensions, CHANNELS) for _ in range(LAYERS - 1)]
        self.layers = nn.ModuleList(layers)
        self.extents = nn.Sequential(nn.Linear(dimensions + 1, 64), nn.ReLU(), nn.Linear(64, CHANNELS))
        self.last = nn.Sequential(nn.Linear(CHANNELS * (LAYERS + 1), 256), nn.ReLU(), nn.Linear(256, EMBEDDED))

    def forward(self, maps: Sequence[Map], extents: Tensor) -> Tensor:
        """Of the maps of a pattern, and the logarithms of its extents and entries."""
        x, pooled = torch.ones(maps[0].outputs, 1), []
        for layer, map in zip(self.layers, maps, strict=True):
            x = layer(x, map)
            pooled.append(x.mean(0))
        found: Tensor = self.last(torch.cat([*pooled, self.extents(extents)]))
        return found


class Embedder(nn.Module):
    """The embedding of schedules: a table for each parameter, a linear layer for the order."""

    def __init__(self, parameters: int, loops: int) -> None:
        """Begin with random weights."""
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(_CHOICES, CHANNELS) for _ in range(parameters))
        self.order = nn.Linear(loops * loops, CHANNELS)
        joined = CHANNELS * (parameters + 1)
        self.last = nn.Sequential(nn.Linear(joined, EMBEDDED), nn.ReLU(), nn.Linear(EMBEDDED, EMBEDDED))

    def forward(self, choices: Tensor, places: Tensor) -> Tensor:
        """Of the numbers of choices (schedules, parameters), and of the place of each loop (schedules, loops)."""
        parts = [table(choices[:, n].clamp(0, _CHOICES - 1)) for n, table in enumerate(self.tables)]
        matrix = nn.functional.one_hot(places, places.shape[1]).flatten(1).float()
        found: Tensor = self.last(torch.cat([*parts, self.order(matrix)], 1))
        return found


class WACONet(nn.Module):
    """The network of one computation."""

    def __init__(self, dimensions: int, parameters: int, loops: int) -> None:
        """Begin with random weights."""
        super().__init__()
        self.pattern, self.schedule = Extractor(dimensions), Embedder(parameters, loops)
        self.head = nn.Sequential(
            nn.Linear(2 * EMBEDDED, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1)
        )

    def cost(self, pattern: Tensor, schedules: Tensor) -> Tensor:
        """The predicted order of embedded schedules on an embedded pattern: less is faster."""
        found: Tensor = self.head(torch.cat([pattern.expand(len(schedules), -1), schedules], 1))[:, 0]
        return found


def hinge(predicted: Tensor, times: Tensor) -> Tensor:
    """The pairwise ranking loss, with margin 1."""
    i, j = torch.triu_indices(len(times), len(times), 1)
    sign = (times[i] - times[j]).sign()
    return (1 - sign * (predicted[i] - predicted[j])).relu().mean()


class Walk:
    """A walk on the graph of nearest neighbours of embedded schedules, which goes where the predicted cost is less."""

    def __init__(self, schedules: Tensor, neighbours: int = 32) -> None:
        """Find the neighbours, by an HNSW index."""
        import hnswlib

        points = schedules.numpy()
        index: Any = hnswlib.Index(space="l2", dim=points.shape[1])
        index.init_index(max_elements=len(points), ef_construction=200, M=32, random_seed=100)
        index.add_items(points)
        index.set_ef(max(200, neighbours))
        near, _ = index.knn_query(points, k=min(neighbours, len(points)))
        self._schedules, self._near = schedules, torch.from_numpy(near.astype("int64"))

    def best(self, model: WACONet, pattern: Tensor, count: int, breadth: int = 64) -> tuple[Tensor, int]:
        """The most promising schedules that a walk finds, and how many were judged."""
        known = {0: float(model.cost(pattern, self._schedules[:1])[0])}
        expanded: set[int] = set()
        while True:
            front = [n for n in sorted(known, key=known.__getitem__)[:breadth] if n not in expanded][:1]
            if not front:
                break
            expanded.add(front[0])
            new = [n for n in self._near[front[0]].tolist() if n not in known]
            if new:
                costs = model.cost(pattern, self._schedules[new]).tolist()
                known.update(zip(new, costs, strict=True))
        return torch.tensor(sorted(known, key=known.__getitem__)[:count]), len(known)
