"""Mini-batches of graphs: sampled neighbourhoods and induced subgraphs."""

from __future__ import annotations

from .neighborhoods import neighbors, subgraph

__all__ = ["neighbors", "subgraph"]
