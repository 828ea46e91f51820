"""EmbeddingBag: sums, means and maxima of rows of a table, by a sparse matrix of bags."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import libsparse as ls
from libsparse._ops import assemble
from libsparse._tensor.sparse_tensor import SparseTensor


class EmbeddingBag(nn.Module):
    """For each bag of numbers, the sum, mean or maximum of these rows of a table.

    Values of a matrix of bags are weights of a sum; means and maxima are of the rows alone, whatever the values.

    With arguments and the state dict of `nn.EmbeddingBag`; what is rarely used there (`max_norm`, `scale_grad_by_freq`,
    `sparse`) is not here. A matrix of bags that is made once and used in each epoch keeps what is computed of it.

    Args:
        num_embeddings: Rows of the table.
        embedding_dim: Columns.
        mode: "sum", "mean" or "max".
        include_last_offset: Whether `offsets` ends with the length of the input.
        padding_idx: A number that does not count; a negative one is from the end.
        dtype: Of the table.

    Attributes:
        weight: The table (num_embeddings, embedding_dim), standard normal at first.

    Example:
        >>> bags = ls.tensor([[0.0, 2.0, 1.0], [0.0, 0.0, 0.5]])
        >>> layer = ls.nn.EmbeddingBag(3, 4, mode="sum")
        >>> torch.allclose(layer(bags)[1], layer.weight[2] / 2)
        True
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        mode: str = "mean",
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if mode not in ("sum", "mean", "max"):
            raise ls.UnsupportedError(f"EmbeddingBag: mode is {mode!r}; expected sum, mean or max")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ls.IndexBoundsError(
                f"EmbeddingBag: padding_idx is {padding_idx}; expected one of the {num_embeddings} rows of the table"
            )
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.include_last_offset = include_last_offset
        self.padding_idx = padding_idx if padding_idx is None else padding_idx % num_embeddings
        self.weight = nn.Parameter(torch.empty(num_embeddings, embedding_dim, dtype=dtype, device="cpu"))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the table anew."""
        nn.init.normal_(self.weight)
        if self.padding_idx is not None:
            with torch.no_grad():
                self.weight[self.padding_idx].zero_()

    def forward(self, input: Any, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """The rows (bags, embedding_dim); a bag without numbers gives 0.

        Args:
            input: Bags as a SparseTensor (bags, num_embeddings), whose values are factors with mode "sum" and else only
                say what is in the bag; or numbers as `nn.EmbeddingBag` takes them, (bags, length) or 1-D.
            offsets: Where each bag begins in a 1-D input.
            per_sample_weights: Factors of numbers, of their shape, with mode "sum".

        Raises:
            ShapeError: The bags have another width than the table rows, offsets are empty, or there is not a factor
                for each number.
            DtypeError: Numbers are not integers.
            IndexBoundsError: A number is none of a row.
        """
        if not isinstance(input, ls.SparseTensor):
            return self._numbered(input, offsets, per_sample_weights)
        if offsets is not None or per_sample_weights is not None:
            raise ls.DtypeError("EmbeddingBag: a SparseTensor has its bags and factors; expected no other argument")
        if input.ndim != 2 or input.shape[1] != self.num_embeddings:
            raise ls.ShapeError(
                f"EmbeddingBag: input ({input._facts()}); expected shape (bags, {self.num_embeddings}), a column for "
                "each row of the table"
            )
        if self.mode == "sum":
            return input @ self.weight
        return ls.matmul(input.with_values(None), self.weight, reduce=self.mode)

    def _numbered(self, numbers: Tensor, offsets: Tensor | None, factors: Tensor | None) -> Tensor:
        """The rows of numbers, as `nn.EmbeddingBag` takes them."""
        if factors is not None and self.mode != "sum":
            raise ls.UnsupportedError(f"EmbeddingBag: per_sample_weights need mode='sum'; the mode is {self.mode!r}")
        _check_integers("input", numbers, "the numbers of rows of the table")
        if factors is not None and (not isinstance(factors, Tensor) or factors.shape != numbers.shape):
            found = tuple(factors.shape) if isinstance(factors, Tensor) else type(factors).__name__
            raise ls.ShapeError(f"EmbeddingBag: per_sample_weights: {found}; expected {tuple(numbers.shape)}, as input")
        ends, flat = self._ends(numbers, offsets), numbers.reshape(-1)
        flat = flat if flat.dtype == torch.int32 else flat.long()  # narrower ones don't hold the places
        values = None if factors is None else factors.reshape(-1)
        if self.padding_idx is not None:
            _check_ends(ends, len(flat))
            kept = flat != self.padding_idx
            ends = torch.cat([ends.new_zeros(1), kept.cumsum(0)])[ends]
            flat, values = flat[kept], None if values is None else values[kept]
        bags = self._bags(ends, flat, values)
        if self.mode == "sum":
            return ls.einsum("bpr,rk->bk", bags, self.weight)
        lengths = ends.diff()[:, None]
        if self.mode == "mean":
            return ls.einsum("bpr,rk->bk", bags, self.weight) / lengths.clamp(min=1)
        return ls.einsum("bpr,rk->bk", bags, self.weight, reduce="max").masked_fill(lengths == 0, 0)

    def _bags(self, ends: Tensor, numbers: Tensor, factors: Tensor | None) -> ls.SparseTensor:
        """Factors (bags, places, rows): each number has a place, so that those of a bag are not sorted or compared."""
        pattern = None if torch.compiler.is_compiling() else assemble.bags(ends, numbers, self.num_embeddings)
        if pattern is not None:
            return SparseTensor(pattern, factors)
        _check_ends(ends, len(numbers))
        shape = len(ends) - 1, len(numbers), self.num_embeddings
        places = torch.arange(len(numbers), dtype=numbers.dtype, device="cpu")
        try:
            return ls.from_levels(assemble.BAGS, shape, (None, ends, None), (None, places, numbers), factors)
        except ls.IndexBoundsError:
            raise ls.IndexBoundsError(
                f"EmbeddingBag: input has numbers from {int(numbers.min())} to {int(numbers.max())}; expected numbers "
                f"of the table's rows, 0 <= number < {self.num_embeddings}"
            ) from None

    def _ends(self, numbers: Tensor, offsets: Tensor | None) -> Tensor:
        """Where each bag begins, and where the last one ends."""
        if numbers.ndim == 2 and offsets is None:
            bags, length = numbers.shape
            return torch.arange(bags + 1, device="cpu") * length
        if numbers.ndim != 1 or offsets is None:
            raise ls.ShapeError(
                f"EmbeddingBag: input has shape {tuple(numbers.shape)} and offsets are "
                f"{'given' if offsets is not None else 'missing'}; expected (bags, length), or 1-D with offsets"
            )
        _check_integers("offsets", offsets, "where each bag begins")
        if offsets.ndim != 1:
            raise ls.ShapeError(f"EmbeddingBag: offsets have shape {tuple(offsets.shape)}; expected one dimension")
        ends = offsets if offsets.dtype == torch.int32 else offsets.long()
        if not self.include_last_offset:
            ends = F.pad(ends, (0, 1), value=len(numbers))
        if not len(ends):
            raise ls.ShapeError(
                "EmbeddingBag: offsets are empty; expected one number at least with include_last_offset=True, the "
                "end of the last bag"
            )
        return ends

    def extra_repr(self) -> str:
        """Its extents."""
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"


def _check_ends(ends: Tensor, count: int) -> None:
    """Raises unless bags begin and end one behind the other, with so many numbers."""
    if int(ends[0]) != 0 or int(ends[-1]) != count or (len(ends) > 1 and int(ends.diff().min()) < 0):
        found = f"from {ends[0]} to {ends[-1]}" if len(ends) > 1 else "empty"
        raise ls.IndexBoundsError(
            f"EmbeddingBag: offsets are {found}; expected to begin at 0, to ascend, and to "
            f"end at most at {count}, the length of input"
        )


def _check_integers(name: str, given: Any, meaning: str) -> None:
    """Raises unless an argument is a dense tensor of integers."""
    if not isinstance(given, Tensor) or given.layout is not torch.strided:
        found = given.layout if isinstance(given, Tensor) else type(given).__name__
        raise ls.DtypeError(f"EmbeddingBag: {name} is a {found}; expected a dense tensor of integers, {meaning}")
    if given.dtype.is_floating_point or given.dtype.is_complex or given.dtype == torch.bool:
        raise ls.DtypeError(f"EmbeddingBag: {name} has dtype {given.dtype}; expected integers, {meaning}")
