"""SparseAttention: multi-head attention over a pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import libsparse as ls

from .patterns import entries_of


class SparseAttention(nn.Module):
    """Multi-head attention whose scores are computed where a pattern has entries, and nowhere else.

    With the arguments and the state dict of `nn.MultiheadAttention`, so that its parameters load. A query without keys
    gives 0 (before the last projection), where `nn.MultiheadAttention` gives NaN.

    Args:
        embed_dim: Columns of queries and results.
        num_heads: Divides `embed_dim`.
        pattern: Which queries (rows) see which keys (columns): a SparseTensor such as those of `ls.nn.patterns`, whose
            values are added to the scores if they are floating; or a function of the length that returns one, which is
            called once for each length. Shorter sequences have the first rows and columns of a tensor.
        dropout: The share of weights that is dropped in training.
        bias: Whether projections have one.
        kdim: Columns of keys; by default `embed_dim`.
        vdim: Columns of values; by default `embed_dim`.
        batch_first: Whether batches are (batch, length, columns), in place of (length, batch, columns).
        dtype: Of the parameters.

    Raises:
        ShapeError: `num_heads` does not divide `embed_dim`, or one of them is less than 1.

    Example:
        >>> attend = ls.nn.SparseAttention(16, 4, ls.nn.patterns.window(100, 8), batch_first=True)
        >>> x = torch.ones(2, 100, 16)
        >>> attend(x, x, x)[0].shape
        torch.Size([2, 100, 16])
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        pattern: Any,
        dropout: float = 0.0,
        bias: bool = True,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            raise ls.ShapeError(
                f"SparseAttention: num_heads={num_heads} does not divide embed_dim={embed_dim}; expected numbers from "
                "1 on, the second a multiple of the first"
            )
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self._pattern = _Patterns(pattern)

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape, dtype=dtype, device="cpu"))

        if self.kdim == self.vdim == embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = parameter(embed_dim, embed_dim)
            self.k_proj_weight = parameter(embed_dim, self.kdim)
            self.v_proj_weight = parameter(embed_dim, self.vdim)
        self.in_proj_bias = parameter(3 * embed_dim) if bias else None
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias, dtype=dtype, device="cpu")
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the parameters anew, as `nn.MultiheadAttention` does."""
        self.out_proj.reset_parameters()
        for name, parameter in self.named_parameters(recurse=False):
            if name.endswith("weight"):
                nn.init.xavier_uniform_(parameter)
        if self.in_proj_bias is not None:
            nn.init.zeros_(self.in_proj_bias)
            nn.init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = False,
        attn_mask: Any = None,
        is_causal: bool = False,
    ) -> tuple[Tensor, None]:
        """The attended values, projected, and None, as `nn.MultiheadAttention` without weights.

        Args:
            query: (length, batch, embed_dim), (batch, length, embed_dim) with `batch_first`, or (length, embed_dim).
            key: The same with its own length and columns.
            value: The same with the length of `key`.
            key_padding_mask: (batch, length of keys): bool, true where keys are not seen, or floating, which is added
                to their scores; -inf hides them.
            need_weights: Refused: weights of a sparse mask are `ls.sddmm` and `softmax`, step by step.
            attn_mask: A pattern for this call, in place of the layer's.
            is_causal: Whether queries see the keys up to their own place only.

        Raises:
            ShapeError: The pattern is smaller than the sequences, or shapes do not agree.
        """
        if need_weights:
            raise ls.UnsupportedError(
                "SparseAttention: need_weights=True is not supported; the steps of attention give weights: "
                "(ls.sddmm(mask, q, k.T) * scale).softmax(-1)"
            )
        single = query.ndim == 2
        if single:
            query, key, value = query[None], key[None], value[None]
        elif not self.batch_first:
            query, key, value = (each.transpose(0, 1) for each in (query, key, value))
        pattern = self._pattern if attn_mask is None else _Patterns(attn_mask)
        mask = pattern.get(query.shape[1], key.shape[1], is_causal)
        q, k, v = (self._heads(each) for each in self._projected(query, key, value))
        seen = None
        if key_padding_mask is not None:
            padding = key_padding_mask[None] if single else key_padding_mask
            q, k, seen = _without(padding, q, k, mask)
        scale = (self.embed_dim // self.num_heads) ** -0.5
        out = ls.attention(q, k, v, mask, scale, self.dropout if self.training else 0.0)
        out = out if seen is None else out * seen
        out = self.out_proj(out.transpose(1, 2).flatten(2))
        if single:
            return out[0], None
        return (out if self.batch_first else out.transpose(0, 1)), None

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values; by one product where they are the same."""
        biases = [None] * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        weights: tuple[Tensor, ...]
        if self.kdim != self.embed_dim or self.vdim != self.embed_dim:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        elif query is key is value:
            return F.linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, -1)
        else:
            weights = self.in_proj_weight.chunk(3)
        given = zip((query, key, value), weights, biases, strict=True)
        return tuple(F.linear(each, weight, bias) for each, weight, bias in given)

    def _heads(self, x: Tensor) -> Tensor:
        """(batch, length, columns) as (batch, heads, length, columns of one)."""
        heads: Tensor = x.unflatten(-1, (self.num_heads, -1))
        return heads.transpose(1, 2)

    def extra_repr(self) -> str:
        """Its extents."""
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, dropout={self.dropout}"


class _Patterns:
    """The mask of a layer for each length, made once."""

    def __init__(self, given: Any) -> None:
        if isinstance(given, ls.Pattern):
            given = ls.SparseTensor(given)
        if not isinstance(given, ls.SparseTensor) and (isinstance(given, Tensor) or not callable(given)):
            raise ls.DtypeError(
                f"SparseAttention: pattern is a {type(given).__name__}; expected an ls.SparseTensor, such as "
                "ls.nn.patterns.window(n, w), or a function of the length that returns one"
            )
        self._given: Any = _entries(given) if isinstance(given, ls.SparseTensor) else given
        self._made: dict[tuple[int, int, bool], Any] = {}

    def get(self, queries: int, keys: int, causal: bool) -> Any:
        """The mask (queries, keys)."""
        known = (queries, keys, causal)
        if known not in self._made:
            mask = self._cut(queries, keys)
            self._made[known] = mask.tril() if causal else mask
        return self._made[known]

    def _cut(self, queries: int, keys: int) -> Any:
        mask = self._given
        if not isinstance(mask, ls.SparseTensor):
            make: Callable[[int], Any] = mask
            mask = _entries(make(max(queries, keys)))
        if mask.ndim != 2 or mask.shape[0] < queries or mask.shape[1] < keys:
            raise ls.ShapeError(
                f"SparseAttention: the pattern has shape {tuple(mask.shape)}; expected ({queries}, {keys}) or more, as "
                f"there are {queries} queries and {keys} keys"
            )
        mask = mask if tuple(mask.shape) == (queries, keys) else mask[:queries, :keys]
        return mask.to_format("csr")


def _entries(mask: Any) -> Any:
    """A mask of numbers as it is, of another one the entries that are true."""
    return mask if mask.dtype.is_floating_point else entries_of(mask)


def _without(padding: Tensor, q: Tensor, k: Tensor, mask: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Queries and keys to whose scores numbers of keys are added, and which queries (batch, 1, n, 1) see any.

    One more column of both does it, so that the mask stays one for the whole batch, and no scores are stored for it.
    """
    hides = padding.dtype is torch.bool
    if not (hides or padding.is_floating_point()) or padding.shape != (k.shape[0], k.shape[2]):
        raise ls.ShapeError(
            f"SparseAttention: key_padding_mask has shape {tuple(padding.shape)} and dtype {padding.dtype}; expected "
            f"bool ({k.shape[0]}, {k.shape[2]}), true where keys are not seen, or numbers to add to their scores"
        )
    low = -1e4 if k.dtype is torch.float16 else -1e9
    added = torch.where(padding, low, 0.0) if hides else padding.clamp(min=low)
    added = added.to(k.dtype)[:, None, :, None].expand(-1, k.shape[1], -1, 1)
    # The scale is 1 / sqrt(columns): the queries' number cancels it, since float16 has none as great for the keys.
    q = torch.cat([q, torch.full_like(q[..., :1], k.shape[-1] ** 0.5)], -1)
    k = torch.cat([k, added], -1)
    seen = ~padding if hides else padding > -torch.inf
    count = mask.with_values(None) @ seen.T.to(torch.float32)
    return q, k, (count.T > 0).to(q.dtype)[:, None, :, None]
