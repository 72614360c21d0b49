"""What a picture of hidden cells says, read from its description."""

from typing import Any

from discreet.assessment.pictures import Picture


def records(picture: Picture, key: str) -> list[dict[str, Any]]:
    """All records of a picture that have a key, in order."""
    found: list[dict[str, Any]] = []

    def collect(part: Any) -> None:
        if isinstance(part, dict):
            values = part.get("data", {}).get("values", [])
            found.extend(each for each in values if key in each)
            for inner in part.values():
                collect(inner)
        elif isinstance(part, list):
            for inner in part:
                collect(inner)

    collect(picture.description)
    return found


def kinds(picture: Picture) -> dict[tuple[str, str], str]:
    return {(each["row"], each["column"]): each["kind"] for each in records(picture, "row")}


def columns(picture: Picture) -> dict[str, list[str]]:
    """The columns of numbers: heading → number of each line."""
    layers = picture.description["vconcat"][0]["vconcat"][0]["layer"]
    numbers, found = [], {}
    for layer in layers:
        values = layer["data"]["values"]
        if "number" in values[0] and "from" not in values[0]:
            numbers = [each["number"] for each in values]
        if "head" in values[0]:
            found[values[0]["head"]] = numbers
    return found
