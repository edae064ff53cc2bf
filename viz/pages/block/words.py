"""The steps inside a block in words: their names in the list, and what each does, with the model's own sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from model.network.network import Network
from model.network.parameters import Role, block_matrices
from model.network.parts import Linear
from model.steps.block import STEPS, Check
from viz.text.catalogue import N_, _
from viz.text.numbers import difference_text

Explain = Callable[[Network, int], str]

NOT_DRAWN = N_(":gray-badge[not drawn in the article]")


@dataclass(frozen=True)
class StepWords:
    """How a step is called, whether the article draws it, and its explanation in Markdown for a model and layer.

    `gated` and `rms` are its names in models with a gated MLP and with RMSNorm, where these differ.
    """

    number: str
    name: str
    drawn: bool
    explain: Explain
    gated: str = ""
    rms: str = ""

    def title(self, network: Network) -> str:
        """Number and name."""
        config = network.config
        other = (config.gated and self.gated) or (config.norm == "RMSNorm" and self.rms)
        return f"{self.number} {_(other or self.name)}".strip()


def told(check: Check) -> str:
    """The check of a step in a few characters."""
    if check.difference == 0:
        return _("✓ exact")
    return f"✓ {difference(check)}" if check.holds else _("✗ differs by {difference}", difference=difference(check))


def difference(check: Check) -> str:
    """The largest difference as a number."""
    return difference_text(check.difference)


def _input(network: Network, layer: int) -> str:
    config = network.config
    if layer:
        return _(
            "Layer {layer} receives the vector that layer {below} left for this token: that layer's residual "
            "stream after its attention, plus its MLP's result.",
            layer=layer,
            below=layer - 1,
        )
    if network.wpe is None:
        return _(
            "The token's row of `wte` ({d_vocab:,} × {d_model:,}) is what the first layer receives. Nothing is added "
            "for its position: that comes in where queries and keys are turned.",
            d_vocab=config.d_vocab,
            d_model=config.d_model,
        )
    return _(
        "The token's row of `wte` ({d_vocab:,} × {d_model:,}) plus the row of `wpe` ({n_ctx:,} × "
        "{d_model:,}) for its position. Their sum is what the first layer receives.",
        d_vocab=config.d_vocab,
        d_model=config.d_model,
        n_ctx=config.n_ctx,
    )


def _norm(weight: str) -> Explain:
    def explain(network: Network, layer: int) -> str:
        if network.config.norm == "RMSNorm":
            return _(
                "The {d_model:,} numbers are divided by the square root of their mean square, then multiplied by "
                "`{weight}.weight`, number by number. Only this branch is normalised; the stream stays as it is.",
                d_model=network.config.d_model,
                weight=weight,
            )
        return _(
            "The {d_model:,} numbers are brought to mean 0 and variance 1, then multiplied by "
            "`{weight}.weight` and shifted by `{weight}.bias`, number by number. Only this branch is "
            "normalised; the stream stays as it is.",
            d_model=network.config.d_model,
            weight=weight,
        )

    return explain


def _qkv(network: Network, layer: int) -> str:
    (linear, _first), *others = network.qkv_projections(layer)
    config = network.config
    d, sizes = config.d_model, {"q": config.n_heads * config.d_head, "kv": config.n_kv_heads * config.d_head}
    if all(other is linear for other, _first in others):
        said = _(
            "x ({d:,}) × `attn.c_attn.weight` ({d:,} × {wide:,}) gives :violet[query], :orange[key] and :blue[value] "
            "side by side ({d:,} each).",
            d=d,
            wide=3 * d,
        )
    else:
        said = _(
            "x ({d:,}) × `attn.q_proj` ({d:,} × {q:,}) gives the :violet[query], × `attn.k_proj` ({d:,} × {kv:,}) the "
            ":orange[key], × `attn.v_proj` ({d:,} × {kv:,}) the :blue[value].",
            d=d,
            **sizes,
        )
    if linear.bias is None:
        return f"{said} {_('None of them has a bias.')}"
    return f"{said} {_('A bias is added, which is not drawn in the article.')}"


def _split(network: Network, layer: int) -> str:
    config = network.config
    if config.group == 1:
        return _(
            "Nothing is computed: each vector of {d_model:,} is cut into {n_heads} pieces of {d_head}, one for "
            "each head. From here to the merge the heads work apart.",
            d_model=config.n_heads * config.d_head,
            n_heads=config.n_heads,
            d_head=config.d_head,
        )
    return _(
        "Nothing is computed: the query is cut into {n_heads} pieces of {d_head}, one for each head; key and value "
        "only into {n_kv_heads}. {group} query heads in a row share a key and a value.",
        n_heads=config.n_heads,
        n_kv_heads=config.n_kv_heads,
        d_head=config.d_head,
        group=config.group,
    )


def _qk_norm(network: Network, layer: int) -> str:
    return _(
        "Each head's query and key is divided by the square root of its mean square, then multiplied by `attn.q_norm` "
        "or `attn.k_norm`, number by number: no score can grow without bound."
    )


def _rotation(network: Network, layer: int) -> str:
    return _(
        "Each pair of numbers, one of either half of the vector, is turned by an angle that grows with the position: "
        "fast for the first pair, slowly for the last of {pairs}. So a score depends on how far apart two tokens are, "
        "and not on where they stand.",
        pairs=network.config.d_head // 2,
    )


def _score(network: Network, layer: int) -> str:
    config = network.config
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


def _sum(network: Network, layer: int) -> str:
    return _(
        "Each value vector times its token's weight; the sum of the rows is the head's output z ({d_head}).",
        d_head=network.config.d_head,
    )


def _merge(network: Network, layer: int) -> str:
    return _(
        "The outputs of all {n_heads} heads are laid end to end, head 0 first: {wide:,} numbers. Again "
        "nothing is computed.",
        n_heads=network.config.n_heads,
        wide=network.config.n_heads * network.config.d_head,
    )


def _project(network: Network, layer: int) -> str:
    said = _(
        "z ({rows:,}) × `{name}.weight` ({rows:,} × {columns:,}) mixes what the heads found into one vector of the "
        "model's own size.",
        **_sizes(network, "out"),
    )
    return _with_bias(said, network.block(layer).attn.out)


def _first(network: Network, layer: int) -> str:
    said = _(
        "The normalised vector ({rows:,}) × `{name}.weight` ({rows:,} × {columns:,}). Each token passes through the "
        "MLP alone.",
        **_sizes(network, "mlp_in"),
    )
    return _with_bias(said, network.block(layer).mlp.inputs[0])


def _up(network: Network, layer: int) -> str:
    said = _(
        "The same normalised vector ({rows:,}) × a second matrix, `{name}.weight` ({rows:,} × {columns:,}): what the "
        "gate may let through.",
        **_sizes(network, "mlp_in"),
    )
    return _with_bias(said, network.block(layer).mlp.inputs[-1])


def _activation(network: Network, layer: int) -> str:
    config = network.config
    if config.gated:
        return _(
            "The gate's {d_mlp:,} numbers pass through SiLU: negative ones are pressed towards 0, large ones pass. "
            "Each then multiplies its number of the second matrix: the gate decides how much of it goes on.",
            d_mlp=config.d_mlp,
        )
    if config.activation == "gelu_tanh":
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


def _second(network: Network, layer: int) -> str:
    said = _(
        "Back to the model's size: {rows:,} numbers × `{name}.weight` ({rows:,} × {columns:,}).",
        **_sizes(network, "mlp_out"),
    )
    return _with_bias(said, network.block(layer).mlp.out)


def _sizes(network: Network, role: Role) -> dict[str, str | int]:
    """The name, rows and columns of a block's (last) matrix in this role."""
    matrix = next(matrix for matrix in reversed(block_matrices(network, 0)) if matrix.role == role)
    rows, columns = matrix.weight.shape
    return {"name": matrix.name, "rows": rows, "columns": columns}


def _with_bias(said: str, linear: Linear) -> str:
    if linear.bias is None:
        return said
    return f"{said} {_('A bias is added, which is not drawn in the article.')}"


def _add_attention(network: Network, layer: int) -> str:
    return _(
        "What attention found is added to the vector that came in; nothing of it is lost. The sum goes on to the MLP."
    )


def _add_mlp(network: Network, layer: int) -> str:
    if layer + 1 < network.config.n_layers:
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
            StepWords("", N_("LayerNorm"), False, _norm("ln_1"), rms=N_("RMSNorm")),
            StepWords("1)", N_("Create q, k, v"), True, _qkv),
            StepWords("1.5)", N_("Split heads"), True, _split),
            StepWords("", N_("Norm of q and k"), False, _qk_norm),
            StepWords("", N_("Turn q and k"), False, _rotation),
            StepWords("2)", N_("Score"), True, _score),
            StepWords("3)", N_("Sum"), True, _sum),
            StepWords("3.5)", N_("Merge heads"), True, _merge),
            StepWords("4)", N_("Project"), True, _project),
            StepWords("", N_("Add to the stream"), False, _add_attention),
            StepWords("", N_("LayerNorm before the MLP"), False, _norm("ln_2"), rms=N_("RMSNorm before the MLP")),
            StepWords("MLP 1)", N_("First layer"), True, _first, gated=N_("Gate")),
            StepWords("", N_("Up projection"), False, _up),
            StepWords("", N_("GELU"), False, _activation, gated=N_("Gate times up")),
            StepWords("MLP 2)", N_("Second layer"), True, _second, gated=N_("Down projection")),
            StepWords("", N_("Add: the layer's output"), False, _add_mlp),
        ),
        strict=True,
    )
)
