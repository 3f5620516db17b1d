"""The house rules as functions: from one file to the lines that break a rule.

In comes a `Module` or a text, out come complaints, each with its line; none means that the rule is kept.
Promised: a rule looks at names and shapes only, never at what a file happens to be called today.
"""

from tests.architecture.module import Complaints, Module, modules

__all__ = ["Complaints", "Module", "modules"]
