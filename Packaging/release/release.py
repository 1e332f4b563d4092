#!/usr/bin/env python3
"""The parts of scripts/release. Each command prints one line for each problem, and exits with 1 if there is one.

    release.py check VERSION [--dry-run] [--unsigned] [--output DIR]   says what stands in the way of a release of the current commit
    release.py compare FIRST SECOND                  compares two folders of packages byte by byte
    release.py inventory VERSION TREE PACKAGES FILE  writes what the programs of a built tree consist of, and what they open, as JSON
    release.py sbom INVENTORY FOLDER                 writes bills of materials of the packages in FOLDER, as SPDX and CycloneDX
    release.py notes VERSION FOLDER [--unsigned]     writes release-notes.md from CHANGELOG.md and the files of FOLDER
    release.py sums FOLDER                           writes SHA256SUMS
    release.py sign VERSION FOLDER                   signs SHA256SUMS with minisign

The secret key is the file $IMGCACHE_MINISIGN_KEY, its password $IMGCACHE_MINISIGN_PASSWORD, and the public key, which is optional, the file
$IMGCACHE_MINISIGN_PUBLIC. Only `sbom` needs the libraries of requirements.txt. The same input gives the same bytes.
"""

from __future__ import annotations

import argparse
import datetime
import filecmp
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Optional

NAME = "imgcache"
URL = "https://github.com/imgcache/imgcache"
MAINTAINERS = "The imgcache maintainers"
SUMS, SIGNATURE, NOTES = "SHA256SUMS", "SHA256SUMS.minisig", "release-notes.md"

NUMBER = r"(?:0|[1-9]\d*)"
VERSION = re.compile(rf"{NUMBER}\.{NUMBER}\.{NUMBER}")

# The places that state the version.
STATED = {
    "Sources/ProgramVersion/ProgramVersion.swift": r'static let number = "([^"]*)"',
    "Sources/ImageProxy/ImageProxy.docc/Deploying.md": r"registry\.example\.com/imgcache:(\S+)",
    "Tests/ServerIntegrationTests/LifecycleTests.swift": r"imgcache-server (\S+) listening",
    "scripts/dist/kubernetes.yaml": r"image: \S+/imgcache:(\S+)",
}

# The names of a release's files, their purpose, and the programs in them.
KINDS: list[tuple[str, str, list[str]]] = [
    (r"imgcache_.*\.deb", "the command on Debian and Ubuntu", ["imgcache"]),
    (r"imgcache-server_.*\.deb", "the service on Debian and Ubuntu", ["imgcache-server"]),
    (r"imgcache-.*\.tar\.gz", "both programs on another distribution", ["imgcache", "imgcache-server"]),
    (r"imgcache-.*\.whl", "the command and its Python package", ["imgcache"]),
    (r"imgcache-.*\.oci\.tar", "the service in a container", ["imgcache", "imgcache-server"]),
    (r"imgcache-.*\.spdx\.json", "bill of materials, SPDX 2.3", []),
    (r"imgcache-.*\.cdx\.json", "bill of materials, CycloneDX 1.6", []),
    (r"Package\.resolved", "versions of the Swift packages, for a build of your own", []),
]


class Failure(Exception):
    """A problem that a person can solve, as a sentence."""


def run(*command: str, folder: Optional[Path] = None) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{' '.join(command[:3])} … failed: {done.stderr.strip()}")
    return done.stdout


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def kind(name: str) -> tuple[str, list[str]]:
    """The purpose of a file of a release, and the programs in it."""
    for pattern, purpose, programs in KINDS:
        if re.fullmatch(pattern, name):
            return purpose, programs
    raise Failure(f"no kind of package has a file {name}; add it to KINDS in Packaging/release/release.py")


# Checks before the build


def section(changelog: str, version: str) -> Optional[str]:
    """The text of the changelog below `## VERSION - YYYY-MM-DD`, or None."""
    begin = re.search(rf"^## {re.escape(version)} - (\d{{4}}-\d\d-\d\d)[ \t]*$", changelog, re.M)
    if not begin:
        return None
    try:
        datetime.date.fromisoformat(begin[1])
    except ValueError:
        return None
    rest = changelog[begin.end() :]
    end = re.search(r"^## ", rest, re.M)
    return rest[: end.start() if end else None].strip()


def unclean(tree: Path) -> list[str]:
    lines = run("git", "status", "--porcelain", "--untracked-files=all", folder=tree).splitlines()
    if not lines:
        return []
    more = f" and {len(lines) - 3} more" if len(lines) > 3 else ""
    return [f"the tree is not clean: commit or remove {', '.join(line[3:] for line in lines[:3])}{more}"]


def misstated(tree: Path, version: str) -> list[str]:
    found = []
    for name, pattern in STATED.items():
        file = tree / name
        text = file.read_text() if file.exists() else ""
        matches = list(re.finditer(pattern, text, re.M))
        if not matches:
            found.append(f"{name} does not state the version where it did; correct STATED in Packaging/release/release.py")
        for match in matches:
            if match[1] != version:
                found.append(f"{name}:{text.count(chr(10), 0, match.start(1)) + 1} states version {match[1]}, not {version}")
    return found


def misplaced_tags(tree: Path, version: str) -> list[str]:
    head = run("git", "rev-parse", "HEAD", folder=tree).strip()
    found = []
    for tag in version, f"v{version}":
        asked = ["git", "rev-parse", "--verify", "--quiet", f"refs/tags/{tag}^{{commit}}"]
        commit = subprocess.run(asked, cwd=tree, capture_output=True, text=True).stdout.strip()
        if commit and commit != head:
            found.append(f"the tag {tag} is on commit {commit[:12]}, not on the current one, {head[:12]}")
    return found


def complaints(tree: Path, version: str) -> list[str]:
    """All that stands in the way of a release of the current commit."""
    found = unclean(tree)
    if not VERSION.fullmatch(version):
        return [f"the version {version or '(empty)'} is not three numbers, such as 1.2.3", *found]
    changelog = tree / "CHANGELOG.md"
    notes = section(changelog.read_text() if changelog.exists() else "", version)
    if notes is None:
        found.append(f"CHANGELOG.md has no section ## {version} - YYYY-MM-DD with the day of the release")
    elif not notes:
        found.append(f"the section of {version} in CHANGELOG.md is empty")
    return found + misstated(tree, version) + misplaced_tags(tree, version)


# Sums and signatures


def sign(file: Path, comment: str) -> None:
    """Signs a file beside it, and verifies the signature if there is a public key."""
    key, public = os.environ.get("IMGCACHE_MINISIGN_KEY"), os.environ.get("IMGCACHE_MINISIGN_PUBLIC")
    if not key:
        raise Failure("IMGCACHE_MINISIGN_KEY does not name the file of a secret key; set it, or use --unsigned")
    if not Path(key).is_file():
        raise Failure(f"IMGCACHE_MINISIGN_KEY is {key}, which is no file")
    if public and not Path(public).is_file():
        raise Failure(f"IMGCACHE_MINISIGN_PUBLIC is {public}, which is no file")
    signature = f"{file}.minisig"
    signing = ["minisign", "-S", "-s", key, "-m", str(file), "-x", signature, "-c", f"signature of {comment}", "-t", comment]
    password = os.environ.get("IMGCACHE_MINISIGN_PASSWORD")
    done = subprocess.run(signing, input=password + "\n" if password else "", capture_output=True, text=True)
    if done.returncode:
        raise Failure(
            f"minisign cannot sign with {key}; is its password in IMGCACHE_MINISIGN_PASSWORD? It said: "
            + " ".join((done.stdout + " " + done.stderr).split())
        )
    if public:
        verifying = ["minisign", "-V", "-q", "-p", public, "-m", str(file), "-x", signature]
        if subprocess.run(verifying, capture_output=True).returncode:
            raise Failure(f"the public key {public} does not verify what the secret key {key} signs")


def trial_signature() -> list[str]:
    """Signs a file for nothing: a wrong password is known before the build."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trial")
        file.write_text("trial\n")
        try:
            sign(file, "a trial")
        except Failure as failure:
            return [str(failure)]
    return []


def release_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.name not in (SUMS, SIGNATURE))


def write_sums(folder: Path) -> None:
    (folder / SUMS).write_text("".join(f"{digest(file)}  {file.name}\n" for file in release_files(folder)))


def write_notes(changelog: str, version: str, folder: Path, public: Optional[str], signed: bool) -> None:
    notes = section(changelog, version)
    if notes is None:
        raise Failure(f"CHANGELOG.md has no section of {version}")
    lines = [f"# {NAME} {version}", "", notes, "", "## Files", "", "| file | for | bytes | SHA-256 |", "|---|---|---:|---|"]
    for file in release_files(folder):
        if file.name != NOTES:
            lines.append(f"| `{file.name}` | {kind(file.name)[0]} | {file.stat().st_size} | `{digest(file)}` |")
    lines += ["", "## Verify", ""]
    if signed:
        # The second line of the file is the key.
        key = f"-P {Path(public).read_text().splitlines()[1]}" if public else f"-p {NAME}.pub"
        lines += [
            f"Put `{SUMS}` and `{SIGNATURE}` beside the files that you have downloaded. minisign verifies the sums with the public key, and",
            "sha256sum verifies the files:", "",
            f"    minisign -Vm {SUMS} {key}",
        ]
    else:
        lines += [f"This release is not signed. With `{SUMS}` beside them, sha256sum finds damaged files:", ""]
    lines += [f"    sha256sum --check --ignore-missing {SUMS}", ""]
    (folder / NOTES).write_text("\n".join(lines))


# Inventory: facts of the machine that has built, without the SBOM libraries


def debian_owner(path: str) -> Optional[dict[str, str]]:
    """The Debian package that installed a file; * stands for any folder of libraries."""
    asked = [path, os.path.realpath(path)] if "*" not in path else [path]
    # Debian's files are known under /lib or /usr/lib, which are the same folder.
    asked += [name.removeprefix("/usr") if name.startswith("/usr/") else f"/usr{name}" for name in asked if name[0] == "/"]
    architecture = run("dpkg", "--print-architecture").strip()
    for name in asked:
        found = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True).stdout
        for line in found.splitlines():
            owners, _, file = line.partition(": ")
            if "*" in path and not re.fullmatch(r"(/usr)?/lib/[^/]+-linux-[^/]+/[^/]+", file):
                continue
            for owner in owners.split(", "):
                form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\n"
                values = run("dpkg-query", "-W", "-f", form, owner).strip().split("\t")
                package = dict(zip(["name", "version", "architecture", "source", "source_version"], values))
                if package["architecture"] in (architecture, "all"):
                    return package
    return None


def licence(checkout: Path) -> Optional[str]:
    """The SPDX expression of a checkout's licence, if its text is one of those that Swift packages have."""
    for file in sorted(checkout.glob("LICEN[CS]E*")):
        text = " ".join(file.read_text(errors="replace").split())
        if "Apache License Version 2.0" in text:
            return "Apache-2.0 WITH Swift-exception" if "Runtime Library Exception" in text else "Apache-2.0"
        if "Permission is hereby granted, free of charge" in text:
            return "MIT"
        if "Redistributions in binary form" in text:
            return "BSD-3-Clause" if "endorse or promote" in text else "BSD-2-Clause"
    return None


def linked_packages(tree: Path, program: str) -> list[str]:
    """The Swift packages whose objects were linked to a program."""
    release = tree / ".build/release"
    objects = (release / f"{program}.product/Objects.LinkFileList").read_text().replace("'", "").split("\n")
    modules = {Path(name).parent for name in objects if name}
    # C targets have objects in folders below.
    modules = {next(part for part in [module, *module.parents] if part.suffix == ".build") for module in modules}
    packages: set[str] = set()
    for module in sorted(modules):
        listed = module / "sources"
        files = [listed] if listed.exists() else sorted(module.rglob("*.d"))
        text = "".join(file.read_text() for file in files)
        if not text:
            raise Failure(f"the sources of {module.name}, which {program} contains, are not known")
        packages |= set(re.findall(r"/\.build/checkouts/([^/\s]+)/", text))
    return sorted(packages)


def linked_libraries(program: Path) -> list[str]:
    said = run("readelf", "-d", str(program))
    return sorted(re.findall(r"\(NEEDED\).*\[(lib.*)\]", said))


def opened_libraries(program: Path) -> list[str]:
    """The libraries that a program opens by name, by the names in it."""
    names = set(re.findall(rb"lib[a-z0-9]+\.so\.[0-9]+", program.read_bytes()))
    return sorted({name.decode() for name in names} - set(linked_libraries(program)))


def dependencies(packages: Path) -> set[str]:
    """The Debian packages without which those in a folder are not installed."""
    names = set()
    for file in packages.glob("*.deb"):
        names |= set(re.findall(r"(?:^|[,|] *)([a-z0-9.+-]+)", run("dpkg-deb", "-f", str(file), "Depends")))
    return names


def image_packages(file: Path) -> list[dict[str, str]]:
    """The Debian packages in an image, by the records in var/lib/dpkg/status.d."""
    found = []
    with tarfile.open(file) as archive:

        def blob(named: str) -> IO[bytes]:
            stream = archive.extractfile("blobs/sha256/" + named.removeprefix("sha256:"))
            assert stream
            return stream

        index = archive.extractfile("index.json")
        assert index
        manifest = json.load(blob(json.load(index)["manifests"][0]["digest"]))
        for item in manifest["layers"]:
            with tarfile.open(fileobj=blob(item["digest"])) as layer:
                for member in layer:
                    record = layer.extractfile(member) if member.name.startswith("var/lib/dpkg/status.d/") else None
                    if record:
                        fields: dict[str, str] = dict(re.findall(r"^(\S+): (.*)$", record.read().decode(), re.M))
                        source = re.fullmatch(r"(\S+)(?: \((.*)\))?", fields.get("Source") or fields["Package"])
                        assert source
                        found.append({
                            "name": fields["Package"], "version": fields["Version"], "architecture": fields["Architecture"],
                            "source": source[1], "source_version": source[2] or fields["Version"],
                        })
    if not found:
        raise Failure(f"{file.name} does not tell which Debian packages are in it")
    return sorted(found, key=lambda package: package["name"])


def inventory(version: str, tree: Path, packages: Path) -> dict[str, Any]:
    product = tree / ".build/product"
    toolchain = re.search(r"Swift version (\S+)", run("swift", "--version"))
    if not toolchain:
        raise Failure("swift --version does not state a version")
    resolved = json.loads((tree / "Package.resolved").read_text())["pins"]
    header = re.search(r"\S+/xxhash\.h", (tree / ".build/release/CXXHash.build/xxhash.c.d").read_text())
    gcc = "GPL-3.0-or-later WITH GCC-exception-3.1"
    static = [
        ("SQLite", "blessing", str((product / "static/libsqlite3.a").resolve())),
        ("xxHash", "BSD-2-Clause", header[0] if header else "xxhash.h"),
        ("libstdc++", gcc, str((product / "static/libstdc++.a").resolve())),
        ("libgcc", gcc, run("clang", "-print-file-name=libgcc.a").strip()),
    ]
    programs = []
    for name in NAME, f"{NAME}-server":
        file = product / name
        programs.append({
            "name": name, "sha256": digest(file), "swift": linked_packages(tree, name), "opened": opened_libraries(file),
            "linked": linked_libraries(file),
        })
    needed = dependencies(packages)
    libraries = {}
    for soname in sorted({soname for program in programs for soname in [*program["opened"], *program["linked"]]}):
        owner = debian_owner(f"*/{soname}")
        libraries[soname] = {"package": owner, "required": owner is not None and owner["name"] in needed}
    system = platform.freedesktop_os_release()
    return {
        "version": version,
        "commit": run("git", "rev-parse", "HEAD", folder=tree).strip(),
        "time": int(os.environ["SOURCE_DATE_EPOCH"]),
        "system": {"id": system["ID"], "codename": system.get("VERSION_CODENAME", "")},
        "toolchain": toolchain[1],
        "programs": programs,
        "swift": [
            {
                "name": pin["identity"], "version": pin["state"].get("version"), "revision": pin["state"]["revision"],
                "url": pin["location"].removesuffix(".git"), "licence": licence(tree / ".build/checkouts" / pin["identity"]),
            }
            for pin in sorted(resolved, key=lambda pin: str(pin["identity"]))
        ],
        "static": [{"name": name, "licence": terms, "package": debian_owner(path)} for name, terms, path in static],
        "libraries": libraries,
        "image": [package for file in packages.glob("*.oci.tar") for package in image_packages(file)],
    }


# Bills of materials


@dataclass
class Part:
    """A component of both bills."""

    id: str
    name: str
    type: str  # file, container, application, library
    version: Optional[str] = None
    purl: Optional[str] = None
    licence: Optional[str] = None
    sha256: Optional[str] = None
    url: Optional[str] = None
    revision: Optional[str] = None
    note: Optional[str] = None
    optional: bool = False
    # The identifiers of what it contains, is linked with, or opens.
    contains: list[str] = field(default_factory=list)
    static: list[str] = field(default_factory=list)
    dynamic: list[str] = field(default_factory=list)
    opens: list[str] = field(default_factory=list)


def parts(facts: dict[str, Any], folder: Path) -> list[Part]:
    """The release first, then its packages, programs, and what these consist of and need."""
    from packageurl import PackageURL

    libraries: dict[str, Part] = {}

    def purl(package: dict[str, str]) -> str:
        qualifiers = {"arch": package["architecture"], "distro": facts["system"]["codename"]}
        return PackageURL("deb", facts["system"]["id"], package["name"], package["version"], qualifiers).to_string()

    def source(package: dict[str, str]) -> str:
        return f"of the source package {package['source']} {package['source_version']}"

    def debian(package: dict[str, str]) -> Part:
        """The one part for a Debian package, whoever needs it."""
        id = f"deb-{package['name']}-{package['version']}"
        part = Part(id, package["name"], "library", package["version"], purl(package), note=f"Debian package {source(package)}")
        return libraries.setdefault(id, part)

    def shared(soname: str) -> Part:
        library = facts["libraries"][soname]
        if not library["package"]:
            return libraries.setdefault(f"library-{soname}", Part(f"library-{soname}", soname, "library", optional=True))
        part = debian(library["package"])
        part.optional = not library["required"]
        return part

    version = facts["version"]
    origin = PackageURL("github", NAME, NAME, version).to_string()
    whole = Part("release", NAME, "application", version, origin, "Apache-2.0", url=URL, revision=facts["commit"])
    files, programs = [], []
    for file in sorted(folder.iterdir()):
        contents = kind(file.name)[1]
        if contents:
            type = "container" if file.name.endswith(".oci.tar") else "file"
            part = Part(f"file-{file.name}", file.name, type, version, sha256=digest(file), note=kind(file.name)[0])
            part.contains = [f"program-{name}" for name in contents]
            if type == "file":
                part.licence = "Apache-2.0"
            else:
                part.contains += [debian(package).id for package in facts["image"]]
            files.append(part)
    if not files:
        raise Failure(f"there are no packages in {folder}")
    whole.contains = [part.id for part in files]

    runtime = Part(
        "swift-runtime", "swift", "library", facts["toolchain"], f"pkg:github/swiftlang/swift@swift-{facts['toolchain']}-RELEASE",
        "Apache-2.0 WITH Swift-exception", url="https://github.com/swiftlang/swift",
        note="standard library, FoundationEssentials and libdispatch of the toolchain, linked statically",
    )
    libraries[runtime.id] = runtime
    linked = [runtime.id]
    for item in facts["static"]:
        package = item["package"]
        part = Part(f"static-{item['name'].replace('+', 'p')}", item["name"], "library", licence=item["licence"])
        part.note = "linked statically"
        if package:
            part.version, part.purl = package["version"], purl(package)
            part.note += f", from the Debian package {package['name']} {source(package)}"
        libraries[part.id] = part
        linked.append(part.id)
    for item in facts["swift"]:
        place, _, name = item["url"].split("://")[-1].rpartition("/")
        origin = PackageURL("swift", place, name, item["version"] or item["revision"]).to_string()
        part = Part(f"swift-{item['name']}", item["name"], "library", item["version"], origin, item["licence"], url=item["url"])
        part.revision, part.note = item["revision"], f"Swift package, linked statically, commit {item['revision']}"
        libraries[part.id] = part
    for program in facts["programs"]:
        part = Part(f"program-{program['name']}", program["name"], "application", version, licence="Apache-2.0", sha256=program["sha256"])
        part.static = linked + [f"swift-{name}" for name in program["swift"]]
        part.dynamic = sorted({shared(soname).id for soname in program["linked"]})
        part.opens = sorted({shared(soname).id for soname in program["opened"]})
        programs.append(part)
    used = {id for part in [*files, *programs] for id in [*part.contains, *part.static, *part.dynamic, *part.opens]}
    return [whole, *files, *programs, *(part for id, part in sorted(libraries.items()) if id in used)]


def identifier(facts: dict[str, Any], found: list[Part]) -> uuid.UUID:
    """The same for the same contents."""
    contents = json.dumps([facts, [vars(part) for part in found]], sort_keys=True)
    return uuid.uuid5(uuid.NAMESPACE_URL, f"{URL}#{hashlib.sha256(contents.encode()).hexdigest()}")


def write_spdx(facts: dict[str, Any], found: list[Part], file: Path) -> None:
    from spdx_tools.spdx.model import (
        Actor, ActorType, Checksum, ChecksumAlgorithm, CreationInfo, Document, ExternalPackageRef, ExternalPackageRefCategory, Package,
        PackagePurpose, Relationship, RelationshipType, SpdxNoAssertion,
    )
    from license_expression import get_spdx_licensing
    from spdx_tools.spdx.parser.parse_anything import parse_file
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
    from spdx_tools.spdx.writer.write_anything import write_file

    licensing = get_spdx_licensing()
    purposes = {
        "file": PackagePurpose.ARCHIVE, "container": PackagePurpose.CONTAINER, "application": PackagePurpose.APPLICATION,
        "library": PackagePurpose.LIBRARY,
    }

    def reference(id: str) -> str:
        return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", id)

    info = CreationInfo(
        spdx_version="SPDX-2.3", spdx_id="SPDXRef-DOCUMENT", name=f"{NAME}-{facts['version']}",
        document_namespace=f"{URL}/releases/{facts['version']}/{identifier(facts, found)}",
        creators=[Actor(ActorType.ORGANIZATION, MAINTAINERS), Actor(ActorType.TOOL, "scripts/release")],
        created=datetime.datetime.fromtimestamp(facts["time"], datetime.timezone.utc).replace(tzinfo=None),
    )
    document = Document(info)
    document.relationships.append(Relationship("SPDXRef-DOCUMENT", RelationshipType.DESCRIBES, reference("release")))
    for part in found:
        terms = licensing.parse(part.licence) if part.licence else SpdxNoAssertion()
        own = part.type != "library"
        place = f"git+{part.url}@{part.revision}" if part.revision else part.url
        package = Package(
            reference(part.id), part.name, place or SpdxNoAssertion(), part.version, files_analyzed=False,
            supplier=Actor(ActorType.ORGANIZATION, MAINTAINERS) if own else SpdxNoAssertion(), source_info=part.note,
            license_concluded=SpdxNoAssertion(), license_declared=terms, copyright_text=SpdxNoAssertion(),
            primary_package_purpose=purposes[part.type],
        )
        if part.sha256:
            package.checksums = [Checksum(ChecksumAlgorithm.SHA256, part.sha256)]
        if part.id.startswith("file-"):
            package.file_name = part.name
        if part.purl:
            package.external_references = [ExternalPackageRef(ExternalPackageRefCategory.PACKAGE_MANAGER, "purl", part.purl)]
        document.packages.append(package)
        for type, ids in [
            (RelationshipType.CONTAINS, part.contains), (RelationshipType.STATIC_LINK, part.static),
            (RelationshipType.DYNAMIC_LINK, part.dynamic),
        ]:
            document.relationships += [Relationship(reference(part.id), type, reference(id)) for id in ids]
        for id in part.opens:
            optional = next(other for other in found if other.id == id).optional
            type = RelationshipType.OPTIONAL_DEPENDENCY_OF if optional else RelationshipType.RUNTIME_DEPENDENCY_OF
            document.relationships.append(Relationship(reference(id), type, reference(part.id), "opened by name when it is needed"))
    write_file(document, str(file))
    problems = validate_full_spdx_document(parse_file(str(file)))
    if problems:
        raise Failure(f"{file.name} is not valid SPDX: {problems[0].validation_message}")


def write_cyclonedx(facts: dict[str, Any], found: list[Part], file: Path) -> None:
    from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentScope, ComponentType
    from cyclonedx.model.contact import OrganizationalEntity
    from cyclonedx.contrib.license.factories import LicenseFactory
    from cyclonedx.output.json import JsonV1Dot6
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    from packageurl import PackageURL

    licences = LicenseFactory()
    components = {}
    for part in found:
        component = Component(
            name=part.name, type=ComponentType(part.type), bom_ref=part.id, version=part.version, description=part.note,
            purl=PackageURL.from_string(part.purl) if part.purl else None,
            licenses=[licences.make_from_string(part.licence)] if part.licence else None,
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=part.sha256)] if part.sha256 else None,
            external_references=[ExternalReference(type=ExternalReferenceType.VCS, url=XsUri(part.url))] if part.url else None,
        )
        if part.type != "library":
            component.supplier = OrganizationalEntity(name=MAINTAINERS)
        if part.optional:
            component.scope = ComponentScope.OPTIONAL
        components[part.id] = component
    bom = Bom(serial_number=identifier(facts, found), components=list(components.values())[1:])
    bom.metadata.timestamp = datetime.datetime.fromtimestamp(facts["time"], datetime.timezone.utc)
    bom.metadata.component = components["release"]
    bom.metadata.supplier = OrganizationalEntity(name=MAINTAINERS)
    bom.metadata.properties.add(Property(name=f"{NAME}:commit", value=facts["commit"]))
    for part in found:
        below = dict.fromkeys([*part.contains, *part.static, *part.dynamic, *part.opens])
        bom.register_dependency(components[part.id], [components[id] for id in below])
    text = JsonV1Dot6(bom).output_as_string(indent=2)
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if problem:
        raise Failure(f"{file.name} is not valid CycloneDX: {problem.data.message}")
    file.write_text(text + "\n")


# Commands


def check(options: argparse.Namespace) -> list[str]:
    found = complaints(Path.cwd(), options.version)
    if options.dry_run:
        return found
    if not options.unsigned:
        found += trial_signature()
    if os.geteuid() != 0:
        found.append("the image of the container is built as root; run the script as root")
    if options.output and options.output.exists():
        found.append(f"{options.output} exists already; move it away, or name another folder with --output")
    return found


def compare(options: argparse.Namespace) -> list[str]:
    names = sorted({file.name for folder in (options.first, options.second) for file in folder.iterdir()})
    found = []
    for name in names:
        first, second = options.first / name, options.second / name
        if not first.exists() or not second.exists():
            found.append(f"only one of the two builds has {name}")
        elif not filecmp.cmp(first, second, shallow=False):
            found.append(f"the two builds of {name} differ")
    return found if names else ["the builds have no packages"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, *arguments: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name)
        for argument in arguments:
            added.add_argument(argument, type=str if argument == "version" else Path)
        return added

    checking = command("check", "version")
    checking.add_argument("--dry-run", action="store_true")
    checking.add_argument("--unsigned", action="store_true")
    checking.add_argument("--output", type=Path)
    command("compare", "first", "second")
    command("inventory", "version", "tree", "packages", "file")
    command("sbom", "inventory", "folder")
    command("notes", "version", "folder").add_argument("--unsigned", action="store_true")
    command("sums", "folder")
    command("sign", "version", "folder")
    options = parser.parse_args()
    found: list[str] = []
    try:
        if options.command == "check":
            found = check(options)
        elif options.command == "compare":
            found = compare(options)
        elif options.command == "inventory":
            facts = inventory(options.version, options.tree.resolve(), options.packages)
            options.file.write_text(json.dumps(facts, indent=1) + "\n")
        elif options.command == "sbom":
            facts = json.loads(options.inventory.read_text())
            items = parts(facts, options.folder)
            write_spdx(facts, items, options.folder / f"{NAME}-{facts['version']}.spdx.json")
            write_cyclonedx(facts, items, options.folder / f"{NAME}-{facts['version']}.cdx.json")
        elif options.command == "notes":
            public = os.environ.get("IMGCACHE_MINISIGN_PUBLIC")
            write_notes(Path("CHANGELOG.md").read_text(), options.version, options.folder, public, not options.unsigned)
        elif options.command == "sums":
            write_sums(options.folder)
        else:
            sign(options.folder / SUMS, f"{NAME} {options.version}")
    except Failure as failure:
        found = [str(failure)]
    for problem in found:
        print(f"release: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
