"""The matrices that the scheduler is fitted on and judged by: graphs, meshes, linear programs and pruned weights.

No matrix is in both lists. They are found by name below the data folder; without it, generated ones take their place.
"""

from __future__ import annotations

from method.operands import Matrix

from . import files, generated

_SCHEDULES = (
    "cora_adj",
    "pubmed_adj",
    "amazon_photo_adj",
    "PGPgiantcompo",
    "minnesota",
    "bcsstk16",
    "G67",
    "cryg10000",
    "netlib_maros-r7",
    "squeezenet_fire6_conv3x3_2",
)
_QUICK = ("cora_adj", "minnesota", "squeezenet_fire6_conv3x3_2")
_FIT = (
    "citeseer_adj",
    "uai_adj",
    "chameleon_directed_adj",
    "fb-Reed98",
    "airfoil1",
    "ca-HepPh",
    "cryg2500",
    "bcspwr10",
    "G22",
    "netlib_woodw",
    "mm_CVXQP3_L_A",
    "squeezenet_fire4_conv3x3_2",
)


def schedules(data: str | None, *, quick: bool) -> list[Matrix]:
    """The matrices of the schedules suite."""
    found = _named(data, _QUICK if quick else _SCHEDULES)
    return found or list(generated.matrices(quick=quick))[: 3 if quick else 6]


def fit(data: str | None) -> list[Matrix]:
    """The matrices that the cost model is fitted on."""
    return _named(data, _FIT) or [
        generated.rmat(10, 8),
        generated.rmat(13, 12, seed=1),
        generated.band(5_000, 7),
        generated.blocks(3_000, 3, 5),
        generated.pruned(256, 576, 0.15),
        generated.bipartite(4_000, 3_000, 40_000),
    ]


def _named(data: str | None, names: tuple[str, ...]) -> list[Matrix]:
    found = [matrix for name in names if (matrix := files.named(data, name)) is not None]
    if data and not found:
        print(f"none of {', '.join(names)} is below {data}: generated matrices")
    return found
