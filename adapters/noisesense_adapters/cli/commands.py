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
        """What click takes for the field of this name; its type hint says how many of what."""
        several = get_origin(hint) is tuple
        inner = next(iter(get_args(hint)), hint)  # T of ``T | None`` and of ``tuple[T, ...]``
        of_type = click.Path(path_type=Path) if inner is Path else inner
        settings: dict[str, Any] = {"type": of_type, "metavar": self.metavar, **self.settings}
        if self.kind is click.Argument:
            settings.setdefault("required", "default" not in settings)
            return click.Argument([name], nargs=-1 if several else 1, **settings)
        settings |= {"is_flag": True} if hint is bool else {"multiple": several}
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


class Options:
    """Options that stand under one heading of the help; as attributes, what was given."""

    heading = "Options"

    def __init__(self, values: Mapping[str, Any]) -> None:
        for name, hint in _fields(type(self)):
            vars(self)[name] = hint(values) if _is_group(hint) else values[name]

    def given(self, *without: str) -> dict[str, Any]:
        """What was given (is not None), by field; ``without`` these."""
        every = vars(self).items()
        return {name: value for name, value in every if value is not None and name not in without}

    @classmethod
    def described(cls) -> Iterator[tuple[click.Parameter, str, str]]:
        """Each parameter with its heading and help, in the order of the fields."""
        for name, hint in _fields(cls):
            if _is_group(hint):
                yield from hint.described()
            else:
                field: _Field = getattr(cls, name)
                heading = cls.heading if field.kind is click.Option else "Arguments"
                yield field.parameter(name, hint), heading, field.text


def _fields(kind: type[Options]) -> Iterator[tuple[str, Any]]:
    for name, hint in get_type_hints(kind).items():
        if get_origin(hint) is not ClassVar:
            yield name, hint


def _is_group(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Options)


class Command(Options):
    """A command: its docstring is the help.

    Attributes:
        parts: commands of its own, by name, each with its home: see `group`.
    """

    parts: ClassVar[Mapping[str, str]] = {}

    def run(self) -> int:
        """Do it, and return the exit status."""
        raise NotImplementedError


class _Sections(click.Command):
    """Shows its arguments and options under their headings."""

    described: Mapping[str | None, tuple[str, str]] = {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, which forgets the command of an option without its value."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):  # with --help
            heading, text = self.described.get(parameter.name, (Options.heading, ""))
            record = parameter.get_help_record(ctx) or (parameter.human_readable_name, text)
            sections.setdefault(heading, []).append(record)
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
        known = self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            near = get_close_matches(name, known, 1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {name!r}.{meant}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        home = self.homes.get(cmd_name)
        if home is None:
            return super().get_command(ctx, cmd_name)
        module, _, kind = home.partition(":")
        with needs_extra("cli", "rich"):
            loaded = import_module(f"noisesense_adapters.cli.{module}")
        return _command(cmd_name, getattr(loaded, kind))


class _Group(_Sections, _Lazy):
    pass


def _command(name: str, kind: type[Command]) -> click.Command:
    """The command that a class declares."""

    def run(**values: Any) -> int:
        is_other = kind.parts and click.get_current_context().invoked_subcommand
        return 0 if is_other else kind(values).run()

    described = [*kind.described()]
    parameters = [parameter for parameter, _, _ in described]
    made: _Sections
    if kind.parts:
        made = _Group(
            name, help=kind.__doc__, params=parameters, callback=run, invoke_without_command=True
        )
        made.homes = kind.parts
    else:
        made = _Sections(name, help=kind.__doc__, params=parameters, callback=run)
    made.described = {parameter.name: (heading, text) for parameter, heading, text in described}
    return made


def group(name: str, text: str, homes: Mapping[str, str], *groups: click.Group) -> click.Group:
    """Commands under one name. They inherit how help is asked for, and that it shows defaults.

    Args:
        name: of the group.
        text: its help.
        homes: of each command the module in this folder and the class, as ``"score:Score"``. It
            is loaded when the command is asked for, and nothing else needs it.
        groups: further groups in it.
    """
    settings = {"help_option_names": ["-h", "--help"], "show_default": True}
    made = _Lazy(
        name, help=text, commands=groups, no_args_is_help=False, context_settings=settings
    )
    made.homes = homes
    return made


_COMPLETE = "_NOISESENSE_COMPLETE"


def run(app: click.Command, arguments: Sequence[str]) -> int:
    """Run the command that the arguments name; its exit status.

    Raises:
        NoiseSenseError: what a command raises, or arguments that it does not take.
    """
    completion = os.environ.get(_COMPLETE)
    if completion:  # of a shell
        return shell_complete(app, {}, "noisesense", _COMPLETE, completion)
    try:
        with app.make_context("noisesense", [*arguments] or ["--help"]) as context:
            return app.invoke(context) or 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return 1
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "noisesense"
        said = error.format_message()
        if not said.endswith((".", "?")):
            said += "."
        raise NoiseSenseError(f"{said} Hint: {path} --help") from None
