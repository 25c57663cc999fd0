"""A person's word, before a call runs that needs one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from decidable.approval import ApprovalRequest, Approver, denial_of
from decidable.binding import Choice
from decidable.errors import UsageError
from decidable.flow.effects import Consult, Flow
from decidable.options import FunctionOption

__all__ = ["Desk"]


@dataclass(slots=True, eq=False)
class Desk:
    """Whom to ask whether a call may run.

    Attributes:
        approver: Asked for a verdict, or None.
        approvals: Verdicts that were given beforehand, by id.
    """

    approver: Approver | None = None
    approvals: Mapping[str, Any] = field(default_factory=dict)

    def word(self, id_: str, choice: Choice) -> Flow[str | ApprovalRequest | None]:
        """None if the call may run; what the model is told if it may not; the request itself if nobody says."""
        option = choice.option
        if id_ not in self.approvals and not self._needs_word(option, choice.arguments):
            return None
        request = ApprovalRequest(id_, option.name, choice.arguments, option.description)
        if id_ in self.approvals:
            return denial_of(self.approvals[id_], request.id)
        if self.approver is None:
            return request
        return denial_of((yield Consult(self.approver, request)), request.name)

    def unanswered(self) -> Desk:
        """The desk once its verdicts are used: they were about these calls, not about later ones of the same ids."""
        return Desk(self.approver) if self.approvals else self

    def _needs_word(self, option: Any, arguments: Mapping[str, Any]) -> bool:
        rules = option.rules if type(option) is FunctionOption else None
        if rules is None or rules.requires_approval is False:
            return False
        if rules.requires_approval is True:
            return True
        try:
            needed: Any = rules.requires_approval(dict(arguments))
        except Exception as error:
            error.add_note(f"in requires_approval= of {option.name!r}")
            raise
        if not isinstance(needed, bool):
            raise UsageError(f"requires_approval= of {option.name!r} must return a bool, not {needed!r}")
        return needed
