"""``python -m orthoprox``: the command, where its script is not on the path."""

from orthoprox.cli import main

if __name__ == "__main__":
    main()
