"""Two sets of trees over the same text: scores, breakdowns, calibration, significance."""

from __future__ import annotations

from crossarc.evaluation.calibration import (
    Calibration,
    ReliabilityBin,
    calibration,
    head_calibration,
)
from crossarc.evaluation.scores import LENGTHS, Counts, Scores, evaluate
from crossarc.evaluation.significance import (
    Bootstrap,
    SentenceCounts,
    SignTest,
    paired_bootstrap,
    sentence_counts,
    sign_test,
    sign_test_p,
)

__all__ = [
    "LENGTHS",
    "Bootstrap",
    "Calibration",
    "Counts",
    "ReliabilityBin",
    "Scores",
    "SentenceCounts",
    "SignTest",
    "calibration",
    "evaluate",
    "head_calibration",
    "paired_bootstrap",
    "sentence_counts",
    "sign_test",
    "sign_test_p",
]
