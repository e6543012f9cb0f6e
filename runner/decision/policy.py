"""deny > ask > allow over every rule that matches; no rule, the default. Never a verdict without its reasons."""

from __future__ import annotations

from ..errors import Refusal
from ..model.command import Decision
from .matchers import Subject, matches, subject_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.manifest import Policy

_STRENGTH = ("deny", "ask", "allow")


def decide(policy: Policy, subject: Subject) -> Decision:
    """The strictest of the matching rules' actions with their ids, else the default."""
    for action in _STRENGTH:
        if not any(rule.action == action for rule in policy.rules):
            continue
        seen = subject_for(action, subject)
        ids = tuple(rule.id for rule in policy.rules if rule.action == action and matches(rule.matcher, seen))
        if ids:
            return Decision(verdict=action, reasons=ids)
    return Decision(verdict=policy.default, reasons=(f"default policy: {policy.default}",))


def require_allowed(decision: Decision) -> None:
    """Raise Refusal `denied`, or `permission_required` where somebody would have to be asked."""
    reasons = "; ".join(decision.reasons)
    if decision.verdict == "deny":
        raise Refusal(f"the policy denies this command: {reasons}", code="denied")
    if decision.verdict == "ask":
        raise Refusal(
            f"this command needs a person's permission, and nobody can be asked: {reasons}",
            code="permission_required",
            remedy="add a policy rule that allows it, or a reviewer",
        )
