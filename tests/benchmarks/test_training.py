"""What the learned model is trained and judged by: patterns, schedules, scores, and the file of a model."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import libsparse as ls

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from data import generated
from training import dataset, inputs, library, scores, split, trees, waconet


def test_patterns_are_resized_and_held_out_with_what_they_were_made_from(tmp_path: Path) -> None:
    ls.write(tmp_path / "matrix.mtx", ls.random((60, 50), 0.1))
    found = {one.name: one for one in inputs.inputs(str(tmp_path), quick=True)}
    small, resized = found["matrix"].make(), found["matrix resized"].make()
    assert small.shape == (60, 50)
    assert resized.shape != small.shape
    assert found["matrix resized"].base == "matrix"
    kinds = {name.partition("-")[0] for name in found}
    assert {"rmat", "band", "blocks", "pruned", "bipartite", "window", "uniform", "tensor", "square"} <= kinds
    for name, dim in (("square-rmat-0", 2), ("tensor-zipf-0", 3), ("tensor-uniform-1", 3), ("tensor-band-2", 3)):
        assert found[name].make().dim() == dim
    assert 0.1 < np.mean([split.held_out(str(n)) for n in range(1000)]) < 0.3


@pytest.mark.parametrize("kind", ["zipf", "uniform", "band", "blocks", "slabs", "fibers"])
def test_kinds_of_tensors(kind: str) -> None:
    found = generated.kind_of_tensor(kind, (30, 50, 40), 1000, seed=3)
    assert 300 < found.coords.shape[1] <= 1100
    assert bool((found.coords >= 0).all())
    assert bool((found.coords < torch.tensor([[30], [50], [40]])).all())
    assert torch.equal(found.coords, generated.kind_of_tensor(kind, (30, 50, 40), 1000, seed=3).coords)


def test_a_library_has_the_same_schedules_for_all_patterns() -> None:
    moves = [{"unroll": str(n), "unrolled": "0"} for n in (1, 2, 4, 8)] + [{"prefetch": str(n)} for n in (0, 8, 16)]
    moves += [{"strip_at_i": "0", "strip_i": str(n)} for n in (8, 16)]
    first, second = library.Library("spmv"), library.Library("spmv")
    first.learn(moves)
    second.learn(moves)
    some = first.some(moves, "a pattern", many=False)
    assert some == second.some(moves, "a pattern", many=False)
    assert len(some) < len(first.some(moves, "a pattern", many=True))
    assert all(changes.get("strip_i") != "8" for changes in some)
    assert any(len(changes) > 2 for changes in some)
    offered = first.some(moves[:4], "another", many=False)
    assert all(set(changes) == {"unroll", "unrolled"} for changes in offered)


def _data(problems: int) -> dataset.Dataset:
    """Slowdowns that follow from the second of three features."""
    random = np.random.default_rng(0)
    features = random.normal(size=(30 * problems, 3)).astype(np.float32)
    features[::7, 2] = np.nan
    formats = ["others", "carried", "reordered", "compressed", "expanded", "padded", "conversions"]
    features = np.concatenate([features, np.zeros((len(features), len(formats)), dtype=np.float32)], axis=1)
    number = np.repeat(np.arange(problems), 30)
    names = [f"pattern {n}" for n in range(problems)]
    slowdown = np.where(features[:, 1] > 0, 0.5, -0.25).astype(np.float32)
    return dataset.Dataset(
        ["a", "b", "c", *formats], features, slowdown, number, ["spmv"] * problems, names, names, "digest"
    )


def test_times_that_nothing_comes_near_are_not_believed() -> None:
    entries = [({"n": str(n)}, ratio) for n, ratio in enumerate([1.1, 0.05, 0.95, 0.3, 2.0])]
    assert [ratio for _, ratio in dataset.believed(entries)] == [0.95, 1.1, 2.0]
    assert len(dataset.believed([({}, 0.5), ({}, 0.6)])) == 2


def test_what_was_measured_twice_counts_once() -> None:
    found = dataset.once([({"a": "1", "b": "2"}, 1.0), ({"c": "3"}, 0.5), ({"b": "2", "a": "1"}, 4.0)])
    assert found == [({"a": "1", "b": "2"}, pytest.approx(2.0)), ({"c": "3"}, 0.5)]


def test_what_is_taken_unmeasured_converts_nothing() -> None:
    data = _data(1)
    data.features[:, data.names.index("carried")] = data.slowdown < 0
    found = scores.scores(data, np.array([True]), data.slowdown.astype(float))["spmv"]
    assert (found["tuned"], found["cold"]) == (pytest.approx(2**0.25), 1)


def test_scores() -> None:
    data = _data(3)
    problems = np.array([True, False, True])
    best = scores.scores(data, problems, data.slowdown.astype(float))["spmv"]
    assert best["spearman"] == pytest.approx(1)
    assert best["top1"] == best["top10"] == 1
    assert best["tuned"] == best["cold"] == pytest.approx(2**0.25)
    assert best["problems"] == 2
    worst = scores.scores(data, problems, -data.slowdown.astype(float))["all"]
    assert worst["spearman"] == pytest.approx(-1)
    assert worst["top1"] == pytest.approx(2**0.75)


def test_the_file_of_a_model(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    data = _data(20)
    model = trees.Trees(data, np.ones(len(data.slowdown), dtype=bool), trees=20)
    assert np.abs(model.predict(data.features) - data.slowdown).mean() < 0.1
    model.write(tmp_path / "weights.bin", data)
    text = (tmp_path / "weights.bin").read_bytes()
    (length,) = struct.unpack("<I", text[:4])
    header: dict[str, Any] = json.loads(text[4 : 4 + length])
    assert header["features"] == data.names
    assert header["digest"] == "digest"
    place = 4 + length
    for _ in range(sum(header["groups"]) + header["spread"]):
        (count,) = struct.unpack_from("<H", text, place)
        place += 2 + 8 * count
    assert place == len(text)


def test_sparse_convolutions_are_those_of_dense_images() -> None:
    torch.manual_seed(0)
    image = (torch.rand(12, 10) < 0.2).float()
    image[0, 0] = image[11, 9] = 1
    layers = waconet.maps(image.nonzero().T)
    assert len(layers) == waconet.LAYERS
    first, second = waconet.Extractor(2).layers[:2]
    here = image.nonzero()
    found = first(torch.ones(len(here), 1), layers[0])
    weights = first.weights.permute(2, 1, 0).reshape(waconet.CHANNELS, 1, 5, 5)
    dense = torch.conv2d(image[None, None], weights, padding=2)[0].relu()
    torch.testing.assert_close(found, dense[:, here[:, 0], here[:, 1]].T)
    there = (here // 2).unique(dim=0)
    stored = torch.zeros(1, waconet.CHANNELS, 12, 10)
    stored[0, :, here[:, 0], here[:, 1]] = found.T
    weights = second.weights.permute(2, 1, 0).reshape(waconet.CHANNELS, waconet.CHANNELS, 3, 3)
    dense = torch.conv2d(stored, weights, padding=1, stride=2)[0].relu()
    torch.testing.assert_close(second(found, layers[1]), dense[:, there[:, 0], there[:, 1]].T, atol=1e-5, rtol=1e-4)


def test_the_network_learns_an_order() -> None:
    torch.manual_seed(0)
    model = waconet.WACONet(2, 3, 2)
    maps, extents = waconet.maps(torch.arange(6).expand(2, 6)), torch.ones(3)
    choices, places = torch.randint(4, (20, 3)), torch.tensor([[0, 1], [1, 0]]).repeat(10, 1)
    times = choices[:, 0].float()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(60):
        optimizer.zero_grad()
        waconet.hinge(model.cost(model.pattern(maps, extents), model.schedule(choices, places)), times).backward()
        optimizer.step()
    with torch.no_grad():
        pattern, schedules = model.pattern(maps, extents), model.schedule(choices, places)
        best = model.cost(pattern, schedules).argsort()[:3]
        assert bool((times[best] == times.min()).all())
        pytest.importorskip("hnswlib")
        found, visited = waconet.Walk(schedules, neighbours=5).best(model, pattern, 3)
    assert bool((times[found] == times.min()).all())
    assert visited <= 20
