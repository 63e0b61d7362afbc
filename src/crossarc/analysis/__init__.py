"""Studies of a treebank."""

from __future__ import annotations

from crossarc.analysis.attardi import DegreeStudy, study_degrees
from crossarc.analysis.constraints import (
    ConstraintStudy,
    Example,
    Examples,
    Tally,
    study_constraints,
)
from crossarc.analysis.fit import QuadraticFit, fit_quadratic
from crossarc.analysis.profile import Profile, profile

__all__ = [
    "ConstraintStudy",
    "DegreeStudy",
    "Example",
    "Examples",
    "Profile",
    "QuadraticFit",
    "Tally",
    "fit_quadratic",
    "profile",
    "study_constraints",
    "study_degrees",
]
