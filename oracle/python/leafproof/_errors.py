"""The two exceptions of the package: a refusal, and a difference."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """A refusal: what was asked, which argument, which value, which member and row.

    ``kind`` is one of ``InvalidArgument``, ``ShapeMismatch``, ``OutOfRange``, ``CapacityExceeded``,
    ``OutOfMemory``, ``Unsupported``, ``Corrupt``. Return or raise one yourself where your program
    refuses: ``leafproof.Error(kind="OutOfRange")``; between backends only the kind is compared.
    """

    def __init__(
        self,
        text: str = "",
        *,
        kind: str | None = None,
        operation: str = "",
        argument: str = "",
        value: str = "",
        reason: str = "",
        member: int | None = None,
        row: int | None = None,
    ) -> None:
        super().__init__(text or (kind or ""))
        self.kind = kind
        self.operation = operation
        self.argument = argument
        self.value = value
        self.reason = reason
        self.member = member
        self.row = row


def refusal(operation: str, argument: str, value: Any, reason: str) -> Error:
    """What the package refuses itself, as its C++ does [E-1]."""
    value = value if isinstance(value, str) else repr(value)
    return Error(
        f"leafproof: {operation}: InvalidArgument: {argument} = {value}: {reason}",
        kind="InvalidArgument",
        operation=operation,
        argument=argument,
        value=value,
        reason=reason,
    )


class Mismatch(AssertionError):
    """An answer that is not the reference's. The text is the report.

    ``verdict`` holds the same for programs (docs/report-format.md); ``case`` is the case as one
    line, which ``leafproof replay`` reads.
    """

    def __init__(
        self, text: str = "", verdict: dict[str, Any] | None = None, case: str = ""
    ) -> None:
        super().__init__(text)
        self.verdict = verdict if verdict is not None else {}
        self.case = case
