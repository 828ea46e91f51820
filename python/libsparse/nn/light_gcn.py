"""LightGCN: embeddings of users and items, smoothed over the graph of ratings."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import libsparse as ls

from . import adjacency


class LightGCN(nn.Module):
    """Weighted sums of `N^l x` over layers l, of embeddings x and the normalised graph N without self loops.

    He et al., "LightGCN: Simplifying and Powering Graph Convolution Network for Recommendation", 2020, equations 3 and
    4; PyG's arguments, methods and state dict. Users and items are nodes of one symmetric graph.

    Args:
        num_nodes: Users and items.
        embedding_dim: Columns of the embeddings.
        num_layers: The largest l.
        alpha: The weights of the layers, (num_layers + 1,) or one number for all; by default 1 / (num_layers + 1).
        normalize: Whether the graph is normalised; else its values are used as they are.
        cached: As of `GCNConv`.

    Example:
        >>> ratings = ls.random((3, 4), 0.5)
        >>> A = ls.from_edge_index(ratings.indices() + torch.tensor([[0], [3]]), num_nodes=7)
        >>> model = ls.nn.LightGCN(7, 16, num_layers=2)
        >>> model.recommend(A + A.T, src_index=torch.arange(3), dst_index=torch.arange(3, 7), k=2).shape
        torch.Size([3, 2])
    """

    alpha: Tensor

    def __init__(
        self,
        num_nodes: int,
        embedding_dim: int,
        num_layers: int,
        alpha: float | Tensor | None = None,
        normalize: bool = True,
        cached: bool = False,
    ) -> None:
        super().__init__()
        self.num_nodes, self.embedding_dim, self.num_layers = num_nodes, embedding_dim, num_layers
        self.normalize, self.cached = normalize, cached
        if not isinstance(alpha, Tensor):
            share = 1.0 / (num_layers + 1) if alpha is None else alpha
            alpha = torch.full((num_layers + 1,), share, device="cpu")
        if alpha.shape != (num_layers + 1,):
            raise ls.ShapeError(f"LightGCN: alpha has shape {tuple(alpha.shape)}; expected ({num_layers + 1},)")
        self.register_buffer("alpha", alpha)
        self.embedding = nn.Embedding(num_nodes, embedding_dim, device="cpu")
        self._kept = adjacency.Kept()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the embeddings anew."""
        nn.init.xavier_uniform_(self.embedding.weight)
        self._kept.clear()

    def get_embedding(self, A: Any) -> Tensor:
        """The smoothed embeddings (num_nodes, embedding_dim)."""
        graph, x = adjacency.receiving("LightGCN", A, self.num_nodes, self.num_nodes), self.embedding.weight
        if self.normalize:

            def compute() -> Any:
                return adjacency.normalised(graph, x.dtype, False)

            normal = self._kept.get(A, compute) if self.cached else compute()
        else:
            normal = adjacency.valued(graph, x.dtype)
        out = x * self.alpha[0]
        for share in self.alpha[1:]:
            x = normal @ x
            out = torch.addcmul(out, x, share)
        return out

    def forward(self, A: Any, edge_label_index: Tensor | None = None) -> Tensor:
        """Scores of pairs of nodes (2, pairs); of the edges of `A` (from, to) by default."""
        if edge_label_index is None:
            edge_label_index = A.indices().flip(0)
        out = self.get_embedding(A)
        return (out[edge_label_index[0]] * out[edge_label_index[1]]).sum(-1)

    def predict_link(self, A: Any, edge_label_index: Tensor | None = None, prob: bool = False) -> Tensor:
        """Whether pairs are edges, as 0 and 1, or the probability of that."""
        found = self(A, edge_label_index).sigmoid()
        return found if prob else found.round()  # type: ignore[no-any-return]

    def recommend(
        self,
        A: Any,
        src_index: Tensor | None = None,
        dst_index: Tensor | None = None,
        k: int = 1,
        sorted: bool = True,
    ) -> Tensor:
        """The k nodes among `dst_index` with the highest scores for each of `src_index`: (nodes, k)."""
        out = self.get_embedding(A)
        source = out if src_index is None else out[src_index]
        target = out if dst_index is None else out[dst_index]
        best = (source @ target.T).topk(k, dim=-1, sorted=sorted).indices
        return best if dst_index is None else dst_index[best]

    def link_pred_loss(self, pred: Tensor, edge_label: Tensor, **options: Any) -> Tensor:
        """Binary cross entropy of scores and labels."""
        return F.binary_cross_entropy_with_logits(pred, edge_label.to(pred.dtype), **options)

    def recommendation_loss(
        self, pos_edge_rank: Tensor, neg_edge_rank: Tensor, node_id: Tensor | None = None, lambda_reg: float = 1e-4
    ) -> Tensor:
        """Bayesian personalised ranking (equation 15), with the embeddings of `node_id` (all by default) kept small."""
        loss = -F.logsigmoid(pos_edge_rank - neg_edge_rank).mean()
        if lambda_reg == 0:
            return loss
        used = self.embedding.weight if node_id is None else self.embedding.weight[node_id]
        return loss + lambda_reg * used.square().sum() / pos_edge_rank.shape[0]

    def extra_repr(self) -> str:
        """Its extents."""
        return f"{self.num_nodes}, {self.embedding_dim}, num_layers={self.num_layers}"
