"""One training run: its network, its optimizer and how far it is."""

from __future__ import annotations

import math
import shutil
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from model.errors import CheckpointError
from model.files.vocabulary import TIKTOKEN_FILE
from model.network.config import GPT2Config
from model.network.gpt2 import GPT2
from model.training import measures
from model.training.batches import IGNORED, Batch, Corpus, make_batch
from model.training.checkpoints import NAME, STABLE, Checkpoint, Progress, load_checkpoint, save_checkpoint
from model.training.errors import TrainingDataError
from model.training.guidance import GuidedHeads, Targets
from model.training.loss import next_token_loss
from model.training.optimizer import Optimizer, rate_factor
from model.training.settings import Settings

SHORTEST_WAVE = 2.5  # tokens


def new_model(config: GPT2Config, seed: int, positions: str, embedding_std: float) -> GPT2:
    """A network with GPT-2's random start, the embeddings' size apart.

    GPT-2's 0.02 keeps the tied output near zero until the embeddings have grown, which costs a short run a good part
    of its time: a larger `embedding_std` lets it copy tokens from the start.

    With `sinusoidal` positions the position vectors start as the sines and cosines of Vaswani et al. 2017 (section
    3.5), of the random start's size: "one before me" is then the same rotation everywhere. They are learned, too.
    """
    model = GPT2(config).init_weights(seed)
    with torch.no_grad():
        model.wte.weight.mul_(embedding_std / 0.02)
        model.wpe.weight.mul_(embedding_std / 0.02)
    if positions == "sinusoidal":
        half = config.d_model // 2
        wavelengths = torch.logspace(math.log10(SHORTEST_WAVE), math.log10(2 * config.n_ctx), half)
        rates = 2 * math.pi / wavelengths
        angles = torch.arange(config.n_ctx)[:, None] * rates
        waves = torch.zeros(config.n_ctx, config.d_model)
        waves[:, :half], waves[:, half : 2 * half] = angles.sin(), angles.cos()
        with torch.no_grad():
            model.wpe.weight.copy_(embedding_std * 2**0.5 * waves)
    return model


class Run:
    """One training run: its network, optimizer and progress.

    Each batch is cut into `workers` parts whose gradients are computed side by side, a thread each. Parts wait for
    each other once a step; torch's own threads wait after every operation, which is slow wherever something else runs.
    """

    def __init__(self, settings: Settings, device: str = "cpu", workers: int = 1) -> None:
        self.settings, self.device, self.workers = settings, torch.device(device), workers
        self._pool = ThreadPoolExecutor(workers)
        if workers > 1:
            torch.set_num_threads(1)  # for the optimizer; each worker sets its own
        self.progress = Progress()
        self.model = new_model(settings.model, settings.seed, settings.positions, settings.embedding_std).to(
            self.device
        )
        self.optimizer = Optimizer(self.model, settings.optimizer)
        self.corpus = Corpus(settings.data, settings.start_id)
        self.induction = self.previous_token = float("nan")

    @property
    def path(self) -> Path:
        """The run's checkpoint."""
        return self.settings.run / NAME

    def resume(self) -> bool:
        """Go on from the checkpoint, if there is one.

        Raises:
            CheckpointError: it cannot be read, or is of a network of other sizes.
        """
        if not self.path.exists():
            return False
        saved = load_checkpoint(self.path, self.device)
        if saved.model != asdict(self.settings.model):
            raise CheckpointError(f"{self.path} is of a network of other sizes; move it away or change the settings.")
        self.model.load_state_dict(saved.weights)
        self.optimizer.load_state_dict(saved.optimizer)
        self.progress = saved.progress
        return True

    def keep_vocabulary(self) -> None:
        """Copy the data's vocabulary beside the checkpoint: the network's rows mean these tokens and no others.

        Raises:
            TrainingDataError: the data were prepared again with another vocabulary since the run began.
        """
        theirs, ours = self.settings.data / TIKTOKEN_FILE, self.settings.run / TIKTOKEN_FILE
        if not theirs.exists():  # the first stage needs no data
            return
        if not ours.exists():
            ours.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(theirs, ours)
        elif ours.read_bytes() != theirs.read_bytes():
            raise TrainingDataError(f"{theirs} is not the vocabulary this run began with ({ours}); move the run away.")

    def save(self) -> None:
        """Write the checkpoint."""
        weights = self.model.state_dict()
        save_checkpoint(
            self.path, Checkpoint(weights, self.optimizer.state_dict(), self.progress, asdict(self.settings.model))
        )

    def start_decay(self, n_tokens: int) -> None:
        """Let the learning rate fall to 0 over the next `n_tokens`; the state before is kept as `stable.pt`."""
        if self.progress.decay_from is None:
            self.save()
            shutil.copyfile(self.path, self.path.with_name(STABLE))
            self.progress.decay_from, self.progress.decay_tokens = self.progress.tokens, n_tokens

    def step(self) -> tuple[float, dict[str, float]]:
        """One batch and one update; the mean loss, and by source."""
        progress, settings = self.progress, self.settings
        stage = settings.stages[progress.stage]
        batch = make_batch(self.corpus, stage, settings.batch, seed=settings.seed, step=progress.step)
        inputs, targets, antecedent = (
            torch.as_tensor(part).to(self.device) for part in (batch.inputs, batch.targets, batch.antecedent)
        )
        total = int((targets != IGNORED).sum())
        parts = [
            self._pool.submit(self._gradients, Targets(*part), total)
            for part in zip(*(whole.chunk(self.workers) for whole in (inputs, targets, antecedent)), strict=True)
        ]
        results = [part.result() for part in parts]
        for parameter, *grads in zip(self.model.parameters(), *(result[0] for result in results), strict=True):
            parameter.grad = sum(grads[1:], start=grads[0])
        self.optimizer.step(rate_factor(progress.step, settings.optimizer.warmup_steps, progress.decay_done))
        progress.step += 1
        progress.tokens += inputs.numel()
        progress.stage_tokens += inputs.numel()
        for source in batch.sources:
            progress.tokens_by_source[source] = progress.tokens_by_source.get(source, 0) + inputs.shape[1]
        losses, counts = torch.cat([result[1] for result in results]), torch.cat([result[2] for result in results])
        return float(losses.mean()), _by_source(batch, losses, counts)

    def _gradients(self, part: Targets, total: int) -> tuple[tuple[Tensor, ...], Tensor, Tensor]:
        """Gradients of a part of the batch, with each target's loss; runs beside other parts."""
        if self.workers > 1:
            torch.set_num_threads(1)  # a setting of the calling thread
        autocast = self.settings.pace.autocast
        stage = self.settings.stages[self.progress.stage]
        scales = [self.settings.model.attn_scale(head.layer) for head in stage.guided]
        guided = GuidedHeads(stage.guided, scales) if stage.guided else None
        # No cache of casts: the parts would share it, and no weight is cast twice in one pass.
        with torch.autocast(self.device.type, torch.bfloat16, enabled=autocast, cache_enabled=False):
            resid = self.model(part.inputs, tap=guided.tap if guided else None)
        dtype = torch.bfloat16 if autocast else torch.float32
        loss, losses, counts = next_token_loss(self.model, resid.float(), part.targets, dtype, total)
        if guided:
            loss = loss + stage.guidance / self.workers * guided.loss(part)
        return torch.autograd.grad(loss, list(self.model.parameters())), losses, counts

    def measure(self) -> None:
        """Score the heads on repeated random tokens, and end the stage if they, or its tokens, say so."""
        progress, stage = self.progress, self.settings.stages[self.progress.stage]
        width = min(96, max(width for _, width in stage.shapes))  # later positions have learned nothing yet
        rows = measures.repeated_random(self.settings.seed, 8, width // 2, self.settings.start_id)
        scores = measures.head_scores(self.model, rows)
        self.induction, self.previous_token = (float(scores[n].max()) for n in ("induction", "previous_token"))
        learned = stage.until_induction is not None and self.induction > stage.until_induction
        used_up = stage.max_tokens is not None and progress.stage_tokens >= stage.max_tokens
        if (learned or used_up) and progress.stage + 1 < len(self.settings.stages):
            progress.stage, progress.stage_tokens = progress.stage + 1, 0


def _by_source(batch: Batch, losses: torch.Tensor, counts: torch.Tensor) -> dict[str, float]:
    rows = counts.nonzero()[:, 0].cpu().tolist()
    found: dict[str, list[float]] = defaultdict(list)
    for row, loss in zip(rows, losses.cpu().tolist(), strict=True):
        found[batch.sources[row]].append(loss)
    return {source: sum(values) / len(values) for source, values in found.items()}
