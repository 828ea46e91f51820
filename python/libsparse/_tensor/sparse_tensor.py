"""SparseTensor: a Pattern and a 1-D tensor of values, dressed as a `torch.Tensor`.

The class holds data and autograd's view of it. Operators, reductions and torch's other functions are registered with
`dispatch_table`, which gives them to the class as methods.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any, overload

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from libsparse._lang.errors import DtypeError, FormatError, UnsupportedError
from libsparse._ops import assemble, layouts, products
from libsparse._ops.operands import check_values
from libsparse._ops.prepared_products import PreparedProduct
from libsparse._runtime.direct import native
from libsparse._runtime.problem import Operand
from libsparse._storage.conversion import in_arrays
from libsparse._storage.fakes import JIT_TRACE, is_fake
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern
from libsparse._trace.patterns import TracedPattern, forget_symbols
from libsparse._trace.proxies import follow_parts, follow_whole
from libsparse._trace.tracers import leave_alone

from . import dispatch_table, repeated
from .autograd_view import AutogradView, cut
from .copying import Copying
from .diagonal_methods import DiagonalMethods
from .exports import Exports
from .missing import NamedAttributes
from .placement import check_device, check_memory_format
from .recording import current, recorders
from .sharing import hold, share
from .short_product import multiply_in_c, multiply_in_python
from .traced_view import TracedView, follow_values
from .traced_view import _classes as _traced_classes
from .typed_methods import TypedMethods
from .views import LevelViews

_dispatch_modes = torch._C._len_torch_dispatch_stack
operations: dict[str, Callable[..., Any]] = {}
"""The operations that users call as functions, by name."""


def _multiply(first: Any, second: Any) -> Any:
    """A product with what torch.matmul does not take, as an array of NumPy."""
    return dress(products.matmul(first, second))


class SparseTensor(  # type: ignore[misc, override]  # torch's stubs have attributes
    LevelViews, AutogradView, DiagonalMethods, Copying, TracedView, NamedAttributes, TypedMethods, Exports, Tensor
):
    """A sparse tensor: a `Pattern` and its values.

    A wrapper subclass of `torch.Tensor` without a storage of its own: training, moving and differentiating act on
    `values()`, an ordinary 1-D tensor. Make one with `ls.tensor`, `ls.from_coo`, `ls.from_torch` and so on.

    Args:
        pattern: Where the entries are.
        values: (nnz,), in the storage order of `pattern`; None for a tensor that is only a pattern (dtype bool).
        fill: The value of elements that are not stored, such as infinity in a result of `reduce="min"`.

    Raises:
        ShapeError: `values` is not 1-D with one element an entry.
        FormatError: There are no values, and the format pads: padding would count as entries.
        UnsupportedError: `values` is not a strided tensor on the CPU.

    Example:
        >>> A = ls.tensor([[0.0, 2.0], [1.0, 0.0]])
        >>> ls.SparseTensor(A.pattern, torch.tensor([5.0, 6.0])).to_dense().tolist()
        [[0.0, 5.0], [6.0, 0.0]]
    """

    _pattern: Pattern
    _fill: int | float = 0
    __array_priority__ = 1000  # so that NumPy's and SciPy's operators leave the computation to this class
    __array_ufunc__ = None
    _node: PreparedProduct | None = None  # of the last product that autograd followed, for the next

    @staticmethod
    def __new__(cls, pattern: Pattern, values: Tensor | None = None, fill: int | float = 0) -> SparseTensor:
        """Wrap `pattern` and `values`."""
        if not isinstance(pattern, Pattern):
            raise DtypeError(f"pattern is a {type(pattern).__name__}; expected an ls.Pattern, see ls.tensor")
        if type(fill) is not int and type(fill) is not float and not isinstance(fill, (bool, complex)):
            raise DtypeError(f"fill is a {type(fill).__name__}; expected a number")
        if values is not None:
            check_values(pattern, values)
            values = values.reshape(-1) if values.ndim > 1 else values
        return _wrapped(Operand(pattern, values, fill), cls)

    def __init__(self, pattern: Pattern, values: Tensor | None = None, fill: int | float = 0) -> None:
        """See the class."""

    @property
    def pattern(self) -> Pattern:
        """The pattern, shared by every tensor with the same entries that comes from this one."""
        return self._pattern

    @property
    def format(self) -> Format:
        """The storage format."""
        return self._pattern.format

    @property
    def nnz(self) -> int:
        """How many entries are stored, without padding."""
        return self._pattern.nnz

    @property
    def fill_value(self) -> int | float:
        """The value of elements that are not stored."""
        return self._fill

    @property
    def shape(self) -> torch.Size:  # type: ignore[override]
        """The shape."""
        return self._pattern.shape

    @property
    def ndim(self) -> int:  # type: ignore[override]
        """The number of dimensions."""
        return len(self._pattern.shape)

    @property
    def dtype(self) -> torch.dtype:  # type: ignore[override]
        """The dtype of the values; bool where there are none."""
        return torch.bool if self._held is None else self._held.dtype

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """The device of the values: the CPU, or "meta", where shapes and dtypes are computed and no elements."""
        return torch.device("cpu") if self._held is None else self._held.device

    # Parts -----------------------------------------------------------------------------------------------------

    def values(self) -> Tensor:
        """The values in storage order, with padding; autograd follows them (ones where there are none).

        They are 1-D, or `(nnz, *block)` for a tensor that was made of values which are arrays. `indices()` has their
        order, and leaves padding out.
        """
        return in_arrays(self._pattern, self._operand().values)

    def with_values(self, values: Tensor | None) -> SparseTensor:
        """A tensor of the same pattern with other values, or with none.

        Args:
            values: (nnz,) or `(nnz, *block)`, in storage order, or None.

        Raises:
            ShapeError: `values` has another shape.
        """
        return SparseTensor(self._pattern, values, self._fill)

    # Copies ----------------------------------------------------------------------------------------------------

    def detach(self) -> SparseTensor:
        """The same entries and values, cut from autograd's graph; in-place operations on either change both."""
        operand = self._operand()
        return share(self, _wrapped(operand if operand.data is None else operand.with_data(operand.data.detach())))

    def clone(self, *, memory_format: torch.memory_format | None = None) -> SparseTensor:
        """A copy of the values on the same pattern; differentiable."""
        check_memory_format(self, memory_format)
        operand = self._operand()
        return _wrapped(operand if operand.data is None else operand.with_data(operand.data.clone()))

    def contiguous(self, memory_format: torch.memory_format | None = None) -> SparseTensor:
        """The tensor itself: values are always contiguous."""
        check_memory_format(self, memory_format)
        return self

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """Converts dtype as `torch.Tensor.to` does; the device is the CPU, or "meta", where nothing is computed."""
        check_device(self, (*args, kwargs.get("device")))
        check_memory_format(self, kwargs.pop("memory_format", None))
        if args and isinstance(args[0], Tensor):
            args = (args[0].device, args[0].dtype, *args[1:])
        stored = self._operand().values
        values = stored.to(*args, **kwargs)
        if values is stored:
            return self
        fill = self._fill
        if fill != 0 and values.dtype != self.dtype:
            if not cmath.isfinite(fill) and not (values.dtype.is_floating_point or values.dtype.is_complex):
                self._operand().need_zero_fill(f"dtype {values.dtype}, which has no infinity,")
            fill = torch.tensor(fill, dtype=self.dtype, device="cpu").to(values.dtype).item()
        return SparseTensor(self._pattern, values, fill)

    def to_format(self, format: str | Format) -> SparseTensor:
        """The same tensor in another format; differentiable, and its pattern is converted once.

        A tensor of dense levels only is a strided torch tensor: of `dd:1,0`, columns are contiguous.
        """
        converted: SparseTensor = dress(assemble.to_format(self._operand(), format))
        return converted

    def to_dense(self, dtype: torch.dtype | None = None, *, masked_grad: bool | None = None) -> Tensor:
        """A strided torch tensor; differentiable."""
        dense: Tensor = dress(assemble.to_dense(self._operand(), dtype))
        return dense

    def to_torch(self, layout: torch.layout | None = None) -> Tensor:
        """A tensor of one of torch's sparse layouts; by default the one of this format, COO where there is none.

        Values may be shared with this tensor; index arrays are copies.
        """
        return layouts.write(self._operand(), layout, copied=True)

    def _hold(self, operand: Operand) -> None:
        """Takes the parts of a sparse operand."""
        hold(self.__dict__, operand)

    def _operand(self) -> Operand:
        """The tensor as operations take it; users hold the same values, and may have resized them."""
        if _dispatch_modes():
            follow_parts(self)
        held = self._held
        if held is not None:
            try:
                size = held.numel()
            except RuntimeError as error:  # of torch.jit.trace, which takes no constant that requires grad
                raise UnsupportedError(JIT_TRACE) from error
            if size != self._pattern.size:
                check_values(self._pattern, held)
        whole: Operand = self._whole
        return whole

    # Operators -------------------------------------------------------------------------------------------------

    @overload
    def __matmul__(self, other: SparseTensor) -> SparseTensor: ...
    @overload
    def __matmul__(self, other: Any) -> Tensor: ...
    def __matmul__(self, other: Any) -> Any:
        """`A @ other`, the operand sparse or dense."""
        if recorders and (recorder := current()) is not None:
            return recorder.take(torch.matmul if isinstance(other, Tensor) else _multiply, (self, other), {})
        product = multiply_in_c(self, other)
        if product is None:  # a first call has no time to be looked at for others like it
            product = (multiply_in_python if self._pattern.calls else products.short)(self, other)
        if product is None:
            product = repeated.call("matmul", products.operator, (self, other), {})
        return product

    @overload
    def __rmatmul__(self, other: Tensor) -> Tensor: ...
    @overload
    def __rmatmul__(self, other: Any) -> Any: ...
    def __rmatmul__(self, other: Any) -> Any:
        """`other @ A`."""
        if recorders and (recorder := current()) is not None:
            return recorder.take(torch.matmul if isinstance(other, Tensor) else _multiply, (other, self), {})
        return repeated.call("matmul", products.matmul, (other, self), {})

    def _operation(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """The operation of this name, as a method: torch.compile keeps methods of a tensor in its graph as they are."""
        return dress(operations[name](*args, **kwargs))

    # Protocols -------------------------------------------------------------------------------------------------

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        """Shape, nnz, density, dtype, format and a few entries; those are not known while torch traces."""
        if self._pattern.traced or is_fake(self._held):
            return f"SparseTensor(shape={tuple(self.shape)}, dtype={self.dtype}, format={str(self.format)!r}, traced)"
        from libsparse._ops import export

        return export.describe(self._operand())

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Takes torch's functions above autograd."""
        handler = dispatch_table.handlers.get(func)
        if handler is None or len(types) > 1:
            return dispatch_table.call(func, args, kwargs or {}, types)
        return handler(*args, **kwargs) if kwargs else handler(*args)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # torch declares it as a plain function
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Takes the few operators that torch applies to any tensor."""
        return dispatch_table.call_aten(func, args, kwargs or {})


def dress(result: Any) -> Any:
    """An operand as users get it, a SparseTensor or a dense tensor; anything else as it is."""
    if type(result) is not Operand:
        if type(result) is FakeTensor:
            forget_symbols([result])
        return result
    return dress(result.data) if result.pattern is None else _wrapped(cut(result))


def _wrapped(operand: Operand, cls: type[SparseTensor] = SparseTensor) -> SparseTensor:
    """A tensor that wraps a sparse operand."""
    if dispatch_table.loaders:
        dispatch_table.load()
    if native is not None and cls is SparseTensor and not _dispatch_modes():
        found: SparseTensor | None = native.wrap(operand)
        if found is not None:
            return found
    pattern, values = operand.sparsity, operand.data
    if values is None:
        if pattern.format.pads:
            raise FormatError(
                f"a tensor that is only a pattern can't have format {pattern.format}: its dense level stores more "
                f"than the entries; use {str(pattern.format.compressed)!r} or 'coo', or give it values"
            )
        dtype, grad = torch.bool, False
    else:
        if not values.is_contiguous() or values.is_conj() or values.is_neg():
            values = values.resolve_conj().resolve_neg().contiguous()
            operand = operand.with_data(values)
        dtype, grad = values.dtype, values.requires_grad
    self = Tensor._make_wrapper_subclass(cls, pattern.seen_shape, dtype=dtype, requires_grad=grad)
    self._hold(operand)
    if isinstance(pattern, TracedPattern):
        pattern.show_extents()
        forget_symbols([*pattern.tensors(), *([] if values is None else [values])])
        if grad:
            follow_values(self)
    if _dispatch_modes():
        follow_whole(self)
    return self


_traced_classes.append(SparseTensor)
repeated.know(SparseTensor, dress)
# Where a graph breaks at a pattern, which is no tensor, or at a call of a function that has no node in it.
leave_alone(SparseTensor.__new__, _wrapped, SparseTensor.__torch_function__)
