"""Trains every implementation side by side: the same weights, the same dropout, taking turns step by step."""

from __future__ import annotations

import contextlib
import random
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from .graphs import Graph
from .models import GCN, make_optimizer
from .progress import Progress

__all__ = ["Contender", "Run", "peak_memory", "train"]

_WARM_UP = 5  # epochs that are not timed


@dataclass(frozen=True)
class Contender:
    """An implementation in the race: its constructor, and the context of its calls."""

    title: str
    make: Callable[[Graph, int], GCN]
    inside: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext


@dataclass
class Run:
    """The results of one implementation, over all seeds.

    Attributes:
        title: Of the implementation.
        losses: Training loss of each epoch, one list a seed.
        validation: Validation accuracy of each epoch, one list a seed.
        tests: Test accuracy of each seed, at the epoch with the lowest validation loss.
        steps: Seconds of each timed training step; `inferences` likewise.
        first_step: Seconds of the very first step, compilation included.
    """

    title: str
    losses: list[list[float]] = field(default_factory=list)
    validation: list[list[float]] = field(default_factory=list)
    tests: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    inferences: list[float] = field(default_factory=list)
    first_step: float = 0.0

    @property
    def accuracy(self) -> float:
        """Mean test accuracy."""
        return statistics.fmean(self.tests)

    @property
    def step_ms(self) -> float:
        """Median milliseconds of a training step."""
        return 1e3 * statistics.median(self.steps)

    @property
    def inference_ms(self) -> float:
        """Median milliseconds of an inference."""
        return 1e3 * statistics.median(self.inferences)


class _Racer:
    """One implementation with its model of the current seed."""

    def __init__(self, contender: Contender, graph: Graph, run: Run, seed: int) -> None:
        self.contender, self.graph, self.run = contender, graph, run
        self.model = contender.make(graph, seed)
        self.optimizer = make_optimizer(self.model)
        self.best = (float("inf"), 0.0)
        self.losses: list[float] = []
        self.validation: list[float] = []

    def epoch(self, number: int, noise: int) -> None:
        """One timed step and one timed inference, with dropout drawn from `noise`."""
        with self.contender.inside():
            torch.manual_seed(noise)
            self.model.train()
            start = time.perf_counter()
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model()[self.graph.train], self.graph.labels[self.graph.train])
            loss.backward()
            self.optimizer.step()
            step = time.perf_counter() - start

            self.model.eval()
            with torch.no_grad():
                start = time.perf_counter()
                scores = self.model()
                inference = time.perf_counter() - start
        self._record(number, float(loss.detach()), scores, step, inference)

    def _record(self, number: int, loss: float, scores: Tensor, step: float, inference: float) -> None:
        self.run.first_step = self.run.first_step or step
        if number >= _WARM_UP:
            self.run.steps.append(step)
            self.run.inferences.append(inference)
        graph = self.graph
        validation_loss = float(F.cross_entropy(scores[graph.validation], graph.labels[graph.validation]))
        self.losses.append(loss)
        self.validation.append(_accuracy(scores, graph.labels, graph.validation))
        if validation_loss < self.best[0]:
            self.best = (validation_loss, _accuracy(scores, graph.labels, graph.test))

    def finish(self) -> None:
        """Hand the curves of this seed over."""
        self.run.tests.append(self.best[1])
        self.run.losses.append(self.losses)
        self.run.validation.append(self.validation)


def _accuracy(scores: Tensor, labels: Tensor, nodes: Tensor) -> float:
    return float((scores[nodes].argmax(1) == labels[nodes]).float().mean())


def train(graph: Graph, contenders: Sequence[Contender], seeds: int, epochs: int) -> list[Run]:
    """Train every contender on `graph` for each seed; in every epoch each takes one turn, in random order."""
    runs = [Run(contender.title) for contender in contenders]
    order = random.Random(0)
    progress = Progress(f"training on {graph.name}", seeds * epochs)
    for seed in range(seeds):
        racers = [_Racer(c, graph, run, seed) for c, run in zip(contenders, runs, strict=True)]
        for epoch in range(epochs):
            for racer in order.sample(racers, len(racers)):
                racer.epoch(epoch, noise=1_000_003 * (seed + 1) + epoch)
            progress.step(f"seed {seed}  loss {racers[0].losses[-1]:.3f}  validation {racers[0].validation[-1]:.3f}")
        for racer in racers:
            racer.finish()
    return runs


def peak_memory() -> float:
    """The largest resident size of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
