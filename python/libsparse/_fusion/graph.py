"""The operations of one call of a compiled function, as a graph, and the tensors that stand for their results."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.utils._pytree import SUPPORTED_NODES, tree_map

from libsparse._lang.errors import UnsupportedError
from libsparse._ops.operands import PLAIN
from libsparse._runtime.problem import Operand
from libsparse._storage.pattern import Pattern
from libsparse._tensor.sparse_tensor import SparseTensor

FLOATS = frozenset({torch.float32, torch.float64})
Function = Callable[..., Any]


class Owner(Protocol):
    """What computes nodes."""

    def force(self, node: Node) -> Any:
        """Computes a node."""


class Node:
    """An operation that has been noted down, or a tensor that operations read.

    Attributes:
        op: Its name; "input" for a tensor.
        args: Its operands: nodes and numbers.
        shape: The shape of its result.
        dtype: The dtype; None for a pattern without values, which takes that of the other operand.
        sparse: Whether the result is a SparseTensor.
        pattern: The pattern of a sparse result, None where that is not known before it is computed.
        value: The result, once that is known.
        users: How many operations read it.
        depth: The length of the longest chain of operations to it that have not been computed.
        grad: Whether autograd was to follow the operation.
        owner: What computes it.
        reason: Why it was not put together with other operations.
    """

    __slots__ = (
        *(
            "_call",
            "_handle",
            "args",
            "depth",
            "dtype",
            "grad",
            "op",
            "owner",
            "pattern",
            "reason",
            "shape",
            "sparse",
            "users",
        ),
        *("value", "version"),
    )

    def __init__(
        self,
        op: str,
        args: tuple[Any, ...],
        shape: torch.Size,
        dtype: torch.dtype | None,
        pattern: Pattern | None = None,
        *,
        sparse: bool = False,
    ) -> None:
        """An operation whose call `noted` adds."""
        self.op, self.args, self.shape, self.dtype, self.pattern, self.sparse = op, args, shape, dtype, pattern, sparse
        self.value: Any = None
        self.users = 0
        self.depth: int = 1 + max((arg.depth for arg in args if isinstance(arg, Node) and arg.value is None), default=0)
        self.grad = torch.is_grad_enabled()
        self.reason = ""
        self.version = 0
        self._call: tuple[Function, tuple[Any, ...], dict[str, Any]] | None = None
        self._handle: Callable[[], Any] | None = None

    def noted(
        self, owner: Owner, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], handle: Any = None
    ) -> Any:
        """The tensor that stands for the result of a call: `handle`, or a new one."""
        self.owner = owner
        for arg in self.args:
            if isinstance(arg, Node):
                arg.users += 1
        # The call keeps nodes and not their tensors, so that these die where the user drops them.
        self._call = function, tuple(map(_node_of, args)), {name: _node_of(value) for name, value in kwargs.items()}
        if handle is None:
            handle = LazySparse.of(self) if self.sparse else LazyDense.of(self)
        handle._lazy = self
        self._handle = weakref.ref(handle)
        return handle

    @property
    def is_held(self) -> bool:
        """Whether a tensor that stands for the result is still in use."""
        return self._handle is not None and self._handle() is not None

    def is_inner(self, user: Node) -> bool:
        """Whether nothing but one operation reads the result, so that it need not be stored."""
        return self.value is None and self.users == 1 and self.grad == user.grad and not self.is_held

    @property
    def is_padded(self) -> bool:
        """Whether the result stores elements that are no entries."""
        return self.sparse and self.pattern is not None and self.pattern.format.pads

    def run(self, force: Callable[[Node], Any]) -> Any:
        """The result, by the call itself."""
        assert self._call is not None
        function, args, kwargs = self._call

        def of(arg: Any) -> Any:
            return force(arg) if isinstance(arg, Node) else arg

        return function(*map(of, args), **{name: of(value) for name, value in kwargs.items()})

    def finish(self, value: Any) -> Any:
        """Keeps the result, and drops everything that was needed for it."""
        self.value, self._call, self.args = value, None, ()
        handle = None if self._handle is None else self._handle()
        if type(handle) is LazySparse:
            handle.become(value)
        return value

    def operand(self) -> Operand:
        """The result as an operand."""
        value = self.value
        operand: Operand = value._operand() if self.sparse else Operand(None, value)
        return operand


def _node_of(arg: Any) -> Any:
    return arg._lazy if type(arg) in (LazyDense, LazySparse) else arg


def read(tensor: Any) -> Node | None:
    """A tensor that operations may read; None for one whose operations are not noted down."""
    kind = type(tensor)
    if kind is LazyDense or kind is LazySparse:
        node: Node = tensor._lazy
        return node
    if kind is SparseTensor:
        values, pattern = tensor._held, tensor._pattern
        plain = tensor._fill == 0 and not pattern.traced
        if not plain or (values is not None and (type(values) not in PLAIN or values.dtype not in FLOATS)):
            return None
        node = Node("input", (), pattern.shape, None if values is None else values.dtype, pattern, sparse=True)
    elif kind in PLAIN and tensor.layout is torch.strided and tensor.is_cpu and tensor.dtype in FLOATS:
        if is_functorch_wrapped_tensor(tensor) or tensor.is_neg():
            return None
        values = tensor
        node = Node("input", (), tensor.shape, tensor.dtype)
    else:
        return None
    node.value, node.version = tensor, version_of(values)
    return node


def version_of(values: Any) -> int:
    """How often a tensor was written to, as far as torch counts that."""
    try:
        return values._version if isinstance(values, Tensor) else 0
    except RuntimeError:  # tensors of inference mode don't count
        return 0


class LazyDense(Tensor):
    """A dense tensor that is not computed yet; whatever needs its elements has them computed."""

    _lazy: Node

    @staticmethod
    def of(node: Node) -> LazyDense:
        """The tensor for the result of a node."""
        self: LazyDense = Tensor._make_wrapper_subclass(LazyDense, node.shape, dtype=node.dtype)
        self._lazy = node
        return self

    shape = property(lambda self: self._lazy.shape)
    dtype = property(lambda self: self._lazy.dtype)
    ndim = property(lambda self: len(self._lazy.shape))

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self._lazy.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one extent."""
        return self._lazy.shape if dim is None else self._lazy.shape[dim]

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self._lazy.shape)

    def __len__(self) -> int:
        """The first extent."""
        return self._lazy.shape[0]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickles and copies as the tensor that it stands for."""
        return computed(self).__reduce_ex__(protocol)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy of the tensor that it stands for."""
        return computed(self).__deepcopy__(memo)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Computes what a function needs, and calls it."""
        return func(*computed(args), **computed(kwargs or {}))

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Refuses what passed by the protocols above autograd, which would not follow it."""
        raise UnsupportedError(
            f"{func} inside of a function compiled by ls.compile got a tensor that is not computed yet; use the result "
            "of .clone() there"
        )


class _forced:
    """An attribute that computes the tensor when it is asked for; the result hides it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        instance.become(force(instance._lazy))
        return getattr(instance, self._name)


class LazySparse(SparseTensor):
    """A SparseTensor that is not computed yet; whatever needs its entries has them computed."""

    _lazy: Node
    _pattern = _forced("_pattern")
    _fill = _forced("_fill")
    _held = _forced("_held")
    _whole = _forced("_whole")
    _fast = _forced("_fast")
    _node = _forced("_node")

    @staticmethod
    def of(node: Node) -> LazySparse:
        """The tensor for the result of a node."""
        self: LazySparse = Tensor._make_wrapper_subclass(LazySparse, node.shape, dtype=node.dtype)
        self._lazy = node
        return self

    shape = property(lambda self: self._lazy.shape)
    dtype = property(lambda self: self._lazy.dtype)
    ndim = property(lambda self: len(self._lazy.shape))

    def become(self, value: SparseTensor) -> None:
        """Takes the parts of the tensor that it stands for, and is a SparseTensor from now on."""
        self._hold(value._operand())
        self.__dict__.pop("_lazy", None)
        self.__class__ = SparseTensor  # type: ignore[assignment]


def force(node: Node) -> Any:
    """The result of a node, computed if it has not been yet."""
    return node.value if node.value is not None else node.owner.force(node)


def computed(value: Any) -> Any:
    """A value in which tensors are computed, also inside of lists, tuples and dictionaries."""
    kind = type(value)
    if kind is LazyDense or kind is LazySparse:
        return force(value._lazy)
    if kind is list or kind is tuple:
        return kind(map(computed, value))
    if kind is dict:
        return {name: computed(item) for name, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*map(computed, value))
    if kind in SUPPORTED_NODES:
        return tree_map(computed, value)
    return value
