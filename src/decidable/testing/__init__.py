"""Test doubles: a model that follows a script, and the switch that forbids real requests. No network, ever.

from decidable.testing import pick, scripted

rt = scripted(pick("refund", order="A-17"))
"""

from decidable.providers.forbid import allow_requests, forbid_requests, requests_allowed
from decidable.testing.fake_endpoint import FakeEndpoint, fake_endpoint, http_failure
from decidable.testing.scripted import (
    ScriptedRuntime,
    ScriptError,
    Seen,
    Step,
    call_tool,
    call_tools,
    distribution,
    pick,
    refusal,
    scripted,
    text,
    truncated,
)

__all__ = [
    "FakeEndpoint",
    "ScriptError",
    "ScriptedRuntime",
    "Seen",
    "Step",
    "allow_requests",
    "call_tool",
    "call_tools",
    "distribution",
    "fake_endpoint",
    "forbid_requests",
    "http_failure",
    "pick",
    "refusal",
    "requests_allowed",
    "scripted",
    "text",
    "truncated",
]
