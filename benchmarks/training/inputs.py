"""Patterns that schedules are measured on: those of files, each also resized, and generated ones of many kinds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from data import files, generated
from method.operands import Matrix

import libsparse as ls

_MOST = 600_000  # entries
_RESIZED = (0.25, 0.5, 2.0, 3.0)


@dataclass(frozen=True)
class Input:
    """A sparse matrix or tensor.

    Attributes:
        name: Its name.
        base: What it was made from: inputs of one base are alike, and are trained on or held out together.
        make: Makes it.
    """

    name: str
    base: str
    make: Callable[[], ls.SparseTensor]


def inputs(data: str | None, *, quick: bool = False) -> list[Input]:
    """All of them, in an order in which each part has some of every kind."""
    found = [*_generated(8 if quick else 90), *_tensors(2 if quick else 24)]
    found += [*_squares(2 if quick else 60), *_kinds_of_tensors(3 if quick else 72)]
    if data:
        found += list(_files(data, quick=quick))
    random.Random(1).shuffle(found)
    return found


def _files(data: str, *, quick: bool) -> Iterator[Input]:
    root = Path(data).expanduser()
    for path in files.found(data, (*files.MATRICES, *files.TENSORS), quick=quick):
        name = files.stem(path)
        yield Input(name, name, lambda path=path: _read(path, root, None))
        yield Input(f"{name} resized", name, lambda path=path: _read(path, root, random.Random(path.name)))


def _read(path: Path, root: Path, resize: random.Random | None) -> ls.SparseTensor:
    """The pattern of a file with random values; with `resize` stretched, or folded, to other extents."""
    stored = ls.read(path, dtype=torch.float32).to_format("coo")
    coords, shape = stored.indices().long(), tuple(stored.shape)
    if resize is not None:
        to = tuple(max(8, min(200_000, int(n * resize.choice(_RESIZED)))) for n in shape)
        ends = torch.tensor([n / m for n, m in zip(to, shape, strict=True)])
        coords = (coords.double() * ends[:, None].double()).long().minimum(torch.tensor(to)[:, None] - 1)
        coords, shape = coords.unique(dim=1), to
    return _tensor(coords, shape)


def _tensor(coords: torch.Tensor, shape: tuple[int, ...]) -> ls.SparseTensor:
    if coords.shape[1] > _MOST:  # its first part, of fewer rows
        keep = coords[0] < coords[0].sort().values[_MOST]
        coords = coords[:, keep]
        shape = (int(coords[0].max()) + 1, *shape[1:])
    values = files.random_values(coords.shape[1])
    return ls.from_coo(coords, values, shape, "csr" if len(shape) == 2 else "csf")


def _of(matrix: Matrix) -> ls.SparseTensor:
    return ls.from_csr(matrix.crow, matrix.col, matrix.values, matrix.shape)


def _generated(count: int) -> Iterator[Input]:
    for seed in range(count):
        draw = random.Random(seed)
        kind = ("rmat", "band", "blocks", "pruned", "bipartite", "window", "uniform")[seed % 7]
        name = f"{kind}-{seed}"
        yield Input(name, name, lambda kind=kind, draw=draw, seed=seed: _of(_matrix(kind, draw, seed)))


def _matrix(kind: str, draw: random.Random, seed: int) -> Matrix:
    """A matrix of a kind, of a size that is drawn on a scale of logarithms."""
    rows = int(2 ** draw.uniform(8, 16))
    mean = 2 ** draw.uniform(1, 6)
    mean = min(mean, _MOST / rows, rows / 2)
    if kind == "rmat":
        return generated.rmat(max(7, rows.bit_length() - 1), max(1, int(mean)), seed)
    if kind == "band":
        return generated.band(rows, max(1, int(mean)))
    if kind == "blocks":
        size = draw.choice([2, 3, 4, 6, 8, 16])
        return generated.blocks(rows // size * size, size, max(1, int(mean / size)), seed)
    if kind == "pruned":
        rows, columns = int(2 ** draw.uniform(6, 11)), int(2 ** draw.uniform(6, 12))
        return generated.pruned(rows, columns, min(draw.uniform(0.02, 0.4), _MOST / (rows * columns)), seed)
    if kind == "bipartite":
        return generated.bipartite(rows, int(2 ** draw.uniform(8, 16)), int(rows * mean), seed)
    if kind == "window":
        return generated.window(min(rows, 8192), max(1, int(mean / 2)), draw.choice([0, 0, 2, 8]))
    columns = int(2 ** draw.uniform(8, 14))
    rows = min(rows, 16_384)
    return generated.uniform(rows, columns, int(rows * min(mean, columns / 2)), seed)


def _tensors(count: int) -> Iterator[Input]:
    for seed in range(count):
        draw = random.Random(1000 + seed)
        shape = tuple(int(2 ** draw.uniform(5, 14)) for _ in range(3))
        entries = int(min(2 ** draw.uniform(12, 18.5), shape[0] * shape[1] * shape[2] / 4))
        name = f"tensor-{seed}"

        def make(shape=shape, entries=entries, seed=seed):  # type: ignore[no-untyped-def]
            tensor = generated.power_tensor(shape, entries, seed)
            return _tensor(tensor.coords, tensor.shape)

        yield Input(name, name, make)


def _squares(count: int) -> Iterator[Input]:
    """Square matrices with few entries in a row, whose products with themselves are short."""
    for seed in range(count):
        draw = random.Random(2000 + seed)
        kind = ("rmat", "band", "blocks", "uniform", "window", "zipf")[seed % 6]
        name = f"square-{kind}-{seed}"
        yield Input(name, name, lambda kind=kind, draw=draw, seed=seed: _of(_square(kind, draw, seed)))


def _square(kind: str, draw: random.Random, seed: int) -> Matrix:
    rows, mean = int(2 ** draw.uniform(7, 14)), int(2 ** draw.uniform(0.5, 4.5))
    if kind == "rmat":
        return generated.rmat(max(7, rows.bit_length() - 1), max(1, mean // 2), seed)
    if kind == "band":
        return generated.band(rows, mean)
    if kind == "blocks":
        size = draw.choice([2, 3, 4, 8])
        return generated.blocks(rows // size * size, size, max(1, mean // size), seed)
    if kind == "window":
        return generated.window(min(rows, 4096), max(1, mean // 2), draw.choice([0, 1, 2]))
    if kind == "zipf":
        return generated.zipf(rows, rows, rows * mean, draw.uniform(0.3, 1.2), seed)
    return generated.uniform(min(rows, 8192), min(rows, 8192), min(rows, 8192) * min(mean, rows // 2), seed)


def _kinds_of_tensors(count: int) -> Iterator[Input]:
    """Tensors whose entries are spread in several ways, of the shapes that relations, events and images have."""
    for seed in range(count):
        draw = random.Random(3000 + seed)
        kind = ("zipf", "uniform", "band", "blocks", "slabs", "fibers")[seed % 6]
        name = f"tensor-{kind}-{seed}"

        def make(kind=kind, draw=draw, seed=seed):  # type: ignore[no-untyped-def]
            low, high = draw.choice([(3, 8), (5, 11), (8, 14)]), draw.choice([(5, 11), (8, 15)])
            extents = [2 ** draw.uniform(*low), 2 ** draw.uniform(*high), 2 ** draw.uniform(*high)]
            draw.shuffle(extents)
            shape = (int(extents[0]), int(extents[1]), int(extents[2]))
            entries = int(min(2 ** draw.uniform(11, 18), shape[0] * shape[1] * shape[2] / 4))
            tensor = generated.kind_of_tensor(kind, shape, entries, seed)
            return _tensor(tensor.coords, tensor.shape)

        yield Input(name, name, make)
