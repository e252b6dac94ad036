"""Typed settings from text: checked dataclasses out of TOML tables, and back without loss.

A section is a frozen dataclass. Its annotations say what a value may be, its `__post_init__` which range it
must keep. Nothing is dropped in silence: an unknown key, a wrong type and a value out of range are errors
which name the key, its section and the nearest valid name. What the settings mean is left to their owners.
"""

import dataclasses
import difflib
import json
import math
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from zelkova.errors import ConfigError, hint

T = TypeVar("T")
Table = Mapping[str, object]

REST = {"rest": True}  # metadata of the one mapping field that takes the keys which no other field knows


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Args:
        path: of the file, UTF-8.
    Raises:
        ConfigError: the file can't be read or has a syntax error; the message has the line and column.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not a text file in UTF-8; a config is a TOML file") from error
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}") from error
    return parse_toml(text, str(path))


def parse_toml(text: str, origin: str) -> dict[str, Any]:
    """Parse TOML text.

    Args:
        text: the whole document.
        origin: what to call it in an error.
    Raises:
        ConfigError: a syntax error; the message has the line and column.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also numbers of thousands of digits
        lines = text.rstrip().splitlines() or [""]
        end = f"at line {len(lines)}, column {len(lines[-1]) + 1}"
        message = str(error).replace("at end of document", end)
        raise ConfigError(f"{origin} is not valid TOML: {message}") from error


def build(kind: type[T], table: Table, section: str = "", root: Any = None) -> T:
    """Build a settings dataclass from a table; fields which are dataclasses are sections of their own.

    Args:
        kind: a dataclass.
        table: keys and values, as from TOML.
        section: the dataclass's own name in the file; empty at the top.
        root: the dataclass of the whole file, to find the section of a misplaced key.
    Raises:
        ConfigError: a key is unknown, a value of the wrong type or out of range.
    """
    hints = field_types(kind)
    rest = rest_field(kind)
    values: dict[str, Any] = {rest: {}} if rest else {}
    for key, value in table.items():
        where = f"{section}.{key}" if section else key
        if key not in hints or key == rest:
            if rest is None and isinstance(value, Mapping):
                raise ConfigError(unknown_section(kind, where, value))
            if rest is None:
                raise ConfigError(unknown_key(kind, key, section, root))
            values[rest][key] = value
        elif dataclasses.is_dataclass(hints[key]):
            if not isinstance(value, Mapping):
                raise ConfigError(f"{where} is a section: write [{where}] and its keys below it")
            values[key] = build(hints[key], value, where, root or kind)
        else:
            values[key] = convert(value, hints[key], where)
    try:
        return kind(**values)
    except ConfigError as error:
        is_placed = section and str(error).startswith(f"{section}.")
        raise ConfigError(str(error) if is_placed else f"{_place(section)}: {error}") from error
    except TypeError as error:  # a field without a default
        raise ConfigError(f"{_place(section)}: {error}") from error


def convert(value: object, annotation: Any, where: str) -> Any:
    """Give a value as its annotation wants it, or refuse it.

    Args:
        value: as from TOML.
        annotation: int, float, bool, str, Path, tuple, Literal, a union of these.
        where: the key with its section, for the error.
    Raises:
        ConfigError: the value has another type; the message says which one is wanted.
    """
    for choice in _choices(annotation):
        found, result = _match(value, choice, where)
        if found:
            return result
    raise ConfigError(
        f"{where} must be {describe(annotation)}; given: {_shown(value)}{_near(value, annotation)}"
    )


def _choices(annotation: Any) -> tuple[Any, ...]:
    """List the members of a union, None first (the text "none" is never a name), or the annotation alone."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return tuple(sorted(typing.get_args(annotation), key=lambda kind: kind is not types.NoneType))
    return (annotation,)


def _match(value: object, kind: Any, where: str) -> tuple[bool, Any]:
    """Say whether a value is of a kind, and give it as that kind."""
    origin = typing.get_origin(kind)
    if kind is types.NoneType:
        return value is None or value == "none", None
    if origin is typing.Literal:
        return any(type(value) is type(word) and value == word for word in typing.get_args(kind)), value
    if origin is tuple or kind is tuple:
        return _match_tuple(value, typing.get_args(kind), where)
    if kind is float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        number = _as_float(value) if is_number else math.nan
        return not math.isnan(number), number
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool), value
    if kind is Path:
        return isinstance(value, str | Path), Path(value) if isinstance(value, str | Path) else None
    if kind in (bool, str):
        return isinstance(value, kind), value
    raise TypeError(f"{where}: settings of type {kind} are not supported")


def _as_float(value: Any) -> float:
    """Give a number as a float; one beyond floats is no number."""
    try:
        return float(value)
    except OverflowError:
        return math.nan


def _match_tuple(value: object, kinds: tuple[Any, ...], where: str) -> tuple[bool, Any]:
    """Say whether a value is a list of these kinds, and give it as a tuple."""
    if not isinstance(value, list | tuple):
        return False, None
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        return False, None
    return True, tuple(
        convert(part, kind, f"{where}[{index}]")
        for index, (part, kind) in enumerate(zip(value, kinds, strict=True))
    )


def describe(annotation: Any) -> str:
    """Say in words what an annotation takes.

    Args:
        annotation: as for `convert`.
    """
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(describe(part) for part in parts)
    if origin is typing.Literal:
        return " or ".join(f'"{part}"' if isinstance(part, str) else str(part) for part in parts)
    if origin is tuple and parts:
        many = len(parts) == 2 and parts[1] is Ellipsis
        inside = describe(parts[0]) if many else ", ".join(describe(part) for part in parts)
        return f"a list of {inside}" + ("" if many else " (that many)")
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", Path: "a path"}
    return names.get(annotation, '"none"' if annotation is types.NoneType else str(annotation))


def _shown(value: object) -> str:
    """Show a value as the user may have typed it, with its type."""
    kinds = {bool: "a truth value", int: "a whole number", float: "a number", str: "a text", list: "a list"}
    kind = kinds.get(type(value), "a section" if isinstance(value, Mapping) else type(value).__name__)
    text = str(value)
    return f"`{text if len(text) <= 60 else text[:57] + '...'}` ({kind})"


def _near(value: object, annotation: Any) -> str:
    """Hint at the word of a Literal that is nearest to a mistyped one."""
    words = [
        word
        for choice in _choices(annotation)
        if typing.get_origin(choice) is typing.Literal
        for word in typing.get_args(choice)
        if isinstance(word, str)
    ]
    near = difflib.get_close_matches(value, words, n=1) if isinstance(value, str) else []
    return f"; hint: did you mean `{near[0]}`?" if near else ""


def _place(section: str) -> str:
    return f"[{section}]" if section else "the top level"


def rest_field(kind: Any) -> str | None:
    """Name the field that takes unknown keys, if the dataclass has one.

    Args:
        kind: a dataclass.
    """
    return next((field.name for field in dataclasses.fields(kind) if field.metadata.get("rest")), None)


def field_types(kind: Any) -> dict[str, Any]:
    """Give the type of each field of a dataclass.

    Args:
        kind: a dataclass.
    """
    types_by_name = typing.get_type_hints(kind)
    return {field.name: types_by_name[field.name] for field in dataclasses.fields(kind)}


def sections(kind: Any) -> dict[str, Any]:
    """Give the fields of a dataclass which are dataclasses themselves.

    Args:
        kind: a dataclass.
    """
    return {name: part for name, part in field_types(kind).items() if dataclasses.is_dataclass(part)}


def unknown_section(kind: Any, name: str, table: Table) -> str:
    """Word the error for an unknown section; where no name is near, say where its keys belong.

    Args:
        kind: the dataclass that was to hold it.
        name: of the section.
        table: its keys.
    """
    known = sections(kind)
    message = f"unknown section [{name}]; {hint(name, known)}"
    if "did you mean" in message:
        return message
    owners = {
        owner: key.replace("-", "_")
        for key in table
        for owner, part in known.items()
        if key.replace("-", "_") in field_types(part)
    }
    found = [f"`{key}` is in [{owner}]" for owner, key in owners.items()]
    return message + ("; hint: " + ", ".join(found) if found else "")


def unknown_key(kind: Any, key: str, section: str, root: Any = None) -> str:
    """Word the error for an unknown key: its section, what is known there, and the nearest name anywhere.

    Args:
        kind: the dataclass of the section.
        key: the unknown word.
        section: its name; empty at the top.
        root: the dataclass of the whole file; kind itself at the top.
    """
    names = [field.name for field in dataclasses.fields(kind)]
    plain = key.replace("-", "_")
    message = f"unknown key `{key}` in {_place(section)}; "
    elsewhere = {
        field.name: f"{name}.{field.name}"
        for name, part in sections(root or kind).items()
        if name != section
        for field in dataclasses.fields(part)
    }
    near_here = difflib.get_close_matches(plain, names, n=1, cutoff=0.6)
    near_there = difflib.get_close_matches(plain, list(elsewhere), n=1, cutoff=0.6)
    if plain in elsewhere or (not near_here and near_there):
        word = elsewhere[plain if plain in elsewhere else near_there[0]]
        owner, _, name = word.partition(".")
        return message + f"hint: did you mean `{name}` in [{owner}]? (`{word}` with --set)"
    return message + hint(plain, names)


def parse_override(text: str) -> tuple[list[str], object]:
    """Split `section.key=value` into its path and the value, as TOML reads it (plain words are texts).

    Args:
        text: as given to `--set`.
    Raises:
        ConfigError: there is no key or no equals sign.
    """
    path, equals, value = text.partition("=")
    keys = [key.strip() for key in path.split(".")]
    if not equals or not all(keys):
        raise ConfigError(f"--set `{text}`: write section.key=value, like search.num_simulations=64")
    value = value.strip()
    try:
        parsed = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):
        return keys, value
    return keys, parsed["value"] if list(parsed) == ["value"] else value


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one nested table over another; neither is changed.

    Args:
        base: the table below.
        over: the table above, whose values win.
    """
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(typing.cast(Table, below), value) if both else value
    return merged


def to_table(config: Any) -> dict[str, Any]:
    """Give a settings dataclass as a nested table, such that `build` gives the dataclass back.

    Args:
        config: a dataclass instance.
    """
    table: dict[str, Any] = {}
    rest = rest_field(config)
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.name == rest:
            table.update(value)
        else:
            table[field.name] = to_table(value) if dataclasses.is_dataclass(value) else value
    return table


def to_toml(config: Any) -> str:
    """Write a settings dataclass as TOML: first the plain keys, then a table for each section.

    Args:
        config: a dataclass instance.
    """
    return "\n".join(_toml_lines(to_table(config), "")).strip() + "\n"


def _toml_lines(table: Mapping[str, Any], section: str) -> list[str]:
    """Write one table, its plain keys before its sections."""
    lines = ["", f"[{section}]"] if section else []
    for key, value in table.items():
        if not isinstance(value, Mapping):
            lines.append(f"{_toml_key(key)} = {_toml_value(value)}")
    for key, value in table.items():
        if isinstance(value, Mapping):
            lines += _toml_lines(value, f"{section}.{_toml_key(key)}" if section else _toml_key(key))
    return lines


def _toml_key(key: str) -> str:
    plain = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if plain else _toml_value(key)


def _toml_value(value: object) -> str:
    """Write one value; floats keep every bit."""
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_toml_value(part) for part in value) + "]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
