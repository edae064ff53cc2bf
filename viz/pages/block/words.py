"""The steps inside a block in words: their names in the list, and what each does, with the model's own sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from model.network.config import GPT2Config
from model.steps.block import STEPS, Check
from viz.text.numbers import difference_text

NOT_DRAWN = ":gray-badge[not drawn in the article]"


@dataclass(frozen=True)
class StepWords:
    """How a step is called, whether the article draws it, and its explanation in Markdown for a model and layer."""

    number: str
    name: str
    drawn: bool
    explain: Callable[[GPT2Config, int], str]

    @property
    def title(self) -> str:
        """Number and name."""
        return f"{self.number} {self.name}".strip()


def scaling(config: GPT2Config, layer: int) -> str:
    """What each query-key product is multiplied by, in words."""
    if config.attn_scale(layer) == config.d_head**-0.5:
        return f"divided by the square root of {config.d_head}"
    return f"multiplied by {config.attn_scale(layer):.4g}"


def told(check: Check) -> str:
    """The check of a step in a few characters."""
    if check.difference == 0:
        return "✓ exact"
    return f"{'✓' if check.holds else '✗ differs by'} {difference(check)}"


def difference(check: Check) -> str:
    """The largest difference as a number."""
    return difference_text(check.difference)


def _input(config: GPT2Config, layer: int) -> str:
    if layer == 0:
        return (
            f"The token's row of `wte` ({config.d_vocab:,} × {config.d_model:,}) plus the row of `wpe` "
            f"({config.n_ctx:,} × {config.d_model:,}) for its position. Their sum is what the first layer receives."
        )
    return (
        f"Layer {layer} receives the vector that layer {layer - 1} left for this token: that layer's residual stream "
        "after its attention, plus its MLP's result."
    )


def _norm(weight: str) -> Callable[[GPT2Config, int], str]:
    return lambda config, layer: (
        f"The {config.d_model:,} numbers are brought to mean 0 and variance 1, then multiplied by `{weight}.weight` "
        f"and shifted by `{weight}.bias`, number by number. Only this branch is normalised; the stream stays as it is."
    )


def _qkv(config: GPT2Config, layer: int) -> str:
    d = config.d_model
    return (
        f"x ({d:,}) × `attn.c_attn.weight` ({d:,} × {3 * d:,}) + `attn.c_attn.bias` ({3 * d:,}) gives :violet[query], "
        f":orange[key] and :blue[value] side by side ({d:,} each). The bias is not drawn in the article."
    )


def _split(config: GPT2Config, layer: int) -> str:
    return (
        f"Nothing is computed: each vector of {config.d_model:,} is cut into {config.n_heads} pieces of "
        f"{config.d_head}, one for each head. From here to the merge the heads work apart."
    )


def _score(config: GPT2Config, layer: int) -> str:
    return (
        "The head's query meets the key of every token up to this one: a dot product, "
        f"{scaling(config, layer)} (not drawn in the article), then a softmax, which makes weights that add up to 1."
    )


def _sum(config: GPT2Config, layer: int) -> str:
    return f"Each value vector times its token's weight; the sum of the rows is the head's output z ({config.d_head})."


def _merge(config: GPT2Config, layer: int) -> str:
    return (
        f"The outputs of all {config.n_heads} heads are laid end to end, head 0 first: {config.d_model:,} numbers. "
        "Again nothing is computed."
    )


def _project(config: GPT2Config, layer: int) -> str:
    d = config.d_model
    return (
        f"z ({d:,}) × `attn.c_proj.weight` ({d:,} × {d:,}) + `attn.c_proj.bias` ({d:,}, not drawn in the article) "
        "mixes what the heads found into one vector of the model's own size."
    )


def _first(config: GPT2Config, layer: int) -> str:
    d, wide = config.d_model, config.d_mlp
    return (
        f"The normalised vector ({d:,}) × `mlp.c_fc.weight` ({d:,} × {wide:,}) + `mlp.c_fc.bias` ({wide:,}, not drawn "
        "in the article). Each token passes through the MLP alone."
    )


def _gelu(config: GPT2Config, layer: int) -> str:
    form = "the form with tanh" if config.tanh_gelu else "the exact form"
    return (
        f"Negative numbers are pressed towards 0, large ones pass: GELU, in {form}, "
        f"on each of the {config.d_mlp:,} numbers alone."
    )


def _second(config: GPT2Config, layer: int) -> str:
    d, wide = config.d_model, config.d_mlp
    return (
        f"Back to the model's size: {wide:,} numbers × `mlp.c_proj.weight` ({wide:,} × {d:,}) + `mlp.c_proj.bias` "
        f"({d:,}, not drawn in the article)."
    )


def _add_attention(config: GPT2Config, layer: int) -> str:
    return (
        "What attention found is added to the vector that came in; nothing of it is lost. The sum goes on to the MLP."
    )


def _add_mlp(config: GPT2Config, layer: int) -> str:
    after = f"layer {layer + 1} receives it" if layer + 1 < config.n_layers else "it goes on to the next token's scores"
    return f"The MLP's result is added in the same way. This is the layer's output: {after}."


WORDS: dict[str, StepWords] = dict(
    zip(
        STEPS,
        (
            StepWords("", "The vector that comes in", True, _input),
            StepWords("", "LayerNorm", False, _norm("ln_1")),
            StepWords("1)", "Create q, k, v", True, _qkv),
            StepWords("1.5)", "Split heads", True, _split),
            StepWords("2)", "Score", True, _score),
            StepWords("3)", "Sum", True, _sum),
            StepWords("3.5)", "Merge heads", True, _merge),
            StepWords("4)", "Project", True, _project),
            StepWords("", "Add to the stream", False, _add_attention),
            StepWords("", "LayerNorm before the MLP", False, _norm("ln_2")),
            StepWords("MLP 1)", "First layer", True, _first),
            StepWords("", "GELU", False, _gelu),
            StepWords("MLP 2)", "Second layer", True, _second),
            StepWords("", "Add: the layer's output", False, _add_mlp),
        ),
        strict=True,
    )
)
