"""Checkpoints from the Hugging Face hub. Only `download_size` and `download` use the network."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from gettext import gettext as _
from pathlib import Path
from typing import Any

from model.errors import CheckpointError
from model.files.family import CONFIG_FILE, read_config
from model.files.safetensors_file import INDEX_FILE, WEIGHTS_FILE, read_index
from model.files.vocabulary import TOKENIZER_FILES

SUGGESTED = ("gpt2", "distilgpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
_SECONDS_BETWEEN_REPORTS = 0.2

Progress = Callable[[int, int], None]  # bytes so far, bytes in total


def local_folder(repo: str) -> Path:
    """The folder of a hub model that is already on this computer.

    Raises:
        CheckpointError: the name is not a hub name, or the model has not been downloaded.
    """
    from huggingface_hub import try_to_load_from_cache

    _check_name(repo)
    config, whole, index = (try_to_load_from_cache(repo, name) for name in (CONFIG_FILE, WEIGHTS_FILE, INDEX_FILE))
    here = isinstance(config, str) and (isinstance(whole, str) or _has_shards(index))
    if not here:
        raise CheckpointError(
            _(
                "The model {repo} is not on this computer. Download it on the Models page, or "
                'with model.files.hub.download("{repo}").'
            ).format(repo=repo)
        )
    return Path(str(config)).parent


def _has_shards(index: object) -> bool:
    """Whether the index is here, and all that it names."""
    if not isinstance(index, str):
        return False
    folder = Path(index).parent
    return all((folder / shard).is_file() for shard in set(read_index(folder).values()))


def local_models() -> list[str]:
    """The models in `SUGGESTED` that are already on this computer."""
    return [repo for repo in SUGGESTED if _is_local(repo)]


def _is_local(repo: str) -> bool:
    try:
        local_folder(repo)
    except CheckpointError:
        return False
    return True


def download_size(repo: str) -> int:
    """How many bytes `download` would fetch now, without the files that are already here.

    Raises:
        CheckpointError: no such repository, no connection, or no weights in `.safetensors` files.
    """
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import RemoteEntryNotFoundError

    _check_name(repo)
    with _named_errors(repo):
        _reach(repo)
        plans = [hf_hub_download(repo, name, dry_run=True) for name in (CONFIG_FILE, *_weights_files(repo))]
        for name in TOKENIZER_FILES:
            with suppress(RemoteEntryNotFoundError):
                plans.append(hf_hub_download(repo, name, dry_run=True))
    return sum(plan.file_size or 0 for plan in plans if plan.will_download)


def download(repo: str, progress: Progress | None = None) -> Path:
    """Download config, weights and vocabulary of `repo` into Hugging Face's cache; returns the model's folder.

    `progress` is called with the bytes of the weights, in the calling thread and a few times a second; an exception
    that it raises is passed on. Files that are already here are not downloaded again; an interrupted one starts over.

    Raises:
        CheckpointError: as `download_size`.
        ConfigError: a kind of model that is not supported; its weights are not downloaded.
    """
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import RemoteEntryNotFoundError

    _check_name(repo)
    with _named_errors(repo):
        _reach(repo)
        read_config(Path(hf_hub_download(repo, CONFIG_FILE)).parent)  # before the weights, which may be gigabytes
        for name in TOKENIZER_FILES:  # whichever there are
            with suppress(RemoteEntryNotFoundError):
                hf_hub_download(repo, name)
        _download_weights(repo, progress or (lambda done, total: None))
    return local_folder(repo)


def _weights_files(repo: str) -> list[str]:
    """The one file of the weights, or the index and the shards that it names; the index is downloaded for that."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import RemoteEntryNotFoundError

    try:
        hf_hub_download(repo, WEIGHTS_FILE, dry_run=True)
    except RemoteEntryNotFoundError:
        folder = Path(hf_hub_download(repo, INDEX_FILE)).parent
        return [INDEX_FILE, *sorted(set(read_index(folder).values()))]
    return [WEIGHTS_FILE]


def _download_weights(repo: str, progress: Progress) -> None:
    """Download in another thread and report from this one: the hub's client counts bytes in its own threads."""
    from huggingface_hub import hf_hub_download

    files = _weights_files(repo)
    plans = [hf_hub_download(repo, name, dry_run=True) for name in files]
    sizes = [plan.file_size or 0 for plan in plans]
    pool = ThreadPoolExecutor(max_workers=1)
    try:
        for number, name in enumerate(files):
            before, count = sum(sizes[:number]), _Count()
            job = pool.submit(hf_hub_download, repo, name, tqdm_class=_counting_bar(count))
            while wait([job], timeout=_SECONDS_BETWEEN_REPORTS).not_done:
                progress(before + count.now()[0], sum(sizes))
            job.result()
            progress(before + sizes[number], sum(sizes))
    finally:
        pool.shutdown(wait=False)


class _Count:
    """Bytes so far and in total, written by one thread and read by another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done = self._total = 0

    def now(self) -> tuple[int, int]:
        with self._lock:
            return self._done, self._total

    def set(self, done: float, total: float) -> None:
        with self._lock:
            self._done, self._total = int(done), int(total)


def _counting_bar(count: _Count) -> type[Any]:
    from huggingface_hub.utils.tqdm import tqdm

    class Bar(tqdm):
        """Counts instead of printing."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "disable": True})
            count.set(self.n, self.total or 0)

        def update(self, n: float | None = 1) -> None:
            self.n += n or 0
            count.set(self.n, self.total or 0)

        # With these two methods the client uses one bar for bytes written and bytes received, not two.
        def update_transfer(self, n: float) -> None:
            pass

        def set_transfer_postfix_str(self, text: str, refresh: bool = True) -> None:
            pass

    return Bar


def _check_name(repo: str) -> None:
    from huggingface_hub import hf_hub_url
    from huggingface_hub.errors import HFValidationError

    wrong = CheckpointError(
        _("{repo!r} is neither a folder here nor a hub name such as gpt2 or owner/name.").format(repo=repo)
    )
    if not _NAME.fullmatch(repo):
        raise wrong
    try:
        hf_hub_url(repo, WEIGHTS_FILE)  # no request: it checks the name by the hub's rules
    except HFValidationError as error:
        raise wrong from error


def _reach(repo: str) -> None:
    """Request the smallest file once: without a connection `hf_hub_download` would retry for half a minute."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    get_hf_file_metadata(hf_hub_url(repo, CONFIG_FILE))


@contextmanager
def _named_errors(repo: str) -> Iterator[None]:
    import httpx2
    from huggingface_hub import errors

    try:
        yield
    except errors.RemoteEntryNotFoundError as error:
        raise CheckpointError(
            _("{repo} has no config.json or no .safetensors weights on the hub; only these are read.").format(repo=repo)
        ) from error
    except errors.RepositoryNotFoundError as error:  # private and gated ones included
        raise CheckpointError(_("The hub has no public model called {repo}.").format(repo=repo)) from error
    except errors.OfflineModeIsEnabled as error:
        raise CheckpointError(
            _(
                "{repo} is not downloaded, because HF_HUB_OFFLINE is set. Unset it to download; models that are on "
                "this computer can be shown anyway."
            ).format(repo=repo)
        ) from error
    except (httpx2.HTTPError, errors.LocalEntryNotFoundError, ConnectionError) as error:
        raise CheckpointError(
            _(
                "{repo} could not be downloaded: the hub cannot be reached. Check the connection and try again; "
                "models that are on this computer need none."
            ).format(repo=repo)
        ) from error
    except (OSError, RuntimeError) as error:  # a full disk, a folder that cannot be written, a file that changed
        raise CheckpointError(
            _("{repo} could not be downloaded or stored: {error}").format(repo=repo, error=error)
        ) from error
