"""SparseLinear: a linear layer that stores a part of its weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import libsparse as ls
from libsparse._tensor import in_transforms

from . import magnitude, rewiring
from .parameter import SparseParameter
from .rewiring import Blocks


class SparseLinear(nn.Module):
    """`x @ weight.T + bias`, where `weight` is a SparseTensor that is trained.

    A product with a weight of which a tenth is stored costs about a tenth, and so do its gradients. Nothing of
    (out_features, in_features) elements is allocated.

    Args:
        in_features: Extent of the last dimension of inputs.
        out_features: Extent of the last dimension of results.
        mask: Where weights are: a bool tensor (out_features, in_features), or a SparseTensor, whose entries count.
        density: The share of the weights that is stored, at random places, if there is no `mask`.
        bias: Whether there is one.
        dtype: Of the parameters.
        generator: Source of the random places and values.

    Raises:
        ShapeError: `mask` is not (out_features, in_features).
        DtypeError: Not exactly one of `mask` and `density` is given.

    Attributes:
        weight: (out_features, in_features), a `SparseParameter`; uniform in +-1/sqrt(entries of the row) at first, so
            that results have the variance of those of `nn.Linear` (Evci et al., "Gradient Flow in Sparse Neural
            Networks and How Lottery Tickets Win", 2022, section 3).
        bias: (out_features,), or None.

    Example:
        >>> layer = ls.nn.SparseLinear(64, 32, density=0.1)
        >>> layer(torch.ones(5, 64)).shape, layer.weight.nnz
        (torch.Size([5, 32]), 205)
    """

    weight: Any  # the stubs of nn.Module would have it a Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        mask: Any = None,
        density: float | None = None,
        bias: bool = True,
        *,
        dtype: torch.dtype | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        shape, dtype = (out_features, in_features), dtype or torch.get_default_dtype()
        if (mask is None) == (density is None):
            raise ls.DtypeError("SparseLinear: give either mask= or density=, which say where weights are")
        entries = (
            ls.random(shape, density or 0, generator=generator) if mask is None else magnitude.entries_of(mask, shape)
        )
        values = torch.empty(entries.nnz, dtype=dtype, device="cpu")
        self.weight = SparseParameter(entries.with_values(values))
        self.bias = nn.Parameter(torch.empty(out_features, dtype=dtype, device="cpu")) if bias else None
        self._block = (1, 1)
        self._seen: list[tuple[Tensor, Tensor]] = []
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draws the parameters anew."""
        counts = ls.einsum("ij->i", self.weight.detach().with_values(None).to(torch.int64)).clamp(min=1)
        bounds = counts.to(self.weight.dtype).rsqrt()
        with torch.no_grad():
            values = self.weight.values()
            values.uniform_(-1, 1, generator=generator).mul_(bounds[self.weight.row])
            if self.bias is not None:
                bound = 1 / math.sqrt(max(self.in_features, 1))
                self.bias.uniform_(-bound, bound, generator=generator)

    @classmethod
    def from_dense(
        cls,
        linear: nn.Linear,
        density: float | None = None,
        mask: Any = None,
        block: tuple[int, int] | None = None,
        n_m: tuple[int, int] | None = None,
    ) -> SparseLinear:
        """The layer with the weights of largest magnitude of a dense one, copied, and its bias.

        Args:
            linear: A dense layer.
            density: The share of the weights that is kept.
            mask: The weights that are kept, as for the class; without `density`, `mask` and `n_m`, those that are not
                0, as `torch.nn.utils.prune` leaves them.
            block: (height, width): whole blocks are kept, those of largest norm, and stored as BSR.
            n_m: (n, m): of every m successive weights of a row, n are kept.

        Raises:
            DtypeError: `linear` is no `nn.Linear`, or more than one of `density`, `mask` and `n_m` is given.
            ShapeError: `mask` has another shape, or `m` does not divide `in_features`.

        Example:
            >>> dense = torch.nn.Linear(8, 4)
            >>> sparse = ls.nn.SparseLinear.from_dense(dense, n_m=(2, 4))
            >>> sparse.weight.nnz, bool((sparse.weight.to_dense() == dense.weight).sum() == 16)
            (16, True)
        """
        if not isinstance(linear, nn.Linear):
            raise ls.DtypeError(f"from_dense(linear) is a {type(linear).__name__}; expected a torch.nn.Linear")
        kept = magnitude.largest(linear.weight.detach(), density, mask, block, n_m)
        self = cls.__new__(cls)
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight = SparseParameter(kept)
        self.bias = None if linear.bias is None else nn.Parameter(linear.bias.detach().clone())
        self._block, self._seen = block or (1, 1), []
        return self

    def forward(self, x: Tensor) -> Tensor:
        """`x @ weight.T + bias`: (..., in_features) to (..., out_features)."""
        weight = self.weight if isinstance(self.weight, ls.SparseTensor) else in_transforms.seen(self.weight)
        out: Tensor = F.linear(x, weight, self.bias)
        return out

    def prune(
        self,
        fraction: float,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        signs_apart: bool = False,
    ) -> int:
        """Drops the stored weights (or blocks of them) of smallest magnitude.

        As RigL does (Evci et al., "Rigging the Lottery", 2020, section 3, "Drop criterion"); with `signs_apart` as SET
        does (Mocanu et al., "Scalable training of artificial neural networks with adaptive sparse connectivity", 2018,
        Methods): the fraction is taken of the positive weights and of the negative ones.

        Args:
            fraction: Of the stored weights, from 0 to 1.
            optimizer: An optimizer that has the weight. What optimizers keep for each stored weight (momentum, moments)
                goes with the weight. Those that have made a step with it are known; one whose state was loaded has to
                be passed if `prune` or `grow` comes before its first step, or its state stays that of the old entries.
            signs_apart: See above; only without blocks.

        Returns:
            How many weights or blocks were dropped: what `grow` takes to keep their number.

        `weight` stays the same object, with another pattern and without `.grad`: call it between `optimizer.step()` and
        the next `backward()`.

        Example:
            >>> layer = ls.nn.SparseLinear(64, 32, density=0.1)
            >>> dropped = layer.prune(0.2)
            >>> dropped, layer.weight.nnz, layer.grow(dropped), layer.weight.nnz
            (41, 164, 41, 205)
        """
        blocks = Blocks.of(self.weight.detach(), self._block)
        keep = rewiring.without_smallest(blocks, fraction, signs_apart)
        self._rewire(blocks.select(keep), optimizer)
        return int((~keep).sum())

    def grow(
        self,
        count: int,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> int:
        """Stores `count` more weights (or blocks), which begin at 0.

        At random places, as SET does; or, where a backward pass ran inside of `watch()`, at those where the gradient of
        the dense weight would be largest, as RigL does ("Grow criterion"). That gradient is computed for some rows at a
        time. Papers and arguments are those of `prune`; what an optimizer keeps for new weights begins at 0.

        Returns:
            How many were grown: fewer where no more places are left.

        Example:
            >>> layer = ls.nn.SparseLinear(64, 32, density=0.1)
            >>> with layer.watch():
            ...     layer(torch.ones(5, 64)).square().sum().backward()
            >>> layer.grow(10), layer.weight.nnz
            (10, 215)
        """
        blocks = Blocks.of(self.weight.detach(), self._block)
        if self._seen:
            places = rewiring.steepest_places(blocks, count, self._seen)
            self._seen = []
        else:
            places = rewiring.random_places(blocks, count, generator)
        self._rewire(blocks.extended(places), optimizer)
        return len(places)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Keeps inputs and the gradients of results of calls inside of the block, for the next `grow`."""
        self._seen = []

        def note(module: nn.Module, args: tuple[Tensor, ...], out: Tensor) -> None:
            x = args[0].detach().reshape(-1, self.in_features)
            if out.requires_grad:
                out.register_hook(lambda g: self._seen.append((x, g.detach().reshape(-1, self.out_features))))

        handle = self.register_forward_hook(note)
        try:
            yield
        finally:
            handle.remove()

    def _rewire(self, after: Blocks, optimizer: torch.optim.Optimizer | None) -> None:
        """Gives the weight other entries, and what an optimizer keeps for it."""
        rewiring.take_over(self.weight, after.ordered(), optimizer)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        """Refuses a dense weight, and one with other entries, by an error that says what to do."""
        found, assigned = state_dict.get(f"{prefix}weight"), local_metadata.get("assign_to_params_buffers", False)
        if isinstance(found, Tensor):
            rewiring.check_loaded(f"{prefix}weight", found, self.weight, assigned)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def extra_repr(self) -> str:
        """Extents, and how much is stored."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, nnz={self.weight.nnz}, "
            f"bias={self.bias is not None}"
        )
