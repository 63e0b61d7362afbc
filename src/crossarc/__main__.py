"""`python -m crossarc` is the command line."""

import sys

from crossarc.app.cli import main

if __name__ == "__main__":
    sys.exit(main())
