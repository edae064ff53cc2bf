"""What every network's configuration tells, and how sizes are read from a `config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from gettext import gettext as _
from typing import Any, ClassVar, Literal

from model.errors import ConfigError

# A larger size can only be an error, and believing it would exhaust memory.
MOST_LAYERS, MOST_HEADS, LONGEST_VECTOR, LONGEST_HIDDEN = 1_000, 1_000, 100_000, 1_000_000
MOST_POSITIONS, MOST_TOKENS = 10_000_000, 10_000_000


Activation = Literal["gelu", "gelu_tanh", "silu"]


class Config:
    """Sizes and switches that any part of the app may ask for, whatever the family.

    `n_heads` is a multiple of `n_kv_heads`: the query heads of a group share a key and a value head.
    """

    kind: str
    """Hugging Face's name of the architecture, its `model_type`."""
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_model: int
    d_head: int
    n_ctx: int
    d_vocab: int
    d_mlp: int
    norm_epsilon: float
    tied: bool

    norm: ClassVar[Literal["LayerNorm", "RMSNorm"]]
    qk_norm: bool
    """Whether each head's query and key passes a norm of its own."""
    gated: ClassVar[bool]
    """Whether the MLP multiplies two projections: `act(gate) * up`."""
    rotary: ClassVar[bool]
    """Whether positions come in by turning queries and keys, and not as vectors that are added to the tokens'."""

    @property
    def activation(self) -> Activation:
        """The function in the middle of the MLP."""
        raise NotImplementedError

    @property
    def group(self) -> int:
        """How many query heads share a key head; 1 in GPT-2."""
        return self.n_heads // self.n_kv_heads

    def kv_of(self, head: int) -> int:
        """The key and value head that the query head `head` reads."""
        return head // self.group

    @property
    def meeting(self) -> tuple[str, str]:
        """The names of the activations whose products are the scores: after the rotation, where there is one."""
        return ("rot_q", "rot_k") if self.rotary else ("q", "k")

    @property
    def cached_numbers(self) -> int:
        """Numbers that the key/value cache keeps of each token."""
        return 2 * self.n_layers * self.n_kv_heads * self.d_head

    def attn_scale(self, layer: int) -> float:
        """The factor on the query-key products of `layer`."""
        raise NotImplementedError

    def scale_in_words(self, layer: int) -> str:
        """What the query-key products of `layer` are divided by: `√64 = 8` in GPT-2 small; empty if they are not."""
        raise NotImplementedError

    def to_hugging_face(self) -> dict[str, Any]:
        """The `config.json` that `transformers` reads."""
        raise NotImplementedError

    def check_sizes(self, *names: str) -> None:
        """Raise unless each of these is a whole number of at least 1.

        Raises:
            ConfigError: one is not.
        """
        for name in names:
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(
                    _("{name} is {value!r}; it must be a whole number of at least 1.").format(name=name, value=value)
                )


def read_size(
    raw: Mapping[str, Any], name: str, largest: int, *, aliases: tuple[str, ...] = (), missing: Any = None
) -> int:
    """The size `name` of a `config.json`, or the first of `aliases` that it has, or `missing`.

    Raises:
        ConfigError: it is missing, no whole number, or beyond all reason.
    """
    value = next((raw[key] for key in (name, *aliases) if raw.get(key) is not None), missing)
    if type(value) is not int or not 1 <= value <= largest:
        raise ConfigError(
            _("config.json says {name} = {value!r}; expected a whole number from 1 to {largest:,}.").format(
                name=name, value=value, largest=largest
            )
        )
    return value


def read_epsilon(raw: Mapping[str, Any], name: str, missing: float) -> float:
    """What a norm adds before it divides, from a `config.json`.

    Raises:
        ConfigError: no number from 0 to 1.
    """
    epsilon = raw.get(name, missing)
    if not isinstance(epsilon, int | float) or not 0 <= epsilon < 1:
        raise ConfigError(
            _("config.json says {name} = {epsilon!r}; expected a number from 0 to 1.").format(
                name=name, epsilon=epsilon
            )
        )
    return float(epsilon)
