"""Samples for PyG's loaders: what is drawn of PyG's NeighborSampler, and the graph of a batch.

One sample serves all layers: each hop draws entries of the rows of the nodes that the hop before it has added, so that
each row is drawn once (`ls.sampling.neighbors` draws each row again for each layer).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric.sampler import HeteroSamplerOutput, SamplerOutput  # type: ignore[import-untyped, unused-ignore]
from torch_geometric.sampler.base import SubgraphType  # type: ignore[import-untyped, unused-ignore]

import libsparse as ls
from libsparse.sampling import draws

from . import adjacency


class Relation(NamedTuple):
    """The edges between two types of nodes, by receivers.

    Attributes:
        sender: The type of the nodes that send.
        receiver: The type of those that receive.
        start: Where the edges of each receiver start.
        column: The sender of each edge.
        fanouts: How many edges of a receiver each hop draws, -1 for all.
    """

    sender: Any
    receiver: Any
    start: Tensor
    column: Tensor
    fanouts: list[int]


class Drawn:
    """Nodes and edges that have been drawn.

    Args:
        relations: By the type of edges.
        seeds: By the type of nodes; one that comes several times is drawn for as often.
    """

    def __init__(self, relations: dict[Any, Relation], seeds: dict[Any, Tensor]) -> None:
        self._relations = relations
        self._seeds = {kind: seed.to(torch.int64).contiguous() for kind, seed in seeds.items()}
        none = torch.empty(0, dtype=torch.int64, device="cpu")
        found = {kind: draws.numbered(none, seed) for kind, seed in self._seeds.items()}
        self._known = {kind: nodes for kind, (nodes, _) in found.items()}
        self._of_seeds = {kind: numbers for kind, (_, numbers) in found.items()}
        self._unique = {kind: nodes.numel() for kind, nodes in self._known.items()}
        self._ends = dict.fromkeys(seeds, 0)
        self.added = {kind: [seed.numel()] for kind, seed in seeds.items()}
        self._parts: dict[Any, list[tuple[Tensor, Tensor, Tensor]]] = {kind: [] for kind in relations}

    def hop(self, number: int, replace: bool) -> None:
        """Draws edges of the nodes that were added last."""
        ends = {kind: nodes.numel() for kind, nodes in self._known.items()}
        for kind, relation in self._relations.items():
            seed = int(torch.randint(2**62, (), device="cpu"))
            receivers, first = self._added_last(relation.receiver, number, ends)
            fanout = min(relation.fanouts[number], draws.MOST)
            rows, entries = draws.entries(relation.start, receivers, fanout, replace, seed)
            known = self._known[relation.sender]
            self._known[relation.sender], columns = draws.numbered(known, relation.column[entries])
            self._parts[kind].append((columns, rows + first, entries))
        for kind, nodes in self._known.items():
            self.added[kind].append(nodes.numel() - ends[kind])
        self._ends = ends

    def _added_last(self, kind: Any, hop: int, ends: dict[Any, int]) -> tuple[Tensor, int]:
        """The nodes that were added by the last hop, and the number of the first."""
        if hop == 0:
            return self._seeds[kind], 0
        return self._known[kind][self._ends[kind] : ends[kind]], self._ends[kind] + self._repeated(kind)

    def _repeated(self, kind: Any) -> int:
        """How many seeds had come before."""
        return self._of_seeds[kind].numel() - self._unique[kind]

    def induce(self) -> None:
        """Takes all edges between the nodes in place of those that led to them."""
        nodes = self.nodes()
        for kind, relation in self._relations.items():
            senders = self._known[relation.sender]
            rows, entries = draws.entries(relation.start, nodes[relation.receiver], -1, False, 0)
            columns = draws.numbered(senders, relation.column[entries])[1]
            inside = columns < senders.numel()
            self._parts[kind] = [(columns[inside], rows[inside], entries[inside])]

    def nodes(self) -> dict[Any, Tensor]:
        """All nodes, seeds first, by type."""
        return {
            kind: torch.cat([seeds, self._known[kind][self._unique[kind] :]]) for kind, seeds in self._seeds.items()
        }

    def edges(self) -> tuple[dict[Any, Tensor], ...]:
        """Senders, receivers and numbers of the edges, by type."""
        none = (torch.empty(0, dtype=torch.int64, device="cpu"),) * 3
        joined = {
            kind: [torch.cat(side) for side in zip(*(parts or [none]), strict=True)]
            for kind, parts in self._parts.items()
        }
        for kind, (columns, *_) in joined.items():
            joined[kind][0] = self._placed(self._relations[kind].sender, columns)
        return tuple({kind: sides[n] for kind, sides in joined.items()} for n in range(3))

    def _placed(self, kind: Any, numbers: Tensor) -> Tensor:
        """The places in `nodes` of nodes with these numbers among those that come once: the first place of a seed."""
        repeated = self._repeated(kind)
        if repeated == 0:
            return numbers
        of_seeds = self._of_seeds[kind]
        count = of_seeds.numel()
        place = torch.arange(repeated, repeated + self._known[kind].numel(), device="cpu")
        place[: self._unique[kind]] = count
        place.scatter_reduce_(0, of_seeds, torch.arange(count, device="cpu"), "amin")
        return place[numbers]

    def counts(self) -> dict[Any, list[int]]:
        """How many edges each hop has drawn, by type."""
        return {kind: [entries.numel() for *_, entries in parts] for kind, parts in self._parts.items()}


def sample(sampler: Any, seed: Any) -> Any:
    """What PyG's NeighborSampler returns for some nodes.

    Args:
        sampler: It, with the arrays of its graph.
        seed: Nodes, or a dict of nodes by type.

    Raises:
        UnsupportedError: A sample of each seed for itself, which is drawn by pyg-lib alone.
    """
    if sampler.disjoint:
        raise ls.UnsupportedError(
            "NeighborSampler: samples by time and disjoint ones are drawn by pyg-lib alone, which is not installed; "
            "expected disjoint=False and no time_attr"
        )
    many = isinstance(seed, dict)
    drawn = _typed(sampler, seed) if many else _plain(sampler, seed)
    for number in range(sampler.num_neighbors.num_hops):
        drawn.hop(number, sampler.replace)
    induced = sampler.subgraph_type == SubgraphType.induced
    counts = None if induced else drawn.counts()
    if induced:
        drawn.induce()
    row, col, edge = drawn.edges()
    if sampler.sample_direction == "backward":
        row, col = col, row
    added = None if induced else drawn.added
    if many:
        back = getattr(sampler, "to_restored_edge_type", {})
        restored = [each and {back.get(kind, kind): part for kind, part in each.items()} for each in (row, col, edge)]
        numbers = counts and {back.get(kind, kind): count for kind, count in counts.items()}
        return HeteroSamplerOutput(drawn.nodes(), *restored, num_sampled_nodes=added, num_sampled_edges=numbers)
    return SamplerOutput(
        drawn.nodes()[None],
        *(side[None] for side in (row, col, edge)),
        num_sampled_nodes=added and added[None],
        num_sampled_edges=counts and counts[None],
    )


def _plain(sampler: Any, seed: Tensor) -> Drawn:
    fanouts = sampler.num_neighbors.get_mapped_values()
    return Drawn({None: Relation(None, None, sampler.colptr, sampler.row, fanouts)}, {None: seed})


def _typed(sampler: Any, seeds: dict[str, Tensor]) -> Drawn:
    fanouts = sampler.num_neighbors.get_mapped_values(sampler.edge_types)
    relations = {}
    for kind in sampler.edge_types:
        name = sampler.to_rel_type[kind]
        arrays = (sampler.colptr_dict[name], sampler.row_dict[name])
        relations[kind] = Relation(kind[0], kind[-1], *arrays, fanouts[name])
    none = torch.empty(0, dtype=torch.int64, device="cpu")
    return Drawn(relations, {kind: seeds.get(kind, none) for kind in sampler.node_types})


def part(
    name: str, graph: Any, entries: Tensor | None, coordinates: Tensor, shape: tuple[int, int]
) -> tuple[Any, Tensor]:
    """The drawn part of a graph.

    Args:
        name: The name of the graph, for messages.
        graph: It.
        entries: The numbers of the entries in its CSR form, (count,); None gives a pattern.
        coordinates: Where they stand in the part, (2, count).
        shape: The shape of the part.

    Returns:
        The part in CSR, with the values of the graph, and for each of its entries the first draw of it. An entry that
        was drawn several times has the value as many times, or that number where there are no values.
    """
    count = coordinates.shape[1]
    placed = ls.from_coo(coordinates, torch.arange(count, device="cpu"), shape, reduce="min", check=False)
    order, values = placed.values(), None
    if graph._held is not None and entries is not None:
        values = adjacency.rows_of_entries(name, graph).values().index_select(0, entries[order])
    if placed.nnz < count:
        ones = torch.ones(count, device="cpu", dtype=torch.float32 if values is None else values.dtype)
        times = ls.from_coo(coordinates, ones, shape, check=False).values()
        values = times if values is None else values * times
    return placed.with_values(values), order
