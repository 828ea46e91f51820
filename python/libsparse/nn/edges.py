"""Edges of a graph with dense attributes, which attention computes with; self loops replaced as PyG does."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import libsparse as ls
from libsparse._lang.records import NamedTuple

from . import adjacency


class Edges(NamedTuple):
    """Entries of a matrix, and what is known of each.

    Attributes:
        graph: (targets, sources) in CSR, only a pattern.
        attributes: (nnz, columns) in storage order, or None.
    """

    graph: Any
    attributes: Tensor | None

    @staticmethod
    def of(graph: Any, self_loops: bool) -> Edges:
        """The entries of a graph in CSR, with self loops at all nodes that send and receive."""
        graph = graph.with_values(None)
        if not self_loops:
            return Edges(graph, None)
        rows, columns = graph.shape

        def join() -> Any:
            joined = graph.float() + adjacency.loops(rows, columns, torch.ones(min(rows, columns), device="cpu"))
            return joined.pattern

        known = not torch.compiler.is_compiling()
        return Edges(ls.SparseTensor(graph.pattern.derive(("self loops",), join) if known else join()), None)

    @staticmethod
    def described(layer: str, A: Any, attributes: Tensor | None, columns: int, self_loops: bool, fill: Any) -> Edges:
        """Entries with attributes; PyG's self loops take the place of those that are there.

        Args:
            layer: The name of the layer, for messages.
            A: The graph.
            attributes: (nnz,) or (nnz, columns) in storage order; the values of `A` where it is None.
            columns: How many a layer takes.
            self_loops: Whether to replace self loops.
            fill: What these have: see `GATConv`.
        """
        known = A.values() if attributes is None else attributes
        known = known.view(-1, 1) if known.ndim == 1 else known
        if known.shape != (A.nnz, columns):
            raise ls.ShapeError(
                f"{layer}: edge_attr has shape {tuple(known.shape)}; expected ({A.nnz}, {columns}), as A has {A.nnz} "
                f"entries and edge_dim is {columns}"
            )
        coordinates, (rows, sources) = A.indices(), A.shape
        if self_loops:
            other = coordinates[0] != coordinates[1]
            coordinates, known = coordinates[:, other], known[other]
            count = min(rows, sources)
            nodes = torch.arange(count, device="cpu")
            filled = _filled(known, coordinates[0], rows, fill)[:count]
            coordinates = torch.cat([coordinates, nodes.expand(2, -1)], 1)
            known = torch.cat([known, filled])
        places = torch.arange(coordinates.shape[1], device="cpu")
        graph = ls.from_coo(coordinates, places, (rows, sources))
        return Edges(graph.with_values(None), known[graph.values()])

    def tensor(self, values: Tensor) -> Any:
        """A tensor (targets, sources, ...) with dense values (nnz, ...) at each entry."""
        inner = values.shape[1:]
        pos, crd = self.graph.pos(1), self.graph.crd(1)
        some = [None] * len(inner)
        return ls.from_levels(
            "ds" + "d" * len(inner),
            (*self.graph.shape, *inner),
            [None, pos, *some],
            [None, crd, *some],
            values.reshape(-1),
            check=False,
        )


def _filled(known: Tensor, targets: Tensor, rows: int, fill: Any) -> Tensor:
    """The attributes of the self loop of each node."""
    if isinstance(fill, str):
        reduce = {"add": "sum", "sum": "sum", "mean": "mean", "max": "amax", "min": "amin"}.get(fill)
        if reduce is None:
            raise ls.UnsupportedError(f"fill_value is {fill!r}; expected a number, a tensor, or mean, add, max, min")
        places = targets[:, None].expand_as(known)
        return known.new_zeros(rows, known.shape[1]).scatter_reduce(0, places, known, reduce, include_self=False)
    return torch.as_tensor(fill, dtype=known.dtype, device="cpu").expand(rows, known.shape[1])
