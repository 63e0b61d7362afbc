"""Crossing trees to projective ones and back: by minimum loss, by lifting with encoded labels."""

from __future__ import annotations

from crossarc.transforms.projectivize import deprojectivize, projectivize

__all__ = ["deprojectivize", "projectivize"]
