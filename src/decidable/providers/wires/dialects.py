"""What each vendor's structured output understands of JSON Schema."""

from __future__ import annotations

from decidable.schema.lowering import Dialect

__all__ = ["ANTHROPIC", "GEMINI", "OPENAI_STRICT"]

_NUMBERS = frozenset({"minimum", "maximum"})

OPENAI_STRICT = Dialect(  # https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
    "OpenAI's strict mode",
    all_required=True,
    closed=True,
    object_root=True,
    keywords=_NUMBERS | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "minItems", "maxItems"},
    formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}),
)

ANTHROPIC = Dialect(  # https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
    "Anthropic's structured output",
    closed=True,
    recursion=False,
    object_root=True,
    formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}),
)

GEMINI = Dialect(  # https://ai.google.dev/gemini-api/docs/structured-output
    "Gemini's structured output",
    closed=True,
    const=False,
    free_keys=True,
    keywords=_NUMBERS | {"minItems", "maxItems"},
    formats=frozenset({"date-time"}),
)
"""What the fields that take JSON Schema understand. The older fields, whose `Schema` is Google's own, refuse an object
without keys, which an option without arguments is, and write keys in alphabetical order, so arguments before the call
that they are for."""
