"""Commands as classes: each field is an argument, an option, or a group of options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import click

from noisesense.errors import NoiseSenseError


class _Field(NamedTuple):
    text: str
    metavar: str | None
    flags: tuple[str, ...] | None  # None: an argument
    settings: Mapping[str, Any]

    def parameter(self, name: str, hint: Any) -> click.Parameter:
        several, inner = get_origin(hint) is tuple, next(iter(get_args(hint)), hint)
        of_type = click.Path(path_type=Path) if inner is Path else inner
        settings: dict[str, Any] = {"type": of_type, "metavar": self.metavar, **self.settings}
        if self.flags is None:
            settings = {"required": "default" not in settings, **settings}
            return _Argument(self.text, [name], nargs=-1 if several else 1, **settings)
        settings |= {"is_flag": True} if hint is bool else {"multiple": several}
        flags = self.flags or (f"--{name.replace('_', '-')}",)
        return click.Option([name, *flags], help=self.text, **settings)


class _Argument(click.Argument):
    """An argument with a help text."""

    def __init__(self, text: str, names: Sequence[str], **settings: Any) -> None:
        super().__init__(names, **settings)
        self._text = text

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return self.human_readable_name, self._text


def option(text: str, metavar: str | None = None, *flags: str, **settings: Any) -> Any:
    """A field that is an option. Its type is the field's: a bool is a flag, a tuple repeatable.

    Args:
        text: its help.
        metavar: stands for the value.
        flags: by default ``--name-of-the-field``.
        settings: others of `click.Option`.
    """
    return _Field(text, metavar, flags, settings)


def argument(text: str, metavar: str | None = None, **settings: Any) -> Any:
    """A field that is an argument; a tuple takes one or more."""
    return _Field(text, metavar, None, settings)


class Options:
    """Options that stand under one heading of the help; as attributes, what was given."""

    heading = "Options"

    def __init__(self, given: Mapping[str, Any]) -> None:
        for name, hint in get_type_hints(type(self)).items():
            vars(self)[name] = hint(given) if _is_group(hint) else given[name]

    @classmethod
    def parameters(cls) -> Iterator[tuple[str, click.Parameter]]:
        """Each with its heading, in the order of the fields."""
        for name, hint in get_type_hints(cls).items():
            if _is_group(hint):
                yield from hint.parameters()
                continue
            field: _Field = getattr(cls, name)
            yield (
                ("Arguments" if field.flags is None else cls.heading),
                field.parameter(name, hint),
            )


def _is_group(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Options)


class Command(Options):
    """A command: its docstring is the help."""

    def run(self) -> int:
        """Do it, and return the exit status."""
        raise NotImplementedError


class _Sections(click.Command):
    """Shows its options under their headings."""

    def __init__(
        self, name: str, fields: Sequence[tuple[str, click.Parameter]], **more: Any
    ) -> None:
        super().__init__(name, params=[parameter for _, parameter in fields], **more)
        self._fields = fields

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        own = {id(parameter): heading for heading, parameter in self._fields}
        for parameter in self.get_params(ctx):  # with --help
            if record := parameter.get_help_record(ctx):
                sections.setdefault(own.get(id(parameter), Options.heading), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)


class _Group(_Sections, click.Group):
    pass


def command(kind: type[Command], *parts: click.Command) -> click.Command:
    """The command that a class declares; with ``parts``, they are its own commands."""

    def run(**given: Any) -> int:
        is_other = parts and click.get_current_context().invoked_subcommand
        return 0 if is_other else kind(given).run()

    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()
    fields, text = [*kind.parameters()], kind.__doc__
    if not parts:
        return _Sections(name, fields, callback=run, help=text)
    alone: dict[str, Any] = {"commands": parts, "invoke_without_command": True}
    return _Group(name, fields, callback=run, help=text, **alone)


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
