"""What the learned model is told of patterns."""

from __future__ import annotations

from libsparse._compiler import searches
from libsparse._lang import dtypes
from libsparse._storage.levels import Level
from libsparse._storage.pattern import Pattern


def features(pattern: Pattern) -> list[float | None]:
    """Numbers that say how the entries of a pattern are spread, of a sample of them; None for what is not known."""
    kinds = pattern.format.kinds
    pos = [a if _lists(kind) else None for kind, a in zip(kinds, pattern.pos, strict=True)]
    crd = [a if _lists(kind) else None for kind, a in zip(kinds, pattern.crd, strict=True)]
    levels, index = pattern.format.text.partition(":")[0], dtypes.code(pattern.index_dtype)
    return searches.pattern_features(levels, pattern.extents, index, pos, crd)


def _lists(level: Level) -> bool:
    """Whether its arrays are the coordinates of each parent and nothing else."""
    return (level.segmented or level.branchless) and not level.conversion_only
