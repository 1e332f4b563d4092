import Fleet
import ImageCache

/// The metrics of the shared store, for `/metrics`.
struct RemoteMetrics: Sendable {
    let remote: RemoteStatistics

    func write(to text: inout PrometheusText) {
        text.add(
            "imgcache_remote_available", .gauge, remote.isAvailable ? 1 : 0,
            help: "1 while the shared store is asked, 0 while it is left alone after failures.")
        text.add(
            "imgcache_remote_lookups_total", .counter, by: "outcome",
            [("hit", Int64(remote.hits)), ("miss", Int64(remote.misses))],
            help: "Look-ups of responses in the shared store.")
        text.add(
            "imgcache_remote_images_total", .counter, by: "outcome",
            [("hit", Int64(remote.imageHits)), ("miss", Int64(remote.imageMisses))],
            help: "Look-ups of derived images in the shared store; a hit is neither decoded nor encoded here.")
        text.add(
            "imgcache_remote_errors_total", .counter, remote.errors,
            help: "Requests to the shared store that failed.")
        text.add(
            "imgcache_remote_skipped_total", .counter, remote.skipped,
            help: "Requests to the shared store that were not made while it was left alone.")
        text.add(
            "imgcache_remote_damaged_total", .counter, remote.damaged,
            help: "Objects of the shared store that were not as they had been stored, and were deleted.")
        writeCoordination(to: &text)
        writeTraffic(to: &text)
    }

    private func writeCoordination(to text: inout PrometheusText) {
        text.add(
            "imgcache_remote_leases_total", .counter, by: "outcome",
            [
                ("held", Int64(remote.leases)), ("succeeded", Int64(remote.leasesTakenOver)),
                ("waited", Int64(remote.leaseWaits)),
            ],
            help:
                "Leases for requests to origins: held by this machine, taken over from one that had stopped, waited for."
        )
        text.add(
            "imgcache_remote_invalidations_total", .counter, by: "outcome",
            [
                ("told", Int64(remote.invalidations)), ("received", Int64(remote.receivedInvalidations)),
                ("lost", Int64(remote.lostInvalidations)),
            ],
            help: "Invalidations that the fleet was told of, that came from it, and that it could not be told of.")
    }

    private func writeTraffic(to text: inout PrometheusText) {
        let traffic = remote.traffic
        text.add(
            "imgcache_remote_requests_total", .counter, by: "kind",
            [
                ("read", Int64(traffic.reads)), ("list", Int64(traffic.listings)), ("write", Int64(traffic.writes)),
                ("delete", Int64(traffic.deletions)),
            ],
            help: "Requests to the shared store, for whatever purpose.")
        text.add(
            "imgcache_remote_bytes_total", .counter, by: "direction",
            [("read", traffic.bytesRead), ("written", traffic.bytesWritten)],
            help: "Bytes of content that the shared store sent and was sent.")
        text.add("imgcache_remote_uploads_total", .counter, remote.uploads, help: "Objects uploaded.")
        text.add(
            "imgcache_remote_dropped_total", .counter, remote.droppedUploads,
            help: "Uploads and deletions dropped: too many waited, or the shared store failed.")
        text.add(
            "imgcache_remote_queue_length", .gauge, remote.waitingUploads, help: "Waiting uploads and deletions.")
        text.add(
            "imgcache_remote_queue_bytes", .gauge, remote.waitingBytes, help: "Size of the waiting uploads in bytes.")
    }
}
