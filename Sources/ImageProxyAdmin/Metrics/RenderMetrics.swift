import ImageProxy

/// The metrics of rendered images by format and preset, for `/metrics`.
struct RenderMetrics {
    let counts: [RenderCounts.Kind: Int]

    func write(to text: inout PrometheusText) {
        let rows = counts.map { (format: $0.key.formatName, preset: $0.key.preset ?? "", count: Int64($0.value)) }
            .sorted { ($0.format, $0.preset) < ($1.format, $1.preset) }
        text.add(
            "imgcache_images_rendered_total", .counter,
            rows.map { ([("format", $0.format), ("preset", $0.preset)], $0.count) },
            help: "Images rendered for requests, by format, and by preset (empty: none).")
    }
}
