from collections.abc import Callable
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
        result_like: Tensor,
    ) -> Direct: ...
    def __call__(self, *values: Tensor | int) -> Tensor: ...

def connect(path: str, check: Callable[[int], None]) -> bool: ...
def install(*objects: Any) -> None: ...
def multiply(matrix: Any, other: Any, /) -> Tensor | None: ...
