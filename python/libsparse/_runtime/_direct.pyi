from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

MOST_SLOTS: int
MOST_MODES: int

class Direct:
    def __new__(
        cls,
        compute: int,
        fixed: tuple[int, ...],
        arrays: tuple[Tensor, ...],
        places: tuple[int, ...],
        result: tuple[int, ...],
        counted: Any,
        large: Callable[[], Tensor] | None,
    ) -> Direct: ...
    def __call__(self, *values: Tensor | int, out: Tensor = ...) -> Tensor: ...

class Held:
    def __new__(
        cls,
        run: Direct,
        plain: Direct,
        kept: Any,
        place: int,
        dtype: int,
        item: int,
        padded: int,
        fingerprint: int,
        team: int,
    ) -> Held: ...
    def __call__(self, *values: Tensor | int, out: Tensor = ...) -> Tensor: ...

class Finder:
    def __new__(
        cls,
        functions: tuple[int, int, int],
        places: tuple[int, int, int, int],
        rooms: tuple[tuple[int, int], ...],
        arrays: tuple[tuple[int, bool, int, int, int, int, Any], ...],
        take: Callable[[int], Any],
        leave: Callable[[Any], None],
    ) -> Finder: ...
    def __call__(self, slots: int, counted: Any) -> list[Tensor | None]: ...

def connect(
    path: str, check: Callable[[int], None], large_integers: Callable[[int], Tensor], large_bytes: int
) -> bool: ...
def install(*objects: Any) -> None: ...
def code_of(dtype: str, /) -> int: ...
def multiply(matrix: Any, other: Any, /) -> Tensor | None: ...
def call(function: Any, operation: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], /) -> Any: ...
def run_plan(plan: tuple[Any, ...], values: list[Any], patterns: list[Any], /) -> Any: ...
def install_descriptions(*objects: Any) -> None: ...
def install_repeats(*objects: Any) -> None: ...
def install_wrapping(*objects: Any) -> None: ...
def wrap(operand: Any, /) -> Any: ...
def copy_compressed(
    pos: Tensor, crd: Tensor, parents: int, extent: int, checked: int, threads: int, team: int, /
) -> tuple[Tensor, Tensor] | None: ...
