"""What every decision provider must do, as tests to inherit: one class per provider, two methods to write.

    from decidable.testing.provider_conformance import FakeTransport, ProviderConformance

    class TestAcme(ProviderConformance):
        key_variable = "ACME_API_KEY"

        def make(self, transport: FakeTransport, **settings):
            client, async_client = transport.clients()
            return acme_provider(client=client, async_client=async_client, **settings)

        def answer_body(self, questions, answers):
            return json.dumps({"answers": {...}}).encode()

Run by pytest, each sync and async; no request leaves the process. What a provider does not declare is skipped, and
says so.
"""

from decidable.testing.provider_conformance.answering import Answering
from decidable.testing.provider_conformance.failing import Failing
from decidable.testing.provider_conformance.kit import FakeTransport, FastClock, assert_no_secret, good_answers
from decidable.testing.provider_conformance.refusing import Refusing

__all__ = ["FakeTransport", "FastClock", "ProviderConformance", "assert_no_secret", "good_answers"]


class ProviderConformance(Answering, Refusing, Failing):
    """All 34 checks; a subclass says how its provider is made, and how its service answers."""
