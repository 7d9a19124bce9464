"""The scripted LIBERO expert: general skills, rehearsed in a private env."""

from .policy import LiberoExpert

__all__ = ["LiberoExpert"]
