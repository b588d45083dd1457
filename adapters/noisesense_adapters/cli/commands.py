"""Commands as classes: each field is an argument, an option, or a group of options."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, get_args, get_origin, get_type_hints

import click
from click.shell_completion import shell_complete

from noisesense.errors import NoiseSenseError
from noisesense_adapters.extras import needs_extra

COUNT = click.IntRange(min=0)
"""The type of an option that says how many are shown."""


class _Field(NamedTuple):
    kind: type[click.Parameter]
    text: str
    metavar: str | None
    flags: tuple[str, ...]
    settings: Mapping[str, Any]

    def parameter(self, name: str, hint: Any) -> click.Parameter:
        """The click parameter of the field ``name``, whose type and count the hint gives."""
        is_tuple = get_origin(hint) is tuple
        inner_types = get_args(hint)  # of ``T | None`` and of ``tuple[T, ...]``
        value_type = inner_types[0] if inner_types else hint
        if value_type is Path:
            value_type = click.Path(path_type=Path)
        settings: dict[str, Any] = {"type": value_type, "metavar": self.metavar, **self.settings}
        if self.kind is click.Argument:
            settings.setdefault("required", "default" not in settings)
            return click.Argument([name], nargs=-1 if is_tuple else 1, **settings)
        if hint is bool:
            settings["is_flag"] = True
        else:
            settings["multiple"] = is_tuple
        flags = self.flags or (f"--{name.replace('_', '-')}",)
        return click.Option([name, *flags], help=self.text, **settings)


def option(text: str, metavar: str | None = None, *flags: str, **settings: Any) -> Any:
    """A field that is an option. Its type is the field's: a bool is a flag, a tuple repeatable.

    Args:
        text: its help.
        metavar: stands for the value.
        flags: by default ``--name-of-the-field``.
        settings: others of `click.Option`.
    """
    return _Field(click.Option, text, metavar, flags, settings)


def argument(text: str, metavar: str | None = None, **settings: Any) -> Any:
    """A field that is an argument; a tuple takes one or more."""
    return _Field(click.Argument, text, metavar, (), settings)


class _Help(NamedTuple):
    heading: str
    text: str


class Options:
    """Options under one heading of the help. An instance has their values as attributes."""

    heading = "Options"

    def __init__(self, values: Mapping[str, Any]) -> None:
        for name, hint in _fields(type(self)):
            value = hint(values) if _is_group(hint) else values[name]
            setattr(self, name, value)

    def values(self, *without: str) -> dict[str, Any]:
        """The values that are not None, by field, ``without`` some fields."""
        values: dict[str, Any] = {}
        for name, value in vars(self).items():
            if value is not None and name not in without:
                values[name] = value
        return values

    @classmethod
    def parameters(cls) -> Iterator[tuple[click.Parameter, _Help]]:
        """Each parameter with its help, in the order of the fields."""
        for name, hint in _fields(cls):
            if _is_group(hint):
                yield from hint.parameters()
            else:
                field: _Field = getattr(cls, name)
                heading = cls.heading if field.kind is click.Option else "Arguments"
                yield field.parameter(name, hint), _Help(heading, field.text)


def _fields(kind: type[Options]) -> Iterator[tuple[str, Any]]:
    """The fields of the class with their type hints."""
    for name, hint in get_type_hints(kind).items():
        if get_origin(hint) is not ClassVar:
            yield name, hint


def _is_group(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Options)


class Command(Options):
    """A command: its docstring is the help.

    Attributes:
        parts: the homes of its subcommands, by name: see `group`.
    """

    parts: ClassVar[Mapping[str, str]] = {}

    def run(self) -> int:
        """Do it, and return the exit status."""
        raise NotImplementedError


class _Sections(click.Command):
    """Shows its arguments and options under their headings."""

    help_by_name: Mapping[str | None, _Help] = {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, but keep the command in the error for an option without a value."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):  # with --help
            about = self.help_by_name.get(parameter.name, _Help(Options.heading, ""))
            record = parameter.get_help_record(ctx)
            if record is None:  # an argument
                record = (parameter.human_readable_name, about.text)
            sections.setdefault(about.heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)


class _Lazy(click.Group):
    """Loads a command when it is asked for."""

    homes: Mapping[str, str] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*self.homes, *super().list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        names = self.list_commands(ctx)
        is_option = name.startswith("-")  # behind "--"
        if name not in names and not is_option and not ctx.resilient_parsing:
            matches = get_close_matches(name, names, 1)
            question = f" Did you mean {matches[0]!r}?" if matches else ""
            ctx.fail(f"No such command {name!r}.{question}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        home = self.homes.get(cmd_name)
        if home is None:
            return super().get_command(ctx, cmd_name)
        module_name, _, class_name = home.partition(":")
        with needs_extra("cli", "rich"):
            module = import_module(f"noisesense_adapters.cli.{module_name}")
        return _command(cmd_name, getattr(module, class_name))


class _Group(_Sections, _Lazy):
    pass


def _command(name: str, kind: type[Command]) -> click.Command:
    """The command that a class declares."""

    def run(**values: Any) -> int:
        if kind.parts and click.get_current_context().invoked_subcommand:
            return 0  # the subcommand runs next
        return kind(values).run()

    parameters: list[click.Parameter] = []
    help_by_name: dict[str | None, _Help] = {}
    for parameter, about in kind.parameters():
        parameters.append(parameter)
        help_by_name[parameter.name] = about
    command: _Sections
    if kind.parts:
        command = _Group(
            name, help=kind.__doc__, params=parameters, callback=run, invoke_without_command=True
        )
        command.homes = kind.parts
    else:
        command = _Sections(name, help=kind.__doc__, params=parameters, callback=run)
    command.help_by_name = help_by_name
    return command


def group(name: str, text: str, homes: Mapping[str, str], *groups: click.Group) -> click.Group:
    """Commands under one name. All have ``-h``, and their help shows defaults.

    Args:
        name: the group's name.
        text: the group's help.
        homes: the home of each command: its module in this folder and its class, as
            ``"score:Score"``. The module is loaded only when the command is used.
        groups: the groups within the group.
    """
    settings = {"help_option_names": ["-h", "--help"], "show_default": True}
    commands = _Lazy(
        name, help=text, commands=groups, no_args_is_help=False, context_settings=settings
    )
    commands.homes = homes
    return commands


_COMPLETE = "_NOISESENSE_COMPLETE"


def run(app: click.Command, arguments: Sequence[str]) -> int:
    """Run the command that the arguments name, and return its exit status.

    Raises:
        NoiseSenseError: what a command raises, or arguments that it does not take.
    """
    completion = os.environ.get(_COMPLETE)
    if completion:
        return shell_complete(app, {}, "noisesense", _COMPLETE, completion)
    try:
        with app.make_context("noisesense", [*arguments] or ["--help"]) as context:
            status: int = app.invoke(context)
            return status
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return 1
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "noisesense"
        message = error.format_message()
        if not message.endswith((".", "?")):
            message += "."
        raise NoiseSenseError(f"{message} Hint: {path} --help") from None
