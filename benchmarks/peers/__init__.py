"""The libraries that are compared, behind one interface: prepare a matrix once, then multiply.

A peer that can't be imported is left out; the run says so.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Protocol

from inputs import Matrix
from torch import Tensor

NAMES = ("libsparse", "torch_sparse", "scipy")

Multiply = Callable[[Tensor], Tensor]


class Peer(Protocol):
    """What a module of this package offers."""

    TITLE: str

    @staticmethod
    def spmm(matrix: Matrix) -> Multiply:
        """Prepare `matrix` as a user of the library would, once; the result multiplies it by a dense matrix."""


def available() -> dict[str, Peer]:
    """The peers that can be imported here, by title."""
    found: dict[str, Peer] = {}
    for name in NAMES:
        try:
            peer = importlib.import_module(f"peers.{name}")
        except ImportError as error:
            print(f"without {name}: {error}")
            continue
        found[peer.TITLE] = peer
    return found
