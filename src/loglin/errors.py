"""The one exception that a user is meant to read: a sentence with place, value and remedy."""


class LoglinError(ValueError):
    """Bad input or a bad request. The message is complete; the command line prints it and nothing else."""
