"""The command line."""

import _signal  # type: ignore[import-not-found]  # `signal` imports enums, for milliseconds
import os
import sys

if os.path.basename(sys.argv[0]) == "crossarc":
    # While the command line is loaded there is nothing to clean up: an interrupt ends the program
    # at once, without a traceback.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
