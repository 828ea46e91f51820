"""Batches of dense products, sampled at the entries of one sparse mask or of a batch of them."""

from __future__ import annotations

from torch import Tensor

from libsparse._runtime.problem import Einsum, Operand

from . import contraction


class Sampled:
    """`left @ right` at the entries of a mask.

    Leading dimensions that the mask doesn't have share its pattern: each entry is a block with a number for each.

    Attributes:
        batch: The indices of the leading dimensions.
        indices: Those of the samples: first the mask's, then the shared ones.
        pattern: The pattern of the samples.
        values: Their values.
    """

    def __init__(self, mask: Operand, left: Tensor, right: Tensor, columns: tuple[str, str]) -> None:
        """Sample a product.

        Args:
            mask: (..., n, m); its leading dimensions are those of `left`, or 1, or missing.
            left: (..., n, d).
            right: (..., d, m), or (..., m, d).
            columns: The indices of the last two dimensions of `right`, `d` and `m`.
        """
        self.batch = tuple(f"b{d}" for d in range(left.ndim - 2))
        leading = self.batch[left.ndim - mask.ndim :]
        extents = left.shape[left.ndim - mask.ndim : -2]
        own = [
            name if extent != 1 or size == 1 else f"u{name}"  # an index of its own, with one value
            for name, extent, size in zip(leading, mask.shape[:-2], extents, strict=True)
        ]
        shared = tuple(name for name in self.batch if name not in own)
        self.indices = (*own, "n", "m", *shared)
        self.pattern = mask.sparsity.with_blocks([left.shape[self.batch.index(name)] for name in shared])
        inputs = (self.indices, (*self.batch, "n", "d"), (*self.batch, *columns))
        question = Einsum(inputs, self.indices, self.pattern.format, pattern_of=0)
        operands = [Operand(self.pattern, None), Operand(None, left), Operand(None, right)]
        values, found = contraction.contract(question, operands)
        assert found is not None
        self.values = self.pattern.resample(values, found)
