"""A run's checkpoint as a model folder in Hugging Face's GPT-2 layout: `python -m model.training.export [FOLDER]`.

Weights are stored as float16, half the size; every reader widens them to float32 before it computes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from model.errors import CheckpointError, HeadlightError
from model.files.checkpoint import EMBEDDED_FOLDER
from model.files.family import CONFIG_FILE
from model.files.safetensors_file import WEIGHTS_FILE
from model.files.vocabulary import TIKTOKEN_FILE
from model.training.batches import describe_data
from model.training.checkpoints import NAME, Progress, load_checkpoint
from model.training.settings import DEFAULT, Settings, load_settings

TRAINING_FILE = "training.json"  # what the model card says about the run, so that it needs no training folder


def export(settings: Settings, folder: Path, checkpoint: Path | None = None, note: str = "") -> None:
    """Write config, weights, vocabulary and `training.json` into `folder`; a folder that exists is brought up to date.

    `note` is what the model card has to say beyond the settings, such as that they were changed on the way.

    Raises:
        CheckpointError: there is no checkpoint, it is damaged, or a weight does not fit into float16.
        TrainingDataError: the run's vocabulary or the data's description is missing.
    """
    saved = load_checkpoint(checkpoint or settings.run / NAME)
    weights = {name: tensor.to(torch.float16).contiguous() for name, tensor in saved.weights.items()}
    for name, tensor in weights.items():
        if not tensor.isfinite().all():
            raise CheckpointError(f"{name} holds a number that float16 cannot; the run has diverged.")
    folder.mkdir(parents=True, exist_ok=True)
    config = {**settings.model.to_hugging_face(), "bos_token_id": settings.start_id, "eos_token_id": settings.start_id,
              "torch_dtype": "float16"}  # fmt: skip
    _write_json(folder / CONFIG_FILE, config)
    shutil.copyfile(settings.run / TIKTOKEN_FILE, folder / TIKTOKEN_FILE)
    _write_json(folder / TRAINING_FILE, {**_training(settings, saved.progress), "note": note})
    partial = folder / f"{WEIGHTS_FILE}.partial"  # a reader finds the old file or the new one, never a part
    save_file(weights, partial, metadata={"format": "pt"})
    os.replace(partial, folder / WEIGHTS_FILE)


def _training(settings: Settings, progress: Progress) -> dict[str, Any]:
    sources = describe_data(settings.data)["sources"]
    return {
        "steps": progress.step,
        "tokens": progress.tokens,
        "hours": round(progress.seconds / 3600, 2),
        "decay_finished": progress.finished,
        "decay_tokens": progress.decay_tokens,
        "tokens_by_source": progress.tokens_by_source,
        "stages": [asdict(stage) for stage in settings.stages],
        "sources": {
            name: {**{key: entry[key] for key in ("licence", "package", "version")}, "tokens": entry["train"]["tokens"]}
            for name, entry in sources.items()
        },
    }


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, export."""
    parser = argparse.ArgumentParser(
        prog="python -m model.training.export", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("folder", type=Path, nargs="?", default=EMBEDDED_FOLDER, help="default: the embedded model's")
    parser.add_argument("--config", type=Path, default=DEFAULT, help="settings of the run; default: %(default)s")
    parser.add_argument("--checkpoint", type=Path, help="default: the run's last")
    parser.add_argument("--note", default="", help="a sentence for the model card")
    given = parser.parse_args(arguments)
    try:
        export(load_settings(given.config), given.folder, given.checkpoint, given.note)
    except HeadlightError as error:
        print(f"Export stopped: {error}", file=sys.stderr)
        return 1
    size = (given.folder / WEIGHTS_FILE).stat().st_size
    print(f"{given.folder}: {size / 1e6:.1f} MB. Next: python -m model.training.evaluate {given.folder}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
