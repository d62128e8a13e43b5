"""`python -m recoseg` is `recoseg`."""

from recoseg.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
