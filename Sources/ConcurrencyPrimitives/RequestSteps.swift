/// A step of the work for a request that may take long.
package enum RequestStep: String, Sendable, CaseIterable {
    /// Waiting for a place among the requests that are handled at once.
    case queue
    /// Looking for a stored response.
    case lookUp = "look-up"
    /// A transfer from an origin, with its retries.
    case origin
    /// Decoding an original.
    case decode
    /// Resizing and changing an image.
    case process
    /// Encoding an image.
    case encode
    /// Storing a received body.
    case store
}

/// Receives the steps of one request, for a trace. Called on any thread; must not block.
package protocol RequestStepRecorder: Sendable {
    /// Records a step that has ended.
    func record(_ step: RequestStep, from start: ContinuousClock.Instant, to end: ContinuousClock.Instant, failed: Bool)
}

/// The steps of the request that the current task works for. Work that several requests share is recorded for the one that began it.
package enum RequestSteps {
    /// `nil` for requests that are not traced.
    @TaskLocal package static var recorder: (any RequestStepRecorder)?

    /// Runs a step, and records it if the request is traced.
    package static func record<Value, Failure>(
        _ step: RequestStep, _ work: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        guard let recorder else { return try work() }
        let start = ContinuousClock.now
        do throws(Failure) {
            let value = try work()
            recorder.record(step, from: start, to: .now, failed: false)
            return value
        } catch {
            recorder.record(step, from: start, to: .now, failed: true)
            throw error
        }
    }

    /// Runs a step, and records it if the request is traced.
    package static func record<Value, Failure>(
        isolation: isolated (any Actor)? = #isolation, _ step: RequestStep, _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard let recorder else { return try await work() }
        let start = ContinuousClock.now
        do throws(Failure) {
            let value = try await work()
            recorder.record(step, from: start, to: .now, failed: false)
            return value
        } catch {
            recorder.record(step, from: start, to: .now, failed: true)
            throw error
        }
    }
}

extension RequestStepRecorder {
    /// Records steps that followed one another and end now.
    package func record(_ steps: [(RequestStep, Duration)]) {
        var start = ContinuousClock.now - steps.reduce(.zero) { $0 + $1.1 }
        for (step, duration) in steps {
            record(step, from: start, to: start + duration, failed: false)
            start += duration
        }
    }
}
