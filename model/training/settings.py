"""The settings of one training run, read from a TOML file and checked."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.errors import ConfigError
from model.network.config import GPT2Config
from model.training.habits import HABITS, Guided

REPEATS = "repeats"  # the source that is made on the fly instead of read
DEFAULT = Path(__file__).with_name("config.toml")


@dataclass(frozen=True)
class Stage:
    """A part of the run with its own mix; it ends at a measured induction score or after `max_tokens`.

    `shapes` are its batches, (windows, tokens each), taken in turn.
    """

    name: str
    shares: Mapping[str, float]
    shapes: tuple[tuple[int, int], ...]
    until_induction: float | None = None
    max_tokens: int | None = None
    guided: tuple[Guided, ...] = ()  # heads that are asked for a habit
    guidance: float = 0.1  # what that asking weighs beside the loss


@dataclass(frozen=True)
class Batching:
    """How windows are cut and how repeated random runs are made."""

    document_start: float
    without_start_token: float
    shortest_period: int
    fewest_ids: int


@dataclass(frozen=True)
class Optimizing:
    """Learning rates and what goes with them."""

    matrix_lr: float
    other_lr: float
    weight_decay: float
    warmup_steps: int
    clip: float


@dataclass(frozen=True)
class Pace:
    """When the run saves, measures and logs, and in which precision it multiplies."""

    checkpoint_seconds: float
    measure_steps: int
    log_steps: int
    autocast: bool


@dataclass(frozen=True)
class Settings:
    """Everything a run needs to know; two runs with equal settings and data are equal."""

    seed: int
    data: Path
    run: Path
    model: GPT2Config
    positions: str
    embedding_std: float
    batch: Batching
    optimizer: Optimizing
    pace: Pace
    stages: tuple[Stage, ...]

    @property
    def start_id(self) -> int:
        """`<|endoftext|>`, the last id of the vocabulary."""
        return self.model.d_vocab - 1


def load_settings(path: Path = DEFAULT) -> Settings:
    """Read the settings from a TOML file.

    Raises:
        ConfigError: the file is missing, is no TOML, lacks a setting, has an unknown one or an impossible value.
    """
    try:
        return parse_settings(tomllib.loads(path.read_text()))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as TOML: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: a setting is missing, unknown or of the wrong kind: {error}") from error


def _stage(raw: Mapping[str, Any]) -> Stage:
    for entry in raw.get("guided", ()):
        if entry["habit"] not in HABITS:
            raise ValueError(f"{entry['habit']!r} is no habit; known are {', '.join(HABITS)}")
    guided = tuple(Guided(**entry) for entry in raw.get("guided", ()))
    shapes = tuple((int(rows), int(width)) for rows, width in raw["shapes"])
    return Stage(**{**raw, "shapes": shapes, "guided": guided})


def parse_settings(raw: Mapping[str, Any]) -> Settings:
    """Settings from a parsed TOML document; see `config.toml` for all names."""
    sizes = dict(raw["model"])
    positions, embedding_std = sizes.pop("positions"), sizes.pop("embedding_std")
    if positions not in ("random", "sinusoidal"):
        raise ValueError(f"positions is {positions!r}, expected 'random' or 'sinusoidal'")
    config = GPT2Config(**{"d_mlp": 4 * sizes["d_model"], **sizes})
    batch = {**raw["batch"], **raw["repeats"]}
    stages = tuple(_stage(stage) for stage in raw["stage"])
    for stage in stages:
        if not stage.shapes or any(rows < 1 or not 8 <= width <= config.n_ctx for rows, width in stage.shapes):
            raise ValueError(f"shapes must be (windows, tokens) with 8 to n_ctx = {config.n_ctx} tokens")
        if not stage.shares or min(stage.shares.values()) < 0 or sum(stage.shares.values()) <= 0:
            raise ValueError(f"the shares of stage {stage.name!r} must be positive")
        for guided in stage.guided:
            if not (0 <= guided.layer < config.n_layers and 0 <= guided.head < config.n_heads):
                raise ValueError(f"there is no head {guided.name} to guide")
    return Settings(
        seed=raw["seed"],
        data=Path(raw["data"]),
        run=Path(raw["run"]),
        model=config,
        positions=positions,
        embedding_std=embedding_std,
        batch=Batching(**batch),
        optimizer=Optimizing(**raw["optimizer"]),
        pace=Pace(**raw["pace"]),
        stages=stages,
    )
