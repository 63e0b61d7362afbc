"""The command line."""

import _signal  # type: ignore[import-not-found]  # `signal` imports enums, for milliseconds
import os
import sys

# `crossarc`, or `crossarc/__main__.py` for `python -m crossarc`.
if os.path.basename(sys.argv[0].removesuffix(os.path.join(os.sep, "__main__.py"))) == "crossarc":
    # While the command line is loaded there is nothing to clean up: an interrupt ends the program
    # at once, without a traceback.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
