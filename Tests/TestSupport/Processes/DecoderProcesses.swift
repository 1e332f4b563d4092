import Foundation
public import Glibc

/// The processes in which a program decodes images: helpers, which are its children, and their workers.
public struct DecoderProcesses: Sendable {
    public private(set) var helpers: [pid_t] = []
    public private(set) var workers: [pid_t] = []
    public var all: [pid_t] { helpers + workers }

    /// - Parameter path: The path with which helpers are started; nil: of any.
    public init(of program: pid_t, startedAs path: String? = nil) throws {
        let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }
        let parents = numbers.compactMap { number in Self.parent(of: number).map { (number, $0) } }
        helpers = parents.filter { $0.1 == program && (path == nil || Self.path(of: $0.0) == path) }.map(\.0)
        workers = parents.filter { helpers.contains($0.1) }.map(\.0)
    }

    /// Nil: there is no such process, or it has ended.
    public static func parent(of process: pid_t) -> pid_t? {
        let words = stat(of: process)
        return words.first == "Z" || words.count < 2 ? nil : pid_t(words[1])
    }

    /// Seconds of CPU time.
    public static func seconds(of process: pid_t) -> Double {
        let words = stat(of: process)
        return words.count > 13 ? ((Double(words[11]) ?? 0) + (Double(words[12]) ?? 0)) / 100 : 0
    }

    /// Bytes of memory that a process has; 0: it has ended.
    public static func resident(_ process: pid_t) -> Int {
        let text = (try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * sysconf(Int32(_SC_PAGESIZE))
    }

    private static func path(of process: pid_t) -> String? {
        guard let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") else { return nil }
        return String(decoding: line.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// The words of proc(5)'s `stat` from the state on.
    private static func stat(of process: pid_t) -> [Substring] {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return [] }
        return text[end...].dropFirst(2).split(separator: " ")
    }
}
