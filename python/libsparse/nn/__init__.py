"""Layers with sparse operands: graph convolutions, sparse weights, masked attention, decompositions.

They are written on what `libsparse` shows its users, and have the arguments of layers of the same name in PyG or torch,
and the names in their state dicts. Graphs are matrices whose rows receive: entry (i, j) is an edge from j to i.
"""

from __future__ import annotations

from . import patterns
from .attention import SparseAttention
from .decompositions import CP, Tucker
from .embedding_bag import EmbeddingBag
from .factorization_machine import FactorizationMachine
from .graph_attention import GATConv, GATv2Conv
from .graph_convolutions import APPNP, GCNConv, GINConv, SAGEConv
from .light_gcn import LightGCN
from .linear import SparseLinear
from .parameter import SparseParameter
from .relational import RGCNConv
from .transformer import TransformerEncoderLayer

__all__ = [
    "APPNP",
    "CP",
    "EmbeddingBag",
    "FactorizationMachine",
    "GATConv",
    "GATv2Conv",
    "GCNConv",
    "GINConv",
    "LightGCN",
    "RGCNConv",
    "SAGEConv",
    "SparseAttention",
    "SparseLinear",
    "SparseParameter",
    "Tucker",
    "TransformerEncoderLayer",
    "patterns",
]
