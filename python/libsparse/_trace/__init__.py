"""Tracing: the operators of `torch.ops.libsparse`, through which torch's compilers see what the package computes."""

from __future__ import annotations

from typing import Any

libraries: dict[str, Any] = {}
"""torch's library of each operator. They are kept here, as this module outlasts an import that is interrupted."""
