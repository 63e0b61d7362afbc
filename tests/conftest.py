"""How hypothesis looks for counter-examples.

By default the same examples each time, so that a test fails for a change and not by chance. To
search further: CROSSARC_HYPOTHESIS=explore. No deadlines: the first call of a kernel may compile.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("explore", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("CROSSARC_HYPOTHESIS", "repeatable"))
