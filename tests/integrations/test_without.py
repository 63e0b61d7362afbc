"""What is said where a library of an extra is not installed."""

from __future__ import annotations

import subprocess
import sys


def test_without_spacy_its_extra_is_named() -> None:
    program = "import sys; sys.modules['spacy'] = None; import crossarc.integrations.spacy"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == (
        'ImportError: spaCy is not installed: pip install "crossarc[spacy]"'
    )
