"""The error of a job that cannot be done as it was asked for."""


class WrongUse(ValueError):
    """The job was asked for something that cannot be done."""
