"""`python -m crossarc` is the command line."""

from crossarc.app.cli import main

if __name__ == "__main__":
    main()
