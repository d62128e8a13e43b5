"""A function of a user's own, by its name: for networks and methods that are not ours."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from recoseg.errors import UserError, is_shortage
from recoseg.text import did_you_mean, shortened


def answer_of(factory: str, *arguments: object, **options: object) -> object:
    """What the function `package.module:function` returns.

    Modules are found as Python does, in the current folder first.
    """
    module_name, separator, function_name = factory.partition(":")
    if not (module_name and separator and function_name):
        given = shortened(repr(factory))
        raise UserError(f"factory: got {given}, needs package.module:function, such as my_network:unet")
    with _current_folder_importable():
        function = _function_of(_imported(module_name, factory), function_name, factory)
        with _naming_trouble(f"factory {factory!r} failed"):
            return function(*arguments, **options)


def _imported(module_name: str, factory: str) -> ModuleType:
    importlib.invalidate_caches()  # the file may be younger than Python's list of its folder
    try:
        with _naming_trouble(f"factory {factory!r}: importing {module_name} failed"):
            return importlib.import_module(module_name)
    except UserError as error:
        cause = error.__cause__
        if isinstance(cause, ModuleNotFoundError) and f"{module_name}.".startswith(f"{cause.name}."):
            raise UserError(
                f"factory {factory!r}: there is no module {module_name}, neither in {Path.cwd()} nor "
                "installed; run from the folder that holds it, or install it"
            ) from cause
        raise


def _function_of(module: ModuleType, name: str, factory: str) -> Callable[..., object]:
    function = getattr(module, name, None)
    if callable(function):
        return function  # type: ignore[no-any-return]
    own = [n for n, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    raise UserError(
        f"factory {factory!r}: {module.__name__} has no function {name!r}{did_you_mean(name, own)}"
    )


@contextmanager
def _current_folder_importable() -> Iterator[None]:
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextmanager
def _naming_trouble(what: str) -> Iterator[None]:
    """An exception in the user's own code as one line that says where it came from."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if is_shortage(error):
            raise
        text = " ".join(str(error).split())
        raise UserError(f"{what}: {type(error).__name__}: {text} (--debug shows where)") from error
