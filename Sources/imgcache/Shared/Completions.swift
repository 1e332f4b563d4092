import ArgumentParser
import DiskStore
import ImageCache
import Logging

/// The completions that the cache itself provides. A cache that is missing or cannot be read provides none.
enum Completions {
    private static let most = 500

    /// The stored URLs that begin with what was typed, the most recently used first.
    static let urls = CompletionKind.custom { arguments, _, prefix in
        guard let cache = try? cache(of: arguments), let partials = try? cache.blocking.partials() else { return [] }
        var urls: [String] = []
        try? cache.blocking.forEachEntry(by: .age, descending: true) { entry in
            if urls.count < most, entry.recipe == nil, entry.url.hasPrefix(prefix) { urls.append(entry.url) }
        }
        return urls + partials.map(\.url).filter { $0.hasPrefix(prefix) }
    }

    /// The names of the sets of pins.
    static let pins = CompletionKind.custom { arguments, _, _ in
        guard let cache = try? cache(of: arguments), let sets = try? await cache.pins() else { return [] }
        return sets.filter { !$0.isOfList }.map(\.name)
    }

    /// The names of the lists of records.
    static let lists = CompletionKind.custom { arguments, _, prefix in
        guard let cache = try? cache(of: arguments), let lists = try? cache.blocking.store.lists() else { return [] }
        return Set(lists.map(\.name.name)).filter { $0.hasPrefix(prefix) }.sorted()
    }

    private static func cache(of arguments: [String]) throws -> DownloadCache {
        var configuration = DownloadCache.Configuration.command
        configuration.store.isReadOnly = true
        configuration.logger.logLevel = .critical
        let named = arguments.firstIndex(of: "--cache-dir").flatMap { place in
            arguments.indices.contains(place + 1) ? arguments[place + 1] : nil
        }
        let directory = try named ?? Settings.load()?.value(of: "cache-dir")
        return try DownloadCache(directory: directory, configuration: configuration)
    }
}
