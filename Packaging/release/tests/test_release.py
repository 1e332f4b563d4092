"""Tests of the parts of scripts/release, without a build: python3 -m unittest discover -s Packaging/release/tests

Those of the bills of materials need the libraries of requirements.txt, and those of signatures need minisign.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "Packaging/release"))
import release  # noqa: E402

CHANGELOG = """# Changelog

## Unreleased

- Later.

## 0.2.0 - 2026-11-27

### Added

- Bills of materials.

## 0.1.0 - 2026-01-02

- The first.
"""
STATED = {
    "Sources/ProgramVersion/ProgramVersion.swift": 'enum ProgramVersion {\n    package static let number = "0.2.0"\n}\n',
    "Sources/ImageProxy/ImageProxy.docc/Deploying.md": "docker://registry.example.com/imgcache:0.2.0\n",
    "Tests/ServerIntegrationTests/LifecycleTests.swift": '"imgcache-server 0.2.0 listening on"\n',
    "scripts/dist/kubernetes.yaml": "          image: registry.example.com/imgcache:0.2.0\n",
}
PACKAGES = ["imgcache_0.2.0-1_amd64.deb", "imgcache-server_0.2.0-1_amd64.deb", "imgcache-0.2.0-linux-x86_64.tar.gz",
            "imgcache-0.2.0-py3-none-manylinux_2_35_x86_64.whl", "imgcache-0.2.0-linux-amd64.oci.tar"]
PINNED = ROOT / ".build/pinned-python"
MODULE = [sys.executable, str(ROOT / "Packaging/release/release.py")]


def package(name: str, version: str) -> dict[str, str]:
    return {"name": name, "version": version, "architecture": "amd64", "source": name, "source_version": version}


FACTS: dict[str, Any] = {
    "version": "0.2.0", "commit": "0123456789abcdef0123456789abcdef01234567", "time": 1_795_000_000,
    "system": {"id": "debian", "codename": "bookworm"}, "toolchain": "6.3.1",
    "programs": [
        {"name": "imgcache", "sha256": "a" * 64, "swift": ["swift-log"], "opened": ["libcurl.so.4", "libgif.so.7"],
         "linked": ["libc.so.6", "libm.so.6"]},
        {"name": "imgcache-server", "sha256": "b" * 64, "swift": ["swift-log", "swift-nio"], "opened": ["libcurl.so.4", "libnew.so.1"],
         "linked": ["libc.so.6"]},
    ],
    "swift": [
        {"name": "swift-log", "version": "1.6.0", "revision": "c" * 40, "url": "https://github.com/apple/swift-log", "licence": "Apache-2.0"},
        {"name": "swift-nio", "version": "2.86.0", "revision": "d" * 40, "url": "https://github.com/apple/swift-nio", "licence": None},
        {"name": "swift-unused", "version": "1.0.0", "revision": "e" * 40, "url": "https://github.com/apple/swift-unused", "licence": None},
    ],
    "static": [
        {"name": "SQLite", "licence": "blessing", "package": package("libsqlite3-dev", "3.40.1-2")},
        {"name": "libstdc++", "licence": "GPL-3.0-or-later WITH GCC-exception-3.1", "package": package("libstdc++-12-dev", "12.2.0-14")},
    ],
    "libraries": {
        "libc.so.6": {"package": package("libc6", "2.36-9"), "required": True},
        "libm.so.6": {"package": package("libc6", "2.36-9"), "required": True},
        "libcurl.so.4": {"package": package("libcurl4", "7.88.1-10"), "required": True},
        "libgif.so.7": {"package": package("libgif7", "1:5.2.1-2.5"), "required": False},
        "libnew.so.1": {"package": None, "required": False},
    },
    "image": [package("libc6", "2.36-9"), package("zlib1g", "1:1.2.13")],
}


class Scratch(unittest.TestCase):
    """A folder that ends with the test."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))  # type: ignore[attr-defined,unused-ignore]

    def run_module(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("IMGCACHE_MINISIGN")}
        command = [*MODULE, *map(str, arguments)]
        return subprocess.run(command, cwd=self.folder, env=kept | environment, capture_output=True, text=True)

    def packages(self) -> Path:
        folder = self.folder / "release"
        folder.mkdir(exist_ok=True)
        for name in PACKAGES:
            (folder / name).write_text(f"the contents of {name}\n")
        return folder


class RefusalTests(Scratch):
    """A tree with scripts/release, but without anything to build."""

    def setUp(self) -> None:
        super().setUp()
        for name, text in {**STATED, "CHANGELOG.md": CHANGELOG, ".gitignore": ".build/\n__pycache__/\n"}.items():
            self.write(name, text)
        for name in "scripts/release", "scripts/common.sh", "Packaging/release/release.py":
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)
        self.git("init", "--quiet")
        self.commit()

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def git(self, *arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=self.folder, check=True, capture_output=True)

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a")

    def complaints(self, version: str = "0.2.0", *options: str) -> list[str]:
        """The lines that the script prints; without any, it has succeeded."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("IMGCACHE_MINISIGN")}
        command = ["scripts/release", version, *(options or ["--dry-run"])]
        done = subprocess.run(command, cwd=self.folder, env=kept, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1 if done.stderr else 0, done.stderr)
        return done.stderr.splitlines()

    def test_a_clean_tree_with_everything_is_accepted(self) -> None:
        self.write(".build/ignored", "")
        self.assertEqual(self.complaints(), [])
        self.git("tag", "0.2.0")
        self.assertEqual(self.complaints(), [])

    def test_all_complaints_are_listed_at_once(self) -> None:
        self.git("tag", "--annotate", "--message", "a", "0.3.0")
        self.git("tag", "v0.3.0")
        self.commit()
        self.write("new", "")
        self.write("CHANGELOG.md", CHANGELOG + "\n")
        found = self.complaints("0.3.0")
        self.assertEqual(len(found), 1 + 1 + 4 + 2, found)
        self.assertIn("the tree is not clean: commit or remove CHANGELOG.md, new", found[0])
        self.assertIn("CHANGELOG.md has no section ## 0.3.0 - YYYY-MM-DD", found[1])
        self.assertIn("Sources/ProgramVersion/ProgramVersion.swift:2 states version 0.2.0, not 0.3.0", found[2])
        self.assertRegex(found[6], "the tag 0.3.0 is on commit [0-9a-f]{12}, not on the current one")
        self.assertIn("the tag v0.3.0", found[7])

    def test_a_version_is_three_numbers(self) -> None:
        self.assertIn("the version v0.2.0 is not three numbers", self.complaints("v0.2.0")[0])
        for version in "", "0.2", "0.2.0-beta", "0.02.0", "0.2.0.1", "0.2.0\n":
            self.assertIsNone(release.VERSION.fullmatch(version), version)

    def test_a_section_without_a_day_or_a_text_is_no_section(self) -> None:
        for head in "## Unreleased", "## 0.2.0", "## 0.2.0 - 2026-13-01", "## 0.2.0 - 2026-11-27\n\n## Older":
            self.write("CHANGELOG.md", f"# Changelog\n\n{head}\n\n- A text.\n")
            self.commit()
            found = release.complaints(self.folder, "0.2.0")
            self.assertEqual(len(found), 1, head)
            self.assertIn("CHANGELOG.md", found[0])

    def test_a_source_that_no_longer_states_the_version_is_named(self) -> None:
        self.write("scripts/dist/kubernetes.yaml", "nothing\n")
        self.commit()
        self.assertIn("scripts/dist/kubernetes.yaml does not state the version", self.complaints()[0])

    @unittest.skipUnless(shutil.which("minisign"), "minisign is not installed")
    def test_without_a_key_it_stops_before_the_build(self) -> None:
        found = self.complaints("0.2.0", "--no-check")
        self.assertIn("IMGCACHE_MINISIGN_KEY does not name the file of a secret key", found[0])

    def test_the_folder_of_an_earlier_release_is_not_replaced(self) -> None:
        (self.folder / ".build/release/0.2.0").mkdir(parents=True)
        self.assertIn(".build/release/0.2.0 exists already", self.complaints("0.2.0", "--unsigned")[-1])

    @unittest.skipUnless(os.geteuid() == 0 and PINNED.exists() and shutil.which("swift"), "root, Swift or the libraries are missing")
    def test_builds_that_differ_leave_no_release(self) -> None:
        self.write("scripts/package", """#!/bin/sh
            for output; do :; done
            cd "$(dirname "$0")/.."
            mkdir -p "$output"
            git tag --points-at HEAD >"$output/imgcache-0.2.0-py3-none-any.whl"
            pwd >"$output/imgcache_0.2.0-1_amd64.deb"
            echo "{}" >Package.resolved
            """)
        (self.folder / "scripts/package").chmod(0o755)
        self.write(".gitignore", ".build\n__pycache__/\nPackage.resolved\n")
        shutil.copy(ROOT / "Packaging/release/requirements.txt", self.folder / "Packaging/release/requirements.txt")
        (self.folder / ".build").mkdir()
        (self.folder / ".build/pinned-python").symlink_to(PINNED)
        self.commit()
        found = self.complaints("0.2.0", "--unsigned")
        self.assertEqual(found, [
            "release: the two builds of imgcache_0.2.0-1_amd64.deb differ", "release: both builds are in .build/release-differences",
        ])
        # The tag is in the clones only.
        kept = self.folder / ".build/release-differences/packages-first"
        self.assertEqual((kept / "imgcache-0.2.0-py3-none-any.whl").read_text(), "0.2.0\n")
        self.assertEqual(subprocess.run(["git", "tag"], cwd=self.folder, capture_output=True, text=True).stdout, "")
        self.assertFalse((self.folder / ".build/release").exists())

    def test_help_is_the_comment_at_the_head(self) -> None:
        said = subprocess.run([ROOT / "scripts/release", "--help"], capture_output=True, text=True).stdout
        self.assertTrue(said.startswith("Makes the files of a release"), said)
        self.assertIn("IMGCACHE_MINISIGN_PASSWORD", said)


class SourceTests(unittest.TestCase):
    def test_the_places_that_state_the_version_agree(self) -> None:
        stated = (ROOT / "Sources/ProgramVersion/ProgramVersion.swift").read_text().split('number = "')[1].split('"')[0]
        self.assertEqual(release.misstated(ROOT, stated), [])


class NotesTests(Scratch):
    def test_the_section_ends_at_the_next_version(self) -> None:
        self.assertEqual(release.section(CHANGELOG, "0.2.0"), "### Added\n\n- Bills of materials.")
        self.assertEqual(release.section(CHANGELOG, "0.1.0"), "- The first.")
        self.assertIsNone(release.section(CHANGELOG, "0.1"))
        self.assertIsNone(release.section(CHANGELOG, "Unreleased"))

    def test_the_notes_have_files_sums_and_two_commands(self) -> None:
        folder = self.packages()
        (self.folder / "CHANGELOG.md").write_text(CHANGELOG)
        (self.folder / "key.pub").write_text("untrusted comment: minisign public key\nRWQabc\n")
        done = self.run_module("notes", "0.2.0", folder, IMGCACHE_MINISIGN_PUBLIC="key.pub")
        self.assertEqual(done.returncode, 0, done.stderr)
        notes = (folder / "release-notes.md").read_text()
        self.assertIn("- Bills of materials.", notes)
        for name in PACKAGES:
            size, digest = (folder / name).stat().st_size, release.digest(folder / name)
            self.assertIn(f"| `{name}` | {release.kind(name)[0]} | {size} | `{digest}` |", notes)
        self.assertIn("    minisign -Vm SHA256SUMS -P RWQabc\n    sha256sum --check --ignore-missing SHA256SUMS\n", notes)

    def test_a_file_of_no_known_kind_is_refused(self) -> None:
        folder = self.packages()
        (self.folder / "CHANGELOG.md").write_text(CHANGELOG)
        (folder / "stray").write_text("")
        self.assertIn("no kind of package has a file stray", self.run_module("notes", "0.2.0", folder).stderr)


class CompareTests(Scratch):
    def test_the_package_that_differs_is_named(self) -> None:
        first = self.packages()
        second = self.folder / "second"
        shutil.copytree(first, second)
        self.assertEqual(self.run_module("compare", first, second).returncode, 0)
        (second / PACKAGES[2]).write_text("other\n")
        (second / PACKAGES[0]).unlink()
        done = self.run_module("compare", first, second)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            done.stderr,
            f"release: the two builds of {PACKAGES[2]} differ\nrelease: only one of the two builds has {PACKAGES[0]}\n",
        )


class InventoryTests(Scratch):
    def test_an_image_tells_its_packages(self) -> None:
        records = self.folder / "root/var/lib/dpkg/status.d"
        records.mkdir(parents=True)
        (records / "a").write_text("Package: a\nVersion: 1:2-3+b1\nArchitecture: amd64\nSource: b (1:2-3)\nDescription: a\n more: a\n")
        (records / "c").write_text("Package: c\nVersion: 4\nArchitecture: all\n")
        writer = [sys.executable, str(ROOT / "Packaging/container/write-image.py")]
        image = self.folder / PACKAGES[4]
        subprocess.run(
            [*writer, records.parents[3], image, "--version=0.2.0", "--architecture=amd64", "--time=1"], check=True
        )
        self.assertEqual(release.image_packages(image), [
            {"name": "a", "version": "1:2-3+b1", "architecture": "amd64", "source": "b", "source_version": "1:2-3"},
            {"name": "c", "version": "4", "architecture": "all", "source": "c", "source_version": "4"},
        ])

    def test_the_licence_of_a_checkout_is_recognized(self) -> None:
        file = self.folder / "LICENSE.txt"
        self.assertIsNone(release.licence(self.folder))
        file.write_text((ROOT / "LICENSE").read_text())
        self.assertEqual(release.licence(self.folder), "Apache-2.0")
        file.write_text(file.read_text() + "\n## Runtime Library Exception to the Apache 2.0 License: ##\n")
        self.assertEqual(release.licence(self.folder), "Apache-2.0 WITH Swift-exception")

    @unittest.skipUnless(shutil.which("readelf"), "binutils is not installed")
    def test_libraries_that_are_opened_are_told_from_linked_ones(self) -> None:
        program = self.folder / "program"
        program.write_bytes(Path("/bin/sh").read_bytes() + b"\0libexpat.so.1\0libpng16.so.16\0")
        self.assertEqual(release.linked_libraries(program), ["libc.so.6"])
        self.assertEqual(release.opened_libraries(program), ["libexpat.so.1", "libpng16.so.16"])


@unittest.skipUnless(
    importlib.util.find_spec("cyclonedx") and importlib.util.find_spec("spdx_tools"), "the libraries of requirements.txt are not installed"
)
class BillTests(Scratch):
    written: list[list[bytes]] = []
    digests: dict[str, str] = {}

    def bills(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Both bills of the made-up packages, which the command has validated. They are written twice, once for all tests."""
        if not self.written:
            folder = self.packages()
            (self.folder / "facts.json").write_text(json.dumps(FACTS))
            self.digests.update({name: release.digest(folder / name) for name in PACKAGES})
            for seed in "1", "2":
                self.written.append(self.write(folder, seed))
        spdx, cyclonedx = map(json.loads, self.written[0])
        return spdx, cyclonedx

    def write(self, folder: Path, seed: str) -> list[bytes]:
        done = self.run_module("sbom", "facts.json", folder, PYTHONHASHSEED=seed)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [(folder / f"imgcache-0.2.0.{format}.json").read_bytes() for format in ("spdx", "cdx")]

    def test_the_same_facts_give_the_same_bytes(self) -> None:
        self.bills()
        self.assertEqual(self.written[0], self.written[1])

    def test_other_packages_give_another_identity(self) -> None:
        spdx, cyclonedx = self.bills()
        folder = self.packages()
        first = release.identifier(FACTS, release.parts(FACTS, folder))
        self.assertTrue(spdx["documentNamespace"].endswith(f"/{first}"))
        self.assertEqual(cyclonedx["serialNumber"], f"urn:uuid:{first}")
        (folder / PACKAGES[0]).write_text("other\n")
        self.assertNotEqual(first, release.identifier(FACTS, release.parts(FACTS, folder)))

    def test_spdx_lists_files_libraries_and_how_they_are_used(self) -> None:
        bill, _ = self.bills()
        self.assertEqual(bill["spdxVersion"], "SPDX-2.3")
        self.assertEqual(bill["creationInfo"]["created"], "2026-11-18T11:06:40Z")
        packages = {item["SPDXID"]: item for item in bill["packages"]}
        by_name = {item["name"]: item for item in bill["packages"]}
        for name in PACKAGES:
            self.assertEqual(by_name[name]["checksums"][0]["checksumValue"], self.digests[name])
            self.assertEqual(by_name[name]["packageFileName"], name)
        self.assertEqual(by_name["SQLite"]["licenseDeclared"], "blessing")
        self.assertEqual(by_name["swift-log"]["licenseDeclared"], "Apache-2.0")
        self.assertEqual(by_name["swift-nio"]["licenseDeclared"], "NOASSERTION")
        self.assertEqual(by_name["swift-log"]["downloadLocation"], "git+https://github.com/apple/swift-log@" + "c" * 40)
        self.assertEqual(by_name[PACKAGES[4]]["licenseDeclared"], "NOASSERTION")
        self.assertNotIn("swift-unused", by_name)
        self.assertEqual(
            by_name["libgif7"]["externalRefs"][0]["referenceLocator"],
            "pkg:deb/debian/libgif7@1:5.2.1-2.5?arch=amd64&distro=bookworm",
        )
        relations = {
            (packages[item["spdxElementId"]]["name"], item["relationshipType"], packages[item["relatedSpdxElement"]]["name"])
            for item in bill["relationships"]
            if item["spdxElementId"] in packages
        }
        for relation in [
            ("imgcache", "CONTAINS", PACKAGES[0]), (PACKAGES[0], "CONTAINS", "imgcache"), (PACKAGES[4], "CONTAINS", "zlib1g"),
            ("imgcache", "STATIC_LINK", "SQLite"), ("imgcache-server", "STATIC_LINK", "swift-nio"), ("imgcache", "DYNAMIC_LINK", "libc6"),
            ("libcurl4", "RUNTIME_DEPENDENCY_OF", "imgcache"), ("libgif7", "OPTIONAL_DEPENDENCY_OF", "imgcache"),
            ("libnew.so.1", "OPTIONAL_DEPENDENCY_OF", "imgcache-server"),
        ]:
            self.assertIn(relation, relations)
        self.assertNotIn(("imgcache", "STATIC_LINK", "swift-nio"), relations)
        self.assertNotIn((PACKAGES[0], "CONTAINS", "imgcache-server"), relations)

    def test_cyclonedx_lists_the_same_components(self) -> None:
        spdx, bill = self.bills()
        self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.6"))
        self.assertEqual(bill["metadata"]["timestamp"], "2026-11-18T11:06:40+00:00")
        names = [bill["metadata"]["component"]["name"], *(item["name"] for item in bill["components"])]
        self.assertEqual(sorted(names), sorted(item["name"] for item in spdx["packages"]))
        components = {item["bom-ref"]: item for item in bill["components"]}
        self.assertEqual(components["swift-swift-nio"]["purl"], "pkg:swift/github.com/apple/swift-nio@2.86.0")
        self.assertEqual(components["deb-libgif7-1:5.2.1-2.5"]["scope"], "optional")
        self.assertNotIn("scope", components["deb-libcurl4-7.88.1-10"])
        below = {item["ref"]: item.get("dependsOn", []) for item in bill["dependencies"]}
        self.assertEqual(len(below["release"]), len(PACKAGES))
        self.assertIn("deb-zlib1g-1:1.2.13", below[f"file-{PACKAGES[4]}"])
        self.assertIn("swift-swift-nio", below["program-imgcache-server"])


@unittest.skipUnless(shutil.which("minisign"), "minisign is not installed")
class SignatureTests(Scratch):
    def setUp(self) -> None:
        super().setUp()
        self.release = self.packages()
        self.key("key")

    def key(self, name: str) -> None:
        command = ["minisign", "-G", "-W", "-s", f"{name}.secret", "-p", f"{name}.pub"]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    def sign(self, public: str = "key.pub", secret: str = "key.secret", **environment: str) -> str:
        self.assertEqual(self.run_module("sums", self.release).returncode, 0)
        environment |= {"IMGCACHE_MINISIGN_KEY": secret, "IMGCACHE_MINISIGN_PUBLIC": public}
        return self.run_module("sign", "0.2.0", self.release, **environment).stderr

    def verify(self) -> tuple[bool, bool]:
        """Whether the signature fits SHA256SUMS, and whether the files fit it."""
        commands = [["minisign", "-Vm", "SHA256SUMS", "-p", "../key.pub"], ["sha256sum", "--check", "SHA256SUMS"]]
        first, second = (subprocess.run(command, cwd=self.release, capture_output=True).returncode == 0 for command in commands)
        return first, second

    def test_what_is_signed_verifies_and_changes_are_found(self) -> None:
        self.assertEqual(self.sign(), "")
        self.assertEqual(self.verify(), (True, True))
        signature = (self.release / "SHA256SUMS.minisig").read_bytes()
        self.assertIn(b"trusted comment: imgcache 0.2.0\n", signature)
        self.assertEqual(self.sign(), "")
        self.assertEqual(signature, (self.release / "SHA256SUMS.minisig").read_bytes())

        (self.release / PACKAGES[1]).write_text("other\n")
        self.assertEqual(self.verify(), (True, False))
        self.assertEqual(self.run_module("sums", self.release).returncode, 0)
        self.assertEqual(self.verify(), (False, True))

    def test_a_key_of_another_pair_is_refused(self) -> None:
        self.key("other")
        self.assertIn("the public key other.pub does not verify", self.sign("other.pub"))

    def test_a_file_that_is_missing_is_named(self) -> None:
        self.assertIn("IMGCACHE_MINISIGN_KEY is nowhere, which is no file", self.sign(secret="nowhere"))
        self.assertIn("IMGCACHE_MINISIGN_PUBLIC is nowhere, which is no file", self.sign("nowhere"))

    def test_a_key_with_a_password_needs_it(self) -> None:
        command = ["minisign", "-G", "-s", "locked.secret", "-p", "locked.pub"]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True, input=b"word\nword\n")
        self.assertIn("is its password in IMGCACHE_MINISIGN_PASSWORD?", self.sign("locked.pub", "locked.secret"))
        self.assertEqual(self.sign("locked.pub", "locked.secret", IMGCACHE_MINISIGN_PASSWORD="word"), "")


if __name__ == "__main__":
    unittest.main()
