import ConcurrencyPrimitives
import ImageCache
import JSONParsing
import RecordLists

/// Runs `imgcache sync`: prints the changes as they happen.
struct SyncRun: Sendable {
    let options: SyncCommand

    func run() async -> ExitStatus {
        let interruption = Interruption()
        let cache: DownloadCache
        let list: RecordList
        do {
            let source = try options.source()
            cache = try options.remote.openCache(parallel: options.parallel, further: 4)
            list = try cache.list(
                options.name, group: options.group, owner: options.remote.whose.owner, source: source)
        } catch {
            Output.error("\(error)")
            return ExitStatus(error)
        }
        let json = options.json
        let task = Task { () -> Result<RecordListSummary?, any Error> in
            do {
                var summary: RecordListSummary?
                for try await change in list.sync() {
                    if case .finished(let all) = change { summary = all }
                    for line in Self.lines(of: change, json: json) {
                        if json { Output.jsonLine(line) } else { Output.line(line) }
                    }
                }
                return .success(summary)
            } catch { return .failure(error) }
        }
        interruption.onSignal {
            task.cancel()
            cache.cancelAll()
        }
        let status: ExitStatus
        switch await task.value {
        case .success(let summary): status = summary?.failed ?? 0 > 0 ? .serverError : .done
        case .failure(let error): status = await told(error, list, isInterrupted: interruption.isSignalled)
        }
        interruption.isReported()
        await cache.close()
        return status
    }

    /// Reports the error, and the remaining work.
    private func told(_ error: any Error, _ list: RecordList, isInterrupted: Bool) async -> ExitStatus {
        let pending = (try? await list.status())?.pending ?? 0
        let count = pending == 1 ? "1 id is" : "\(pending) ids are"
        let rest = pending > 0 ? "; \(count) pending, run the same command again to continue" : ""
        let status = isInterrupted ? .interrupted : ExitStatus(error)
        Output.error("\(isInterrupted ? "interrupted" : "\(error)")\(rest)")
        return status
    }

    private static func lines(of change: RecordListChange, json: Bool) -> [String] {
        switch change {
        case .records(let records):
            return records.map { record in
                line(json, "record", JSONText.id(record.id, isNumeric: record.isNumericID), record.id)
            }
        case .removed(let records):
            return records.map { record in
                line(json, "removed", JSONText.id(record.id, isNumeric: record.isNumericID), record.id)
            }
        case .failed(let records):
            return records.map { record in
                let id = JSONText.id(record.id, isNumeric: record.isNumericID)
                if !json {
                    let file = record.file.map { " \($0)" } ?? ""
                    return "failed \(record.id)\(file): \(record.message)".forTerminal
                }
                let file = record.file.map { ",\"file\":\(JSONText.encoded($0))" } ?? ""
                return "{\"type\":\"failed\",\"id\":\(id)\(file),\"error\":\(JSONText.encoded(record.message))}"
            }
        case .progress: return []
        case .finished(let summary): return [finished(summary, json)]
        }
    }

    private static func line(_ json: Bool, _ type: String, _ id: String, _ text: String) -> String {
        json ? "{\"type\":\"\(type)\",\"id\":\(id)}" : "\(type) \(text)".forTerminal
    }

    private static func finished(_ summary: RecordListSummary, _ json: Bool) -> String {
        let (records, removed) = (summary.records, summary.removed)
        let (failed, pending) = (summary.failed, summary.pending)
        guard json else {
            return "finished: \(records) records, \(removed) removed, \(failed) failed, \(pending) pending"
        }
        return
            "{\"type\":\"finished\",\"records\":\(records),\"removed\":\(removed),\"failed\":\(failed),\"pending\":\(pending)}"
    }
}
