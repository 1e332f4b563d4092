import FoundationEssentials
import Glibc
import ImageCache

/// The cache's own figures, for `/metrics`.
struct CacheMetrics: Sendable {
    var store: StoreStatistics
    var evictions: EvictionStatistics
    var transfers: TransferTotals
    var images: ImageStatistics
    var hotResponses: MemoryCacheStatistics
    var running: Int

    /// Reads them.
    init(_ cache: DownloadCache) async throws(ImageCacheError) {
        store = try await cache.statistics()
        evictions = await cache.evictions
        transfers = cache.transferTotals
        images = cache.imageStatistics
        hotResponses = cache.hotResponseStatistics
        running = cache.running.count
    }

    func write(to text: inout PrometheusText) {
        text.add(
            "imgcache_store_bytes", .gauge, by: "kind",
            [
                ("bodies", store.bodyBytes), ("partials", store.partialBytes), ("doomed", store.doomedBytes),
                ("index", store.indexBytes),
            ], help: "Bytes that the store takes on disk.")
        text.add(
            "imgcache_store_used_bytes", .gauge, store.usedBytes,
            help: "All that counts against the capacity, with what the index's log may grow to.")
        text.add("imgcache_store_capacity_bytes", .gauge, store.capacity, help: "The most that the store may take.")
        text.add("imgcache_store_free_bytes", .gauge, store.freeSpace, help: "What the file system has left.")
        text.add("imgcache_store_entries", .gauge, store.entries, help: "Complete bodies.")
        text.add("imgcache_store_partials", .gauge, store.partials, help: "Unfinished bodies, in use or idle.")
        text.add("imgcache_evictions_total", .counter, evictions.count, help: "Entries that were evicted to make room.")
        text.add("imgcache_evicted_bytes_total", .counter, evictions.bytes, help: "What they took on disk.")
        if let age = evictions.medianAge {
            text.add(
                "imgcache_eviction_age_seconds", .gauge, age.seconds,
                help: "How long the newest 255 evicted entries had lain unused, the median.")
        }
        text.add("imgcache_transfers_running", .gauge, running, help: "Transfers from origins to the store under way.")
        text.add(
            "imgcache_origin_requests_total", .counter, transfers.attempts,
            help: "Requests to origins, retries and validations included.")
        text.add(
            "imgcache_origin_received_bytes_total", .counter, transfers.bytesReceived,
            help: "Bytes of content that origins sent.")
        text.add("imgcache_origin_resumes_total", .counter, transfers.resumes, help: "Transfers that were continued.")
        text.add(
            "imgcache_origin_resumed_bytes_total", .counter, transfers.bytesResumed,
            help: "Bytes that were there already when a transfer was continued.")
        writeImages(to: &text)
    }

    private func writeImages(to text: inout PrometheusText) {
        text.add("imgcache_images_decoded_total", .counter, images.decodes, help: "Files that were decoded.")
        text.add("imgcache_images_resized_total", .counter, images.resizes, help: "Images that were resized.")
        text.add("imgcache_images_encoded_total", .counter, images.encodes, help: "Images that were encoded.")
        text.add(
            "imgcache_images_damaged_total", .counter, images.damaged,
            help: "Images that were made of damaged originals.")
        let kinds = [("files", hotResponses)] + (images.memory.map { [("images", $0)] } ?? [])
        func add(
            _ name: String, _ kind: PrometheusText.Kind, _ place: KeyPath<MemoryCacheStatistics, Int>, _ help: String
        ) {
            text.add(name, kind, by: "kind", kinds.map { ($0, Int64($1[keyPath: place])) }, help: help)
        }
        add("imgcache_memory_bytes", .gauge, \.bytes, "Bytes in memory, of small files and of images.")
        add("imgcache_memory_capacity_bytes", .gauge, \.limits.capacity, "The most of them.")
        add("imgcache_memory_entries", .gauge, \.entries, "Files and images in memory.")
        add("imgcache_memory_hits_total", .counter, \.counts.hits, "Look-ups that memory answered.")
        add("imgcache_memory_misses_total", .counter, \.counts.misses, "Look-ups that it did not.")
        add("imgcache_memory_purges_total", .counter, \.counts.purges, "Times that room was made.")
    }
}

extension Duration {
    var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}

/// The process's own figures, under the names that Prometheus's client libraries use.
struct ProcessMetrics: Sendable {
    static func write(to text: inout PrometheusText, started: Date) {
        var usage = rusage()
        if getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 {
            text.add(
                "process_cpu_seconds_total", .counter, usage.ru_utime.seconds + usage.ru_stime.seconds,
                help: "Processor time, of the user and of the system.")
        }
        if let memory = residentMemory {
            text.add("process_resident_memory_bytes", .gauge, memory, help: "Resident memory.")
        }
        text.add(
            "process_start_time_seconds", .gauge, started.timeIntervalSince1970.rounded(),
            help: "When the server started, in seconds since 1970.")
    }

    private static var residentMemory: Int? {
        guard let file = fopen("/proc/self/statm", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        let words = line.prefix { $0 != 0 }.split(separator: CChar(UInt8(ascii: " ")))
        guard words.count > 1 else { return nil }
        return Int(String(decoding: words[1].map { UInt8(bitPattern: $0) }, as: UTF8.self)).map {
            $0 * Int(getpagesize())
        }
    }
}

extension timeval {
    fileprivate var seconds: Double { Double(tv_sec) + Double(tv_usec) / 1e6 }
}
