import ConcurrencyPrimitives
import DiskStore
import ImageCodec
import Transfer
import WorkerProcesses

/// The header of a file, and the work that reading it was.
struct MeasuredHeader: Sendable {
    let header: ImageHeader
    let work: WorkerUse
}

extension ImageRenderer {
    /// A measure of the work on a header, for turns: pixels.
    static let headerCost = 1 << 16
    /// An estimate of the memory that reading a header takes, in bytes.
    private static let headerMemory = 1 << 20

    /// Reads the header of a request's original in a turn of the request's client.
    ///
    /// - Parameter original: The original's key: its images wait in one line.
    func header(
        of file: CachedFile, _ request: ImageRequest, _ original: ResourceKey, _ priority: TransferPriority
    ) async throws(ImageCacheError) -> MeasuredHeader {
        let turn = DecodingSlots.Turn(
            priority: priority, owner: original, cost: Self.headerCost, client: request.file.client)
        switch try await header(of: file.body, turn, request.decoder) {
        case .success(let header): return header
        case .failure(let error): throw ImageCacheError(error, file)
        }
    }

    /// Reads the header of a file when it is its turn, on the threads of decodes: a worker process may be waited for, and a decoder of
    /// the application may wait for anything.
    func header(
        of body: StoredBody, _ turn: DecodingSlots.Turn, _ decoder: ImageDecoder
    ) async throws(ImageCacheError) -> Result<MeasuredHeader, ImageCodecError> {
        let cancellation = ImageCancellation()
        let outcome: Result<Result<MeasuredHeader, ImageCodecError>, ImageCacheError> =
            await withTaskCancellationHandler {
                do throws(ImageCacheError) {
                    return .success(
                        try await slots.run(turn, memory: { Self.headerMemory }, on: executor) { [self] in
                            do throws(ImageCodecError) {
                                return .success(
                                    try header(
                                        of: body.descriptor, byteCount: Int(body.size), decoder, cancellation))
                            } catch {
                                return .failure(error)
                            }
                        })
                } catch {
                    return .failure(error)
                }
            } onCancel: {
                cancellation.cancel()
            }
        return try outcome.get()
    }
}
