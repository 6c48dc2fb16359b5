"""`python -m cgru_cli` is `cgru`."""

from .cli import main

if __name__ == "__main__":
    main()
