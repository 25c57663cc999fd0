"""Verbs for typed questions, on the ambient runtime: `judge`, `pick`, `sift`, `route`, `ask`, `verify`.

from decidable import ask, judge, route

if ask("Is a refund asked for?", ticket):
    ...
"""

from decidable.flow.judged import Judgement
from decidable.judgments.asked import Asked, ask, async_ask
from decidable.judgments.judged import async_judge, judge
from decidable.judgments.picked import Selection, async_pick, pick
from decidable.judgments.putting import JudgmentSettings
from decidable.judgments.routed import Routed, async_route, async_route_by_value, route, route_by_value
from decidable.judgments.sifted import Sifted, async_sift, sift
from decidable.judgments.verified import Drive, Verified, async_verify, is_filled, verify

__all__ = [
    "Asked",
    "Drive",
    "Judgement",
    "JudgmentSettings",
    "Routed",
    "Selection",
    "Sifted",
    "Verified",
    "ask",
    "async_ask",
    "async_judge",
    "async_pick",
    "async_route",
    "async_route_by_value",
    "async_sift",
    "async_verify",
    "is_filled",
    "judge",
    "pick",
    "route",
    "route_by_value",
    "sift",
    "verify",
]
