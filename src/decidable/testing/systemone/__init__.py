"""A faux server of decision models for tests: stable made-up answers over every dialect, and faults on demand.

Hand its clients to a provider, or serve it on this machine: ``python -m decidable.testing.systemone --port 8901``.
"""

from decidable.testing.systemone.endpoint import FauxRequest, FauxSystemOne
from decidable.testing.systemone.faults import (
    Fault,
    answering,
    body,
    broken,
    changed,
    leaving_out,
    refused,
    refusing,
    slow,
    sound,
    status,
    without,
)
from decidable.testing.systemone.models import FauxModel

__all__ = [
    "Fault",
    "FauxModel",
    "FauxRequest",
    "FauxSystemOne",
    "answering",
    "body",
    "broken",
    "changed",
    "leaving_out",
    "refused",
    "refusing",
    "slow",
    "sound",
    "status",
    "without",
]
