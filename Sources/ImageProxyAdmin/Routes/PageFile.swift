import HTTPSemantics
import HTTPServer
import HTTPTypes

/// A file of the page, from the folder `Page`, which the build embeds into the binary.
struct PageFile: Sendable {
    let name: String
    let type: String
    let content: [UInt8]
    /// Changes with the content, so that browsers revalidate with 304.
    let tag: String

    private init(_ name: String, _ type: String, _ bytes: [UInt8]) {
        self.name = name
        self.type = type
        content = bytes
        // FNV-1a, 64 bits.
        let hash = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        tag = "\"\(String(hash, radix: 16))\""
    }

    private static func script(_ name: String, _ bytes: [UInt8]) -> PageFile {
        PageFile(name, "text/javascript; charset=utf-8", bytes)
    }

    static let index = PageFile("index.html", "text/html; charset=utf-8", PackageResources.index_html)

    static let all = [
        index,
        PageFile("page.css", "text/css; charset=utf-8", PackageResources.page_css),
        PageFile("icon.svg", "image/svg+xml", PackageResources.icon_svg),
        script("api.js", PackageResources.api_js),
        script("chart.js", PackageResources.chart_js),
        script("charts.js", PackageResources.charts_js),
        script("dialogs.js", PackageResources.dialogs_js),
        script("elements.js", PackageResources.elements_js),
        script("format.js", PackageResources.format_js),
        script("gallery.js", PackageResources.gallery_js),
        script("images.js", PackageResources.images_js),
        script("main.js", PackageResources.main_js),
        script("origins.js", PackageResources.origins_js),
        script("requests.js", PackageResources.requests_js),
        script("settings.js", PackageResources.settings_js),
        script("summary.js", PackageResources.summary_js),
        script("theme.js", PackageResources.theme_js),
        script("transfers.js", PackageResources.transfers_js),
    ]

    func response(to request: AdminRequest) -> Response {
        let fields: HTTPFields = [.eTag: tag, .cacheControl: "no-cache"]
        if let known = request.fields[.ifNoneMatch], EntityTagCondition(lines: [known]).matchesWeakly(EntityTag(tag)) {
            return Response(HTTPResponse(status: .notModified, headerFields: fields))
        }
        var response = Response.bytes(content, type: type)
        response.head.headerFields.append(contentsOf: fields)
        return response
    }
}
