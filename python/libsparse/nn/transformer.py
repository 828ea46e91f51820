"""TransformerEncoderLayer: attention over a pattern, and what follows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .attention import SparseAttention


class TransformerEncoderLayer(nn.Module):
    """`SparseAttention` and a network of two layers, each with dropout, a sum with its input, and a norm.

    With the arguments and the state dict of `nn.TransformerEncoderLayer`, so that its parameters load, and
    `nn.TransformerEncoder` stacks it.

    Args:
        d_model: Columns.
        nhead: Number of heads.
        pattern: As of `SparseAttention`.
        dim_feedforward: Width of the network.
        dropout: The share that is dropped in training.
        activation: "relu", "gelu", or a function.
        layer_norm_eps: Of the norms.
        batch_first: As of `SparseAttention`.
        norm_first: Whether norms come before attention and network, in place of after the sums.
        bias: Whether linear layers and norms have one.
        dtype: Of the parameters.

    Example:
        >>> n = 64
        >>> p = ls.nn.patterns
        >>> bigbird = p.window(n, 3) | p.global_tokens(n, 2) | p.random(n, 3)
        >>> layer = ls.nn.TransformerEncoderLayer(16, 4, bigbird, dim_feedforward=32, batch_first=True)
        >>> torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)(torch.ones(2, n, 16)).shape
        torch.Size([2, 64, 16])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        pattern: Any,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        made: Any = {"bias": bias, "dtype": dtype, "device": "cpu"}
        self.self_attn = SparseAttention(
            d_model, nhead, pattern, dropout, bias=bias, batch_first=batch_first, dtype=dtype
        )
        self.linear1, self.linear2 = (
            nn.Linear(d_model, dim_feedforward, **made),
            nn.Linear(dim_feedforward, d_model, **made),
        )
        self.norm1, self.norm2 = (nn.LayerNorm(d_model, eps=layer_norm_eps, **made) for _ in range(2))
        self.dropout, self.dropout1, self.dropout2 = (nn.Dropout(dropout) for _ in range(3))
        self.norm_first = norm_first
        self.activation: Any = (
            {"relu": F.relu, "gelu": F.gelu}.get(activation) if isinstance(activation, str) else activation
        )
        if self.activation is None:
            raise ValueError(
                f"TransformerEncoderLayer: activation is {activation!r}; expected relu, gelu or a function"
            )

    def forward(
        self,
        src: Tensor,
        src_mask: Any = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Sequences to sequences; `src_mask` is a pattern for this call, the others are those of `SparseAttention`."""

        def attend(x: Tensor) -> Tensor:
            found = self.self_attn(x, x, x, src_key_padding_mask, attn_mask=src_mask, is_causal=is_causal)[0]
            return self.dropout1(found)  # type: ignore[no-any-return]

        def feed(x: Tensor) -> Tensor:
            hidden = self.dropout(self.activation(self.linear1(x)))
            return self.dropout2(self.linear2(hidden))  # type: ignore[no-any-return]

        if self.norm_first:
            src = src + attend(self.norm1(src))
            return src + feed(self.norm2(src))
        src = self.norm1(src + attend(src))
        out: Tensor = self.norm2(src + feed(src))
        return out
