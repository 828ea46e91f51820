"""Layers with sparse operands: graph convolutions, sparse weights, masked attention, decompositions.

They are written on what `libsparse` shows its users, and have the arguments of layers of the same name in PyG or torch,
and the names in their state dicts. Graphs are matrices whose rows receive: entry (i, j) is an edge from j to i.
"""

from __future__ import annotations

from .linear import SparseLinear
from .parameter import SparseParameter

__all__ = ["SparseLinear", "SparseParameter"]
