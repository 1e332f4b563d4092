import ConcurrencyPrimitives
import DiskStore
import ImageCodec
import Transfer
import WorkerProcesses

/// The header of a file, and the time spent on reading it.
struct MeasuredHeader: Sendable {
    let header: ImageHeader
    let work: WorkerUse
}

extension ImageRenderer {
    /// The assumed amount of work for a header in pixels, for the queue.
    static let headerCost = 1 << 16
    /// The estimated memory for reading a header, in bytes, including a file that is no larger.
    static let headerMemory = 1 << 20

    /// Reads the header of a request's original with a ticket of the request's client.
    ///
    /// - Parameter original: The original's key, as the owner of the work in the queue.
    func header(
        of file: CachedFile, _ request: ImageRequest, _ original: ResourceKey, _ priority: TransferPriority
    ) async throws(ImageCacheError) -> MeasuredHeader {
        let ticket = DecodingSlots.Ticket(
            priority: priority, owner: original, cost: Self.headerCost, client: request.file.client)
        switch try await header(of: file.body, ticket, request.decoder) {
        case .success(let header): return header
        case .failure(let error): throw ImageCacheError(error, file)
        }
    }

    /// Reads the header of a file with its ticket, on the decoding threads: it may wait for a worker process, or an application's decoder may
    /// block.
    func header(
        of body: StoredBody, _ ticket: DecodingSlots.Ticket, _ decoder: ImageDecoder
    ) async throws(ImageCacheError) -> Result<MeasuredHeader, ImageCodecError> {
        let cancellation = ImageCancellation()
        let outcome: Result<Result<MeasuredHeader, ImageCodecError>, ImageCacheError> =
            await withTaskCancellationHandler {
                do throws(ImageCacheError) {
                    return .success(try await header(of: body, ticket, decoder, cancellation))
                } catch {
                    return .failure(error)
                }
            } onCancel: {
                cancellation.cancel()
            }
        return try outcome.get()
    }

    /// The outcome of a turn.
    private enum Turn: Sendable {
        case ended(Result<MeasuredHeader, ImageCodecError>)
        /// The file takes this many bytes of memory.
        case needs(Int)
    }

    /// Reads the header in a turn. A large file whose decoder reads all of it takes another turn, with as much memory.
    private func header(
        of body: StoredBody, _ ticket: DecodingSlots.Ticket, _ decoder: ImageDecoder, _ cancellation: ImageCancellation
    ) async throws(ImageCacheError) -> Result<MeasuredHeader, ImageCodecError> {
        var memory = Self.headerMemory
        while true {
            let granted = memory
            let turn: Turn = try await slots.run(ticket, memory: { granted }, on: executor) { [self] in
                do throws(ImageCodecError) {
                    let needed = try Self.headerMemory(of: body, decoder)
                    if needed > granted { return .needs(needed) }
                    return .ended(
                        .success(
                            try header(of: body.descriptor, byteCount: Int(body.size), decoder, cancellation)))
                } catch {
                    return .ended(.failure(error))
                }
            }
            switch turn {
            case .ended(let result): return result
            case .needs(let more): memory = more
            }
        }
    }

    /// The memory for reading the header of a file, in bytes.
    private static func headerMemory(of body: StoredBody, _ decoder: ImageDecoder) throws(ImageCodecError) -> Int {
        guard body.size > headerMemory, try decoder.readsWhole(ImageSource(duplicating: body.descriptor)) else {
            return headerMemory
        }
        return headerMemory + Int(body.size)
    }
}
