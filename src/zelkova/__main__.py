"""`python -m zelkova` is the same program as `zelkova`."""

from zelkova.cli.main import main

if __name__ == "__main__":
    main()
