"""Traces: what one call of a compiled function noted down, and the kernel calls that it came to, for calls like it.

A function of Python may read anything: globals, attributes, the clock. So a repeated call isn't replayed without it:
it runs again, and each operation is compared with the trace, which takes a tenth of noting it down, putting it
together with others and asking for its kernel. Where all operations agree until the function returns, the prepared
kernel calls run; where one does not, those before it are noted down as in a first call, and nothing is lost.

Compared are the function of torch, numbers by value, dense tensors by shape and dtype, sparse ones by their pattern
object, and whether autograd follows them; masks of dropouts are drawn again. A trace has no writes, and nothing that
was read before the function returned.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from sys import getrefcount
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

from libsparse._lang.records import NamedTuple
from libsparse._ops.operands import PLAIN
from libsparse._runtime.problem import Operand
from libsparse._tensor.sparse_tensor import SparseTensor

from . import execute
from .graph import LazyDense, LazySparse, Node, version_of
from .groups import Group
from .repeated_groups import RepeatedGroup
from .trial import Trial

CONSTANTS = (bool, str, type(None), torch.dtype)
_PRODUCTS = frozenset({torch.matmul, torch.Tensor.matmul, torch.mm, torch.Tensor.mm, torch.mv, torch.Tensor.mv})
FEW = 2**20  # elements
Place = tuple[str, Any]
"""Where an argument comes from: ("step", its number), ("input", its number) or ("constant", the value).

("again", the number of an input) says that it is the very tensor which an earlier argument is: nodes are one then.
"""


class Step(NamedTuple):
    """A call as a trace has it; the places of its arguments, then of those by name."""

    function: Any
    places: tuple[Place, ...]
    names: tuple[str, ...]


class Input:
    """A tensor that a call reads, as calls like it have to have it."""

    __slots__ = ("dtype", "followed", "pattern", "shape", "strides")

    def __init__(self, value: Any, forget: Callable[[], None]) -> None:
        """Describe a tensor; `forget` is called when nobody has its pattern any more."""
        sparse = type(value) is SparseTensor
        self.pattern: Any = weakref.ref(value._pattern, lambda _: forget()) if sparse else None
        held = value._held if sparse else value
        self.shape = None if sparse else value.shape
        self.dtype = None if held is None else held.dtype
        self.strides = None if held is None or held.is_contiguous() else held.stride()
        self.followed = held is not None and is_followed(held)

    def values_of(self, value: Any) -> Any:
        """The elements of a tensor like the one of the trace; None of any other."""
        kind = type(value)
        if self.pattern is not None:
            pattern = value._pattern if kind is SparseTensor else None
            if pattern is None or pattern is not self.pattern() or value._fill != 0:
                return None
            value = value._held
            if value is None:
                return pattern if self.dtype is None else None
            if value.numel() != pattern.size:
                return None
            kind = type(value)
        elif value.shape != self.shape if kind in PLAIN else True:
            return None
        fits = (
            kind in PLAIN
            and value.dtype is self.dtype
            and is_followed(value) is self.followed
            and (value.is_contiguous() if self.strides is None else value.stride() == self.strides)
            and value.is_cpu
            and not value.is_neg()
            and not is_functorch_wrapped_tensor(value)
        )
        return value if fits else None


def is_followed(value: Tensor) -> bool:
    """Whether autograd follows what is computed of a tensor."""
    return value.requires_grad and torch.is_grad_enabled()


Run = Callable[[list[Any], list[Any]], Any]
"""Computes a result, given the inputs and the results so far, by the numbers of steps."""


class Trace:
    """The steps of a call, and how their results are computed.

    Attributes:
        steps: The calls.
        inputs: The tensors that they read.
        handles: The tensors that stand for the results of the steps in every call that follows the trace.
        misses: How many calls have left it.
        is_light: Whether the function without the trace takes little memory and time in any case: no result of an
            operation has many elements, stored or not, and autograd follows nothing.
        trial: Whether calls like it are faster without the trace; for those that are light.
    """

    def __init__(self) -> None:
        """Begin without steps."""
        self.misses = 0
        self.is_light, self.trial = True, Trial()
        self.steps: list[Step] = []
        self.inputs: list[Input] = []
        self.handles: list[Any] = []
        self.owner: Any = None  # the recorder that follows the trace now
        self._nodes: list[Node] = []
        self._slots: dict[int, int] = {}  # of inputs, by the ids of tensors that nodes keep
        self._numbers: dict[int, int] = {}
        self._runs: list[tuple[int, Run]] = []

    def note(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], node: Node) -> None:
        """Adds a call that was noted down; ValueError where it can't be compared with later ones."""
        places = tuple([self._place(value) for value in (*args, *kwargs.values())])
        self._numbers[id(node)] = len(self.steps)
        self.is_light = self.is_light and node.shape.numel() <= FEW
        self.steps.append(Step(function, places, tuple(kwargs)))
        self._nodes.append(node)

    def _place(self, value: Any) -> Place:
        kind = type(value)
        if kind is LazyDense or kind is LazySparse:
            return "step", self._numbers[id(value._lazy)]
        if kind in (int, float) or isinstance(value, CONSTANTS):
            return "constant", value
        if id(value) in self._slots:
            return "again", self._slots[id(value)]
        found = Input(value, self._runs.clear) if kind is SparseTensor or kind in PLAIN else None
        if found is None or found.values_of(value) is None:
            raise ValueError
        self.is_light = self.is_light and not found.followed
        self._slots[id(value)] = len(self.inputs)
        self.inputs.append(found)
        return "input", len(self.inputs) - 1

    def renew(self) -> None:
        """Makes the tensors that stand for the results."""
        like = self._nodes or [handle._lazy for handle in self.handles]
        self.handles, self._nodes = [], []
        for node in like:
            promise = Node(node.op, (), node.shape, node.dtype, node.pattern, sparse=node.sparse)
            promise.owner = self
            self.handles.append(LazySparse.of(promise) if node.sparse else LazyDense.of(promise))
        uses = [0] * len(self.handles)
        for step in self.steps:
            for kind, number in step.places:
                if kind == "step":
                    uses[number] += 1
        self._ids = {id(handle): n for n, handle in enumerate(self.handles)}
        self._references = [n + used for n, used in zip(_references(self.handles), uses, strict=True)]

    def matches(
        self, at: int, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], read: list[tuple[Any, Any, int]]
    ) -> bool:
        """Whether a call is a step; its tensors are added to `read`, with their elements and versions."""
        wanted, places, names = self.steps[at]
        if function is not wanted or len(args) + len(kwargs) != len(places) or (kwargs and tuple(kwargs) != names):
            return False
        for (kind, number), value in zip(places, (*args, *kwargs.values()) if kwargs else args):  # noqa: B905
            if kind == "step":
                if value is not self.handles[number]:
                    return False
            elif kind == "input":
                elements = self.inputs[number].values_of(value)
                if elements is None:
                    return False
                read.append((value, elements, version_of(elements)))
            elif kind == "again":
                if value is not read[number][0]:
                    return False
            elif type(value) is not type(number) or value != number or not (value or str(value) == str(number)):
                return False  # zeros have signs
        return True

    def force(self, node: Node) -> Any:
        """The result that one of the tensors stands for, which is needed before the function returns."""
        handle = next(handle for handle in self.handles if handle._lazy is node)
        self.owner.leave()
        return handle._lazy.owner.force(handle._lazy)

    # How results are computed ------------------------------------------------------------------------------------

    def add(self, node: Node, group: Group | None) -> None:
        """Adds the computation of a result as it was done; ValueError where it can't be repeated."""
        number = self._numbers[id(node)]
        if group is None:
            self._runs.append((number, _call(self.steps[number])))
        elif group.mean is not None:
            mean, places = group.mean, [self._source(read) for read, _ in group.reads]
            self._runs.append((number, lambda i, r: execute.mean_of(mean, [_operand(_get(p, i, r)) for p in places])))
        else:
            run, places = RepeatedGroup(group), [self._source(read) for read, _ in group.reads]
            self._runs.append((number, lambda i, r: run([_get(place, i, r) for place in places])))

    def _source(self, node: Node) -> Place:
        if node.op in ("input", "mask"):
            return "input", self._slots[id(node.value)]
        return "step", self._numbers[id(node)]

    def results(self, inputs: list[Any], result: Any) -> bool:
        """Computes what a function returns; False where the tensors that stand for it are held elsewhere."""
        held = [*self._references]
        _count(result, self._ids, held, set())
        if held != _references(self.handles):
            return False
        found: list[Any] = [None] * len(self.handles)
        for number, run in self._runs:
            found[number] = self.handles[number]._lazy.value = run(inputs, found)
        return True

    def forget(self) -> None:
        """Drops the results."""
        for number, _ in self._runs:
            self.handles[number]._lazy.value = None
        self.owner = None


def _references(handles: list[Any]) -> list[int]:
    """How many references there are to each tensor."""
    return [getrefcount(handle) for handle in handles]


def _count(value: Any, numbers: dict[int, int], held: list[int], seen: set[int]) -> None:
    """Adds the references that a result of a function has to tensors; containers that were seen count once."""
    kind = type(value)
    if kind is LazyDense or kind is LazySparse:
        if id(value) in numbers:
            held[numbers[id(value)]] += 1
    elif kind in (list, tuple, dict) and id(value) not in seen:
        seen.add(id(value))
        for item in value.values() if kind is dict else value:
            _count(item, numbers, held, seen)


def _get(place: Place, inputs: list[Any], results: list[Any]) -> Any:
    kind, number = place
    return inputs[number] if kind in ("input", "again") else results[number] if kind == "step" else number


def _operand(value: Any) -> Operand:
    operand: Operand = value._operand() if type(value) is SparseTensor else Operand(None, value)
    return operand


def _call(step: Step) -> Run:
    """A call of one function of torch."""
    function, names = step.function, step.names
    positional = len(step.places) - len(names)
    places, named = step.places[:positional], step.places[positional:]
    if function in _PRODUCTS and not named and len(places) == 2:
        first, second = places
        return lambda i, r: _get(first, i, r) @ _get(second, i, r)  # which has a short way
    return lambda i, r: function(
        *[_get(place, i, r) for place in places],
        **{name: _get(place, i, r) for name, place in zip(names, named, strict=True)},
    )
