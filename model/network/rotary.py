"""Rotary positions: each pair of numbers of a query or key is turned by an angle that grows with the position.

Number `i` of the first half of a vector is paired with number `i` of the second half, as in Llama's published
checkpoints. A query turned by its position times a key turned by its own depends only on the distance of the two.
Source: Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding"; Llama 3's stretched
frequencies: the published `apply_scaling` (Meta 2024).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from gettext import gettext as _
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.errors import ConfigError


@dataclass(frozen=True)
class Rotary:
    """How fast each pair turns: pair `i` of `d_head / 2` by `base ** (-2 i / d_head)` radians a position, unless `way`
    stretches it: `linear` divides all by `factor`; `llama3` only those that turn slowly, for texts longer than
    `original_n_ctx`, with a smooth passage between the two `freq_factor`s.
    """

    base: float = 10_000.0
    way: Literal["default", "linear", "llama3"] = "default"
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_n_ctx: int = 8192

    def frequencies(self, d_head: int) -> Float[Tensor, " pair"]:
        """Radians a position by which each pair of numbers turns."""
        plain = 1.0 / self.base ** (torch.arange(0, d_head, 2, dtype=torch.int64).float() / d_head)
        if self.way == "linear":
            return plain / self.factor
        if self.way == "default":
            return plain
        turns = self.original_n_ctx * plain / (2 * math.pi)  # whole turns within the original context
        smooth = ((turns - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor)).clamp(0, 1)
        return (1 - smooth) * plain / self.factor + smooth * plain

    def angles(self, positions: Int[Tensor, " pos"], d_head: int) -> Float[Tensor, "pos pair"]:
        """The angle in radians by which each pair is turned at each position."""
        return positions[:, None].float() * self.frequencies(d_head).to(positions.device)

    def turn(
        self, positions: Int[Tensor, " pos"], d_head: int
    ) -> tuple[Float[Tensor, "pos d_head"], Float[Tensor, "pos d_head"]]:
        """The angles' cosines and sines, once for each number of a pair: what `rotate` takes."""
        angles = self.angles(positions, d_head).repeat(1, 2)
        return angles.cos(), angles.sin()

    @classmethod
    def from_hugging_face(cls, raw: Mapping[str, Any], n_ctx: int) -> Rotary:
        """Read `rope_theta` and `rope_scaling` of a `config.json`, or `rope_parameters` of newer ones.

        Raises:
            ConfigError: a way of stretching that is not known here, or a number that is none.
        """
        given = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
        if not isinstance(given, Mapping):
            raise ConfigError(
                _("config.json says rope_parameters = {given!r}; expected an object.").format(given=given)
            )
        way = given.get("rope_type", given.get("type", "default"))
        if way not in ("default", "linear", "llama3"):
            raise ConfigError(
                _("config.json stretches positions in the way {way!r}; known are default, linear and llama3.").format(
                    way=way
                )
            )
        if raw.get("partial_rotary_factor", given.get("partial_rotary_factor", 1)) != 1:
            raise ConfigError(_("config.json turns only a part of each query and key; only whole ones are supported."))

        def number(name: str, missing: float) -> float:
            value = given.get(name, raw.get(name, missing))
            if not isinstance(value, int | float) or not 0 < value < math.inf:
                raise ConfigError(
                    _("config.json says {name} = {value!r}; expected a number above 0.").format(name=name, value=value)
                )
            return float(value)

        base = number("rope_theta", 10_000.0)
        if way == "default":
            return cls(base)
        if way == "linear":
            return cls(base, way, number("factor", 1.0))
        return cls(
            base,
            way,
            number("factor", 8.0),
            number("low_freq_factor", 1.0),
            number("high_freq_factor", 4.0),
            int(number("original_max_position_embeddings", n_ctx)),
        )

    def to_hugging_face(self) -> dict[str, Any]:
        """The `rope_parameters` of a `config.json`; the inverse of `from_hugging_face`."""
        names = {"base": "rope_theta", "way": "rope_type", "original_n_ctx": "original_max_position_embeddings"}
        said = {names.get(name, name): value for name, value in asdict(self).items()}
        kept = {"default": 2, "linear": 3, "llama3": 6}[self.way]
        return dict(list(said.items())[:kept])


PLAIN = Rotary()


def rotate(
    x: Float[Tensor, "*batch pos d_head"], turn: tuple[Float[Tensor, "pos d_head"], Float[Tensor, "pos d_head"]]
) -> Float[Tensor, "*batch pos d_head"]:
    """`x` with each pair of numbers turned by its angle (`Rotary.turn`)."""
    cos, sin = turn
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin
