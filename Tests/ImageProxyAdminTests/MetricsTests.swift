import Foundation
import Metrics
import Testing
import Units

@testable import ImageProxyAdmin

@Suite struct PrometheusTextTests {
    @Test func `each metric that the server counts has its help`() {
        let registry = MetricsRegistry()
        _ = ServerMetrics(factory: registry)
        // Errors have a line once there is one.
        let labels = Set(registry.all.keys.map(\.label)).union(["imgcache_errors_total"])
        #expect(labels == Set(MetricHelp.texts.keys))
    }

    private static let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The names in the sources.
    private static func names() throws -> Set<String> {
        var names: Set<String> = []
        for folder in ["Metrics", "Routes"] {
            let path = "Sources/ImageProxyAdmin/\(folder)"
            let files = try FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(path).path)
            for file in files where file != "Problem.swift" {
                names.formUnion(
                    try text("\(path)/\(file)").matches(of: #/"(imgcache_\w+)"/#).map { String($0.output.1) })
            }
        }
        return names
    }

    @Test func `the page on administering has a row for each metric`() throws {
        let page = try Self.text("Sources/ImageProxy/ImageProxy.docc/Administering.md")
        let names = try Self.names()
        #expect(names.count > 25)
        for name in names.sorted() { #expect(page.contains("`\(name)"), "Administering.md lacks \(name)") }
    }

    @Test(arguments: ["grafana-dashboard.json", "prometheus-alerts.yaml"])
    func `the dashboard and the alerts use only existing metrics`(file: String) throws {
        let names = try Self.names()
        let asked = Set(
            try Self.text("scripts/dist/\(file)").matches(of: #/imgcache_[a-z_]+/#).map {
                String($0.output).replacing(#/_bucket$/#, with: "")
            })
        #expect(asked.count > 5)
        #expect(asked.subtracting(names).isEmpty)
    }

    @Test func `the page links only to existing metrics`() throws {
        let names = try Self.names()
        let folder = "Sources/ImageProxyAdmin/Page"
        var linked: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(atPath: Self.root.appendingPathComponent(folder).path) {
            linked.formUnion(try Self.text("\(folder)/\(file)").matches(of: #/imgcache_\w+/#).map { String($0.output) })
        }
        let problems = try Self.text("Sources/ImageProxyAdmin/Routes/Problem.swift")
        linked.formUnion(problems.matches(of: #/imgcache_\w+/#).map { String($0.output) })
        #expect(linked.count > 15)
        #expect(linked.subtracting(names).isEmpty)
    }

    @Test func `a single metric is written without the others`() {
        func family(_ name: String) -> String {
            var text = PrometheusText(only: name)
            text.add("a_total", .counter, 1, help: "First.")
            text.add("a_total_more", .counter, by: "kind", [("x", 2), ("y", 3)], help: "Second.")
            text.add("b", .gauge, 4, help: "Third.")
            return text.text
        }
        #expect(
            family("a_total_more") == """
                # HELP a_total_more Second.
                # TYPE a_total_more counter
                a_total_more{kind="x"} 2
                a_total_more{kind="y"} 3

                """)
        #expect(family("a_total") == "# HELP a_total First.\n# TYPE a_total counter\na_total 1\n")
        #expect(family("c").isEmpty)
    }

    @Test func `a counter starts at 0, a histogram has no line before its first value`() {
        let registry = MetricsRegistry()
        Counter(label: "a_total", dimensions: [("status", "2xx")], factory: registry).increment()
        _ = Counter(label: "a_total", dimensions: [("status", "5xx")], factory: registry)
        _ = Counter(label: "b_total", dimensions: [("status", "5xx")], factory: registry)
        _ = Timer(label: "c_seconds", dimensions: [("cache", "hit")], factory: registry)
        _ = Counter(label: "d_total", factory: registry)
        var text = PrometheusText()
        text.add(registry)
        text.add("e_seconds", [([], DurationHistogram())], help: "Empty.")
        #expect(
            text.text == """
                # TYPE a_total counter
                a_total{status="2xx"} 1
                a_total{status="5xx"} 0
                # TYPE b_total counter
                b_total{status="5xx"} 0
                # TYPE d_total counter
                d_total 0

                """)
    }

    @Test func `counters, gauges and histograms come out as Prometheus reads them`() {
        let registry = MetricsRegistry()
        Counter(label: "b.total", dimensions: [("z", "1"), ("a", "x\"\\\ny")], factory: registry).increment(by: 3)
        Counter(label: "b.total", dimensions: [("z", "0"), ("a", "w")], factory: registry).increment()
        let meter = Meter(label: "a_now", factory: registry)
        meter.set(2)
        meter.decrement(by: 0.5)
        var text = PrometheusText()
        text.add(registry)
        text.add("c", .gauge, 7, help: "Back\\slash.")
        #expect(
            text.text == """
                # TYPE a_now gauge
                a_now 1.5
                # TYPE b_total counter
                b_total{a="w",z="0"} 1
                b_total{a="x\\"\\\\\\ny",z="1"} 3
                # HELP c Back\\\\slash.
                # TYPE c gauge
                c 7

                """)
    }

    @Test func `a timer is a histogram in seconds whose buckets add up`() {
        let registry = MetricsRegistry()
        let timer = Timer(label: "imgcache_request_duration_seconds", dimensions: [("cache", "hit")], factory: registry)
        timer.recordNanoseconds(20_000)
        timer.recordNanoseconds(2_000_000_000)
        timer.recordNanoseconds(500_000_000_000)
        var text = PrometheusText()
        text.add(registry)
        let lines = text.text.split(separator: "\n")
        #expect(lines[0].hasPrefix("# HELP imgcache_request_duration_seconds "))
        #expect(lines[1] == "# TYPE imgcache_request_duration_seconds histogram")
        let name = "imgcache_request_duration_seconds"
        #expect(lines.contains("\(name)_bucket{cache=\"hit\",le=\"2.5e-05\"} 1"))
        #expect(lines.contains("\(name)_bucket{cache=\"hit\",le=\"100\"} 2"))
        #expect(lines.contains("\(name)_bucket{cache=\"hit\",le=\"+Inf\"} 3"))
        #expect(lines.contains("\(name)_sum{cache=\"hit\"} 502.00002"))
        #expect(lines.contains("\(name)_count{cache=\"hit\"} 3"))
    }

    @Test(arguments: [
        (1.0, "1"), (0.000025, "2.5e-05"), (0.1, "0.1"), (.infinity, "+Inf"), (1e20, "1e+20"), (-2, "-2"),
    ])
    func `numbers are written in the Prometheus format`(value: Double, text: String) {
        #expect(PrometheusText.number(value) == text)
    }

    @Test func `a metric's name has letters, digits and underscores alone`() {
        #expect(PrometheusText.sanitized("http.requests-2") == "http_requests_2")
        #expect(PrometheusText.sanitized("2x") == "_2x")
        #expect(PrometheusText.sanitized("") == "_")
    }

    @Test func `the same label and dimensions give the same metric in any order`() {
        let registry = MetricsRegistry()
        Counter(label: "x", dimensions: [("a", "1"), ("b", "2")], factory: registry).increment()
        let again = Counter(label: "x", dimensions: [("b", "2"), ("a", "1")], factory: registry)
        again.increment()
        guard case .counter(let cell) = registry.all.first?.value else {
            Issue.record("no counter")
            return
        }
        #expect(registry.all.count == 1)
        #expect(cell.value == 2)
        again.destroy()
        #expect(registry.all.isEmpty)
    }
}
