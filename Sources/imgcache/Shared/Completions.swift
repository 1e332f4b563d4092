import ArgumentParser
import DiskStore
import ImageCache
import Logging

/// The completions that the cache itself provides. A cache that is missing or cannot be read provides none.
enum Completions {
    private static let most = 500

    /// The stored URLs that begin with the typed word, the most recently used first.
    static let urls = CompletionKind.custom { arguments, index, prefix in
        guard let cache = try? cache(of: arguments), let partials = try? cache.blocking.partials() else { return [] }
        let word = CompletedWord(arguments, at: index, prefix: prefix, for: .requesting)
        var urls: [String] = []
        try? cache.blocking.forEachEntry(by: .age, descending: true) { entry in
            if urls.count < most, entry.recipe == nil, word.matches(entry.url) { urls.append(entry.url) }
        }
        return word.offering(urls + partials.map(\.url))
    }

    /// The names of the sets of pins.
    static let pins = CompletionKind.custom { arguments, index, prefix in
        guard let cache = try? cache(of: arguments), let sets = try? cache.blocking.store.pinSets() else { return [] }
        return CompletedWord(arguments, at: index, prefix: prefix, for: .requesting)
            .offering(sets.filter { $0.list == 0 }.map(\.name))
    }

    /// The names of the lists of records.
    static let lists = CompletionKind.custom { arguments, index, prefix in
        guard let cache = try? cache(of: arguments), let lists = try? cache.blocking.store.lists() else { return [] }
        return CompletedWord(arguments, at: index, prefix: prefix, for: .requesting)
            .offering(Set(lists.map(\.name.name)).sorted())
    }

    private static func cache(of arguments: [String]) throws -> DownloadCache {
        var configuration = DownloadCache.Configuration.command
        configuration.store.isReadOnly = true
        configuration.logger.logLevel = .critical
        let directory = try directory(in: arguments) ?? Settings.load()?.value(of: "cache-dir")
        return try DownloadCache(directory: directory, configuration: configuration)
    }

    /// The folder that the command line names. Bash makes three words of `--cache-dir=DIR`.
    private static func directory(in arguments: [String]) -> String? {
        let option = "--cache-dir"
        if let named = arguments.last(where: { $0.hasPrefix(option + "=") }) {
            return String(named.dropFirst(option.count + 1))
        }
        guard let place = arguments.lastIndex(of: option) else { return nil }
        let value = arguments.dropFirst(place + 1).drop { $0 == "=" }.first
        return value?.isEmpty == true ? nil : value
    }
}
