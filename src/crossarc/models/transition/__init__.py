"""The generative transition model, its conditional form, and how both are learnt."""

from __future__ import annotations

from crossarc.models.transition.conditional import ConditionalTransitionModel
from crossarc.models.transition.em import EMResult
from crossarc.models.transition.forests import DegreeModel, WindowModel
from crossarc.models.transition.model import TransitionModel

__all__ = [
    "ConditionalTransitionModel",
    "DegreeModel",
    "EMResult",
    "TransitionModel",
    "WindowModel",
]
