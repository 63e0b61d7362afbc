"""The command line."""

from __future__ import annotations

import os
import signal
import sys

if os.path.basename(sys.argv[0]) == "crossarc":
    # While the command line is loaded there is nothing to clean up: an interrupt ends the program
    # at once, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
