"""Trains every implementation side by side: the same weights, the same dropout, taking turns step by step."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from .graphs import Graph
from .models import Contender

WARM_UP = 5  # epochs that are not timed


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
        memory: Bytes that three training steps need beyond the graph at their peak; None where it was not measured.
    """

    title: str
    losses: list[list[float]] = field(default_factory=list)
    validation: list[list[float]] = field(default_factory=list)
    tests: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    inferences: list[float] = field(default_factory=list)
    first_step: float = 0.0
    memory: int | None = None

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


class Racer:
    """One implementation with its model of the current seed."""

    def __init__(self, contender: Contender, graph: Graph, run: Run, seed: int) -> None:
        self.contender, self.graph, self.run = contender, graph, run
        self.model = contender.make(graph, seed)
        groups = [
            {"params": [self.model.w1, self.model.b1], "weight_decay": 5e-4},
            {"params": [self.model.w2, self.model.b2], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.Adam(groups, lr=0.01, fused=True)
        self.least = float("inf")  # validation loss
        run.tests.append(0.0)
        run.losses.append([])
        run.validation.append([])

    def epoch(self, number: int, noise: int) -> None:
        """One timed step and one timed inference, with dropout drawn from `noise`."""
        run, graph = self.run, self.graph
        with self.contender.inside():
            torch.manual_seed(noise)
            self.model.train()
            start = time.perf_counter()
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model()[graph.train], graph.labels[graph.train])
            loss.backward()
            self.optimizer.step()
            step = time.perf_counter() - start

            self.model.eval()
            with torch.no_grad():
                start = time.perf_counter()
                scores = self.model()
                inference = time.perf_counter() - start
        run.first_step = run.first_step or step
        if number >= WARM_UP:
            run.steps.append(step)
            run.inferences.append(inference)
        run.losses[-1].append(float(loss.detach()))
        run.validation[-1].append(_accuracy(scores, graph.labels, graph.validation))
        validation_loss = float(F.cross_entropy(scores[graph.validation], graph.labels[graph.validation]))
        if validation_loss < self.least:
            self.least, run.tests[-1] = validation_loss, _accuracy(scores, graph.labels, graph.test)


def _accuracy(scores: Tensor, labels: Tensor, nodes: Tensor) -> float:
    return float((scores[nodes].argmax(1) == labels[nodes]).float().mean())


def train(
    graph: Graph,
    contenders: Sequence[Contender],
    seeds: int,
    epochs: int,
    progress: Callable[[str], object] = lambda note: None,
) -> list[Run]:
    """Train every contender on `graph` for each seed; in every epoch each takes one turn, in random order."""
    runs = [Run(contender.title) for contender in contenders]
    order = random.Random(0)
    for seed in range(seeds):
        racers = [Racer(c, graph, run, seed) for c, run in zip(contenders, runs, strict=True)]
        for epoch in range(epochs):
            for racer in order.sample(racers, len(racers)):
                racer.epoch(epoch, noise=1_000_003 * (seed + 1) + epoch)
            progress(f"seed {seed}  loss {runs[0].losses[-1][-1]:.3f}  validation {runs[0].validation[-1][-1]:.3f}")
    return runs
