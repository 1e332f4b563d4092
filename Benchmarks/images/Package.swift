// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that imgcache's stays without it.
let package = Package(
    name: "images-benchmark",
    dependencies: [.package(name: "imgcache", path: "../..")],
    targets: [
        .executableTarget(
            name: "images-benchmark", dependencies: [.product(name: "ImageCache", package: "imgcache")])
    ]
)
