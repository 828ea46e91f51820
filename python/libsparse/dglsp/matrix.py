"""SparseMatrix: a SparseTensor with the methods, the operators and the order of entries of DGL's class."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

import libsparse as ls

from .entries import Entries, assemble, coordinates, entries_of, in_one_order, values_of, with_vectors

_Function = TypeVar("_Function", bound=Callable[..., Any])


class SparseMatrix(ls.SparseTensor, ordinary=True):
    """A matrix (rows, columns) whose values are (nnz,), or (nnz, d): it has shape (rows, columns, d) then.

    Made by `spmatrix`, `from_coo` and so on. `.row`, `.col`, `.val` and `.nnz` have the entries as they were given: in
    that order, and those that come twice, too. Everything that the class has of `ls.SparseTensor` (`values()`,
    `to_format`, functions of torch) sees them sorted, with the values of those that come twice added.

    Example:
        >>> from libsparse import dglsp
        >>> A = dglsp.spmatrix(torch.tensor([[1, 0], [0, 2]]), torch.tensor([1.0, 2.0]))
        >>> A.val.tolist(), A.values().tolist()
        ([1.0, 2.0], [2.0, 1.0])
    """

    _entries: Entries | None = None
    _given: Tensor | None = None

    if TYPE_CHECKING:
        # Functions of the package that are methods, too; see `method`.
        smax: Callable[..., Tensor]
        smin: Callable[..., Tensor]
        smean: Callable[..., Tensor]
        sprod: Callable[..., Tensor]
        reduce: Callable[..., Tensor]
        inv: Callable[..., SparseMatrix]

    # What was given ----------------------------------------------------------------------------------------

    @property
    def row(self) -> Tensor:
        """The row of each entry (nnz,); not to be written to."""
        return coordinates(self)[0] if self._entries is None else self._entries.row

    @property
    def col(self) -> Tensor:
        """The column of each entry (nnz,); not to be written to."""
        return coordinates(self)[1] if self._entries is None else self._entries.col

    @property
    def val(self) -> Tensor:
        """The values (nnz,) or (nnz, d), which autograd follows; not to be written to."""
        if self._entries is None:
            return values_of(self)
        values, given = values_of(self), self._given
        if given is None or (self._entries.inverse is not None and given.requires_grad != values.requires_grad):
            given = self._given = self._entries.given(values)
        return given

    @property
    def nnz(self) -> int:
        """The number of entries; of those with vectors, too."""
        return len(self.row)

    def indices(self) -> Tensor:
        """Rows and columns of the entries, (2, nnz)."""
        return torch.stack([self.row, self.col])

    def coo(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """Rows and columns of the entries, as in DGL: without values."""
        return self.row, self.col

    def csr(self) -> tuple[Tensor, Tensor, Tensor]:
        """Positions of rows, columns, and as in DGL the numbers of the entries in that order: of `A.val`."""
        return compressed(self, 0)

    def csc(self) -> tuple[Tensor, Tensor, Tensor]:
        """Positions of columns, rows, and as in DGL the numbers of the entries in that order: of `A.val`."""
        return compressed(self, 1)

    def has_duplicate(self) -> bool:
        """Whether coordinates come twice."""
        return self._entries is not None and self._entries.inverse is None

    def coalesce(self) -> SparseMatrix:
        """The matrix with its entries sorted by rows, and each once: values are added."""
        once: SparseMatrix = made(self.to_format("csr" if self.ndim == 2 else "dsd"))
        return once

    def is_diag(self) -> bool:
        """Whether all entries are on the diagonal."""
        return self.nnz <= min(self.shape[:2]) and is_diagonal(self)

    # Copies ------------------------------------------------------------------------------------------------

    def to_format(self, format: Any) -> Any:
        """A plain `ls.SparseTensor` of a format, whose entries are sorted."""
        plain = ls.SparseTensor(self.pattern, self.values(), self.fill_value)
        return plain.to_format(format)

    def to(self, device: Any = None, dtype: Any = None, **kwargs: Any) -> SparseMatrix:  # type: ignore[override]
        """The matrix with values of another dtype; it is on the CPU."""
        given = [a for a in (device, dtype) if a is not None]
        if self.has_duplicate():
            return with_parts(self, self.val.to(*given, **kwargs))
        found = super().to(*given, **kwargs)
        moved: SparseMatrix = self if found is self else made(found, self._entries)
        return moved

    def float(self) -> SparseMatrix:
        """The matrix with values of float32."""
        return self.to(dtype=torch.float32)

    def double(self) -> SparseMatrix:
        """The matrix with values of float64."""
        return self.to(dtype=torch.float64)

    def int(self) -> SparseMatrix:
        """The matrix with values of int32."""
        return self.to(dtype=torch.int32)

    def long(self) -> SparseMatrix:
        """The matrix with values of int64."""
        return self.to(dtype=torch.int64)

    def detach(self) -> SparseMatrix:
        """The matrix, cut from autograd's graph."""
        return made(super().detach(), self._entries, None if self._given is None else self._given.detach())

    def clone(self, *, memory_format: torch.memory_format | None = None) -> SparseMatrix:
        """A copy of the values on the same entries."""
        given = None if self._given is None else self._given.clone()
        return made(super().clone(memory_format=memory_format), self._entries, given)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickles as coordinates and values."""
        return restore_matrix, (self.row, self.col, self.val, tuple(self.shape[:2]))

    def transpose(self, *dims: Any) -> SparseMatrix:
        """The transpose; of entries with vectors, rows and columns change places."""
        if dims and {d % self.ndim for d in dims} != {0, 1}:
            return super().transpose(*dims)
        return made(super().transpose(0, 1), None if self._entries is None else self._entries.transposed, self._given)

    def t(self) -> SparseMatrix:
        """The transpose."""
        return self.transpose()

    T = property(transpose, doc="The transpose.")

    def __tensor_flatten__(self) -> tuple[list[str], tuple[Any, ...]]:
        """The plain tensors of a matrix that torch.compile takes: a sorted one."""
        if self._entries is not None:
            raise ls.UnsupportedError(
                "torch.compile and torch.export take a matrix of dglsp whose entries are sorted, and come once each; "
                "use A.coalesce(), whose A.val is in the order of its A.row"
            )
        return super().__tensor_flatten__()

    @staticmethod
    def __tensor_unflatten__(tensors: Any, context: Any, shape: Any, strides: Any) -> SparseMatrix:
        """The matrix of these."""
        plain = ls.SparseTensor.__tensor_unflatten__(tensors, context, shape, strides)
        plain.__class__ = SparseMatrix
        return plain  # type: ignore[no-any-return]

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        """Coordinates and values, as DGL shows them."""
        if self.pattern.traced or type(self.val) is not Tensor:
            return super().__repr__()
        known = [f"indices={self.indices()!r}".replace("\n", "\n" + " " * len("indices="))]
        known += [f"values={self.val!r}".replace("\n", "\n" + " " * len("values="))]
        width = f", val_size={tuple(self.shape[2:])}" if self.ndim > 2 else ""
        known += [f"shape={tuple(self.shape[:2])}, nnz={self.nnz}{width}"]
        return "SparseMatrix(" + ",\n".join(known).replace("\n", "\n" + " " * len("SparseMatrix(")) + ")"


def method(function: _Function) -> _Function:
    """Makes a function a method of the class, too."""
    setattr(SparseMatrix, function.__name__, function)
    return function


def operators(**functions: Callable[..., Any]) -> None:
    """Makes functions operators of the class; `A += B` makes a new matrix, as in DGL."""
    for name, function in functions.items():
        setattr(SparseMatrix, f"__{name}__", function)
        if name in ("add", "sub", "mul", "truediv", "pow", "matmul"):
            setattr(SparseMatrix, f"__i{name}__", function)


def own(name: str) -> Callable[[Any, Any], Any]:
    """The operator of SparseTensors of the name that torch's function has; the function where torch compiles."""
    if torch.compiler.is_compiling():
        return getattr(torch, name)  # type: ignore[no-any-return]
    return getattr(ls.SparseTensor, f"__{name}__".replace("true_divide", "truediv"))  # type: ignore[no-any-return]


def made(tensor: Any, entries: Entries | None = None, given: Tensor | None = None) -> SparseMatrix:
    """A new SparseTensor as a SparseMatrix of these entries; where torch or ls.compile follows, mostly as it is.

    Args:
        tensor: Its values are in the order of storage.
        entries: None for the order of storage.
        given: The values in the order of `entries`, where they are known.
    """
    if torch.compiler.is_compiling() or (type(tensor) is not ls.SparseTensor and entries is None):
        return tensor  # type: ignore[no-any-return]
    _ = tensor.pattern  # which a tensor of ls.compile has only when it has been computed
    tensor.__class__ = SparseMatrix
    if entries is not None:
        tensor._entries, tensor._given = entries, given
    return tensor  # type: ignore[no-any-return]


def matrix(A: Any, function: str) -> SparseMatrix:
    """A checked argument, as a matrix whose values are in the order of its coordinates.

    Raises:
        DtypeError: It is no SparseTensor.
    """
    if not isinstance(A, ls.SparseTensor):
        raise ls.DtypeError(f"{function}: got a {type(A).__name__}; expected a sparse matrix, see dglsp.spmatrix")
    return in_one_order(A)  # type: ignore[return-value]


def of_coordinates(row: Tensor, col: Tensor, val: Tensor, shape: tuple[int, ...], check: bool = True) -> SparseMatrix:
    """The matrix of coordinates and values (nnz,) or (nnz, d), in this order; unchecked ones are within the shape."""
    A, entries = assemble(row, col, shape, check)
    stored = val if entries is None else entries.stored(val)
    found: SparseMatrix = made(with_vectors(A, stored), entries, None if entries is None else val)
    return found


def with_parts(A: ls.SparseTensor, val: Tensor) -> SparseMatrix:
    """The matrix with other values, in the order in which `parts(A)` has them."""
    entries = entries_of(A)
    if entries is not None and entries.inverse is None:
        return made(with_vectors(A, entries.stored(val)), entries, val)
    return made(with_vectors(A, val), entries)


def with_stored(A: ls.SparseTensor, values: Tensor) -> SparseMatrix:
    """The matrix with other values, in the order of storage."""
    return made(with_vectors(A, values), entries_of(A))


def is_diagonal(A: ls.SparseTensor) -> bool:
    """Whether all that is stored is on the diagonal, which is looked at once."""
    return A.pattern.derive(("diagonal",), lambda: torch.equal(*coordinates(A)))


def restore_matrix(row: Tensor, col: Tensor, val: Tensor, shape: tuple[int, int]) -> SparseMatrix:
    """Unpickles a SparseMatrix."""
    return of_coordinates(row, col, val, shape)


torch.serialization.add_safe_globals([restore_matrix])


def compressed(A: SparseMatrix, dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """Positions of rows (0) or columns (1), the other coordinates, and the numbers of the entries in that order."""

    def build() -> tuple[Tensor, Tensor, Tensor]:
        along, across = (A.row, A.col)[dim], (A.col, A.row)[dim]
        counts = torch.bincount(along.long(), minlength=A.shape[dim])
        pos = torch.cat([counts.new_zeros(1), counts.cumsum(0)]).to(along.dtype)
        order = along.argsort(stable=True)
        return pos, across.index_select(0, order), order

    if A._entries is None:
        return A.pattern.derive(("positions and numbers of entries", dim), build)
    if dim not in A._entries.compressed:
        A._entries.compressed[dim] = build()
    return A._entries.compressed[dim]
