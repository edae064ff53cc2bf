"""How the annotations of `model` and `viz` are checked while the tests run.

beartype checks every call, with an int allowed where a float is asked for; sizes of arrays that have one name are equal
within a call. jaxtyping's own decorator does the same, but binds the arguments of each call and checks them twice: on
every function, that takes a third of the time of the tests of pages.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray, TypeCheckError, _decorator
from jaxtyping._storage import pop_shape_memo, push_shape_memo, shape_str

checked = beartype(conf=BeartypeConf(is_pep484_tower=True, violation_type=TypeCheckError))
_theirs = _decorator.jaxtyped


def jaxtyped(fn: Any = _decorator._sentinel, **options: Any) -> Any:
    """Stands in for `jaxtyping.jaxtyped`, which jaxtyping's import hook puts on every function and class."""
    if not inspect.isfunction(fn) or inspect.isgeneratorfunction(fn):
        return _theirs(fn, **options)
    try:
        hints = get_type_hints(fn, include_extras=True)
    except Exception:  # a name that only type checkers import: jaxtyping leaves out what it cannot look up
        return _theirs(fn, **options)
    if any(_names_array(hint) for hint in hints.values()):
        return _in_one_scope(_checked(fn, hints))
    # A function inside a function is made, and would be compiled, anew at each call of the outer one.
    return fn if "<locals>" in fn.__qualname__ else _checked(fn, hints)


def _names_array(hint: Any) -> bool:
    return (inspect.isclass(hint) and issubclass(hint, AbstractArray)) or any(
        _names_array(one) for one in get_args(hint)
    )


def _checked(fn: Callable[..., Any], hints: dict[str, Any]) -> Callable[..., Any]:
    annotations, fn.__annotations__ = fn.__annotations__, hints
    try:
        return checked(fn)
    finally:
        fn.__annotations__ = annotations


def _in_one_scope(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` with sizes of its own: what `n` is inside says nothing about the caller's `n`."""

    @functools.wraps(fn)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        memos = push_shape_memo({})
        try:
            return fn(*args, **kwargs)
        except TypeCheckError as violation:
            violation.add_note(shape_str(memos))
            raise
        finally:
            pop_shape_memo()

    return scoped


jaxtyping.jaxtyped = _decorator.jaxtyped = jaxtyped
