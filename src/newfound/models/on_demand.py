"""A registry whose members are imported when they are asked for."""

from collections import UserDict
from importlib import import_module
from typing import Any


class OnDemand(UserDict[str, Any]):
    """Names, and of each member itself or where it is defined, as "package.module.member"."""

    def __getitem__(self, name: str) -> Any:
        member = super().__getitem__(name)
        if not isinstance(member, str):
            return member
        module, _, attribute = member.rpartition(".")
        return getattr(import_module(module), attribute)
