"""Crossing trees to projective ones and back: by minimum loss, by lifting with encoded labels."""

from __future__ import annotations

from crossarc.transforms.round_trip import deprojectivize, projectivize

__all__ = ["deprojectivize", "projectivize"]
