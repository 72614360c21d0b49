"""The reference of operations: methods that have doors made from their settings."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.operations import OPERATIONS, Operation, SettingField, fields_of

#: What a kind of setting takes.
_TAKES = {
    "whole": "whole number",
    "number": "number",
    "text": "text",
    "names": "names",
    "numbers": "numbers",
    "lists": "lists of names",
    "profiles": "names, or lists of names",
    "lines": "texts",
    "pairs": "old = new",
    "entries": "names",
    "wholes": "whole numbers",
    "file": "a file",
    "content": "content of a file",
    "steps": "methods, each with its settings",
}


def reference() -> Iterator[str]:
    """Lines of Markdown: a section for each operation."""
    for operation in OPERATIONS.values():
        yield from _section(operation)


def _section(operation: Operation) -> Iterator[str]:
    english, german = (operation.words(operation.name, each) for each in ("en", "de"))
    yield f"## {operation.name}\n"
    yield f"{english['lead']}\n*{german['lead']}*\n"
    ends = operation.ends if operation.study is not None else operation.ends[:1]
    doors = [f"`POST /api/v1/{operation.address}{end}`" for end in ends]
    doors += [f"`discreet {operation.command}`"] if operation.command else []
    doors += [f"the page `/{operation.page}`"] if operation.page else []
    doors.append(f'`client.run("{operation.name}", …)`')
    yield f"{', '.join(doors)}\n"
    if operation.step:
        yield f'In a request it is a step: `{{"method": "{operation.name}", …}}` under `steps`.\n'
    elif operation.section:
        yield f"In a request the settings stand under `{operation.section}`.\n"
    yield "| setting | called | what it does | takes | usually |\n|---|---|---|---|---|"
    for each in fields_of(operation.settings, operation.package):
        label, text = each.label["en"], each.help["en"].rstrip(".")
        yield f"| `{each.name}` | {label} | {text} | {_takes(each)} | {_usual(each)} |"
    yield ""


def _takes(field: SettingField) -> str:
    if field.kind == "choice":
        return ", ".join(
            {"yes": "`true`", "no": "`false`"}.get(each, f'`"{each}"`') for each in field.choices
        )
    if field.kind == "yes":
        return "`true`, `false`"
    bounds = [f"{each:,.0f}" for each in (field.least, field.most) if each is not None]
    takes = _TAKES[field.kind]
    if field.kind == "entries":
        takes += f", each with {', '.join(f'`{each}`' for each in field.members)}"
    return takes + (f", {' to '.join(bounds)}" if len(bounds) == 2 else "")


def _usual(field: SettingField) -> str:
    if field.needed:
        return "must be stated"
    return "" if field.usual in (None, []) else f"`{str(field.usual).lower()}`"
