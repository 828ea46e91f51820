"""What is computed from a pattern and kept with it: other formats, coordinates, results of functions of shape."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from torch import Tensor

from libsparse._lang.records import NamedTuple

from . import ordinary

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_FUNCTIONS_KEPT = 16  # results of functions of shape that a pattern keeps
_BEGUN_KEPT = 64  # names of calls that a pattern has seen once
limit: int | None = None
"""The bytes that each pattern may keep, None for any number; `ls.options(derived_bytes=...)` sets it."""


class Derivation(NamedTuple):
    """Something that was computed from a pattern and is kept with it.

    Attributes:
        bytes: The memory that it takes beside the pattern's own arrays.
        seconds: The time that it took to compute; 0 where it came with the result of a call.
    """

    bytes: int
    seconds: float


class Derived(Mapping[str, Derivation]):
    """What a pattern keeps, by name: `format csc`, `coordinates`, `result of ij,jk->ik` and so on."""

    def __init__(self, found: Mapping[str, Derivation]) -> None:
        """Take what there is now."""
        self._found = found

    def __getitem__(self, name: str) -> Derivation:
        """What is kept under a name."""
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        """The names, the oldest first."""
        return iter(self._found)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._found)

    @property
    def bytes(self) -> int:
        """The memory that all of them take."""
        return sum(derivation.bytes for derivation in self._found.values())

    def __repr__(self) -> str:
        """A line for each."""
        lines = [f"{name}: {d.bytes} bytes, {d.seconds * 1e3:.3g} ms" for name, d in self._found.items()]
        return "\n".join(lines) or "nothing"


def is_first(begun: dict[Any, Any], name: Any) -> bool:
    """Whether a call is the first one of its name on a pattern, which is noted: what later ones need is not made yet.

    Args:
        begun: The names that the pattern has seen; where there are too many, all are forgotten.
        name: What tells the call from others.
    """
    if name in begun:
        return False
    if len(begun) >= _BEGUN_KEPT:
        begun.clear()
    begun[name] = None
    return True


def as_first(begun: Mapping[Any, Any], name: Any, value: Any) -> Any:
    """A conversion with the pattern that the first call of its name has found, which somebody may have kept."""
    reference = begun.get(name)
    pattern = None if reference is None else reference()
    return value if pattern is None else value._replace(pattern=pattern)


def patterns(store: Store) -> list[Any]:
    """The patterns among the values of a store, and in conversions among them."""
    return [getattr(value, "pattern", value) for value, _ in list(store.entries.values())]


class Store:
    """The values behind `Derived`, by kind and arguments.

    Attributes:
        entries: Each value with the seconds that it took.
    """

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: dict[tuple[Any, ...], tuple[Any, float]] = {}

    def get(self, name: tuple[Any, ...]) -> Any:
        """The value of a name, None where there is none."""
        found = self.entries.get(name)
        return None if found is None else found[0]

    def holds(self, kind: str) -> bool:
        """Whether there is a value of a kind."""
        return bool(self.entries) and any([name[0] == kind for name in list(self.entries)])

    def add(self, name: tuple[Any, ...], build: Callable[[], Any]) -> Any:
        """Builds a value and keeps it; that of the first thread that has built it is everybody's.

        Args:
            name: The kind, and what tells it from others.
            build: Computes it.
        """
        begun = time.perf_counter()
        if ordinary.are_made():
            value = build()
        else:
            with ordinary.tensors():
                value = build()
        return self.entries.setdefault(name, (value, time.perf_counter() - begun))[0]

    def drop(self, kept: tuple[Any, ...], own: Sequence[Tensor]) -> bool:
        """Drops the oldest values, but not `kept`, where there are too many of a kind or too many bytes.

        Args:
            kept: The name of a value.
            own: The arrays of the pattern, which count for nothing.

        Returns:
            Whether bytes were to be saved, so that nothing else may keep these values either.
        """
        if len(self.entries) > _FUNCTIONS_KEPT:
            functions = [name for name in self.entries if name[0] == "function"]
            for name in functions[: len(functions) - _FUNCTIONS_KEPT]:
                self.entries.pop(name, None)
        if limit is None:
            return False
        sizes = {name: size(value, own) for name, (value, _) in self.entries.items()}
        total, saving = sum(sizes.values()), False
        for name in [name for name in sizes if name != kept]:
            if total <= limit:
                break
            self.entries.pop(name, None)
            total -= sizes[name]
            saving = saving or sizes[name] > 0
        return saving


class Located(NamedTuple):
    """Where the entries of a pattern are among those of another.

    Attributes:
        numbers: The number of each among the others; how many others there are, where it is missing.
        found: Whether each is there.
        whole: Whether all are, as far as that is known.
    """

    numbers: Tensor
    found: Tensor
    whole: bool


def by_pattern(table: weakref.WeakKeyDictionary[_Key, _Value] | None) -> weakref.WeakKeyDictionary[_Key, _Value]:
    """What is known of a pattern together with others, as long as these live: a table that exists once it is needed."""
    return weakref.WeakKeyDictionary() if table is None else table


def listed(store: Store, calls: Mapping[Any, Any], own: Sequence[Tensor]) -> Derived:
    """What a pattern keeps, with the patterns of results that its prepared calls have found.

    Args:
        store: What was computed from it.
        calls: Its prepared calls.
        own: Its arrays.
    """
    found = {
        _title(name): Derivation(size(value, own), getattr(value, "seconds", seconds))
        for name, (value, seconds) in store.entries.items()
    }
    for (problem, *_), (prepared, _) in list(calls.items()):
        result = getattr(prepared.variant, "result_pattern", None)
        if result is not None:
            found[f"result of {problem.text}"] = Derivation(size(result, own), 0.0)
    return Derived(found)


def _title(name: tuple[Any, ...]) -> str:
    """The name that users see."""
    return " ".join(map(str, name[1:] if name[0] == "function" else name))


def size(value: Any, own: Iterable[Tensor]) -> int:
    """The bytes of the arrays in a value, each storage once, without those of `own`."""
    storages: dict[int, int] = {}
    _collect(value, storages)
    for array in own:
        storages.pop(array.untyped_storage().data_ptr(), None)
    return sum(storages.values())


def _collect(value: Any, storages: dict[int, int]) -> None:
    if isinstance(value, Tensor):
        storage = value.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
    elif isinstance(value, (tuple, list)):
        for part in value:
            _collect(part, storages)
    elif hasattr(value, "tensors"):  # a pattern
        _collect(value.tensors(), storages)
