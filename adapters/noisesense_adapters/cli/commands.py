"""Commands as classes: each field is an argument, an option, or a group of options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import click

from noisesense.errors import NoiseSenseError

COUNT = click.IntRange(min=0)
"""The type of an option that says how many are shown."""


class _Field(NamedTuple):
    kind: type[click.Parameter]
    text: str
    metavar: str | None
    flags: tuple[str, ...]
    settings: Mapping[str, Any]

    def parameter(self, name: str, hint: Any) -> click.Parameter:
        several, inner = get_origin(hint) is tuple, next(iter(get_args(hint)), hint)
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
        for name, hint in get_type_hints(type(self)).items():
            vars(self)[name] = hint(values) if _is_group(hint) else values[name]

    def given(self, *without: str) -> dict[str, Any]:
        """What was given (is not None), by field; ``without`` these."""
        every = vars(self).items()
        return {name: value for name, value in every if value is not None and name not in without}

    @classmethod
    def described(cls) -> Iterator[tuple[click.Parameter, str, str]]:
        """Each parameter with its heading and help, in the order of the fields."""
        for name, hint in get_type_hints(cls).items():
            if _is_group(hint):
                yield from hint.described()
            else:
                field: _Field = getattr(cls, name)
                heading = cls.heading if field.kind is click.Option else "Arguments"
                yield field.parameter(name, hint), heading, field.text


def _is_group(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Options)


class Command(Options):
    """A command: its docstring is the help."""

    def run(self) -> int:
        """Do it, and return the exit status."""
        raise NotImplementedError


class _Sections(click.Command):
    """Shows its arguments and options under their headings."""

    described: Mapping[str | None, tuple[str, str]] = {}

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


class _Group(_Sections, click.Group):
    pass


def command(kind: type[Command], *parts: click.Command) -> click.Command:
    """The command that a class declares; with ``parts``, they are its own commands."""

    def run(**values: Any) -> int:
        is_other = parts and click.get_current_context().invoked_subcommand
        return 0 if is_other else kind(values).run()

    described = [*kind.described()]
    how: dict[str, Any] = {"help": kind.__doc__, "params": [each for each, *_ in described]}
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()
    made = (
        _Group(name, commands=parts, invoke_without_command=True, callback=run, **how)
        if parts
        else _Sections(name, callback=run, **how)
    )
    made.described = {parameter.name: (heading, text) for parameter, heading, text in described}
    return made


def group(name: str, text: str, *commands: click.Command) -> click.Group:
    """Commands under one name. They inherit how help is asked for, and that it shows defaults."""
    settings = {"help_option_names": ["-h", "--help"], "show_default": True}
    return click.Group(
        name, help=text, commands=commands, no_args_is_help=False, context_settings=settings
    )


def run(app: click.Command, arguments: Sequence[str]) -> int:
    """Run the command that the arguments name; its exit status.

    Raises:
        NoiseSenseError: what a command raises, or arguments that it does not take.
    """
    try:
        with app.make_context("noisesense", [*arguments] or ["--help"]) as context:
            return app.invoke(context) or 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return 1
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "noisesense"
        said = error.format_message().rstrip(".")
        raise NoiseSenseError(f"{said}. Hint: {path} --help") from None
