import FoundationEssentials
import HTTPSemantics
import HTTPTypes
import Transfer

extension S3Tier {
    package func read(_ key: String, unless tag: String?) async throws(RemoteError) -> RemoteReading {
        let sink = ObjectSink(limit: sizeLimit)
        let head = try await run(.get, key, tag.map { [.ifNoneMatch: $0] } ?? [:], into: sink)
        var reading = RemoteReading(.absent, storeTime: time(head.fields[.date]))
        switch head.status {
        case .notFound:
            try sink.requireBucket(head)
            return reading
        case .notModified where tag != nil: reading.content = .unchanged
        case .ok: reading.content = .object(try verified(sink, head))
        default: throw sink.error(head)
        }
        reading.tag = head.fields[.eTag] ?? (reading.content == .unchanged ? tag : nil)
        reading.modified = time(head.fields[.lastModified])
        return reading
    }

    private func time(_ text: String?) -> Date? { text.flatMap { HTTPDate.parse($0, now: now()) } }
}

extension ObjectSink {
    /// Distinguishes a missing object from a missing bucket.
    ///
    /// - Throws: ``RemoteError/status(_:code:)`` if the bucket is missing.
    func requireBucket(_ head: ResponseHead) throws(RemoteError) {
        let error = error(head)
        if error.rejection == .noBucket { throw error }
    }
}
