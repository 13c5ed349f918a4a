"""``python -m manifolia``: the command line."""

from manifolia.cli import main

if __name__ == "__main__":
    main()
