"""A SparseTensor for others: in a notebook, in a plot, and for SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from libsparse._runtime.problem import Operand
from libsparse._storage.fakes import is_fake

if TYPE_CHECKING:
    from libsparse._storage.pattern import Pattern


class Exports:
    """The part of SparseTensor that other libraries see."""

    __slots__ = ()
    if TYPE_CHECKING:
        _pattern: Pattern
        _held: Any

        def _operand(self) -> Operand: ...

    def _repr_html_(self) -> str | None:
        """A table of facts and a picture; None while torch traces, for the text."""
        if self._pattern.traced or is_fake(self._held):
            return None
        from libsparse._ops.picture import page  # needed by notebooks only

        return page(self._operand())

    def spy(self, ax: Any = None, **appearance: Any) -> Any:
        """Draws where the entries of this matrix are, with matplotlib.

        A dot is as dark as its part of the matrix is full, so that matrices of any size can be looked at.

        Args:
            ax: The axes to draw into; new ones by default.
            appearance: Further arguments of `imshow`, such as `cmap`.

        Returns:
            The axes.

        Raises:
            ShapeError: It is no matrix.
            LibsparseError: matplotlib is not installed.

        Example:
            >>> from matplotlib.figure import Figure
            >>> ls.eye(3).spy(Figure().subplots()).get_title()
            '3 x 3, 3 entries'
        """
        from libsparse._ops.picture import plot

        return plot(self._pattern, ax, **appearance)

    def to_scipy(self) -> Any:
        """A SciPy sparse array of this format (COO where SciPy has none); its arrays are copies."""
        from libsparse._ops import export

        return export.to_scipy(self._operand())

    def as_linear_operator(self) -> Any:
        """A SciPy LinearOperator of this matrix, on NumPy's arrays, without gradients."""
        from libsparse._ops import export

        return export.to_linear_operator(self)  # type: ignore[arg-type]  # it is a part of a tensor
