import Fleet
import FoundationEssentials
import Glibc
import ImageCache
import Units

/// The metrics of the cache, for `/metrics`.
struct CacheMetrics: Sendable {
    var store: StoreStatistics
    var evictions: EvictionStatistics
    var transfers: TransferTotals
    var images: ImageStatistics
    var hotResponses: MemoryCacheStatistics
    var running: Int
    /// `nil` without a shared store; its metrics are then omitted.
    var remote: RemoteMetrics?

    /// Reads the current values.
    init(_ cache: DownloadCache) async throws(ImageCacheError) {
        store = try await cache.statistics()
        evictions = await cache.evictions
        transfers = cache.transferTotals
        images = cache.imageStatistics
        hotResponses = cache.hotResponseStatistics
        running = cache.running.count
        remote = cache.remoteStatistics.map(RemoteMetrics.init)
    }

    func write(to text: inout PrometheusText) {
        text.add(
            "imgcache_store_bytes", .gauge, by: "kind",
            [
                ("bodies", store.bodyBytes), ("partials", store.partialBytes), ("doomed", store.doomedBytes),
                ("index", store.indexBytes),
            ], help: "Size of the store on disk in bytes.")
        text.add(
            "imgcache_store_used_bytes", .gauge, store.usedBytes,
            help: "Bytes that count against the capacity, with the greatest size of the index's log.")
        text.add("imgcache_store_capacity_bytes", .gauge, store.capacity, help: "Capacity of the store in bytes.")
        text.add("imgcache_store_free_bytes", .gauge, store.freeSpace, help: "Free space of the file system in bytes.")
        text.add("imgcache_store_entries", .gauge, store.entries, help: "Complete bodies.")
        text.add("imgcache_store_partials", .gauge, store.partials, help: "Partial bodies, in use or idle.")
        text.add("imgcache_evictions_total", .counter, evictions.count, help: "Entries evicted.")
        text.add("imgcache_evicted_bytes_total", .counter, evictions.bytes, help: "Size of evicted entries on disk.")
        if let age = evictions.medianAge {
            text.add(
                "imgcache_eviction_age_seconds", .gauge, age.inSeconds,
                help: "Median time since last use of the latest 255 evicted entries.")
        }
        text.add("imgcache_transfers_running", .gauge, running, help: "Running transfers from origins to the store.")
        text.add(
            "imgcache_origin_requests_total", .counter, transfers.attempts,
            help: "Requests to origins, including retries and validations.")
        text.add(
            "imgcache_origin_received_bytes_total", .counter, transfers.bytesReceived,
            help: "Bytes of content received from origins.")
        text.add("imgcache_origin_resumes_total", .counter, transfers.resumes, help: "Transfers resumed.")
        text.add(
            "imgcache_origin_resumed_bytes_total", .counter, transfers.bytesResumed,
            help: "Bytes held when transfers were resumed.")
        text.add(
            "imgcache_origin_responses_total", .counter, by: "status",
            transfers.responses.sorted { $0.key < $1.key }.map { (String($0.key), Int64($0.value)) },
            help: "Responses of origins, by status.")
        text.add(
            "imgcache_origin_failures_total", .counter, by: "code",
            transfers.failures.map { ($0.key.description, Int64($0.value)) }.sorted { $0.0 < $1.0 },
            help: "Requests to origins that failed before their response was complete, by reason.")
        text.add(
            "imgcache_origin_response_seconds", [([], transfers.latencies)],
            help: "The time from a request to the first byte of the origin's response.")
        writeImages(to: &text)
        remote?.write(to: &text)
    }

    private func writeImages(to text: inout PrometheusText) {
        text.add("imgcache_images_decoded_total", .counter, images.decodes, help: "Files decoded.")
        text.add("imgcache_images_resized_total", .counter, images.resizes, help: "Images resized.")
        text.add("imgcache_images_encoded_total", .counter, images.encodes, help: "Images encoded.")
        text.add(
            "imgcache_images_damaged_total", .counter, images.damaged,
            help: "Images derived from damaged originals.")
        text.add(
            "imgcache_image_crashes_total", .counter, images.crashes,
            help: "Worker processes that ended in the middle of an image.")
        text.add(
            "imgcache_image_worker_replacements_total", .counter, images.workerReplacements,
            help: "Worker processes that took the place of another, for whatever reason.")
        if let areThere = images.hasWorkers {
            text.add(
                "imgcache_image_workers_available", .gauge, areThere ? 1 : 0,
                help: "1 while images are decoded in worker processes, 0 while none can be started.")
        }
        text.add(
            "imgcache_image_cpu_seconds",
            [("decode", images.times.decode), ("process", images.times.process), ("encode", images.times.encode)]
                .map { ([("step", $0.0)], $0.1) },
            help: "CPU time of a step: decoding a file, resizing and changing an image, encoding it.")
        let kinds = [("files", hotResponses)] + (images.memory.map { [("images", $0)] } ?? [])
        func add(
            _ name: String, _ kind: PrometheusText.Kind, _ place: KeyPath<MemoryCacheStatistics, Int>, _ help: String
        ) {
            text.add(name, kind, by: "kind", kinds.map { ($0, Int64($1[keyPath: place])) }, help: help)
        }
        add("imgcache_memory_bytes", .gauge, \.bytes, "Memory of small files and images in bytes.")
        add("imgcache_memory_capacity_bytes", .gauge, \.limits.capacity, "The most of them.")
        add("imgcache_memory_entries", .gauge, \.entries, "Files and images in memory.")
        add("imgcache_memory_hits_total", .counter, \.counts.hits, "Look-ups served from memory.")
        add("imgcache_memory_misses_total", .counter, \.counts.misses, "Look-ups not served from memory.")
        add("imgcache_memory_purges_total", .counter, \.counts.purges, "Purges of memory.")
    }
}

/// The metrics of the process, with the names of Prometheus's client libraries.
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
            help: "Start time of the server, in seconds since 1970.")
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
