"""The error for invalid arguments."""


class WrongUse(ValueError):
    """The arguments of a job are invalid."""
