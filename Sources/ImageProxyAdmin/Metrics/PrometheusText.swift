import Units

/// Metrics in the text format of Prometheus (version 0.0.4).
struct PrometheusText {
    static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""
    /// The name of the only metric to add; nil for all.
    private let only: String?
    /// True while the metric that was begun last is to be added.
    private var isWanted = true

    init(only: String? = nil) { self.only = only }

    enum Kind: String {
        case counter, gauge, histogram
    }

    /// Adds a metric without dimensions.
    mutating func add(_ name: String, _ kind: Kind, _ value: some BinaryInteger, help: String) {
        begin(name, kind, help: help)
        line(name, [], String(value))
    }

    mutating func add(_ name: String, _ kind: Kind, _ value: Double, help: String) {
        begin(name, kind, help: help)
        line(name, [], Self.number(value))
    }

    /// Adds a metric with a value for each value of a dimension. Without values, it adds nothing.
    mutating func add(_ name: String, _ kind: Kind, by dimension: String, _ values: [(String, Int64)], help: String) {
        add(name, kind, values.map { ([(dimension, $0.0)], $0.1) }, help: help)
    }

    /// Adds a metric with several dimensions. Without values, it adds nothing.
    mutating func add(_ name: String, _ kind: Kind, _ values: [([(String, String)], Int64)], help: String) {
        guard !values.isEmpty else { return }
        begin(name, kind, help: help)
        for (dimensions, count) in values { line(name, dimensions, String(count)) }
    }

    /// Adds histograms with their dimensions, except for empty ones.
    mutating func add(_ name: String, _ histograms: [([(String, String)], DurationHistogram)], help: String) {
        let histograms = histograms.filter { $0.1.count > 0 }
        guard !histograms.isEmpty else { return }
        begin(name, .histogram, help: help)
        for (dimensions, histogram) in histograms { lines(name, dimensions, histogram) }
    }

    /// Adds all metrics of a registry, ordered by name and dimensions. A histogram without values is omitted.
    mutating func add(_ registry: MetricsRegistry) {
        let families = Dictionary(grouping: registry.all) { Self.sanitized($0.key.label) }
        for (name, members) in families.sorted(by: { $0.key < $1.key }) {
            let members = members.filter { $0.key.dimensions.isEmpty || !$0.value.isEmptyHistogram }.sorted {
                left, right in
                left.key.dimensions.map(\.value).lexicographicallyPrecedes(right.key.dimensions.map(\.value))
            }
            guard let first = members.first else { continue }
            begin(name, Kind(first.value), help: MetricHelp.texts[name])
            for (identity, cell) in members where Kind(cell) == Kind(first.value) {
                add(name, identity.dimensions.map { ($0.name, $0.value) }, cell)
            }
        }
    }

    private mutating func add(_ name: String, _ dimensions: [(String, String)], _ cell: MetricsRegistry.Cell) {
        switch cell {
        case .counter(let counter): line(name, dimensions, String(counter.value))
        case .gauge(let gauge): line(name, dimensions, Self.number(gauge.value))
        case .timer(let timer):
            lines(name, dimensions, timer.value)
        }
    }

    private mutating func lines(_ name: String, _ dimensions: [(String, String)], _ histogram: DurationHistogram) {
        for index in DurationHistogram.exported {
            let bound = Self.number(Double(DurationHistogram.bounds[index]) / 1e9)
            line(name + "_bucket", dimensions + [("le", bound)], String(histogram.cumulative(at: index)))
        }
        line(name + "_bucket", dimensions + [("le", "+Inf")], String(histogram.count))
        line(name + "_sum", dimensions, Self.number(Double(histogram.sum) / 1e9))
        line(name + "_count", dimensions, String(histogram.count))
    }

    private mutating func begin(_ name: String, _ kind: Kind, help: String?) {
        isWanted = only.map { $0 == name } ?? true
        guard isWanted else { return }
        if let help { text += "# HELP \(name) \(Self.escaped(help, quote: false))\n" }
        text += "# TYPE \(name) \(kind.rawValue)\n"
    }

    private mutating func line(_ name: String, _ dimensions: [(String, String)], _ value: String) {
        guard isWanted else { return }
        text += name
        if !dimensions.isEmpty {
            let pairs = dimensions.map { "\(Self.sanitized($0.0))=\"\(Self.escaped($0.1, quote: true))\"" }
            text += "{\(pairs.joined(separator: ","))}"
        }
        text += " \(value)\n"
    }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if value == value.rounded(), abs(value) < 1e15 { return String(Int64(value)) }
        return "\(value)"
    }

    /// Replaces all characters except letters, digits and underscores, and a leading digit.
    static func sanitized(_ name: String) -> String {
        let letters = name.unicodeScalars.map { scalar -> Character in
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            return isPlain || scalar == ":" ? Character(scalar) : "_"
        }
        return letters.first.map { $0.isNumber ? "_" : "" }.map { $0 + String(letters) } ?? "_"
    }

    private static func escaped(_ text: String, quote: Bool) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quote: escaped += "\\\""
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}

extension MetricsRegistry.Cell {
    fileprivate var isEmptyHistogram: Bool {
        if case .timer(let timer) = self { timer.value.count == 0 } else { false }
    }
}

extension PrometheusText.Kind {
    fileprivate init(_ cell: MetricsRegistry.Cell) {
        switch cell {
        case .counter: self = .counter
        case .gauge: self = .gauge
        case .timer: self = .histogram
        }
    }
}
