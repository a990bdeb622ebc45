"""`python -m nousmem` is the command `nousmem`."""

from __future__ import annotations

from nousmem.cli import main

if __name__ == "__main__":
    main()
