"""The steps inside a block in words: their names in the list, and what each does, with the model's own sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from model.network.sizes import Config
from model.steps.block import STEPS, Check
from viz.text.catalogue import N_, _
from viz.text.numbers import difference_text

NOT_DRAWN = N_(":gray-badge[not drawn in the article]")


@dataclass(frozen=True)
class StepWords:
    """How a step is called, whether the article draws it, and its explanation in Markdown for a model and layer."""

    number: str
    name: str
    drawn: bool
    explain: Callable[[Config, int], str]

    @property
    def title(self) -> str:
        """Number and name."""
        return f"{self.number} {_(self.name)}".strip()


def told(check: Check) -> str:
    """The check of a step in a few characters."""
    if check.difference == 0:
        return _("✓ exact")
    return f"✓ {difference(check)}" if check.holds else _("✗ differs by {difference}", difference=difference(check))


def difference(check: Check) -> str:
    """The largest difference as a number."""
    return difference_text(check.difference)


def _input(config: Config, layer: int) -> str:
    if layer == 0:
        return _(
            "The token's row of `wte` ({d_vocab:,} × {d_model:,}) plus the row of `wpe` ({n_ctx:,} × "
            "{d_model:,}) for its position. Their sum is what the first layer receives.",
            d_vocab=config.d_vocab,
            d_model=config.d_model,
            n_ctx=config.n_ctx,
        )
    return _(
        "Layer {layer} receives the vector that layer {below} left for this token: that layer's residual "
        "stream after its attention, plus its MLP's result.",
        layer=layer,
        below=layer - 1,
    )


def _norm(weight: str) -> Callable[[Config, int], str]:
    return lambda config, layer: _(
        "The {d_model:,} numbers are brought to mean 0 and variance 1, then multiplied by "
        "`{weight}.weight` and shifted by `{weight}.bias`, number by number. Only this branch is "
        "normalised; the stream stays as it is.",
        d_model=config.d_model,
        weight=weight,
    )


def _qkv(config: Config, layer: int) -> str:
    d = config.d_model
    return _(
        "x ({d:,}) × `attn.c_attn.weight` ({d:,} × {wide:,}) + `attn.c_attn.bias` ({wide:,}) gives "
        ":violet[query], :orange[key] and :blue[value] side by side ({d:,} each). The bias is not drawn in "
        "the article.",
        d=d,
        wide=3 * d,
    )


def _split(config: Config, layer: int) -> str:
    return _(
        "Nothing is computed: each vector of {d_model:,} is cut into {n_heads} pieces of {d_head}, one for "
        "each head. From here to the merge the heads work apart.",
        d_model=config.d_model,
        n_heads=config.n_heads,
        d_head=config.d_head,
    )


def _score(config: Config, layer: int) -> str:
    if config.attn_scale(layer) == config.d_head**-0.5:
        return _(
            "The head's query meets the key of every token up to this one: a dot product, divided by the square root "
            "of {d_head} (not drawn in the article), then a softmax, which makes weights that add up to 1.",
            d_head=config.d_head,
        )
    return _(
        "The head's query meets the key of every token up to this one: a dot product, multiplied by {scale:.4g} (not "
        "drawn in the article), then a softmax, which makes weights that add up to 1.",
        scale=config.attn_scale(layer),
    )


def _sum(config: Config, layer: int) -> str:
    return _(
        "Each value vector times its token's weight; the sum of the rows is the head's output z ({d_head}).",
        d_head=config.d_head,
    )


def _merge(config: Config, layer: int) -> str:
    return _(
        "The outputs of all {n_heads} heads are laid end to end, head 0 first: {d_model:,} numbers. Again "
        "nothing is computed.",
        n_heads=config.n_heads,
        d_model=config.d_model,
    )


def _project(config: Config, layer: int) -> str:
    d = config.d_model
    return _(
        "z ({d:,}) × `attn.c_proj.weight` ({d:,} × {d:,}) + `attn.c_proj.bias` ({d:,}, not drawn in the "
        "article) mixes what the heads found into one vector of the model's own size.",
        d=d,
    )


def _first(config: Config, layer: int) -> str:
    d, wide = config.d_model, config.d_mlp
    return _(
        "The normalised vector ({d:,}) × `mlp.c_fc.weight` ({d:,} × {wide:,}) + `mlp.c_fc.bias` ({wide:,}, "
        "not drawn in the article). Each token passes through the MLP alone.",
        d=d,
        wide=wide,
    )


def _gelu(config: Config, layer: int) -> str:
    if config.tanh_gelu:
        return _(
            "Negative numbers are pressed towards 0, large ones pass: GELU, in the form with tanh, on each of the "
            "{d_mlp:,} numbers alone.",
            d_mlp=config.d_mlp,
        )
    return _(
        "Negative numbers are pressed towards 0, large ones pass: GELU, in the exact form, on each of the {d_mlp:,} "
        "numbers alone.",
        d_mlp=config.d_mlp,
    )


def _second(config: Config, layer: int) -> str:
    d, wide = config.d_model, config.d_mlp
    return _(
        "Back to the model's size: {wide:,} numbers × `mlp.c_proj.weight` ({wide:,} × {d:,}) + "
        "`mlp.c_proj.bias` ({d:,}, not drawn in the article).",
        wide=wide,
        d=d,
    )


def _add_attention(config: Config, layer: int) -> str:
    return _(
        "What attention found is added to the vector that came in; nothing of it is lost. The sum goes on to the MLP."
    )


def _add_mlp(config: Config, layer: int) -> str:
    if layer + 1 < config.n_layers:
        return _(
            "The MLP's result is added in the same way. This is the layer's output: layer {next} receives it.",
            next=layer + 1,
        )
    return _(
        "The MLP's result is added in the same way. This is the layer's output: it goes on to the next token's scores."
    )


WORDS: dict[str, StepWords] = dict(
    zip(
        STEPS,
        (
            StepWords("", N_("The vector that comes in"), True, _input),
            StepWords("", N_("LayerNorm"), False, _norm("ln_1")),
            StepWords("1)", N_("Create q, k, v"), True, _qkv),
            StepWords("1.5)", N_("Split heads"), True, _split),
            StepWords("2)", N_("Score"), True, _score),
            StepWords("3)", N_("Sum"), True, _sum),
            StepWords("3.5)", N_("Merge heads"), True, _merge),
            StepWords("4)", N_("Project"), True, _project),
            StepWords("", N_("Add to the stream"), False, _add_attention),
            StepWords("", N_("LayerNorm before the MLP"), False, _norm("ln_2")),
            StepWords("MLP 1)", N_("First layer"), True, _first),
            StepWords("", N_("GELU"), False, _gelu),
            StepWords("MLP 2)", N_("Second layer"), True, _second),
            StepWords("", N_("Add: the layer's output"), False, _add_mlp),
        ),
        strict=True,
    )
)
