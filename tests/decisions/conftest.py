"""The fixture `service`: makes a provider on a fake service, asked sync and async."""

from decisions_kit import service

__all__ = ["service"]
