import FoundationEssentials
import ImageCache
import RemoteStore

/// The trailer of an object: the invalidations before its response was requested, and the time of its upload by the uploader's clock.
struct RemoteStamp: Sendable, Hashable {
    private static let mark = Array("IMGCST02".utf8)
    private static let size = RemoteGeneration.size + 16 + mark.count
    /// The difference in seconds up to which clocks count as equal, because the store's times are whole seconds and an upload takes time.
    private static let tolerance = 3.0

    /// The generation of the resource.
    var generation: RemoteGeneration
    /// The position in the log up to which invalidations of several URLs were known; nil if there was no log.
    var position: RemoteLogPosition?
    var uploaded: Date

    /// The bytes that follow the object's content.
    var encoded: [UInt8] {
        var writer = FieldWriter()
        writer.write(position?.number ?? 0)
        writer.write(uploaded.timeIntervalSince1970)
        return generation.bytes + writer.bytes + Self.mark
    }

    /// Separates an object's content from its stamp. An object without one was made by a version without invalidations.
    static func split(_ object: [UInt8]) -> (content: [UInt8], stamp: RemoteStamp?) {
        guard object.count >= size, object.suffix(mark.count).elementsEqual(mark) else { return (object, nil) }
        let stamp = object.suffix(size)
        var reader = FieldReader(Array(stamp.dropFirst(RemoteGeneration.size)))
        guard let generation = RemoteGeneration(stamp.prefix(RemoteGeneration.size)),
            let number = reader.readInt64(), let uploaded = reader.readDouble(), uploaded.isFinite
        else { return (object, nil) }
        let time = Date(timeIntervalSince1970: uploaded)
        let position = RemoteLogPosition(number: number)
        return (
            Array(object.dropLast(size)), RemoteStamp(generation: generation, position: position, uploaded: time)
        )
    }

    /// The seconds to add to the uploader's times to get this machine's times, given the object's age according to the store.
    func shift(now: Date, age: Duration?) -> Double {
        guard let age else { return 0 }
        let shift = now.timeIntervalSince(uploaded) - Double(age.components.seconds)
        return abs(shift) <= Self.tolerance ? 0 : shift
    }
}
