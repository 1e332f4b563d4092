// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that imgcache's stays without it.
let package = Package(
    name: "memory-benchmark",
    dependencies: [.package(name: "imgcache", path: "../..")],
    targets: [
        .executableTarget(
            name: "memory-benchmark", dependencies: [.product(name: "MemoryCache", package: "imgcache")])
    ]
)
