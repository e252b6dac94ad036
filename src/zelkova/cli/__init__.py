"""The one program: a module a subcommand, each imported only when it is run."""
