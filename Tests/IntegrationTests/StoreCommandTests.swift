import Foundation
import TestSupport
import Testing

/// The commands that look after the store: ls, info, path, stats, rm, prune, dir, clear, verify; each with `--json`.
@Suite(.fewAtATime) struct StoreCommandTests {
    private let work: TestWorkspace
    private let origin: ScriptedOrigin

    init() throws {
        work = try TestWorkspace()
        // "/SIZE/…" is a body of that size.
        origin = try ScriptedOrigin { request in
            let size = Int64(request.path.split(separator: "/").first ?? "") ?? 0
            return Behaviour(Representation(seed: UInt64(size), size: size)).with {
                if request.path.hasSuffix("cut") { $0.cutAfter = size / 2 }
            }
        }
    }

    private func fetch(_ paths: String...) async throws {
        for path in paths {
            let outcome = try await work.fetch(origin.url(path))
            #expect(outcome.ending == .exited(0), "\(outcome)")
        }
    }

    /// The JSON objects that a command prints, one a line or in one array.
    private func objects(_ arguments: String...) async throws -> [[String: any Sendable]] {
        let outcome = try await work.command.run(arguments + ["--json"])
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(outcome.objects.count == outcome.lines.count, "not an object a line: \(outcome)")
        return outcome.objects
    }

    @Test func `ls lists what is stored, filtered and sorted`() async throws {
        try await fetch("/1000/a", "/300000/b", "/20000/c")
        let listed = try await work.run("ls")
        for path in ["/1000/a", "/300000/b", "/20000/c"] { #expect(listed.output.contains(origin.url(path))) }
        let sizes = try await objects("ls", "--sort", "size").compactMap {
            $0["size"] as? Int64 ?? ($0["size"] as? Int).map(Int64.init)
        }
        #expect(sizes.sorted() == [1000, 20_000, 300_000])
        #expect(sizes == sizes.sorted() || sizes == sizes.sorted().reversed())
        let large = try await objects("ls", "--filter", "size>10kB").compactMap { $0["url"] as? String }
        #expect(Set(large) == [origin.url("/300000/b"), origin.url("/20000/c")])
        #expect(try await objects("ls", "--filter", "size>1GB").isEmpty)
        #expect(try await work.run("ls", "--filter", "colour=red").ending == .exited(2))
        #expect(try await work.run("ls", "--sort", "colour").ending == .exited(2))
    }

    @Test func `commands that list or tidy up succeed in an empty cache`() async throws {
        #expect(try await work.run("dir").ending == .exited(0))
        try await fetch("/1/a")
        #expect(try await work.run("clear").ending == .exited(0))
        for command in [["prune"], ["clear"], ["ls"], ["stats"], ["verify"]] {
            let outcome = try await work.command.run(command)
            #expect(outcome.ending == .exited(0), "\(command): \(outcome)")
            #expect(try await work.command.run(command + ["--json"]).ending == .exited(0))
        }
    }

    @Test func `an empty --cache-dir is an error, and not the current folder`() async throws {
        for command in [["fetch", origin.url("/1/a")], ["fetch", "-v", origin.url("/1/a")], ["ls"], ["clear"]] {
            #expect(try await work.command.run(command + ["--cache-dir", ""]).ending == .exited(2))
        }
        #expect(work.outputNames.isEmpty)
    }

    @Test func `info of a URL that is not cached exits with 7, with and without --json`() async throws {
        try await fetch("/1/a")
        let plain = try await work.run("info", origin.url("/1/none"))
        let json = try await work.run("info", "--json", origin.url("/1/none"))
        #expect(plain.ending == .exited(7))
        #expect(json.ending == .exited(7))
        #expect(json.objects.count == 1)
        let noURL = try await work.run("info", "picture.jpg")
        #expect(noURL.ending == .exited(2))
        #expect(noURL.errorOutput.contains("picture.jpg"), "\(noURL)")
    }

    @Test func `info shows the details of an entry and of a partial`() async throws {
        try await fetch("/300000/a")
        let info = try await work.run("info", origin.url("/300000/a"))
        #expect(info.ending == .exited(0), "\(info)")
        for text in [origin.url("/300000/a"), "\"v300000\"", "application/octet-stream", "fresh"] {
            #expect(info.output.contains(text), "\(text): \(info)")
        }
        _ = try await work.fetch("--retry", "0", origin.url("/2000000/cut"))
        let partial = try await work.run("info", origin.url("/2000000/cut"))
        #expect(partial.ending == .exited(0), "\(partial)")
        #expect(partial.output.lowercased().contains("partial"), "\(partial)")
        #expect(try await !objects("info", origin.url("/2000000/cut")).isEmpty)
        #expect(try await work.run("info", origin.url("/1/unknown")).ending != .exited(0))
    }

    @Test func `path prints where the file is, and fails for one that is not there`() async throws {
        try await fetch("/1000/a")
        let path = try await work.run("path", origin.url("/1000/a"))
        #expect(path.ending == .exited(0), "\(path)")
        #expect(Content(seed: 1000, size: 1000).equalsFile(at: path.lines.first ?? ""))
        #expect(try await objects("path", origin.url("/1000/a")).first?["path"] as? String == path.lines.first)
        let missing = try await work.run("path", origin.url("/1000/b"))
        #expect(missing.ending == .exited(7), "\(missing)")
        #expect(missing.output.isEmpty)
        #expect(origin.requests.count == 1)
    }

    @Test func `stats counts entries and bytes as du sees them`() async throws {
        try await fetch("/1000/a", "/300000/b")
        let stats = try #require(try await objects("stats").first)
        func number(_ name: String) -> Int64? { (stats[name] as? Int).map(Int64.init) ?? stats[name] as? Int64 }
        #expect(number("entries") == 2)
        #expect(number("partials") == 0)
        #expect(number("capacity").map { (1 << 20...20 << 30).contains($0) } == true)
        let bodies = DiskUsage.files(at: work.cache + "/bodies").reduce(0) {
            $0 + DiskUsage.bytes(at: work.cache + "/bodies/" + $1)
        }
        #expect(number("bodies") == bodies)
        let used = try #require(number("used"))
        let reserved = try #require(number("reserved"))
        #expect(used >= bodies && used <= DiskUsage.bytes(at: work.cache), "\(stats)")
        #expect(reserved >= DiskUsage.bytes(at: work.cache), "\(stats)")
        let human = try await work.run("stats")
        #expect(human.ending == .exited(0), "\(human)")
        #expect(human.lines.contains { $0.hasPrefix("entries") && $0.contains("2 (") }, "\(human)")
    }

    @Test func `rm removes exactly the named URL`() async throws {
        try await fetch("/1000/a", "/1000/a1", "/1000/b")
        let removed = try await work.run("rm", origin.url("/1000/a"))
        #expect(removed.ending == .exited(0), "\(removed)")
        #expect(try await work.run("path", origin.url("/1000/a")).ending == .exited(7))
        #expect(try await work.run("path", origin.url("/1000/a1")).ending == .exited(0))
        #expect(try await work.run("rm", "--json", origin.url("/1000/b")).ending == .exited(0))
        #expect(try await objects("ls").count == 1)
    }

    @Test func `rm removes a partial too, and the next fetch starts over`() async throws {
        _ = try await work.fetch("--retry", "0", origin.url("/2000000/cut"))
        #expect(try await work.run("rm", origin.url("/2000000/cut")).ending == .exited(0))
        #expect(!DiskUsage.files(at: work.cache).contains { $0.hasPrefix("partials/") })
        _ = try await work.fetch("--retry", "0", origin.url("/2000000/cut"))
        #expect(origin.requests.last?["Range"] == nil)
    }

    @Test func `ls --partials lists unfinished downloads and whether they can be resumed`() async throws {
        try await fetch("/1000/a")
        for path in ["/2000000/cut", "/4000000/b/cut"] {
            _ = try await work.fetch("--retry", "0", "--owner", "ann", origin.url(path))
        }
        let listed = try await objects("ls", "--partials", "--sort", "size")
        #expect(
            listed.compactMap { $0["url"] as? String } == [origin.url("/4000000/b/cut"), origin.url("/2000000/cut")])
        #expect(listed.first?["received"] as? Int == 2_000_000)
        #expect(listed.first?["total"] as? Int == 4_000_000)
        #expect(listed.first?["namespace"] as? String == "owner:ann")
        #expect(listed.first?["resumable"] as? Bool == true)
        #expect(listed.first?["in_use"] as? Bool == false)
        let text = try await work.run("ls", "--partials", "--filter", "size>1500kB")
        #expect(text.lines.count == 1)
        #expect(text.output.contains("1.91 MiB of 3.81 MiB (50 %)"), "\(text)")
        #expect(text.output.contains("(owner:ann)"), "\(text)")
    }

    @Test func `rm --prefix and --filter remove matching entries and partials, and --dry-run nothing`() async throws {
        try await fetch("/1000/a/1", "/300000/a/2", "/20000/b")
        _ = try await work.fetch("--retry", "0", origin.url("/2000000/a/cut"))
        let everything = try await objects("ls").count + objects("ls", "--partials").count
        let dry = try await work.run("rm", "--prefix", origin.url(""), "--filter", "url~/a/", "--dry-run")
        #expect(dry.ending == .exited(0), "\(dry)")
        #expect(dry.lines.count == 4, "\(dry)")
        #expect(
            dry.lines.last?.hasPrefix("would remove 2 entries, ") == true && dry.output.contains("and 1 partial\n"),
            "\(dry)")
        #expect(try await objects("ls").count + objects("ls", "--partials").count == everything)
        let large = try await objects("rm", "--filter", "size>100kB,url~/a/")
        #expect(large.first?["entries"] as? Int == 1 && large.first?["partials"] as? Int == 1, "\(large)")
        #expect(try await objects("ls", "--partials").isEmpty)
        let rest = try await work.run(
            "rm", "--prefix", origin.url("/1000/").replacingOccurrences(of: "http:", with: "HTTP:"))
        #expect(rest.output.hasPrefix("removed 1 entry"), "\(rest)")
        #expect(try await objects("ls").compactMap { $0["url"] as? String } == [origin.url("/20000/b")])
        #expect(try await work.run("rm", "--dry-run", origin.url("/20000/b")).lines.count == 1)
        #expect(try await objects("ls").count == 1)
        for wrong in [
            [], ["--prefix", "x"], ["--prefix", "http://h/", "http://h/"], ["--filter", "size>1", "--owner", "a"],
        ] {
            #expect(try await work.command.run(["rm"] + wrong).ending == .exited(2), "\(wrong)")
        }
    }

    @Test(arguments: [[], ["--filter", "size>1"]])
    func `rm --dry-run names what the run removes, also for responses that do not vary on a part of the query`(
        filter: [String]
    ) async throws {
        let origin = try ScriptedOrigin { _ in
            Behaviour(Representation(seed: 3, size: 1000)).with { $0.fields = [("No-Vary-Search", "params=(\"a\")")] }
        }
        _ = try await work.fetch(origin.url("/x?a=1"))
        let arguments = ["rm", "--prefix", origin.url("/x?a=2"), "--json"] + filter
        for dry in [["--dry-run"], []] {
            let outcome = try await work.command.run(arguments + dry)
            #expect(outcome.objects.first?["entries"] as? Int == 1, "\(outcome)")
        }
        #expect(try await objects("ls").isEmpty)
    }

    @Test func `prune --to evicts the oldest accessed first, --dry-run nothing`() async throws {
        try await fetch("/400000/a", "/400000/b", "/400000/c", "/400000/a")
        let dry = try await work.run("prune", "--to", "900kB", "--dry-run")
        #expect(dry.ending == .exited(0), "\(dry)")
        #expect(try await objects("ls").count == 3)
        // The index also takes space, so only the remaining space is available for bodies.
        let pruned = try await work.run("prune", "--to", "1100kB")
        #expect(pruned.ending == .exited(0), "\(pruned)")
        let left = try await objects("ls").compactMap { $0["url"] as? String }
        #expect(!left.contains(origin.url("/400000/b")), "\(left)")
        #expect(left.contains(origin.url("/400000/a")), "\(left)")
        #expect(DiskUsage.bytes(at: work.cache) <= 1_100_000 + 128 * 1024)
    }

    @Test func `prune --older-than keeps what was used since`() async throws {
        try await fetch("/1000/a")
        #expect(try await work.run("prune", "--older-than", "7d").ending == .exited(0))
        #expect(try await objects("ls").count == 1)
        #expect(try await work.run("prune", "--older-than", "0s", "--json").ending == .exited(0))
        #expect(try await objects("ls").isEmpty)
    }

    @Test func `dir prints the directory by option, environment and default`() async throws {
        #expect(try await work.run("dir").lines == [work.cache])
        #expect(try await work.run("dir", "--cache-dir", "/somewhere").lines == ["/somewhere"])
        #expect(try await objects("dir").count == 1)
        let xdg = try await work.command.shell(
            "unset IMGCACHE_DIR; XDG_CACHE_HOME=/xdg \"$IMGCACHE\" dir; \"$IMGCACHE\" dir")
        #expect(xdg.lines == ["/xdg/imgcache", work.directory.path(".cache/imgcache")], "\(xdg)")
    }

    @Test func `clear removes all bodies and partials, --partials only these`() async throws {
        try await fetch("/1000/a", "/300000/b")
        _ = try await work.fetch("--retry", "0", origin.url("/2000000/cut"))
        #expect(try await work.run("clear", "--partials").ending == .exited(0))
        #expect(!DiskUsage.files(at: work.cache).contains { $0.hasPrefix("partials/") })
        #expect(try await objects("ls").count == 2)
        #expect(try await work.run("clear", "--json").ending == .exited(0))
        #expect(try await objects("ls").isEmpty)
        #expect(!DiskUsage.files(at: work.cache).contains { $0.hasPrefix("bodies/") })
        try await fetch("/1000/a")
    }

    @Test func `verify reports how much it checked`() async throws {
        try await fetch("/1000/a", "/300000/b")
        let verified = try await work.run("verify")
        #expect(verified.ending == .exited(0), "\(verified)")
        #expect(verified.output.contains("2"), "\(verified)")
        #expect(try await !objects("verify").isEmpty)
    }

    @Test func `the cache directory is private and left out of backups`() async throws {
        try await fetch("/1000/a")
        let attributes = try FileManager.default.attributesOfItem(atPath: work.cache)
        #expect((attributes[.posixPermissions] as? Int) == 0o700)
        let tag = try String(contentsOfFile: work.cache + "/CACHEDIR.TAG", encoding: .utf8)
        #expect(tag.hasPrefix("Signature: 8a477f597d28d172789f06886806bc55"))
    }

    @Test func `the store stays within --capacity, whatever is fetched`() async throws {
        for number in 0..<30 {
            let outcome = try await work.fetch("--capacity", "4MiB", origin.url("/500000/\(number)"))
            #expect(outcome.ending == .exited(0), "\(outcome)")
            #expect(DiskUsage.bytes(at: work.cache) <= 4 << 20)
        }
        #expect(try await objects("ls").count >= 3)
    }

    @Test func `--version --verbose names the commit, the compiler, libcurl and the codecs' files`() async throws {
        for options in [["--version", "--verbose"], ["--verbose", "--version"]] {
            let outcome = try await work.command.run(options)
            #expect(outcome.ending == .exited(0), "\(outcome)")
            let lines = outcome.output.split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1) }
            func value(_ name: String) -> String? {
                lines.first { $0.first == name[...] }?.last.map { String($0.drop { $0 == " " }) }
            }
            let version = try await work.run("--version").output.dropLast()
            #expect(value("version") == "imgcache \(version)")
            let commit = try #require(value("commit"))
            // Only scripts/build records it.
            if commit.hasPrefix("not recorded") {
                #expect(value("Swift") == nil)
            } else {
                #expect(commit.prefix(40).allSatisfy(\.isHexDigit) && commit.count >= 40, "\(commit)")
                #expect(value("Swift")?.first?.isNumber == true)
            }
            #expect(value("libcurl")?.hasPrefix("libcurl/") == true)
            for library in [
                "libcurl.so.4", "libjpeg.so.", "libpng16.so.", "libwebp.so.", "libheif.so.", "libjxl.so.",
                "libtiff.so.",
            ] {
                #expect(outcome.output.contains("/\(library)"), "\(library): \(outcome)")
            }
        }
    }

    @Test func `--help and --version exit with 0, and the help of fetch names the exit codes`() async throws {
        #expect(try await work.run("--version").ending == .exited(0))
        #expect(try await work.run("--help").ending == .exited(0))
        #expect(try await work.run("fetch", "--help").ending == .exited(0))
        let help = try await work.run("fetch", "--help-all")
        #expect(help.ending == .exited(0))
        #expect(help.output.contains("130"))
    }
}
